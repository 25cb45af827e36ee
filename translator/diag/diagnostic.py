"""A diagnostic is a value put into a Sink, not an exception."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from translator.diag.codes import CODES

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a CUDA source: 1-based lines and columns, end inclusive of the last token's line."""

    path: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return ":".join([self.path, *(str(n) for n in (self.line, self.column) if n)])


NOWHERE = Span()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One coded finding. `message` comes from the code's template and `args`."""

    code: str
    span: Span = NOWHERE
    args: tuple[tuple[str, str], ...] = ()
    hint: str = ""

    @property
    def severity(self) -> Severity:
        return CODES[self.code].severity

    @property
    def refuses(self) -> bool:
        """True where the kernel can't be emitted because of this finding."""
        return CODES[self.code].severity == "error"

    @property
    def message(self) -> str:
        return CODES[self.code].message.format(**dict(self.args))

    def __str__(self) -> str:
        return f"{self.code}: {self.span}: {self.message}"


@dataclass(slots=True)
class Sink:
    """Collects diagnostics in order; the same code at the same place is kept once."""

    items: list[Diagnostic] = field(default_factory=list)

    def report(self, code: str, span: Span = NOWHERE, *, hint: str = "", **args: Any) -> None:
        made = Diagnostic(code, span, tuple((k, str(v)) for k, v in sorted(args.items())), hint)
        if made not in self.items:
            self.items.append(made)

    @property
    def refused(self) -> bool:
        return any(d.refuses for d in self.items)
