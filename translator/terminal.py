"""What people see: results on stdout, progress on stderr. No decision is taken here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from translator.diag.render import Sources, render
from translator.outcome import GOOD, NOT_RUN, Finding, Outcome, Report

if TYPE_CHECKING:
    from translator.batch.compare import Comparison
    from translator.batch.improve import Done
    from translator.batch.preflight import Preflight
    from translator.batch.run_file import Listed
    from translator.doctor import Examination
    from translator.loop.ledger import Entry

_SHORT = 72  # columns of a message in the table
_SEVERITY_STYLE = {"error": "red", "warning": "yellow", "note": "cyan"}
_VERDICT_STYLE = {"ok": "green", "warning": "yellow", "missing": "red", "not run": "dim"}


def console_of() -> Console:
    """Coloured on a terminal, plain and unwrapped elsewhere, so that output can be searched and diffed."""
    plain = not sys.stdout.isatty()
    return Console(soft_wrap=plain, highlight=False, width=10_000 if plain else None)


_BEGINNINGS = {
    "translated": ("translating", "file"),
    "measured": ("measuring buffers in the emulator for", "draft"),
    "compiled": ("compiling", "port"),
    "compared": ("comparing with the original:", "port"),
    "asked": ("asking the model about", "kernel"),
    "replayed": ("replaying what the model said about", "kernel"),
}


class Progress:
    """What is being done, on stderr: on a terminal a line that is rewritten, elsewhere a plain line as each
    stage begins (`done` is 0). Starts no thread."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._length = 0

    def __call__(self, stage: str, done: int, total: int, what: str = "") -> None:
        verb, unit = _BEGINNINGS.get(stage, (stage, ""))
        begins = f"{verb} {counted(total, unit)}"
        if not self._shows:
            if not done:
                print(begins, file=sys.stderr, flush=True)
        else:
            text = (f"{stage} {done}/{total} {what}" if done else begins)[:100]
            sys.stderr.write("\r" + text.ljust(self._length))
            sys.stderr.flush()
            self._length = len(text)

    def clear(self) -> None:
        if self._shows and self._length:
            sys.stderr.write("\r" + " " * self._length + "\r")
            sys.stderr.flush()
            self._length = 0


def tell_limits(report: Report) -> None:
    """On stderr: how far an interrupted run got, and which folders were passed by."""
    if report.skipped:
        shown = ", ".join(report.skipped[:5]) + (", …" if len(report.skipped) > 5 else "")
        print(f"skipped, as cuteport wrote them: {shown}; name one to port it", file=sys.stderr)
    if report.interrupted:
        print(f"interrupted: {report.halted or 'what was finished is kept'}", file=sys.stderr)


def show_port(report: Report) -> None:
    """The kernels in a table, what was said about them, and what was proven."""
    console = console_of()
    _show_findings(console, report.outcomes)
    styles = ["green" if o.status in GOOD else "red" for o in report.outcomes]
    print_table(console, _kernel_rows(report.outcomes), styles)
    counts = ", ".join(f"{n} {status}" for status, n in report.counts.items())
    what = f"{counted(report.kernels, 'kernel')} from {counted(report.files, 'file')}"
    what += f" in {report.seconds:.1f} s"
    console.print(Text(f"{what}: {counts or 'nothing to port'}"))
    console.print(Text(f"proven: {report.proven}"))
    reasons: dict[str, list[str]] = {}
    for stage, why in report.not_run.items():
        reasons.setdefault(why, []).append(stage)
    for why, stages in reasons.items():
        console.print(Text(f"{', '.join(stages)} {NOT_RUN}: {why}"))
    if report.run_folder:
        console.print(Text(f"run folder: {report.run_folder}"))


def _kernel_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    return [(o.name, o.status, f"{o.seconds:.2f} s", _what_of(o)) for o in outcomes]


def print_table(console: Console, rows: Sequence[tuple[str, ...]], styles: Sequence[str]) -> None:
    """Columns padded to their widest cell, the last one left as it is."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for row, style in zip(rows, styles, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        console.print(Text("  ".join([*cells, row[-1]]).rstrip(), style=style))


def _what_of(outcome: Outcome) -> str:
    worst = next((f for f in outcome.findings if f.severity == "error"), None)
    reason = f"{worst.code} {_short(worst.message)}" if worst else ""
    return " ".join(part for part in (outcome.out, reason) if part)


def _short(message: str) -> str:
    """Enough to know a message by: all of it stands above the table."""
    return message if len(message) <= _SHORT else f"{message[: _SHORT - 1].rstrip()}…"


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _show_findings(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Each finding once, however many kernels share it."""
    sources = Sources()
    seen: set[Finding] = set()
    for outcome in outcomes:
        for finding in outcome.findings:
            if finding not in seen:
                seen.add(finding)
                head, _, rest = render(finding, sources).partition("\n")
                console.print(Text(head, style=_SEVERITY_STYLE[finding.severity]))
                console.print(Text(rest + "\n" if rest else ""))


