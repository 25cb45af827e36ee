"""Rewrites of the kernel model, one per file, from C++'s shape to what CuTe DSL can say."""

from __future__ import annotations

from translator.diag.diagnostic import Sink
from translator.model.kernel import KernelModel
from translator.passes.captures import capture
from translator.passes.exits import structure
from translator.passes.fields import split_parameters
from translator.passes.guards import keep_apart
from translator.passes.integers import tidy
from translator.passes.pointers import keep_whole
from translator.passes.statements import linearise
from translator.passes.unroll import unroll_stepped


def lower(model: KernelModel, sink: Sink) -> KernelModel:
    """Everything the emitter needs, in order; refusals go to `sink`."""
    model = split_parameters(model)
    model = capture(model)
    model = linearise(model, sink)
    model = tidy(model)
    model = structure(model)
    model = tidy(model)
    model = keep_apart(model)
    model = unroll_stepped(model)
    return keep_whole(model)
