"""The least time that a launch can take on this device, from what it must move and compute."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

from verify.counts import CountFacts
from verify.facts import CeilingFacts, FloorFacts
from verify.resolve import Resolved
from verify.spec import Spec

# A rate measured on a large copy is not the last word: what comes closer to the device's limit than this
# share above it is no impossible time.
_MARGIN = 0.05


def moved(spec: Spec, resolved: Resolved, unread: Collection[str] = ()) -> tuple[int, int]:
    """Bytes (read, written) by one launch, as the spec has it: inputs once, outputs once, inout both, but
    for those `unread`. Scratch memory may stay in caches: none of it."""
    read = written = 0
    for a in spec.buffers:
        size = resolved.elems[a.name] * a.element_bytes
        read += size if a.role in ("in", "inout") and a.name not in unread else 0
        written += size if a.compared else 0
    return read, written


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
    read, written = moved(spec, resolved, _unread(spec, counts))
    counted = counts.original if counts is not None and counts.case == resolved.case.name else None
    if counted is not None and counted.traffic:
        read = sum(m.read for m in counted.traffic.values())
        written = sum(m.written for m in counted.traffic.values())
    per_us = ceilings.gbytes_per_s * 1000.0
    memory = (read + written) / per_us
    floats = counted.classes.get("float", 0) if counted is not None else None
    # A fused multiply-add is two operations; the rate of instructions is half that of operations.
    arithmetic = None if floats is None else floats / (ceilings.fma_tflops * 1e6 / 2)
    least = max(memory, arithmetic or 0.0)
    impossible = least_bytes(read, written, launches, sets, l2) / per_us * (1 - _MARGIN)
    note = ""
    if original_us < impossible:
        note = "the original is under it too: it does not touch all bytes of its buffers in this case"
    return FloorFacts(
        read_bytes=read,
        written_bytes=written,
        counted_by="spec" if counted is None else "emulator",
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


def _unread(spec: Spec, counts: CountFacts | None) -> set[str]:
    """Inout buffers of which the original, where it was counted, read nothing that it had not written: a
    kernel that scales its own sums is drafted as one, and a port may keep them in registers."""
    seen = counts.original.traffic if counts is not None else {}
    inout = {a.name for a in spec.buffers if a.role == "inout"}
    return {name for name, m in seen.items() if name in inout and m.written and not m.read}


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
