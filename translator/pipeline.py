"""THE order of stages for one kernel, on one screen. Nothing else knows it.

    read ▸ model ▸ passes ▸ emit ▸ spec        here: pure functions of frozen data, no GPU, no DSL
    write ▸ compile ▸ parity ▸ bench           `batch.driver`: output, then `verify` in its own processes

Each stage reports into the Sink; the first that refuses ends the kernel. With a run folder, each leaves
one file there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from translator.analysis.spec_draft import draft_spec
from translator.diag.diagnostic import Sink
from translator.emit import Draft, emit
from translator.frontend.build import build_model
from translator.frontend.project import KernelReading
from translator.model.check import check
from translator.model.dump import dump_model
from translator.model.kernel import KernelModel
from translator.outcome import Stage
from translator.passes import lower

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Translation:
    """A kernel that got through: what its folder is made of."""

    model: KernelModel
    draft: Draft
    spec: str


def translate(
    reading: KernelReading, sink: Sink, stages: list[Stage], keep: Path | None = None
) -> Translation | None:
    """`reading` as a port; None if it was refused, and `sink` says why. `stages` gets one entry per stage."""

    def stage(name: str, work: Callable[[], T], text: Callable[[T], str] = str, file: str = "") -> T | None:
        start = time.perf_counter()
        made = work()
        stages.append(Stage(name, "REFUSED" if sink.refused else "OK", time.perf_counter() - start))
        if keep is not None and made is not None and file:
            (keep / file).write_text(text(made), encoding="utf-8", errors="surrogateescape")
        return None if sink.refused else made

    model = stage("model", lambda: checked(build_model(reading, sink)), dump_model, "10-model.txt")
    if model is None:
        return None
    lowered = stage("passes", lambda: checked(lower(model, sink)), dump_model, "20-lowered.txt")
    if lowered is None:
        return None
    draft = stage("emit", lambda: emit(lowered, sink), lambda d: d.source, "30-draft.py")
    if draft is None:
        return None
    spec = stage("spec", lambda: draft_spec(model, sink), file="40-spec.toml")
    return None if spec is None else Translation(model, draft, spec)


def checked(model: T) -> T:
    """`model` itself, after the checker has agreed with it; a broken one is a bug of the stage before."""
    if isinstance(model, KernelModel):
        problems = check(model)
        if problems:
            raise AssertionError(f"the model is broken: {problems[0]}")
    return model
