"""The times of a verdict as charts and rows. What earlier versions did not measure is left out."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from verify.facts import BenchFacts, Timing
from verify.report.charts import Spread, around, axis, roofline, spread
from verify.report.page import Pair
from verify.report.words import figure, micros, seconds, share


@dataclass(frozen=True, slots=True)
class TimeChart:
    """Both sides on one scale; `quartiles` where they were recorded, `floor` where it is near."""

    original: Markup
    port: Markup
    axis: Markup
    quartiles: bool
    floor: bool


def time_chart(bench: BenchFacts) -> TimeChart | None:
    """Both sides' times, on a scale that need not start at zero; None where a time is not above zero."""
    sides = [_spread(t) for t in (bench.original, bench.port)]
    values = [v for s in sides for v in (s.low, s.median, s.high)]
    if not all(0 < v < math.inf for v in values):
        return None
    floor = getattr(bench, "floor", None)
    marks = [floor.floor_us] if floor is not None and floor.floor_us > 0.6 * min(values) else []
    scale = around([*values, *marks])
    original, port = (
        spread(s, scale, side, f"{side}: {s.low:.4g} to {s.high:.4g} µs, median {s.median:.4g} µs", marks)
        for s, side in zip(sides, ("original", "port"), strict=True)
    )
    return TimeChart(original, port, axis(scale), all(s.q1 is not None for s in sides), bool(marks))


def _spread(t: Timing) -> Spread:
    steps = getattr(t, "quantiles", [])  # of 5 %
    q1, q3 = (steps[5], steps[15]) if len(steps) == 21 else (None, None)
    return Spread(t.p10_us, t.median_us, t.p90_us, q1, q3)


def roof(bench: BenchFacts) -> Markup:
    """Both sides under what the device reaches, by float instructions; empty where those were not counted."""
    floor = getattr(bench, "floor", None)
    if floor is None or not floor.float_instructions or not floor.arithmetic_us:
        return Markup("")
    done, moved = floor.float_instructions, floor.read_bytes + floor.written_bytes
    if min(moved, bench.port.median_us, bench.original.median_us) <= 0:
        return Markup("")
    rates = {"original": done / bench.original.median_us, "port": done / bench.port.median_us}
    peak = done / floor.arithmetic_us  # instructions per µs
    names = f"{floor.gbytes_per_s:.0f} GB/s", f"{peak / 1e6:.3g} T instructions/s"
    return roofline(done / moved, rates, floor.gbytes_per_s * 1e3, peak, names)


_SOURCES = {
    "spec": "the spec says",
    "spec, by shares": "the spec says, of some buffers the share that was touched in another case",
    "emulator": "the emulator says",
}


def floors(bench: BenchFacts) -> list[tuple[str, str]]:
    """What the least time comes from, and the shares of it."""
    floor = getattr(bench, "floor", None)
    if floor is None:
        return []
    reached = f"the original reaches {share(floor.original_share)}, the port {share(floor.port_share)}"
    rate = f"{micros(floor.memory_us)} µs at {floor.gbytes_per_s:.0f} GB/s"
    made = [
        ("least time", f"{micros(floor.floor_us)} µs; {reached}"),
        ("for memory", f"{rate}, bytes as {_SOURCES[floor.counted_by]}"),
    ]
    if floor.arithmetic_us is not None:
        instructions = figure(floor.float_instructions)
        made.append(
            ("for arithmetic", f"{micros(floor.arithmetic_us)} µs for {instructions} float instructions")
        )
    return [*made, ("about it", floor.note)] if floor.note else made


# Where a time stands, and its name.
_CLOCKS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("launch", ("call", "median_us"), "launch from Python, until the call returns"),
    ("launch", ("done", "median_us"), "launch from Python, until the device is done"),
    ("first_call", ("build_us",), "first call: build"),
    ("first_call", ("load_us",), "first call: load"),
    ("first_call", ("launch_us",), "first call: launch"),
    ("first_call", ("total_us",), "first call: in all"),
)


def clocks(bench: BenchFacts) -> list[Pair]:
    """The times beside the kernel's own: of a launch from Python, and of what comes before results."""
    made: list[Pair] = []
    for field, path, name in _CLOCKS:
        held: dict[str, Any] = getattr(bench, field, {})
        original, port = (functools.reduce(_at, path, held.get(side)) for side in ("original", "port"))
        if original is not None or port is not None:
            made.append(Pair(name, _told(original), _told(port)))
    return made


def _at(facts: Any, name: str) -> Any:
    return None if facts is None else getattr(facts, name)


def _told(us: float | None) -> str:
    return "" if us is None else seconds(us / 1e6)
