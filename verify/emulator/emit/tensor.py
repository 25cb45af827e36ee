"""Tensor cores of a warp: ldmatrix, stmatrix, movmatrix, mma, wmma."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from verify.emulator.ops import Op
from verify.emulator.ptx.module import Instr, Operand, PtxError, Vec

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting

# Bits of an element.
ELEMENT_BITS: Mapping[str, int] = {
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 8),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    **dict.fromkeys(("s4", "u4"), 4),
    "f64": 64,
    "b1": 1,
}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_SPACES = {
    "": "SPACE_GENERIC",
    "global": "SPACE_GLOBAL",
    "shared": "SPACE_SHARED",
    "shared::cta": "SPACE_SHARED",
}


def shape(text: str) -> tuple[int, int, int]:
    """(m, n, k) of `m16n8k16`."""
    m, n, k = (int(x) for x in _SHAPE.fullmatch(text).groups())  # type: ignore[union-attr]
    return m, n, k


def items(o: Operand | None, count: int = 0) -> tuple[Operand | None, ...]:
    """The registers of a vector, or one alone. PtxError where there are not `count` (0: any number)."""
    found = o.items if isinstance(o, Vec) else (o,)
    if count and len(found) != count:
        raise PtxError("CP7101", f"{len(found)} registers where the shape has {count}")
    return found


def array(e: Emitting, name: str, o: Operand | None, count: int, bits: int) -> str:
    """A C array of `count` registers of 32 or 64 bits, with their values."""
    values = ", ".join(e.names.bits(x, f"b{bits}") for x in items(o, count))
    return f"u{bits} {name}[{count}] = {{ {values} }};"


def assigned(e: Emitting, name: str, o: Operand | None, count: int, bits: int) -> list[str]:
    """Statements that put an array's elements into registers."""
    return [
        e.names.assign(x, f"{name}[{k}]", f"b{bits}") for k, x in enumerate(items(o, count)) if x is not None
    ]


def _matrix_address(e: Emitting, o: Operand | None, op: Op) -> str:
    return f"{e.names.address(o)}, {0 if op.fields['space'] else 1}"


def ldmatrix(e: Emitting, i: Instr, op: Op, site: int) -> str:
    count, transposed = int(op.fields["num"][1:]), int(op.fields["trans"] != "")
    address = _matrix_address(e, i.operands[1], op)
    call = f"ldmatrix(t, {count}, {transposed}, {address}, d_, {site});"
    return f"{{ u32 d_[{count}]; {call} {' '.join(assigned(e, 'd_', i.operands[0], count, 32))} }}"


def stmatrix(e: Emitting, i: Instr, op: Op, site: int) -> str:
    count, transposed = int(op.fields["num"][1:]), int(op.fields["trans"] != "")
    address = _matrix_address(e, i.operands[0], op)
    values = array(e, "a_", i.operands[1], count, 32)
    return f"{{ {values} stmatrix(t, {count}, {transposed}, {address}, a_, {site}); }}"


def movmatrix(e: Emitting, i: Instr, op: Op, site: int) -> str:
    value = e.names.bits(i.operands[1], "b32")
    return e.names.assign(i.operands[0], f"movmatrix(t, {value}, {site})", "b32")


def _kind(op: Op) -> str:
    m, n, k = shape(op.fields["shape"])
    f = op.fields
    elements = ", ".join(f".{x} = ELEMENT_{f[x]}" for x in "abcd")
    saturate, conjunction = int(bool(f.get("sat"))), int(f.get("bits") == "and")
    parts = f".m = {m}, .n = {n}, .k = {k}, {elements}, .saturate = {saturate}, .and = {conjunction}"
    return f"static const MmaKind kind_ = {{ {parts} }};"


def _product(e: Emitting, i: Instr, op: Op, site: int, call: str, counts: tuple[int, int, int, int]) -> str:
    """A call with arrays of registers; `counts` for d, a, b, c."""
    bits = 64 if op.fields["d"] == "f64" else 32
    d, a, b, c = i.operands
    lines = [_kind(op), f"u{bits} d_[{counts[0]}];"]
    for name, o, count in (("a_", a, counts[1]), ("b_", b, counts[2]), ("c_", c, counts[3])):
        lines.append(array(e, name, o, count, bits))
    lines.append(f"{call}(t, &kind_, (u32*)a_, (u32*)b_, (u32*)c_, (u32*)d_, {site});")
    return f"{{ {' '.join(lines + assigned(e, 'd_', d, counts[0], bits))} }}"


def _registers(elements: int, element: str) -> int:
    """Registers of a lane for a matrix of so many elements, as mma spreads it."""
    bits = ELEMENT_BITS[element]
    return elements * bits // (64 if bits == 64 else 32) // 32


def mma(e: Emitting, i: Instr, op: Op, site: int) -> str:
    m, n, k = shape(op.fields["shape"])
    f = op.fields
    counts = (
        _registers(m * n, f["d"]),
        _registers(m * k, f["a"]),
        _registers(k * n, f["b"]),
        _registers(m * n, f["c"]),
    )
    return _product(e, i, op, site, "mma", counts)


def _wmma_registers(part: str, dims: tuple[int, int, int], element: str) -> int:
    """Registers of a lane for one fragment of wmma. Those of f16 are eight for each shape, some repeat."""
    m, n, k = dims
    if part in ("a", "b") and element == "f16":
        return 8
    return _registers({"a": m * k, "b": k * n}.get(part, m * n), element)


def _wmma_move(e: Emitting, i: Instr, op: Op, site: int, storing: bool) -> str:
    f = op.fields
    dims = shape(f["shape"])
    part = f["part"]
    bits = 64 if f["type"] == "f64" else 32
    count = _wmma_registers(part, dims, f["type"])
    operands = list(i.operands)
    register = operands.pop(1 if storing else 0)
    column = int(f["layout"] == "col")
    if len(operands) > 1:
        stride = e.names.bits(operands[1], "b32")
    else:
        rows, columns = {"a": (dims[0], dims[2]), "b": (dims[2], dims[1])}.get(part, dims[:2])
        stride = str(rows if column else columns)
    which = {"a": "WMMA_A", "b": "WMMA_B"}.get(part, "WMMA_C")
    kind = (
        f".m = {dims[0]}, .n = {dims[1]}, .k = {dims[2]}, .part = {which}, .element = ELEMENT_{f['type']}, "
        f".column_major = {column}, .words = {count * bits // 32}"
    )
    place = f"{_SPACES[f['space']]}, {e.names.address(operands[0])}, {stride}, (u32*)r_"
    head = f"static const WmmaKind kind_ = {{ {kind} }};"
    if storing:
        values = array(e, "r_", register, count, bits)
        return f"{{ {head} {values} wmma_store(t, &kind_, {place}, {site}); }}"
    tail = " ".join(assigned(e, "r_", register, count, bits))
    return f"{{ {head} u{bits} r_[{count}]; wmma_load(t, &kind_, {place}, {site}); {tail} }}"


def wmma_load(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return _wmma_move(e, i, op, site, storing=False)


def wmma_store(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return _wmma_move(e, i, op, site, storing=True)


def wmma_mma(e: Emitting, i: Instr, op: Op, site: int) -> str:
    dims, f = shape(op.fields["shape"]), op.fields
    d, a, b, c = (_wmma_registers(part, dims, f[part]) for part in "dabc")
    return _product(e, i, op, site, "wmma_mma", (d, a, b, c))
