"""Where a run's results go besides the terminal: files for CI systems, annotations for GitHub."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from verify.check.github import workflow_commands
from verify.check.junit import junit
from verify.check.model import CheckReport
from verify.check.sarif import sarif
from verify.check.told import Suite, Told, findings_of, findings_of_verdicts, suites_of, suites_of_verdicts
from verify.exits import EXIT_ENVIRONMENT
from verify.files import write_text
from verify.verdict import Report


class UsageError(Exception):
    """The request can't be met as it was put; the text says why."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """`junit` and `sarif` are files to be written; UsageError where their folders do not exist, before work
    of hours is done in vain. Annotations go to stderr, which GitHub reads too: stdout may be one document."""

    junit: Path | None = None
    sarif: Path | None = None
    github: bool = False

    @classmethod
    def of(cls, junit: Path | None, sarif: Path | None, github: bool | None = None) -> Self:
        """As flags say it; annotations by default where GitHub says that it is there."""
        return cls(junit, sarif, os.environ.get("GITHUB_ACTIONS") == "true" if github is None else github)

    def __post_init__(self) -> None:
        for path in (self.junit, self.sarif):
            if path is not None and path.is_dir():
                raise UsageError(f"{path} can't be written: it is a folder")
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{path} can't be written: there is no folder {path.parent}")

    def write(self, report: CheckReport) -> CheckReport:
        """Write what was asked for; the report, with another exit code where that failed."""
        findings = findings_of(report.targets, report.fail_on)
        code = self._write(
            findings,
            suites_of(report.targets, report.fail_on),
            "cuteport check",
            report.seconds,
            report.exit_code,
        )
        return report.model_copy(update={"exit_code": code})

    def write_verdicts(self, report: Report) -> int:
        """The same for `verify`; the exit code."""
        seconds = sum(s.seconds for v in report.verdicts for s in v.stages)
        findings = findings_of_verdicts(report.verdicts, report.remarks)
        suites = suites_of_verdicts(report.verdicts, report.remarks)
        return self._write(findings, suites, "cuteport verify", seconds, report.exit_code)

    def _write(self, findings: list[Told], suites: list[Suite], name: str, seconds: float, code: int) -> int:
        if self.github:
            print(
                *workflow_commands(findings), sep="\n", end="\n" * bool(findings), file=sys.stderr, flush=True
            )
        texts: list[tuple[Path | None, Callable[[], str]]] = [
            (self.junit, lambda: junit(suites, name, seconds)),
            (self.sarif, lambda: sarif(findings, code)),
        ]
        for path, text in texts:
            if path is None:
                continue
            try:
                write_text(path, text())
            except OSError as e:
                print(f"{path} can't be written: {e.strerror or e}", file=sys.stderr)
                code = max(code, EXIT_ENVIRONMENT)
        return code
