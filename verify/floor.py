"""The least time that a launch can take on this device, from what it must move and compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from verify.counts import CountFacts, Moved
from verify.expr import ExprError
from verify.facts import CeilingFacts, CountedBy, FloorFacts
from verify.resolve import Resolved, resolve
from verify.spec import Spec
from verify.spec_args import BufferArg

# A rate measured on a large copy is not the last word: what comes closer to the device's limit than this
# share above it is no impossible time.
_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that one launch moves: the best estimate, and those (read, written) that no right launch can do
    without."""

    read: int
    written: int
    certain: tuple[int, int]
    counted_by: CountedBy

    @property
    def total(self) -> int:
        return self.read + self.written


def moved(spec: Spec, resolved: Resolved) -> tuple[int, int]:
    """Bytes (read, written) by one launch, as the spec has it: inputs once, outputs once, inout both. Scratch
    memory may stay in caches: none of it."""
    read = sum(_size(a, resolved) for a in spec.buffers if _is_read(a))
    return read, sum(_size(a, resolved) for a in spec.buffers if a.compared)


def traffic_of(spec: Spec, resolved: Resolved, counts: CountFacts | None) -> Traffic:
    """Bytes of one launch: as the emulator counted them where it ran the original in this case; else as the
    spec has them, but of a buffer that the original touched only in part in the case that was counted, the
    same share of it. That share is a guess here, so nothing of such a buffer is certain. Of gaps between rows
    that the counted case did not have nothing is known at all: they count as none."""
    seen = counts.original.traffic if counts is not None else {}
    if counts is not None and seen and counts.case == resolved.case.name:
        read, written = sum(m.read for m in seen.values()), sum(m.written for m in seen.values())
        return Traffic(read, written, (read, written), "emulator")
    there = _counted_in(spec, counts)
    known = _without_new(spec, resolved, there)

    def shares(touched: Callable[[Moved], int], kept: Callable[[BufferArg], bool]) -> list[_Part]:
        kept_ones = [a for a in spec.buffers if kept(a)]
        return [(known[a.name], _share_of(a, touched, seen, there)) for a in kept_ones]

    reads = shares(lambda m: m.read, _is_read)
    writes = shares(lambda m: m.written, lambda a: a.compared)
    read, written = (sum(int(size * share) for size, share in side) for side in (reads, writes))
    whole_read, whole_written = (sum(n for n, share in side if share == 1) for side in (reads, writes))
    return Traffic(
        read,
        written,
        (whole_read, whole_written),
        "spec" if (read, written) == moved(spec, resolved) else "spec, by shares",
    )


_Part = tuple[int, Fraction]  # the bytes of a buffer, and the share of them that is touched


def _is_read(arg: BufferArg) -> bool:
    return arg.role in ("in", "inout")


def _size(arg: BufferArg, resolved: Resolved) -> int:
    return resolved.elems[arg.name] * arg.element_bytes


def _without_new(spec: Spec, resolved: Resolved, there: Resolved | None) -> dict[str, int]:
    """Bytes of each buffer. A size that the counted case had at 0, such as a gap between rows, is 0 here too,
    but for buffers that were empty there."""
    sizes = {a.name: _size(a, resolved) for a in spec.buffers}
    was = {} if there is None else there.case.sizes
    zeroed = {n: 0 if was.get(n) == 0 else v for n, v in resolved.case.sizes.items()}
    if there is None or zeroed == resolved.case.sizes:
        return sizes
    try:
        known = resolve(spec, resolved.case.model_copy(update={"sizes": zeroed}))
    except ExprError:
        return {n: size if there.elems[n] == 0 else 0 for n, size in sizes.items()}
    return {
        a.name: min(sizes[a.name], _size(a, known)) if there.elems[a.name] else sizes[a.name]
        for a in spec.buffers
    }


def _counted_in(spec: Spec, counts: CountFacts | None) -> Resolved | None:
    """The case in which the emulator counted."""
    found = next((c for c in spec.case if counts is not None and c.name == counts.case), None)
    return None if found is None else resolve(spec, found)


def _share_of(
    arg: BufferArg, touched: Callable[[Moved], int], seen: Mapping[str, Moved], there: Resolved | None
) -> Fraction:
    """The share of a buffer's bytes that the original touched where it was counted; 1 where it was not.

    An inout buffer of which nothing is read is among them: a kernel that scales its own sums is drafted as
    one, and a port may keep those in registers."""
    size = 0 if there is None else _size(arg, there)
    if arg.name not in seen or not size:
        return Fraction(1)
    return min(Fraction(1), Fraction(touched(seen[arg.name]), size))


def floor_of(
    spec: Spec,
    resolved: Resolved,
    ceilings: CeilingFacts,
    counts: CountFacts | None,
    *,
    launches: int,
    sets: int,
    l2: int,
    port_us: float,
    original_us: float,
) -> FloorFacts:
    """The floor of one case, of which a sample was `launches` launches over `sets` sets of buffers."""
    traffic = traffic_of(spec, resolved, counts)
    counted = counts.original if counts is not None and counts.case == resolved.case.name else None
    per_us = ceilings.gbytes_per_s * 1000.0
    memory = traffic.total / per_us
    floats = counted.classes.get("float", 0) if counted is not None else None
    # A fused multiply-add is two operations; the rate of instructions is half that of operations.
    arithmetic = None if floats is None else floats / (ceilings.fma_tflops * 1e6 / 2)
    least = max(memory, arithmetic or 0.0)
    impossible = least_bytes(*traffic.certain, launches, sets, l2) / per_us * (1 - _MARGIN)
    note = ""
    if original_us < impossible:
        note = "the original is under it too: it does not touch all bytes of its buffers in this case"
    return FloorFacts(
        read_bytes=traffic.read,
        written_bytes=traffic.written,
        counted_by=traffic.counted_by,
        gbytes_per_s=ceilings.gbytes_per_s,
        memory_us=round(memory, 4),
        float_instructions=floats,
        arithmetic_us=None if arithmetic is None else round(arithmetic, 4),
        floor_us=round(least, 4),
        impossible_us=round(impossible, 4),
        port_share=_share(least, port_us),
        original_share=_share(least, original_us),
        note=note,
    )


def _share(floor: float, us: float) -> float:
    return round(floor / us, 4) if us > 0 else 0.0


def least_bytes(read: int, written: int, launches: int, sets: int, l2: int) -> float:
    """Bytes of one launch that must pass between memory and chip, whatever the L2 does.

    A sample starts with other lines in the L2; all the same it is granted one L2 full at its start, one more
    for each time that it comes back to the first set, and one at its end for what is still to be written.
    """
    kept = l2 * (ceil(launches / max(1, sets)) + (1 if written else 0))
    return max(0.0, launches * (read + written) - kept) / max(1, launches)


def impossible(floor: FloorFacts, port_us: float) -> bool:
    """True where the port's time is under what the device can do, and the original's is not: then it is the
    port that did not do the work, and not the bytes that are told wrong."""
    return not floor.note and port_us < floor.impossible_us


def least_us(size: int, l2: int, gbytes_per_s: float) -> float:
    """The least time in which a kernel reads `size` bytes, of which the L2 may hold some."""
    return max(0, size - l2) / (gbytes_per_s * 1000.0) * (1 - _MARGIN)
