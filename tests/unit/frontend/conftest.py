"""Lifts a kernel out of a CUDA text, for the tests of the lifter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend import clang, lift_decl
from translator.frontend.host import index_of
from translator.frontend.lift_decl import LiftedKernel
from translator.model.check import problems
from translator.model.dump import dump_model
from translator.model.kernel import KernelModel

Lift = Callable[[str], tuple[LiftedKernel | None, Sink]]


def lift_text(text: str) -> tuple[LiftedKernel | None, Sink]:
    """The first instantiation of the last kernel of `text`, which need not be a file."""
    unit = clang.parse("unit.cu", text=text)
    kernel = clang.kernels_in(unit)[-1]
    cursor = kernel.cursor
    if kernel.is_template:
        found = [c for c in index_of(unit).named.values() if c.spelling == kernel.name]
        cursor = found[0]
    sink = Sink()
    return lift_decl.lift_kernel(unit, cursor, sink), sink


@pytest.fixture
def lift() -> Lift:
    return lift_text


@pytest.fixture
def dumped() -> Callable[[str], str]:
    """Text → dump of the whole model, which must be sound."""

    def run(text: str) -> str:
        made, sink = lift_text(text)
        assert made is not None, [str(d) for d in sink.items]
        model = KernelModel(made.kernel, made.functions, made.globals)
        assert problems(model) == []
        return dump_model(model)

    return run


@pytest.fixture
def refusals() -> Callable[[str], list[tuple[str, int, str]]]:
    """Text → (code, line, message) of each error."""

    def run(text: str) -> list[tuple[str, int, str]]:
        made, sink = lift_text(text)
        assert made is None
        return [(d.code, d.span.line, d.message) for d in sink.items if d.refuses]

    return run
