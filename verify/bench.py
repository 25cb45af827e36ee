"""The bench stage, parent side: conclusions from raw samples that the child measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from verify.bench_values import References, difference
from verify.clocks import Watch, sm_mhz, throttled_by
from verify.counts import CountFacts
from verify.facts import BenchFacts, CeilingFacts, FirstCall, LaunchTiming, Timing
from verify.flags import slowed
from verify.floor import floor_of, impossible, least_us, moved, traffic_of
from verify.inputs import generate
from verify.judge import Outputs
from verify.rating import quantiles, rate, ratio_interval
from verify.resolve import Resolved, resolve
from verify.sides import ORIGINAL, ChildSide, Inputs, SideError, read_outputs
from verify.spec import Case, Spec
from verify.verdict import StageResult, Status

_BENCH_SECONDS = 300.0
_SPREAD = 4  # launches of the original that show how far results vary where the order of atomics decides
_LAUNCH_BOUND_US = 10.0
_FAST_MATH = frozenset({"--use_fast_math", "-use_fast_math"})

Ceilings = Callable[[], tuple[CeilingFacts | None, str]]
Build = Callable[[], tuple[float | None, str]]  # microseconds that building the original takes, or why not


@dataclass(frozen=True, slots=True)
class BenchJob:
    """What is timed. `build` is the compiler of the original and what it was given, `dropped` the spec's
    flags that it was not given; `names` as in original.Built."""

    target: str
    spec: Spec
    cubin: Path
    names: Mapping[str, str]
    cases: Sequence[str] = ()
    seed: int = 0
    order_dependent: bool = False
    build: Sequence[str] = ()
    dropped: Sequence[str] = ()
    counts: CountFacts | None = None


@dataclass(slots=True)
class Measured:
    """One case's facts, and what must fail it: a status with code and message."""

    facts: BenchFacts
    fault: tuple[Status, str, str] | None = None


def timed_cases(spec: Spec, cases: Sequence[str]) -> list[tuple[Case, Resolved]]:
    """The launchable case with the most bytes among those asked for, `large` ones first; then the largest
    typical one, if that is another."""
    chosen = [c for c in spec.case if not cases or c.name in cases]
    found = [(c, r) for c in chosen if (r := resolve(spec, c)).launchable]
    if not found:
        return []

    def weight(one: tuple[Case, Resolved]) -> tuple[bool, int]:
        return one[0].role == "large", sum(moved(spec, one[1]))

    main = max(found, key=weight)
    typical = [one for one in found if one[0].role == "typical" and one is not main]
    return [main, *([max(typical, key=weight)] if typical else [])]


def timing(samples: Sequence[float], bytes_moved: int | None = None) -> Timing:
    """Median and spread of samples in microseconds; GB/s for `bytes_moved` at the median."""
    spread: list[float] = np.percentile(samples, (10, 50, 90)).tolist()
    low, middle, high = spread
    known = bytes_moved is not None and middle > 0
    return Timing(
        median_us=round(middle, 4),
        p10_us=round(low, 4),
        p90_us=round(high, 4),
        samples=len(samples),
        gbytes_per_s=round((bytes_moved or 0) / middle / 1000.0, 2) if known else None,
        quantiles=quantiles(samples),
    )


@dataclass(slots=True)
class _Notes:
    """What a reader must know about the times; `doubtful` ones forbid a rating."""

    told: list[str] = field(default_factory=list)
    doubtful: bool = False

    def add(self, words: str, doubtful: bool = False) -> None:
        if words not in self.told:
            self.told.append(words)
        self.doubtful |= doubtful


