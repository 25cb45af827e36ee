"""What became of each kernel that was asked for, and the exit code that follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from translator.diag.diagnostic import NOWHERE, Diagnostic, Severity, Span

# Statuses that are as good as this machine can tell; NOT_RUN is what --no-verify asked for.
GOOD = frozenset({"PASSED", "COMPILED", "NOT_RUN"})
# How a stage is told apart from "it was not tried": see Stage.status.
NOT_RUN = "NOT_RUN"

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_ENVIRONMENT, EXIT_BUG, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130

# In the order they are told.
_PROVEN = {
    "PASSED on gpu": "gave the original's values on a GPU",
    "PASSED on emulator": "gave the original's values in the emulator",
    "COMPILED": "compiled, values not compared",
    "ORIGINAL_SUSPECT": "not judged, as the original itself is at fault",
    NOT_RUN: "translated, nothing checked",
}

# Codes that decide the exit code by themselves; every other error means "refused or failed a check".
_EXIT_OF_CODE = {
    "CP0001": EXIT_BUG,
    "CP0002": EXIT_ENVIRONMENT,
    "CP1001": EXIT_USAGE,  # no such file or folder
    "CP1007": EXIT_USAGE,  # compile commands that can't be used
    "CP1012": EXIT_USAGE,  # an --instantiate that can't be had
    "CP1015": EXIT_USAGE,  # no kernel of the name asked for
    "CP6001": EXIT_USAGE,  # a spec that can't be used
    "CP5402": EXIT_ENVIRONMENT,  # nothing that could judge a candidate
    "CP9001": EXIT_ENVIRONMENT,  # no CuTe DSL to compile with
    "CP9005": EXIT_ENVIRONMENT,  # no room for scratch files
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic of any stage, ready to be shown; `span.line` is 0 where it has no place."""

    code: str
    severity: Severity
    message: str
    span: Span = NOWHERE
    hint: str = ""

    @classmethod
    def of(cls, d: Diagnostic) -> Finding:
        return cls(d.code, d.severity, d.message, d.span, d.hint)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one kernel: `status` is OK, NOT_RUN or a failure's name; `why` says why not OK."""

    name: str
    status: str
    seconds: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What only a person can say of a kernel, by the code that asks it; `line` is its line of spec.toml."""

    code: str
    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One kernel instantiation, or a file that could not be read (then `kernel` is "")."""

    source: str
    kernel: str
    instantiation: str
    status: str
    line: int = 0
    findings: tuple[Finding, ...] = ()
    stages: tuple[Stage, ...] = ()
    out: str = ""  # the folder written, "" if none was
    seconds: float = 0.0
    device: str = "gpu"  # where its values were compared, if they were: "gpu" or "emulator"
    questions: tuple[Question, ...] = ()  # open ones of the spec in `out`

    @property
    def name(self) -> str:
        return self.instantiation or self.kernel or self.source


@dataclass(slots=True)
class Report:
    """Everything a run did. `interrupted` says that Ctrl-C ended it before all was tried, `halted` how far
    it got. `skipped` are folders of ports, which a search for sources passes by."""

    outcomes: list[Outcome] = field(default_factory=list)
    files: int = 0  # translation units to read
    files_read: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    halted: str = ""
    skipped: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()  # what this machine lacks for a stage that was asked for
    run_folder: str = ""

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(o.status for o in self.outcomes).items()))

    @property
    def kernels(self) -> int:
        return sum(bool(o.kernel) for o in self.outcomes)

    @property
    def proven(self) -> str:
        """What was shown about the ports, in one sentence."""
        shown = Counter(f"PASSED on {o.device}" if o.status == "PASSED" else o.status for o in self.outcomes)
        said = [f"{shown[s]} {words}" for s, words in _PROVEN.items() if shown[s]]
        return "; ".join(said) or "nothing"

    @property
    def not_run(self) -> dict[str, str]:
        """Stage → why it was not run for some kernel; every reason once."""
        found: dict[str, dict[str, None]] = {}
        for outcome in self.outcomes:
            for stage in outcome.stages:
                if stage.status == NOT_RUN:
                    found.setdefault(stage.name, {})[stage.why] = None
        return {name: "; ".join(reasons) for name, reasons in found.items()}

    @property
    def exit_code(self) -> int:
        """The gravest that applies: 4 over 3 over 2 over 1 over 0."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        codes = [EXIT_DONE if o.status in GOOD else EXIT_FAILED for o in self.outcomes]
        codes += [c for o in self.outcomes for c in _exits(o.findings)]
        return max(codes + [EXIT_ENVIRONMENT] * bool(self.lacking), default=EXIT_FAILED)


def _exits(findings: Iterable[Finding]) -> list[int]:
    return [_EXIT_OF_CODE.get(f.code, EXIT_DONE) for f in findings]
