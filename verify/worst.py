"""The worst of each output over all runs of a comparison, and how far all its elements were off."""

from __future__ import annotations

from dataclasses import dataclass, field

from verify.errors import Errors, none_of
from verify.facts import Difference, ErrorFacts, WriterFacts
from verify.judge import Judged
from verify.tolerance import Comparison


@dataclass(slots=True)
class Worst:
    """Of every output by name; `rules` are those that judged."""

    rules: set[str] = field(default_factory=set)
    _differences: dict[str, Difference] = field(default_factory=dict)
    _errors: dict[str, tuple[Errors | None, Errors | None]] = field(default_factory=dict)

    def note(self, found: Judged, how: str = "") -> None:
        """Keep what one run showed of one output; `how` in words where it was not compared in place."""
        c, name = found.comparison, found.lane.name
        how = how or c.note
        self.rules.add(f"{c.rule}, in any order" if how else c.rule)
        self._add(name, c)
        before = self._differences.get(name)
        equal = c.bitwise_equal and (before is None or before.bitwise_equal)
        if before is not None and (before.bad, before.max_abs, before.elements) >= (
            c.bad,
            c.max_abs,
            c.elements,
        ):
            self._differences[name] = before.model_copy(update={"bitwise_equal": equal})
            return
        self._differences[name] = Difference(
            output=name,
            dtype=found.lane.dtype.name,
            rule=c.rule,
            elements=c.elements,
            max_abs=c.max_abs,
            max_rel=c.max_rel,
            max_ulp=c.max_ulp,
            bitwise_equal=equal,
            port_fp64=c.port_fp64,
            original_fp64=c.original_fp64,
            limit=c.limit,
            bad=c.bad,
            first_bad=c.first_bad,
            port_value=c.port_value,
            original_value=c.original_value,
            unwritten_by_both=found.unwritten_by_both,
            compared=how or None,
        )

    def blame(self, name: str, port: WriterFacts | None, original: WriterFacts | None) -> None:
        """Note which threads computed the first wrong element of an output."""
        found = self._differences[name]
        writers = {"port_writer": port, "original_writer": original}
        self._differences[name] = found.model_copy(update=writers)

    @property
    def outputs(self) -> list[Difference]:
        """As a verdict records them."""
        return [self._with_errors(d) for d in self._differences.values()]

    def _add(self, name: str, c: Comparison) -> None:
        """Errors against reference.py, once there are such, are not mixed with those against the original."""
        port, original = self._errors.get(name, (None, None))
        if c.port_errors is None or (original is not None and c.original_errors is None):
            return
        if original is None and c.original_errors is not None:
            port = None
        own = c.port_errors if port is None else port.plus(c.port_errors)
        theirs = c.original_errors if original is None else original.plus(c.original_errors or none_of(0))
        self._errors[name] = own, theirs

    def _with_errors(self, found: Difference) -> Difference:
        port, original = self._errors.get(found.output, (None, None))
        return found.model_copy(update={"port_error": _told(port), "original_error": _told(original)})


def _told(e: Errors | None) -> ErrorFacts | None:
    if e is None:
        return None
    return ErrorFacts(
        max_abs=e.max_abs, max_rel=e.max_rel, max_ulp=round(e.max_ulp, 3), histogram=list(e.counts)
    )