def show_analysis(found: Preflight) -> None:
    """One line per kernel, then totals by class of work, by refusal and by construct."""
    console = console_of()
    _show_findings(console, found.problems)
    rows = [("kernel", "lines", "tier", "effort", "uses; or what stops it")]
    for k in found.kernels:
        worst = [f for f in k.outcome.findings if f.severity == "error"]
        stops = "; ".join(dict.fromkeys(f"{f.code} {f.message}" for f in worst))
        name = f"{k.outcome.source}:{k.outcome.line} {k.outcome.name}"
        rows.append((name, str(k.lines), str(k.tier), k.effort, stops or ", ".join(k.constructs)))
    styles = ["bold", *("" if k.effort == "automatic" else "yellow" for k in found.kernels)]
    print_table(console, rows, styles)
    total = len(found.kernels)
    files = counted(found.files, "file")
    console.print(Text(f"{counted(total, 'kernel')} in {files}, {found.seconds:.1f} s"))
    console.print(Text(f"effort: {_effort(found)}"))
    for title, counts in (("refused by", found.refusals), ("uses", found.constructs)):
        if counts:
            console.print(Text(f"{title}: " + ", ".join(f"{n} {name}" for name, n in counts.items())))


def _effort(found: Preflight) -> str:
    """`14 kernels automatic, 2 need minutes, …`."""
    said: list[str] = []
    for effort, n in found.efforts.items():
        number = str(n) if said else counted(n, "kernel")
        need = "" if effort == "automatic" else "needs " if n == 1 else "need "
        said.append(f"{number} {need}{effort}")
    return ", ".join(said)


def show_doctor(examined: Examination, verbose: bool = False) -> None:
    """One line per check, what each lack costs, and what can be done here; details where `verbose`."""
    console = console_of()
    hidden = False
    for check in examined.checks:
        line = Text(f"{check.verdict:<8}", style=_VERDICT_STYLE[check.verdict])
        console.print(line.append(f"{check.name}: {check.detail}", style=""))
        for more in check.more.splitlines() if verbose else ():
            console.print(Text(f"         {more}"))
        hidden = hidden or (bool(check.more) and not verbose)
        if check.costs:
            console.print(Text(f"         costs: {check.costs}"))
    if examined.can_prove:
        said = "kernels can be ported, compiled, compared with their originals and timed here"
    elif examined.can_compare:
        said = "kernels can be ported, compiled and compared in the emulator here; timing needs a GPU machine"
    elif examined.can_port:
        said = "kernels can be ported and compiled here; comparing them needs a GPU or the emulator (above)"
    else:
        said = "kernels can't be ported here"
    console.print(Text(said))
    if hidden:
        console.print(Text("--verbose shows details"))


def show_ledger(done: Done) -> None:
    """What a run with a model came to, kernel by kernel, and what it cost."""
    console = console_of()
    rows: list[tuple[str, ...]] = [("kernel", "mode", "outcome", "turns", "tokens", "money", "seconds", "")]
    rows += [
        (
            e.kernel,
            e.mode,
            e.outcome,
            str(e.turns),
            str(e.prompt_tokens + e.answer_tokens),
            money(e.money),
            f"{e.seconds:.1f}",
            " ".join(part for part in (_gain(e), e.code, _short(e.why)) if part),
        )
        for e in done.entries
    ]
    print_table(console, rows, ["", *("green" if e.outcome == "PASSED" else "red" for e in done.entries)])
    for problem in done.problems:
        print(f"error {problem}", file=sys.stderr)
    passed = sum(e.outcome == "PASSED" for e in done.entries)
    console.print(
        Text(f"{passed} of {counted(len(done.entries), 'kernel')} PASSED; run folder: {done.folder}")
    )


def money(dollars: float | None) -> str:
    """As in `$0.0123`; a question mark where the model has no price."""
    return "?" if dollars is None else f"${dollars:.4f}"


def _gain(e: Entry) -> str:
    return f"{e.gain:.2f}x" if e.gain is not None else "not timed" if e.outcome == "PASSED" != e.mode else ""


def show_runs(found: Sequence[Listed]) -> None:
    """The runs with a model, a line each."""
    rows: list[tuple[str, ...]] = [("run", "started", "model", "passed", "tokens", "money")]
    for r in found:
        passed = sum(e.outcome == "PASSED" for e in r.entries)
        tokens = sum(e.prompt_tokens + e.answer_tokens for e in r.entries)
        known = [e.money for e in r.entries if e.money is not None]
        cost = sum(known) if len(known) == len(r.entries) else None
        row = (
            r.folder,
            r.run.started,
            r.run.model,
            f"{passed} of {len(r.run.asked)}",
            str(tokens),
            money(cost),
        )
        rows.append(row)
    if len(rows) == 1:
        print("no run with a model here")
    else:
        print_table(console_of(), rows, [""] * len(rows))


def show_comparison(found: Comparison) -> None:
    """Two runs kernel by kernel: what passed, what it cost."""
    rows: list[tuple[str, ...]] = [("kernel", "mode", "old", "new", "tokens", "")]
    for p in found.pairs:
        sides = [("-" if e is None else e.outcome) for e in (p.old, p.new)]
        tokens = [(0 if e is None else e.prompt_tokens + e.answer_tokens) for e in (p.old, p.new)]
        lost = "lost" if p.lost else ""
        rows.append((p.kernel, p.mode, *sides, f"{tokens[0]} -> {tokens[1]}", lost))
    print_table(console_of(), rows, ["", *("red" if p.lost else "" for p in found.pairs)])
