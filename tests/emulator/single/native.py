"""The cases through the emulator's C: one shared object, one function per case."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tests.emulator.single.cases import Case, Slots, inputs, width
from verify.emulator.ops import fill
from verify.emulator.ptx.module import SIZES

RUNTIME = Path(__file__).parents[3] / "verify" / "emulator" / "runtime"
_C_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u128"}


def c_text(case: Case, number: int) -> str:
    """`case_<number>(in, out, rows)`: a loop over rows of slots."""
    op = case.op
    assert op.c is not None
    lines, places, at = [], {}, 0
    for slot in case.sources:
        c = _C_TYPES[SIZES.get(slot.type, 4)]
        value = f"in[{at}]" if c != "u128" else f"(in[{at}] | (u128)in[{at + 1}] << 64)"
        name = "cc_" if slot.place == "cc" else f"R_{slot.place}"
        lines.append(f"{c} {name} = ({c}){value};")
        places[slot.place] = name
        at += 2 if c == "u128" else 1
    if case.constant is not None:
        places["e"] = f"{case.constant}u"
    stores, at = [], 0
    for slot in case.results:
        c = _C_TYPES[SIZES.get(slot.type, 4)]
        name = "cc_" if slot.place == "cc" else f"O_{slot.place}"
        if slot.place == "d":
            lines.append(f"{c} O_d = ({c})({fill(op.c, places)});")
        elif slot.place == "p":
            assert op.second is not None
            lines.append(f"u8 O_p = (u8)({fill(op.second, places)});")
        elif slot.place != "cc":
            lines.append(f"{c} {name};")
            places[slot.place] = name
        # PTX's narrowest register has 16 bits: a signed byte arrives there with its sign.
        wide = f"(u16)(s8){name}" if slot.type == "s8" else name
        stores.append(f"out[{at}] = (u64){wide};")
        at += 1
        if c == "u128":
            stores.append(f"out[{at}] = (u64)({name} >> 64);")
            at += 1
    if op.statement:
        lines.append(fill(op.c, places))
    body = " ".join(lines + stores)
    step = f"in += {width(case.sources)}, out += {width(case.results)}"
    return (
        f"void case_{number}(const u64 *in, u64 *out, int rows) {{ for (; rows--; {step}) {{ {body} }} }}\n"
    )


def build(chosen: list[Case], folder: Path, flags: Iterable[str] = ("-O0",)) -> ctypes.CDLL:
    """Compiles the cases. CalledProcessError, the compiler's message printed, where one does not compile."""
    source, target = folder / "cases.c", folder / "cases.so"
    text = "".join(c_text(case, number) for number, case in enumerate(chosen))
    source.write_text('#include "arith.h"\n' + text)
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        "-Wno-unused",
        "-Wno-parentheses",
        *flags,
    ]
    subprocess.run([*command, f"-I{RUNTIME}", "-o", str(target), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def run(library: ctypes.CDLL, number: int, case: Case, values: Slots | None = None) -> Slots:
    """Outputs, rows x width(case.results), of `values` (default: the case's own inputs)."""
    given = inputs(case) if values is None else np.ascontiguousarray(values, dtype=np.uint64)
    out = np.zeros((len(given), width(case.results)), dtype=np.uint64)
    pointer = ctypes.POINTER(ctypes.c_uint64)
    function = getattr(library, f"case_{number}")
    function(given.ctypes.data_as(pointer), out.ctypes.data_as(pointer), ctypes.c_int(len(given)))
    return out
