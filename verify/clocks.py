"""The GPU's clocks, power and reasons to slow down, watched while something is timed. Nothing is ever set."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self

from verify.environment import output_of

_KEYS = (
    "clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active", "pstate",
)  # fmt: skip
_SECONDS = 0.2  # between two looks
# Bits of clocks_event_reasons.active: what each is, and whether the hardware slowed itself down. A software
# power cap is normal under load, and meets both sides alike.
_REASONS: tuple[tuple[int, str, bool], ...] = (
    (0x4, "software power cap", False),
    (0x8, "hardware slowdown", True),
    (0x20, "software thermal slowdown", True),
    (0x40, "hardware thermal slowdown", True),
    (0x80, "hardware power brake", True),
)
State = dict[str, str]


def gpu_state() -> State:
    """Clocks (MHz), power (W), temperature (°C) and throttle reasons now, as nvidia-smi prints them; empty
    without it."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip() or "0"
    query = ["nvidia-smi", f"--query-gpu={','.join(_KEYS)}", "--format=csv,noheader,nounits", "-i", chosen]
    line = output_of(query).strip()
    values = [v.strip() for v in line.splitlines()[0].split(",")] if line else []
    return dict(zip(_KEYS, values, strict=True)) if len(values) == len(_KEYS) else {}


@dataclass(slots=True)
class Seen:
    """States by the time at which they were asked for, in seconds of the monotonic clock."""

    states: list[tuple[float, State]] = field(default_factory=list)

    def between(self, began: float, ended: float) -> list[State]:
        """Those of a span of time; where it was too short for any, the nearest one."""
        found = [s for at, s in self.states if began <= at <= ended and s]
        if not found:
            nearest = sorted(
                (min(abs(at - began), abs(at - ended)), i) for i, (at, s) in enumerate(self.states) if s
            )
            found = [self.states[nearest[0][1]][1]] if nearest else []
        return found


class Watch:
    """Looks at the GPU's state until it is left. Use as a context manager."""

    def __init__(self, look: Callable[[], State] | None = None, seconds: float = _SECONDS) -> None:
        self.seen = Seen()
        self._look = look or gpu_state
        self._seconds = seconds
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            at = time.monotonic()
            state = self._look()
            self.seen.states.append((at, state))
            if not state or self._end.wait(self._seconds):
                return  # without nvidia-smi there is nothing to wait for


def throttled_by(states: Sequence[State]) -> list[tuple[str, bool]]:
    """Each reason for lower clocks that was seen, and whether it makes times worthless."""
    bits = 0
    for state in states:
        text = state.get("clocks_event_reasons.active", "")
        bits |= int(text, 16) if text.startswith("0x") else 0
    return [(words, grave) for bit, words, grave in _REASONS if bits & bit]


def sm_mhz(states: Sequence[State]) -> tuple[int, int] | None:
    """The least and the most of the multiprocessors' clock."""
    found = [int(s["clocks.sm"]) for s in states if s.get("clocks.sm", "").isdecimal()]
    return (min(found), max(found)) if found else None
