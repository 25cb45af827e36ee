"""THE order of stages for one kernel, on one screen. Nothing else knows it.

    read ▸ model ▸ passes ▸ emit ▸ spec        here: pure functions of frozen data, no GPU, no DSL
    write ▸ compile ▸ parity ▸ bench           `batch.driver`: output, then `verify` in its own processes

Each stage reports into the Sink; the first that refuses ends the kernel, or makes it a task (`outline`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from translator.analysis.spec_draft import draft_spec
from translator.diag.diagnostic import Sink
from translator.emit import Draft, emit
from translator.emit.module_names import PortNames, names_for
from translator.frontend.build import build_model
from translator.frontend.project import KernelReading
from translator.frontend.shell import Shell, shell_of
from translator.model.check import problems
from translator.model.kernel import KernelModel
from translator.outcome import Stage
from translator.passes import lower
from translator.passes.countdowns import right_level

T = TypeVar("T", KernelModel, Draft, str)
Watch = Callable[[str, KernelModel | Draft | str], None]  # told what each stage made, refused or not


@dataclass(frozen=True, slots=True)
class Translation:
    """A kernel that got through: what its folder is made of."""

    model: KernelModel
    draft: Draft
    spec: str


def translate(
    reading: KernelReading,
    sink: Sink,
    stages: list[Stage],
    watch: Watch,
    *,
    written: bool = True,
    opt_level: int | None = None,
) -> Translation | None:
    """`reading` as a port; None if it was refused, and `sink` says why. `stages` gets one entry per stage.

    `opt_level` pins the level at which the DSL makes machine code of the port; without it a right one is
    pinned where the default is known to be wrong.
    Without `written` nothing is made that only a target folder needs: no device slice, no spec.
    """

    def stage(name: str, work: Callable[[], T | None]) -> T | None:
        start = time.perf_counter()
        made = work()
        stages.append(Stage(name, "REFUSED" if sink.refused else "OK", time.perf_counter() - start))
        if made is not None:
            watch(name, made)
        return None if sink.refused else made

    if (model := stage("model", lambda: build_model(reading, sink, sliced=written))) is None:
        return None
    if (lowered := stage("passes", lambda: lower(sound(model), sink))) is None:
        return None
    sound(lowered, lowered=True)
    level = right_level(lowered, sink, opt_level)
    if (draft := stage("emit", lambda: emit(lowered, sink, level))) is None:
        return None
    if not written:
        return Translation(model, draft, "")
    if (spec := stage("spec", lambda: draft_spec(model, draft, sink))) is None:
        return None
    return Translation(model, draft, spec)


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a refused kernel from its original alone: what a task folder is made of. `unknown` are
    globals (name, type) that no spec describes."""

    model: KernelModel
    names: PortNames
    spec: str
    unknown: tuple[tuple[str, str], ...] = ()


def outline(
    reading: KernelReading, model: KernelModel | None, sink: Sink, opt_level: int | None = None
) -> Outline:
    """A spec for a kernel that `translate` refused, whatever port it gets; what it asks goes to `sink`.

    `model` is what the first stage made, None where it refused: then what can be read stands for it.
    """
    shell = Shell(model) if model is not None else shell_of(reading)
    names = names_for(shell.model, opt_level)
    return Outline(shell.model, names, draft_spec(shell.model, names, sink), shell.unknown)


class BrokenModelError(Exception):
    """The checker disagrees with a model: a bug of the stage that made it, told before it can spread."""


def sound(model: KernelModel, *, lowered: bool = False) -> KernelModel:
    """`model` itself, after the checker has agreed with it."""
    if found := problems(model, lowered=lowered):
        raise BrokenModelError(f"{found[0]} ({len(found)} in all)")
    return model
