"""The emulator's bits against those an H200 gave for the same single instructions.

The recording is written by tests/emulator/single/run_gpu.py on the machine that it names. Exact opcodes give
the same bits in all of its rows, without exceptions. Of large families every so many opcodes are tried;
EMULATOR_ALL_OPCODES=1 tries all.
"""

from __future__ import annotations

import ctypes
import os
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.oracle import oracle
from tests.emulator.single.cases import Case, Slots, cases, inputs
from tests.emulator.single.native import build, run
from tests.emulator.single.record import RECORDED, Outcome, digest, kept, read, write
from tests.emulator.single.tolerance import differs, errors

SINGLE = Path(__file__).with_name("single")
ALL = bool(os.environ.get("EMULATOR_ALL_OPCODES"))
EVERY = list(cases())
SENSITIVE = {  # to contraction, to the compiler's own folding, or to a library's
    "fma.rn.f32", "fma.rn.f64", "fma.rn.ftz.f16", "fma.rn.bf16x2", "mad.rp.ftz.sat.f32", "mul.rn.ftz.f32",
    "mul.rn.ftz.f16", "add.rz.f32", "sub.rn.f64", "div.rn.ftz.f32", "div.rn.f64", "sqrt.rn.f64", "rcp.rm.f64",
    "cvt.rn.ftz.f32.f64", "cvt.rni.s64.f64", "cvt.rzi.u32.f32", "cvt.rn.bf16.f32", "cvt.f64.f32", "min.f64",
    "ex2.approx.f16", "rsqrt.approx.f32", "sin.approx.f32", "tanh.approx.bf16", "div.approx.f32", "bfi.b64",
    "dp4a.u32.s32", "fns.b32",
}  # fmt: skip


def sample() -> list[Case]:
    """All but the large families, of which every so many; another part than the arithmetic tests take."""
    step = {"set": 60, "setp": 25, "cvt": 3} | {
        f"v{w}{n}": 20 for n in (2, 4) for w in ("add", "sub", "avrg", "absdiff", "min", "max")
    }
    count: Counter[str] = Counter()
    found = []
    for case in EVERY:
        family = case.op.name.split(".")[0]
        count[family] += 1
        if ALL or count[family] % step.get(family, 1) == 0:
            found.append(case)
    return found


@pytest.fixture(scope="module")
def recorded() -> dict[str, Outcome]:
    if not RECORDED.exists():
        pytest.skip("no recording of hardware yet")
    return read(RECORDED, EVERY)[0]


def test_bits_are_those_of_the_hardware(recorded: dict[str, Outcome], tmp_path: Path) -> None:
    chosen = [case for case in sample() if case.key in recorded and not recorded[case.key].refused]
    library = build(chosen, tmp_path)
    bad = [
        message
        for number, case in enumerate(chosen)
        if (message := mismatch(library, number, case, recorded))
    ]
    assert bad == []


def test_every_opcode_ran_on_hardware(recorded: dict[str, Outcome]) -> None:
    assert [case.key for case in EVERY if case.key not in recorded] == []
    assert [key for key, outcome in recorded.items() if outcome.refused] == []


def test_edges_are_those_of_the_hardware(tmp_path: Path) -> None:
    """The emulator and the oracle alike: the rows say what a rule is, the oracle states it in words."""
    text = (SINGLE / "corners.toml").read_text()
    rows = [
        row.replace("=", "").split() for corner in tomllib.loads(text)["corner"] for row in corner["rows"]
    ]
    by_key = {case.key: case for case in EVERY}
    chosen = [by_key[key] for key in dict.fromkeys(row[0] for row in rows)]
    library = build(chosen, tmp_path)
    numbers = {case.key: number for number, case in enumerate(chosen)}
    for key, *words in rows:
        *operands, result = (int(word, 16) for word in words)
        case, given = by_key[key], np.array([operands], dtype=np.uint64)
        assert run(library, numbers[key], case, given).tolist() == [[result]], (key, words)
        want = oracle(case.op.name, case.op.shape, case.constant)
        assert want is not None
        assert want(*operands) == [result], (key, words)


def test_the_largest_errors_of_approximations_are_as_noted(
    recorded: dict[str, Outcome], tmp_path: Path
) -> None:
    noted = tomllib.loads((SINGLE / "errors.toml").read_text())
    chosen = [case for case in EVERY if case.op.approximate]
    assert [case.key for case in chosen] == list(noted)
    library = build(chosen, tmp_path)
    for number, case in enumerate(chosen):
        found = errors(case, recorded[case.key].rows, run(library, number, case))
        row = noted[case.key]
        # Libraries of mathematics differ in the last place of a double: hardly ever one of these.
        assert found.ulp == pytest.approx(row.get("ulp", 0), rel=0.01), case.key
        assert found.absolute == pytest.approx(row.get("abs", 0), rel=0.01), case.key


def test_bits_do_not_depend_on_the_compilers_level_or_the_processor(tmp_path: Path) -> None:
    """Fused or vector instructions, where the machine has them, and another level: the same bits."""
    chosen = [case for case in EVERY if case.op.name in SENSITIVE]
    assert len(chosen) == len(SENSITIVE)
    results: list[list[Slots]] = []
    for number, flags in enumerate((("-O0",), ("-O1",), ("-O1", "-march=native", "-fno-math-errno"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        library = build(chosen, folder, flags)
        results.append([run(library, n, case) for n, case in enumerate(chosen)])
    for case, *outputs in zip(chosen, *results, strict=True):
        assert all((one == outputs[0]).all() for one in outputs), case.key


def mismatch(library: ctypes.CDLL, number: int, case: Case, recorded: dict[str, Outcome]) -> str:
    """What differs, or an empty text."""
    outcome = recorded[case.key]
    got = run(library, number, case)
    rows = np.flatnonzero(differs(case, outcome.rows, got[: kept(case)]))
    if len(rows):
        first = rows[0]
        words = (" ".join(f"{int(x):x}" for x in part[first]) for part in (inputs(case), outcome.rows, got))
        return "{}: {} rows; operands {}, hardware {}, emulator {}".format(case.key, len(rows), *words)
    if not case.op.approximate and digest(got) != outcome.digest:
        return f"{case.key}: a row after the first {kept(case)}"
    return ""


def test_a_recording_reads_back_and_a_wrong_bit_shows(tmp_path: Path) -> None:
    keys = (
        "fma.rm.f32",
        "ex2.approx.f32",
        "mov.b128",
        "setp.lt.and.s32",
        "cvt.rzi.s8.f32",
        "popc.b64",
        "addc.cc.u64",
    )
    chosen = [case for case in EVERY if case.key in keys]
    assert len(chosen) == len(keys)
    library = build(chosen, tmp_path)
    outputs = {case.key: run(library, number, case) for number, case in enumerate(chosen)}
    outputs["popc.b64"][3] += np.uint64(1)
    outputs["fma.rm.f32"][500] ^= np.uint64(1)
    del outputs["mov.b128"]
    write(tmp_path / "r.npz", outputs, {"mov.b128": "refused"}, chosen, {"gpu": "none"})
    outcomes, about = read(tmp_path / "r.npz", EVERY)
    assert about == {"gpu": "none"}
    assert outcomes["mov.b128"].refused == "refused"
    messages = {
        case.key: mismatch(library, number, case, outcomes)
        for number, case in enumerate(chosen)
        if case.key != "mov.b128"
    }
    assert messages.pop("popc.b64").startswith("popc.b64: 1 rows; operands ")
    assert messages.pop("fma.rm.f32") == "fma.rm.f32: a row after the first 128"
    assert set(messages.values()) == {""}
