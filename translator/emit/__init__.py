"""A lowered kernel model as CuTe DSL source text for people."""

from translator.diag.diagnostic import Sink
from translator.emit.module import Draft, build
from translator.emit.readable import check_readable
from translator.model.kernel import KernelModel


def emit(model: KernelModel, sink: Sink, opt_level: int | None = None) -> Draft:
    """The port of a lowered model. What can't be written is reported to `sink`, and the text is then void."""
    draft = build(model, sink, opt_level)
    if not sink.refused:
        check_readable(draft.source, model.kernel.span, sink)
    return draft


__all__ = ["Draft", "emit"]
