"""`cuteport analyze`: every kernel through the translation, nothing written; what it uses, what stops it."""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from translator.analysis.effort import EFFORTS, Effort, effort_of
from translator.batch.driver import Run, translate_all
from translator.batch.work import Ported
from translator.outcome import Outcome, Report
from translator.settings import Settings

_COLUMNS = (
    "source",
    "line",
    "kernel",
    "instantiation",
    "lines",
    "tier",
    "effort",
    "constructs",
    "refused by",
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """One kernel: `lines` of source, constructs with counts, and the class of work. Tier 0: not known."""

    outcome: Outcome
    constructs: dict[str, int]
    tier: int
    lines: int
    effort: Effort

    @property
    def refused_by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.code for f in self.outcome.findings if f.severity == "error"))


@dataclass(slots=True)
class Preflight:
    """What was found in all the paths. `problems` are files that could not be read or hold no kernel."""

    kernels: list[Analysis] = field(default_factory=list)
    problems: list[Outcome] = field(default_factory=list)
    files: int = 0
    seconds: float = 0.0
    report: Report = field(default_factory=Report)

    @property
    def efforts(self) -> dict[Effort, int]:
        counted = Counter(k.effort for k in self.kernels)
        return {effort: counted[effort] for effort in EFFORTS}

    @property
    def refusals(self) -> dict[str, int]:
        """Refusing code → kernels it stops, the most frequent first."""
        counted = Counter(code for k in self.kernels for code in k.refused_by)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def constructs(self) -> dict[str, int]:
        """Construct → kernels that use it, the most frequent first."""
        counted = Counter(name for k in self.kernels for name in k.constructs)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def exit_code(self) -> int:
        """A kernel that would be refused is what the command is for; a file that can't be read is not."""
        bugs = [replace(k.outcome, status="CRASHED") for k in self.kernels if "CP0001" in k.refused_by]
        if not self.kernels and not self.problems:
            return 1
        counted = replace(self.report, outcomes=[*self.problems, *bugs])
        return counted.exit_code if counted.outcomes or counted.interrupted else 0

    def csv(self) -> str:
        """One row per kernel, with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for k in self.kernels:
            o = k.outcome
            used = "; ".join(k.constructs)
            row = (o.source, o.line, o.kernel, o.instantiation, k.lines, k.tier, k.effort, used)
            writer.writerow((*row, "; ".join(k.refused_by)))
        return text.getvalue()


def analyze(
    paths: Sequence[str], settings: Settings, tell: Callable[[str, int, int, str], None]
) -> Preflight:
    """Look at every kernel of `paths`."""
    start = time.perf_counter()
    run = Run(settings, Report(), [])
    try:
        translate_all(run, paths, tell, census=True)
    except KeyboardInterrupt:
        run.report.interrupted = True
        run.report.halted = f"{run.report.files_read} of {run.report.files} files read"
    found = Preflight(files=run.report.files, report=run.report)
    for one in run.ported:
        if one.outcome.kernel:
            found.kernels.append(_analysis(one))
        else:
            found.problems.append(one.outcome)
    found.seconds = time.perf_counter() - start
    return found


def _analysis(one: Ported) -> Analysis:
    refused = [f.code for f in one.outcome.findings if f.severity == "error"]
    return Analysis(one.outcome, dict(one.constructs), one.tier, one.lines, effort_of(refused))
