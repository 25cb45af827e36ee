"""Sealed verdicts made by hand: what verify would have written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus.catalog import Item
from translator.batch.corpus_check import Checked, conclude, expand_all
from verify.certificate import sealed
from verify.facts import (
    BenchFacts,
    CompileFacts,
    MutantFacts,
    MutationFacts,
    ParityFacts,
    RunFacts,
    Timing,
)
from verify.files import write_json
from verify.run import hashes
from verify.spec_file import load_spec
from verify.verdict import Asked, StageResult, Status, Verdict


def mutation(killed: int, survivors: tuple[str, ...]) -> MutationFacts:
    every = [MutantFacts(id=f"k-{n}", kind="bound", line=n, what="x", fate="killed") for n in range(killed)]
    every += [MutantFacts(id=f"s-{w}", kind="bound", line=1, what=w, fate="survived") for w in survivors]
    counted = len(every)
    return MutationFacts(
        available=counted, seed=0, seconds=1.0, killed=killed, survived=len(survivors), equivalent=0,
        invalid=0, unjudged=0, share=killed / counted if counted else None, kinds={}, codes={}, mutants=every,
    )  # fmt: skip


def bench(ratio: float) -> BenchFacts:
    time = Timing(median_us=1.0, p10_us=1.0, p90_us=1.0, samples=9)
    return BenchFacts(
        case="one", grid=(1, 1, 1), block=(32, 1, 1), rating="SAME", ratio=ratio, ratio_low=ratio,
        ratio_high=ratio, port=time, original=time, method="", launches_per_sample=1, buffer_sets=1,
        bytes_per_launch=1,
    )  # fmt: skip


def verdict_of(
    target: Path,
    tried: MutationFacts | None = None,
    ratio: float | Sequence[float] | None = None,
    status: Status = Status.PASSED,
    gpu: str = "",
) -> Verdict:
    """A verdict about `target` as it is; not PASSED means that values were wrong."""
    name = str(target)
    compiled = CompileFacts(
        arch="sm_90a", compile_seconds=1.0, ptx_bytes=1, ptx_sha256="", cubin_bytes=1, cubin_sha256="",
        kernels=[],
    )  # fmt: skip
    run = RunFacts(case="one", seed=0, values="spec", grid=(1, 1, 1), block=(32, 1, 1), counted=True)
    parity = ParityFacts(
        device="gpu" if gpu else "emulator", runs=[run], outputs=[], rule="fp64", deterministic=True,
        order_dependent=False, port_repeats=1, mutation=tried,
    )  # fmt: skip
    stages = [
        StageResult(stage="static", target=name, status=Status.PASSED),
        StageResult(stage="compile", target=name, status=Status.PASSED, compile=compiled),
        StageResult(stage="parity", target=name, status=Status.PASSED, parity=parity)
        if status is Status.PASSED
        else StageResult(stage="parity", target=name, status=status, code="CP7012", message="x[0] differs"),
    ]
    if ratios := [ratio] if isinstance(ratio, float) else list(ratio or ()):
        facts = bench(ratios[0]).model_copy(update={"also": [bench(r) for r in ratios[1:]]})
        stages.append(StageResult(stage="bench", target=name, status=Status.PASSED, bench=facts))
    return sealed(
        Verdict(
            target=name, kernel="twice", status=status, proven="by hand", stages=stages,
            hashes=hashes(target, load_spec(target)), environment={"gpu": {"name": gpu}} if gpu else {},
            asked=Asked(stages=["static"], device="emulator", arch="sm_90a", timeout=1.0),
        )
    )  # fmt: skip


def compiled_only(target: Path) -> Verdict:
    """A verdict about `target` whose values were not compared."""
    made = verdict_of(target)
    not_run = StageResult(stage="parity", target=str(target), status=Status.NOT_RUN, message="no GPU")
    update = {"status": Status.COMPILED, "stages": [*made.stages[:2], not_run]}
    return sealed(Verdict.model_validate(made.model_copy(update=update).model_dump()))


def write_verdict(target: Path, verdict: Verdict) -> None:
    write_json(target / "verdict.json", verdict.model_dump(mode="json", exclude_none=True))


def concluded(item: Item, into: Path, *given: dict[str, Any]) -> Checked:
    """What becomes of an entry by verdicts made of what is given for each variant."""
    checked = Checked(item)
    targets = list(expand_all([item], into))
    conclude(checked, [verdict_of(t, **g) for t, g in zip(targets, given, strict=True)])
    return checked
