"""The bench stage, parent side: conclusions from raw samples that the child measured."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from verify.environment import gpu_state
from verify.facts import BenchFacts, Timing
from verify.inputs import generate
from verify.judge import judge, output_lanes
from verify.resolve import Resolved, resolve
from verify.sides import ChildSide, Inputs, SideError, read_outputs
from verify.spec import Case, Spec
from verify.verdict import StageResult, Status

Rating = Literal["FASTER", "SAME", "SLOWER", "AMBIGUOUS"]
_MARGIN = 0.02  # the share by which two times must differ to be called different
_WIDEST = 0.15  # an interval wider than this decides nothing
_LEAST_SAMPLES = 10
_BOOTSTRAP = 2000
_BENCH_SECONDS = 300.0
# Bits of clocks_event_reasons.active that mean the hardware slowed itself down.
_THROTTLED = 0x8 | 0x20 | 0x40 | 0x80


def largest_case(spec: Spec, cases: Sequence[str]) -> tuple[Case, Resolved] | None:
    """The launchable case with the most bytes among those asked for, `large` ones first."""
    chosen = [c for c in spec.case if not cases or c.name in cases]
    found = [(c, r) for c in chosen if (r := resolve(spec, c)).launchable]
    if not found:
        return None
    return max(found, key=lambda cr: (cr[0].role == "large", traffic(spec, cr[1])))


def traffic(spec: Spec, resolved: Resolved) -> int:
    """Bytes that one launch moves at least: inputs read once, outputs written once, inout both."""
    return sum(
        resolved.elems[a.name] * a.element_bytes * (2 if a.role == "inout" else 1) for a in spec.buffers
    )


def summary(samples: Sequence[float], moved: int) -> Timing:
    """Median and spread of samples in microseconds; GB/s for `moved` bytes at the median."""
    spread: list[float] = np.percentile(samples, (10, 50, 90)).tolist()
    low, middle, high = spread
    rate = moved / middle / 1000.0 if middle > 0 else None
    return Timing(
        median_us=round(middle, 4),
        p10_us=round(low, 4),
        p90_us=round(high, 4),
        samples=len(samples),
        gbytes_per_s=None if rate is None else round(rate, 2),
    )


def ratio_interval(original: Sequence[float], port: Sequence[float]) -> tuple[float, float, float]:
    """median(original) / median(port) and its 95 % bootstrap interval; the same samples give the same one."""
    o, p = np.asarray(original), np.asarray(port)
    rng = np.random.default_rng(0)
    top = np.median(o[rng.integers(0, len(o), (_BOOTSTRAP, len(o)))], axis=1)
    low = np.median(p[rng.integers(0, len(p), (_BOOTSTRAP, len(p)))], axis=1)
    interval = np.percentile(top / low, (2.5, 97.5))
    return float(np.median(o) / np.median(p)), float(interval[0]), float(interval[1])


def rate(samples: int, low: float, high: float) -> Rating:
    """What an interval of original time / port time says."""
    if samples < _LEAST_SAMPLES or not math.isfinite(high) or high - low > _WIDEST:
        return "AMBIGUOUS"
    if low > 1 + _MARGIN:
        return "FASTER"
    if high < 1 - _MARGIN:
        return "SLOWER"
    return "SAME" if low >= 1 - 2 * _MARGIN and high <= 1 + 2 * _MARGIN else "AMBIGUOUS"


def throttled(states: Sequence[Mapping[str, str]]) -> str:
    """The throttle bits seen, or "" where there were none or nobody could say."""
    for state in states:
        text = state.get("clocks_event_reasons.active", "")
        if text.startswith("0x") and (seen := int(text, 16) & _THROTTLED):
            return hex(seen)
    return ""


def conclude(
    spec: Spec, case: Case, resolved: Resolved, raw: Mapping[str, Any], states: Sequence[Mapping[str, str]]
) -> BenchFacts:
    """Facts from the child's raw samples (timing.Raw as a dict) and the GPU's states around them."""
    moved = traffic(spec, resolved)
    ratio, low, high = ratio_interval(raw["original"], raw["port"])
    notes = list(raw["notes"])
    nodes = raw["nodes"]
    if nodes and nodes["port"] != nodes["original"]:
        notes.append(f"the port's graph has {nodes['port']} nodes, the original's {nodes['original']}")
    rating = rate(min(len(raw["port"]), len(raw["original"])), low, high)
    if bits := throttled(states):
        notes.append(f"the GPU throttled ({bits})")
        rating = "AMBIGUOUS"
    if any("host gaps" in n for n in raw["notes"]):
        rating = "AMBIGUOUS"
    return BenchFacts(
        case=case.name,
        grid=resolved.grid,
        block=resolved.block,
        rating=rating,
        ratio=round(ratio, 4),
        ratio_low=round(low, 4),
        ratio_high=round(high, 4),
        port=summary(raw["port"], moved),
        original=summary(raw["original"], moved),
        method=raw["method"],
        launches_per_sample=raw["launches"],
        buffer_sets=raw["sets"],
        bytes_per_launch=moved,
        clocks=dict(states[-1]) if states else {},
        notes=notes,
    )


def run_bench(
    target: str,
    spec: Spec,
    cases: Sequence[str],
    seed: int,
    port: ChildSide,
    cubin: Path,
    names: Mapping[str, str],
    order_dependent: bool,
) -> StageResult:
    """Time both sides in the port's process, which has passed parity. Nothing else may use the GPU now."""
    start = time.monotonic()

    def result(
        status: Status, code: str | None, message: str, facts: BenchFacts | None = None
    ) -> StageResult:
        return StageResult(
            stage="bench",
            target=target,
            status=status,
            code=code,
            message=message,
            seconds=round(time.monotonic() - start, 3),
            bench=facts,
        )

    chosen = largest_case(spec, cases)
    if chosen is None:
        return result(Status.NOT_RUN, None, "no case can be launched")
    case, resolved = chosen
    try:
        with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
            inputs = Inputs(generate(spec, resolved, seed, "spec"), Path(folder))
            child = port.child
            load = {"do": "load_original", "target": port.load["target"], "cubin": str(cubin)}
            port.ask({**load, "names": dict(names)}, _BENCH_SECONDS)
            before = gpu_state()
            out = tempfile.mkdtemp(dir=child.scratch)
            job = {"do": "bench", "case": case.name, "inputs": inputs.files(), "out": out}
            reply = port.ask(job, _BENCH_SECONDS)
            after = gpu_state()
            outputs = {side: read_outputs(files) for side, files in reply["outputs"].items()}
    except SideError as e:
        return result(Status.AMBIGUOUS, "CP9104", e.message)
    for arg, lane in output_lanes(spec):
        # The order of atomics differs between the two launches; parity has judged such outputs.
        if order_dependent:
            break
        found = judge(arg, lane, [outputs["port"]], [outputs["original"]], spec.tolerance, None, False)
        if found.code is not None:
            return result(Status.WRONG_VALUES, "CP9103", found.message)
    facts = conclude(spec, case, resolved, reply["raw"], [before, after])
    words = f"port {facts.port.median_us:.2f} us, original {facts.original.median_us:.2f} us: "
    words += f"{facts.ratio:.3f} [{facts.ratio_low:.3f}, {facts.ratio_high:.3f}] of the original's speed"
    if facts.rating == "AMBIGUOUS":
        why = f"; {'; '.join(facts.notes)}" if facts.notes else ""
        return result(Status.AMBIGUOUS, "CP9102", words + why, facts)
    if facts.ratio_high < spec.bench.floor:
        return result(Status.SLOWER, "CP9101", f"{words}, under {spec.bench.floor}", facts)
    return result(Status.PASSED, None, words, facts)
