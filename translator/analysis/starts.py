"""How memory of a drafted spec starts."""

from __future__ import annotations

import struct

from translator.analysis.extents import Buffer
from translator.analysis.roles import Role, only_atomics
from translator.model.kernel import Global, KernelModel
from translator.model.types import F32, F64, Scalar

_LARGEST = 3e38  # rounding a larger float to few digits could leave the type's range


def source_values(of: Global | None, role: Role) -> tuple[int | float, ...] | None:
    """What a global holds before the first launch: nothing if that is zeros, None if it isn't known.

    What the kernel only reads and the source gives no values, something else fills.
    """
    if of is None or of.written_by_host:
        return None
    return of.init if of.init is not None or role == "in" else ()


def start(own: tuple[int | float, ...] | None, k: int, count: int, dtype: str) -> dict[str, object]:
    """How lane `k` of `count` starts: at the source's values if there are some."""
    if own is None:
        return {"init": "normal" if _is_float(dtype) else "small_int"}
    values = list(own[k::count])
    while values and values[-1] == 0:
        values.pop()
    if not values:
        return {"init": "zeros"}
    narrow = F32 if dtype == "float32" else F64
    return {"values": [shortest(v, narrow) if _is_float(dtype) else int(v) for v in values]}


def shortest(value: float, t: Scalar) -> float:
    """`value` with no more digits than a float of type `t` needs: 1.702 for 1.702f."""
    if t == F32 and abs(value) < _LARGEST:
        bits = struct.pack("<f", value)
        for digits in range(1, 9):
            if struct.pack("<f", short := float(f"{value:.{digits}g}")) == bits:
                return short
    return float(value)


def unknown(model: KernelModel, buffer: Buffer, role: Role, zeroed: bool) -> str:
    """The `init` of memory whose values nothing gives; `zeroed`: but the host fills it with zeros."""
    if role == "out" or (zeroed and role == "inout"):
        return "zeros"
    if role == "inout" and only_atomics(model, buffer.var):
        return "zeros"
    if buffer.dtype == "uint8":
        return "index:256"  # bytes: text and pixels, compared with letters and levels
    return "normal" if _is_float(buffer.dtype) else "small_int" if buffer.dtype != "bool" else "uniform"


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))