def conclude(
    job: BenchJob,
    case: Case,
    resolved: Resolved,
    reply: Mapping[str, Any],
    states: Sequence[Mapping[str, str]],
    ceilings: tuple[CeilingFacts | None, str],
) -> BenchFacts:
    """Facts from the child's raw samples (bench_jobs.bench) and the GPU's states meanwhile."""
    raw = reply["raw"]
    volume = traffic_of(job.spec, resolved, job.counts).total
    ratio, low, high = ratio_interval(raw["original"], raw["port"])
    port, original = timing(raw["port"], volume), timing(raw["original"], volume)
    notes = _Notes(list(raw["notes"]), doubtful=raw["gaps"])
    nodes = raw["nodes"]
    if nodes and nodes["port"] != nodes["original"]:
        notes.add(f"the port's graph has {nodes['port']} nodes, the original's {nodes['original']}")
    reasons = throttled_by([dict(s) for s in states])
    for words, grave in reasons:
        if grave:
            notes.add(f"the GPU throttled: {words}", doubtful=True)
    if original.median_us < _LAUNCH_BOUND_US:
        notes.add(f"under {_LAUNCH_BOUND_US:g} us: mostly the cost of a launch")
    if slow := slowed(job.build):
        notes.add(f"the original is built with {slow}: no fair opponent", doubtful=True)
    if _FAST_MATH & set(job.spec.original.flags):
        notes.add("the original is built with fast math, which the port has no switch for")
    floor = None
    if ceilings[0] is None:
        notes.add(f"no floor: {ceilings[1]}")
    else:
        floor = floor_of(
            job.spec,
            resolved,
            ceilings[0],
            job.counts,
            launches=raw["launches"],
            sets=raw["sets"],
            l2=reply["l2"],
            port_us=port.median_us,
            original_us=original.median_us,
        )
    samples = min(len(raw["port"]), len(raw["original"]))
    return BenchFacts(
        case=case.name,
        grid=resolved.grid,
        block=resolved.block,
        rating="AMBIGUOUS" if notes.doubtful else rate(samples, low, high),
        ratio=round(ratio, 4),
        ratio_low=round(low, 4),
        ratio_high=round(high, 4),
        port=port,
        original=original,
        method=raw["method"],
        launches_per_sample=raw["launches"],
        buffer_sets=raw["sets"],
        bytes_per_launch=volume,
        clocks=dict(states[-1]) if states else {},
        sm_mhz=sm_mhz([dict(s) for s in states]),
        throttled_by=[words for words, _ in reasons],
        notes=notes.told,
        launch={
            side: LaunchTiming(call=timing(one["call"]), done=timing(one["done"]))
            for side, one in reply["launch"].items()
        },
        first_call={side: _first(one) for side, one in reply["first"].items()},
        floor=floor,
        original_build=[*job.build, *(f"without {flag}" for flag in job.dropped)],
        checked=raw["checked"],
    )


def _first(told: Mapping[str, float]) -> FirstCall:
    return FirstCall(**{name: round(us, 1) for name, us in told.items()})


def _fault(
    job: BenchJob,
    facts: BenchFacts,
    resolved: Resolved,
    reply: Mapping[str, Any],
    inputs: Inputs,
    outputs: dict[str, list[Outputs]],
    references: References | None,
) -> tuple[Status, str, str] | None:
    """Why this case's times are those of no right launch, or None."""
    raw = reply["raw"]
    if differs := difference(job.spec, resolved, inputs, outputs, job.order_dependent, references):
        return Status.WRONG_VALUES, "CP9103", f"case {facts.case}: {differs}"
    nodes = raw["nodes"].get("port", raw["launches"])
    if nodes < raw["launches"]:
        message = f"case {facts.case}: {raw['launches']} calls of the port made {nodes} launches"
        return Status.WRONG_VALUES, "CP9103", message
    if facts.floor is not None:
        least = least_us(raw["known_bytes"], reply["l2"], facts.floor.gbytes_per_s)
        if raw["known_us"] < least:
            message = (
                f"case {facts.case}: the clock is false in the port's process: by it "
                f"{raw['known_bytes']} bytes are read in {raw['known_us']:.2f} us, and that takes "
                f"{least:.2f} us or more"
            )
            return Status.WRONG_VALUES, "CP9105", message
    if facts.floor is not None and impossible(facts.floor, facts.port.median_us):
        size = sum(traffic_of(job.spec, resolved, job.counts).certain)
        message = (
            f"case {facts.case}: port {facts.port.median_us:.2f} us; {size} bytes at "
            f"{facts.floor.gbytes_per_s:.0f} GB/s take {facts.floor.impossible_us:.2f} us or more"
        )
        return Status.WRONG_VALUES, "CP9105", message
    return None


