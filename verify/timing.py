"""Kernel time of port and original in one process: interleaved, cold L2, graph replays. Child side only.

It returns raw samples, the parent draws the conclusions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from verify.device import Bytes, CudaDevice, DeviceError
from verify.rating import LEAST_ROUNDS, enough
from verify.rotation import Sets
from verify.sweep import Sweep

_SHORT_US = 100.0  # below this, events around one launch called from Python measure the gaps
_SAMPLE_US = 300.0  # a graph holds enough launches to last about this long
_MOST_LAUNCHES = 256
_WARM_US = 300_000.0  # lets the clocks rise from idle
_BUDGET_US = 2_000_000.0  # of kernel time, where the interval does not get narrow before
_LONGEST_US = 60_000_000.0
_MOST_ROUNDS = 400
_STEP = 8  # rounds between two looks at the interval
_LEAD = 4  # sweeps in front of a round: the host gets ahead of the device

Enqueue = Callable[[int], None]  # launch once on the device's stream, on buffer set i
Outputs = dict[str, list[dict[str, Bytes]]]  # by side: what each checked launch left, by buffer
SIDES = ("port", "original")


@dataclass(slots=True)
class Raw:
    """Microseconds per launch, one number per sample; two samples of each side are a round. `checked` says
    of each side after which samples the outputs were read, and those of which set."""

    port: list[float] = field(default_factory=list)
    original: list[float] = field(default_factory=list)
    method: str = ""
    launches: int = 1
    sets: int = 1
    set_bytes: int = 0
    nodes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    checked: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    gaps: bool = False  # the host's gaps are in the times
    known_bytes: int = 0  # what the sweep reads, in launches timed as the sides' are,
    known_us: float = 0.0  # and the least time of one: a clock that is false is false here too
    began: float = 0.0  # seconds of the machine's monotonic clock
    ended: float = 0.0


@dataclass(slots=True)
class Prepared:
    """What is played once per sample for each side, `launches` launches; microseconds per launch, guessed."""

    play: dict[str, Callable[[], None]]
    restore: Callable[[], None]
    guess_us: dict[str, float]
    raw: Raw


class Timer:
    """Measures two enqueue functions against each other."""

    def __init__(self, device: CudaDevice, sets: Sets, l2: int, rng: random.Random | None = None) -> None:
        self.device = device
        self.sets = sets
        self.sweep = Sweep(device, max(2 * l2, 64 << 20))
        self.start = self._event()
        self.end = self._event()
        # Which sample is checked must not be known to what is timed.
        self._rng = rng or random.SystemRandom()

    def close(self) -> None:
        self.sweep.close()

    def _event(self) -> Any:
        return self.device.call("cuEventCreate", 0)

    def _cold(self, times: int = 1) -> None:
        """Fill the L2 with other, clean lines; also the work that keeps the host ahead of the device."""
        for _ in range(times):
            self.sweep.enqueue()

    def _elapsed_us(self, start: Any, end: Any) -> float:
        return float(self.device.call("cuEventElapsedTime", start, end)) * 1000.0

    def _mark(self, event: Any) -> None:
        self.device.call("cuEventRecord", event, self.device.stream)

    def _guess_us(self, enqueue: Enqueue) -> float:
        """About how long one launch takes, host gaps included."""
        enqueue(0)
        self.device.synchronize()
        return max(self._best_us(lambda i: enqueue(i % self.sets.count), self.sets.restore), 0.5)

    def _best_us(self, work: Enqueue, before: Callable[[], None] = lambda: None) -> float:
        """The least of four times between two events."""
        best = math.inf
        for i in range(4):
            before()
            self._cold(_LEAD)
            self._mark(self.start)
            work(i)
            self._mark(self.end)
            self.device.synchronize()
            best = min(best, self._elapsed_us(self.start, self.end))
        return best

    def _graph(self, enqueue: Callable[[], None]) -> tuple[Callable[[], None], int]:
        """What replays all that `enqueue` puts on the stream, and how many nodes that is."""
        api, stream = self.device.api, self.device.stream
        mode = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.device.call("cuStreamBeginCapture", stream, mode)
        try:
            enqueue()
        except BaseException:
            self.device.api.cuStreamEndCapture(stream)
            raise
        graph = self.device.call("cuStreamEndCapture", stream)
        executable = self.device.call("cuGraphInstantiate", graph, 0)
        found = self.device.call("cuGraphGetNodes", graph, 0)
        nodes = int(found[1]) if isinstance(found, tuple) else int(found)
        return partial(self.device.call, "cuGraphLaunch", executable, stream), nodes

    def measure(self, sides: Mapping[str, Enqueue], spread: int = 1) -> tuple[Raw, Outputs]:
        """Raw samples of `port` and `original`, and the outputs of launches among those timed: one of the
        port, `spread` of the original."""
        ready = self.prepare(sides)
        return ready.raw, self.rounds(ready, {"port": 1, "original": spread})

    def prepare(self, sides: Mapping[str, Enqueue]) -> Prepared:
        """Make the graphs and warm up."""
        sets = self.sets
        raw = Raw(sets=sets.count, set_bytes=sets.bytes, method="CUDA graph replays")
        guess = {name: self._guess_us(enqueue) for name, enqueue in sides.items()}
        raw.launches = self._launches(min(guess.values()))
        play: dict[str, Callable[[], None]] = {}
        restore: Callable[[], None] = sets.restore
        try:
            for name, enqueue in sides.items():
                play[name], raw.nodes[name] = self._graph(partial(self._all, enqueue, raw.launches))
            restore = self._graph(sets.restore)[0] if sets.inout else restore
        except DeviceError as e:
            # Single launches then: the work in front must be long enough to hide the slow call from Python.
            raw.notes.append(f"graph capture failed ({e})")
            raw.method, raw.launches, raw.nodes = "single launches behind a backlog", 1, {}
            play = {name: partial(enqueue, 0) for name, enqueue in sides.items()}
            if min(guess.values()) < _SHORT_US:
                raw.gaps = True
                raw.notes.append("kernels this short can't be timed one by one: host gaps are in the times")
        if raw.launches > sets.count and sets.count * sets.bytes < self.sweep.size:
            raw.notes.append("all buffer sets together fit in the L2: warm within a sample")
        ready = Prepared(play, restore, guess, raw)
        self._warm(ready)
        raw.known_bytes, raw.known_us = self.sweep.size, self._best_us(lambda _: self._cold())
        return ready

    def _all(self, enqueue: Enqueue, launches: int) -> None:
        for i in range(launches):
            enqueue(i % self.sets.count)

    def _launches(self, guess_us: float) -> int:
        if self.sets.shared_outputs:
            return 1  # the original's launches would all write to one global
        wanted = min(_MOST_LAUNCHES, max(1, math.ceil(_SAMPLE_US / guess_us)))
        # A second launch on one set would be timed on its own results, or find its data in the L2.
        warm = self.sets.count * self.sets.bytes < self.sweep.size
        return min(wanted, self.sets.count) if self.sets.inout or warm else wanted

    def _warm(self, ready: Prepared) -> None:
        once = sum(ready.guess_us.values()) * ready.raw.launches
        for _ in range(max(2, min(500, int(_WARM_US / once)))):
            for run in ready.play.values():
                # A kernel fed with its own results may take another path, or never end.
                ready.restore()
                run()
        self.device.synchronize()

    def rounds(self, ready: Prepared, checks: Mapping[str, int]) -> Outputs:
        """Fill `ready.raw` with samples until they are enough or the time is spent. Returns what so many
        launches of each side left, drawn at random."""
        raw, per_round = ready.raw, 2 * sum(ready.guess_us.values()) * ready.raw.launches
        # A kernel of seconds is given up early: too few samples to compare, but no endless run.
        least = min(LEAST_ROUNDS, max(2, int(_LONGEST_US / per_round)))
        most = max(least, min(_MOST_ROUNDS, int(_BUDGET_US / per_round)))
        used = min(raw.launches, self.sets.count)
        for name, count in checks.items():
            samples = sorted(self._rng.sample(range(2 * least), min(count, 2 * least)))
            raw.checked[name] = [(sample, self._rng.randrange(used)) for sample in samples]
        outputs: Outputs = {name: [] for name in SIDES}
        order, done = list(SIDES), 0
        raw.began = monotonic()
        while done < least or (done < most and not enough(raw.original, raw.port)):
            for _ in range(min(_STEP, least)):
                self._round(ready, [*order, *reversed(order)], outputs)
                order.reverse()
                done += 1
        raw.ended = monotonic()
        return outputs

    def _round(self, ready: Prepared, order: list[str], outputs: Outputs) -> None:
        """Two samples of each side; a checked one starts from poisoned outputs, which are then read."""
        raw = ready.raw
        self._forget_persisting(raw)
        spans: list[tuple[str, Any, Any]] = []
        taken = {name: len(getattr(raw, name)) for name in SIDES}
        self._cold(_LEAD)
        for name in order:
            number, taken[name] = taken[name], taken[name] + 1
            checked = [index for sample, index in raw.checked.get(name, []) if sample == number]
            if checked:
                self.sets.poison()
                self._cold(_LEAD)
            start, end = self._event(), self._event()
            ready.restore()
            self._cold(1 if raw.nodes else _LEAD)
            self._mark(start)
            ready.play[name]()
            self._mark(end)
            spans.append((name, start, end))
            if checked:
                self.device.synchronize()
                outputs[name].append(self.sets.outputs(checked[0], name == "original"))
                self._cold(_LEAD)
        self.device.synchronize()
        for name, start, end in spans:
            getattr(raw, name).append(self._elapsed_us(start, end) / raw.launches)
            self.device.call("cuEventDestroy", start)
            self.device.call("cuEventDestroy", end)

    def _forget_persisting(self, raw: Raw) -> None:
        """Make lines that a launch asked to keep in the L2 ordinary ones; a sweep then drives them out."""
        try:
            self.device.call("cuCtxResetPersistingL2Cache")
        except DeviceError as e:
            if (note := f"persisting lines of the L2 could not be reset ({e})") not in raw.notes:
                raw.notes.append(note)
