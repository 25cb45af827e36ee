"""Judging one run: what was written, and how far apart the sides are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.buffers import poison_byte
from verify.inputs import Bytes, Lane, lanes, view
from verify.spec import Spec, Tolerance
from verify.spec_args import BufferArg
from verify.tolerance import Comparison, compare

Mask: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]
Outputs: TypeAlias = Mapping[str, Bytes]


def output_lanes(spec: Spec) -> Iterator[tuple[BufferArg, Lane]]:
    """Every lane of every out and inout buffer."""
    for arg in spec.buffers:
        if arg.compared:
            for lane in lanes(arg):
                yield arg, lane


def bits(data: Bytes, lane: Lane) -> Array:
    """The lane's bit patterns as unsigned integers."""
    return np.ascontiguousarray(view(data, lane)).view(f"u{lane.dtype.size}")


def unwritten(arg: BufferArg, lane: Lane, repeats: list[Outputs]) -> Mask:
    """Elements of an out buffer that hold the poison of every given repeat. All False for inout buffers."""
    count = len(repeats[0][arg.name]) // lane.stride
    mask: Mask = np.full(count, arg.role == "out")
    for repeat, outputs in enumerate(repeats):
        if arg.role == "out":
            poison = int.from_bytes(bytes([poison_byte(arg, repeat)]) * lane.dtype.size, "little")
            mask &= bits(outputs[arg.name], lane) == np.array(poison, f"u{lane.dtype.size}")
    return mask


def same_bits(a: Outputs, b: Outputs, arg: BufferArg, lane: Lane, skip: Mask) -> bool:
    """Equal bit patterns, unwritten elements apart."""
    return bool(np.all((bits(a[arg.name], lane) == bits(b[arg.name], lane)) | skip))


@dataclass(frozen=True, slots=True)
class Judged:
    """`comparison` is over the elements that the original writes; indices are those of the buffer."""

    lane: Lane
    comparison: Comparison
    code: str | None  # None: the port is right here
    message: str
    unwritten_by_both: int
    at: int | None = None  # of the buffer's elements, the first that is wrong


def judge(
    arg: BufferArg,
    lane: Lane,
    port: list[Outputs],
    original: list[Outputs],
    tolerance: Tolerance,
    reference: npt.NDArray[np.float64] | None,
    order_dependent: bool,
) -> Judged:
    """Compare one lane of every repeat of the port with the original's first; the worst repeat counts."""
    idle_o = unwritten(arg, lane, original[:2])
    idle_p = unwritten(arg, lane, port[:2])
    both = int((idle_o & idle_p).sum())
    for code, mask, words in (
        ("CP7014", idle_p & ~idle_o, "not written by the port"),
        ("CP7024", idle_o & ~idle_p, "written by the port alone"),
    ):
        if mask.any():
            first = int(np.argmax(mask))
            empty = Comparison("exact", len(mask), bad=int(mask.sum()), first_bad=first)
            message = f"{int(mask.sum())} of {len(mask)} elements {words}, first at {lane.name}[{first}]"
            return Judged(lane, empty, code, message, both, first)
    kept = np.flatnonzero(~idle_o) if idle_o.any() else None

    def take(outputs: Outputs) -> Array:
        values = view(outputs[arg.name], lane)
        return values if kept is None else values[kept]

    wanted = take(original[0])
    again = [take(o) for o in original[1:]] if order_dependent else []
    ref = reference if reference is None or kept is None else reference[kept]
    found = [
        compare(take(p), wanted, lane.dtype, tolerance, ref, again, order_dependent)
        for p in _distinct(port, arg)
    ]
    worst = max(found, key=lambda c: (c.bad, c.max_abs))
    if worst.reference_off:
        what = "the original in double" if tolerance.rule == "double" else "reference.py"
        message = f"{what} can't be right about {lane.name}: {worst.reference_off}"
        return Judged(lane, worst, "CP7026", message, both)
    if not worst.bad:
        return Judged(lane, worst, None, "", both)
    at = worst.first_bad if kept is None or worst.first_bad is None else int(kept[worst.first_bad])
    message = (
        f"{worst.bad} of {worst.elements} elements differ, first {lane.name}[{at}]: port {worst.port_value}, "
        f"original {worst.original_value} (max abs {worst.max_abs:.3g}, limit {worst.limit})"
    )
    if arg.order == "free":
        message += "; compared in any order"
    return Judged(lane, worst, "CP7013" if worst.nonfinite == worst.bad else "CP7012", message, both, at)


def _distinct(repeats: list[Outputs], arg: BufferArg) -> list[Outputs]:
    """The first repeat and those whose bytes differ from it: equal bytes need no second look."""
    first = repeats[0][arg.name]
    return [repeats[0], *(r for r in repeats[1:] if not np.array_equal(r[arg.name], first))]