def _measure(
    job: BenchJob,
    case: Case,
    resolved: Resolved,
    port: ChildSide,
    ceilings: Ceilings,
    references: References | None,
    first: bool,
) -> Measured:
    """Time one case, then look at what it left. SideError."""
    with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
        inputs = Inputs(generate(job.spec, resolved, job.seed, "spec"), Path(folder))
        out = tempfile.mkdtemp(dir=port.child.scratch)
        request = {
            "do": "bench",
            "module": port.load.get("module", ""),
            "case": case.name,
            "inputs": inputs.files(),
            "out": out,
            "cubin": str(job.cubin),
            "names": dict(job.names),
            "first": first,
            "spread": _SPREAD if job.order_dependent else 1,
        }
        with Watch() as watch:
            reply = port.ask(request, _BENCH_SECONDS)
        outputs: dict[str, list[Outputs]] = {
            side: [read_outputs(f, Path(out)) for f in files] for side, files in reply["outputs"].items()
        }
        raw = reply["raw"]
        states = watch.seen.between(raw["began"], raw["ended"])
        facts = conclude(job, case, resolved, reply, states, ceilings())
        return Measured(facts, _fault(job, facts, resolved, reply, inputs, outputs, references))


def first_build(place: str, arch: str, timeout: float) -> tuple[float | None, str]:
    """Build the original in a process of its own: microseconds, or None and why not."""
    with closing(ChildSide(ORIGINAL, {}, arch, timeout)) as child:
        try:
            reply = child.once({"do": "first_build", "target": place, "arch": arch}, timeout)
        except SideError as e:
            return None, e.message.splitlines()[0][:200] if e.message else e.how
    return float(reply["build_us"]), ""


def run_bench(
    job: BenchJob,
    port: ChildSide,
    ceilings: Ceilings,
    build: Build,
    references: References | None = None,
) -> StageResult:
    """Time both sides in the port's process, which has passed parity. Nothing else may use the GPU now;
    `references` begins and ends between the times of two cases."""
    start = time.monotonic()

    def result(
        status: Status, code: str | None, message: str, facts: BenchFacts | None = None
    ) -> StageResult:
        return StageResult(
            stage="bench",
            target=job.target,
            status=status,
            code=code,
            message=message,
            seconds=round(time.monotonic() - start, 3),
            bench=facts,
        )

    chosen = timed_cases(job.spec, job.cases)
    if not chosen:
        return result(Status.NOT_RUN, None, "no case can be launched")
    try:
        _ = port.child
        load = {"do": "load_original", "target": port.load["target"], "cubin": str(job.cubin)}
        port.ask({**load, "names": dict(job.names)}, _BENCH_SECONDS)
        main, *others = [
            _measure(job, case, resolved, port, ceilings, references, first=case is chosen[0][0])
            for case, resolved in chosen
        ]
    except SideError as e:
        return result(Status.AMBIGUOUS, "CP9104", e.message)
    facts = _with_build(main.facts, build()).model_copy(update={"also": [m.facts for m in others]})
    for one in (main, *others):
        if one.fault is not None:
            return result(*one.fault, facts)
    words = _words(facts)
    if facts.rating == "AMBIGUOUS":
        why = f"; {'; '.join(facts.notes)}" if facts.notes else ""
        return result(Status.AMBIGUOUS, "CP9102", words + why, facts)
    if facts.ratio_high < job.spec.bench.floor:
        return result(Status.SLOWER, "CP9101", f"{words}, under {job.spec.bench.floor}", facts)
    return result(Status.PASSED, None, "; ".join([words, *map(_words, facts.also)]), facts)


def _with_build(facts: BenchFacts, built: tuple[float | None, str]) -> BenchFacts:
    """The original's first call, with its build."""
    us, why = built
    if us is None:
        return facts.model_copy(
            update={"notes": [*facts.notes, f"the original's build was not timed: {why}"]}
        )
    first = facts.first_call["original"].model_copy(update={"build_us": round(us, 1)})
    return facts.model_copy(update={"first_call": {**facts.first_call, "original": first}})


def _words(facts: BenchFacts) -> str:
    words = f"{facts.case}: port {facts.port.median_us:.2f} us, original {facts.original.median_us:.2f} us: "
    words += f"{facts.ratio:.3f} [{facts.ratio_low:.3f}, {facts.ratio_high:.3f}] of the original's speed"
    if facts.floor is not None:
        words += f"; the device's floor is {facts.floor.floor_us:.2f} us"
    return words
