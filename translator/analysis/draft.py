"""What a drafted spec is made of, and what is asked while it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from translator.diag.codes import CODES
from translator.diag.diagnostic import Sink, Span
from translator.model.kernel import KernelModel, Launch


class Port(Protocol):
    """What the draft needs to know of the port."""

    @property
    def entry(self) -> str: ...
    @property
    def renames(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def opt_level(self) -> int | None: ...


@dataclass(slots=True)
class Draft:
    """A spec while it is drafted."""

    model: KernelModel
    sink: Sink
    launch: Launch | None
    grid: list[str] = field(default_factory=list)
    block: list[str] = field(default_factory=list)
    smem: str = "0"
    sizes: dict[str, int | None] = field(default_factory=dict)  # name → value in the source, if constant
    questions: list[tuple[str, str]] = field(default_factory=list)
    assumed: list[tuple[str, object]] = field(default_factory=list)  # scalars nobody gave a value
    # Of those the floats that are arguments. Like what is in a buffer they may be anything, and `verify`
    # tries others too: they are told, and not asked about.
    drawn: list[str] = field(default_factory=list)

    def ask(self, code: str, at: Span | None = None, **args: str) -> None:
        """A question in the spec, and a note in the report, at the kernel or where it comes from."""
        text = CODES[code].message.format(**args)
        if (code, text) not in self.questions:
            self.questions.append((code, text))
            self.sink.report(code, at or self.model.kernel.span, **args)
