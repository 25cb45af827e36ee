"""Refused kernels and a model: task folders go to the loop, and what passed goes back as a port."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from translator.batch.assist import OWN_DRAFT, Came, Tell, Wanted, ask, session
from translator.batch.run_file import alone_in
from translator.diag.codes import CODES
from translator.diag.diagnostic import Diagnostic, Span
from translator.outcome import NOT_RUN, Finding, Outcome, Stage
from translator.output import Wanted as Named
from translator.output import folder_names
from translator.settings import Settings


def fill(outcomes: list[Outcome], settings: Settings, folder: Path, tell: Tell) -> None:
    """Replace each refused outcome that has a task folder by what the model made of it. LlmError where the
    endpoint can't be used at all, before anything is sent."""
    at = [k for k, o in enumerate(outcomes) if o.status == "REFUSED" and o.out]
    named = [outcomes[k] for k in at]
    names = folder_names([Named(o.kernel, o.instantiation, o.source, o.line) for o in named])
    wanted = [Wanted(n, Path(o.out), Path(o.out), "port") for n, o in zip(names, named, strict=True)]
    with alone_in(folder):
        work = session(settings, folder)
        try:
            ask(work, wanted, tell)
        finally:  # of a run that is interrupted, what was finished is told
            came = {
                e.target: Came(w, e) for w in wanted for e in work.ledger.entries if e.target == str(w.target)
            }
            for k in at:
                if (c := came.get(outcomes[k].out)) is not None:
                    outcomes[k] = _ported(outcomes[k], c) if c.passed else _not_ported(outcomes[k], c)
    if why := work.ledger.unwritten:
        path = str(work.ledger.path)
        finding = Finding("CP0002", "error", why, Span(path))
        outcomes.append(Outcome(path, "", "", "REFUSED", findings=(finding,)))


def _ported(outcome: Outcome, came: Came) -> Outcome:
    """An outcome that `judge` takes up: what the compiler refused is told, and is no fault of the port."""
    entry = came.entry
    turns = f"{entry.turns} turn{'s' * (entry.turns != 1)}"
    by = entry.model if entry.turns else OWN_DRAFT
    said = Diagnostic("CP5400", Span(outcome.source, outcome.line), (("by", by), ("turns", turns)))
    before = tuple(replace(f, severity="note") if f.severity == "error" else f for f in outcome.findings)
    return replace(
        outcome,
        status=NOT_RUN,
        findings=(*before, Finding.of(said)),
        stages=(*outcome.stages, Stage("model", "OK", entry.seconds)),
        seconds=outcome.seconds + entry.seconds,
    )


def _not_ported(outcome: Outcome, came: Came) -> Outcome:
    entry = came.entry
    message = entry.why or CODES["CP5404"].message
    finding = Finding(
        entry.code or "CP5404", "error", message, Span(outcome.source, outcome.line), entry.folder
    )
    return replace(
        outcome,
        findings=(*outcome.findings, finding),
        stages=(*outcome.stages, Stage("model", "REFUSED", entry.seconds, message)),
        seconds=outcome.seconds + entry.seconds,
    )
