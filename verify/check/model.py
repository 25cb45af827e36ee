"""What a check finds: the document of `check --json`, and what each run folder holds of a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from verify.codes import known
from verify.exits import BUG, EXIT_BUG, EXIT_DONE, EXIT_ENVIRONMENT, EXIT_FAILED, EXIT_USAGE, LACKING
from verify.facts import CompileFacts, Strict
from verify.verdict import Verdict


class Outcome(StrEnum):
    """What became of a target since its baseline, gravest first."""

    BROKEN = "BROKEN"
    UNREADABLE = "UNREADABLE"
    MISSING = "MISSING"
    SLOWER = "SLOWER"
    UNPROVEN = "UNPROVEN"
    STALE = "STALE"
    CHANGED = "CHANGED"
    NEW = "NEW"
    OK = "OK"


# What each means, and the code it goes by where nothing graver has one; the README's table is this one.
MEANINGS: dict[Outcome, tuple[str | None, str]] = {
    Outcome.BROKEN: (None, "it failed a check; or its spec can't be used, which is exit 2"),
    Outcome.UNREADABLE: ("CP9203", "its baseline is damaged, of an unknown schema or of another device"),
    Outcome.MISSING: ("CP9206", "its folder is not there, or went away meanwhile"),
    Outcome.SLOWER: (
        "CP9202",
        "values are right, but it is slower than its baseline, or than its spec allows",
    ),
    Outcome.UNPROVEN: ("CP9207", "values could not be compared on this machine"),
    Outcome.STALE: ("CP9204", "values are right; its own files changed since the baseline"),
    Outcome.CHANGED: ("CP9201", "values are right; PTX, resources, errors, counts or output bits changed"),
    Outcome.NEW: ("CP9205", "values are right; it has no baseline for this device"),
    Outcome.OK: (None, "as recorded"),
}
_VALUES_RIGHT = frozenset({Outcome.SLOWER, Outcome.STALE, Outcome.CHANGED, Outcome.NEW, Outcome.OK})
FAIL_ON: tuple[Outcome, ...] = tuple(Outcome)[:5]

ChangeKind = Literal["source", "ptx", "resources", "error", "bits", "counts", "time"]
Side = Literal["original", "port", "both"]


class Change(Strict):
    """One thing that is not as recorded; `before` is absent where nothing was recorded of it."""

    kind: ChangeKind
    what: str
    side: Side = "both"
    before: str | None = None
    after: str | None = None
    words: str


class VersionChange(Strict):
    """Absent: not installed then, or not now."""

    name: str
    before: str | None = None
    after: str | None = None


How = Literal["run", "baseline", "cache", "this run", "none"]


class Values(Strict):
    """Where the word on the values comes from. `run`: both sides were run now. `baseline`, `cache`,
    `this run`: the code of both sides, all that the port asks of the device, spec, reference and verifier are
    those of a comparison that passed, `source`, at `verified` (UTC). `key` is their hash. `none`: not
    compared, and `words` say why."""

    how: How
    words: str
    source: str = ""
    verified: str = ""
    key: str = ""


class TargetResult(Strict):
    """One target. `line` is one of `file`; `verdict` is there where it was verified now, else `port` and
    `original` say what was compiled. `resumed`: taken over from the run that was continued."""

    target: str
    kernel: str = ""
    outcome: Outcome
    code: str | None = None
    message: str = ""
    file: str = ""
    line: int | None = None
    changes: list[Change] = Field(default_factory=list)
    versions: list[VersionChange] = Field(default_factory=list)
    baseline: str = ""
    notes: list[str] = Field(default_factory=list)
    values: Values
    port: CompileFacts | None = None
    original: CompileFacts | None = None
    verdict: Verdict | None = None
    recorded: bool = False
    resumed: bool = False
    seconds: float = 0.0
    inputs: str = ""  # hash of all that this result depends on

    @model_validator(mode="after")
    def _coded(self) -> TargetResult:
        if self.code is not None and not known(self.code):
            raise ValueError(f"unknown code {self.code}")
        if self.outcome is not Outcome.OK and (self.code is None or not self.message):
            raise ValueError(f"{self.outcome} has a code and says why")
        if (
            self.outcome in (Outcome.OK, Outcome.CHANGED, Outcome.STALE, Outcome.NEW)
            and self.values.how == "none"
        ):
            raise ValueError(f"{self.outcome} speaks of values that were not compared")
        return self


class CheckReport(Strict):
    """What `check --json` prints. `targets` in the order of their names; `missing` are those that were not
    reached before the run was interrupted."""

    schema_version: Literal[1] = 1
    exit_code: int
    device: str
    arch: str
    run: str
    fail_on: list[Outcome]
    counts: dict[Outcome, int]
    how: dict[How, int]
    versions: dict[str, str]
    targets: list[TargetResult]
    not_reached: list[str] = Field(default_factory=list)
    recorded: int = 0
    interrupted: bool = False
    seconds: float = 0.0


_LACKING = LACKING | {"CP9208"}
_USAGE = frozenset({"CP6001", "CP9206"})  # a spec that can't be used, a folder that is not there


def exit_code(results: Iterable[TargetResult], fail_on: Iterable[Outcome]) -> int:
    """The highest that applies: 4 for a bug, 3 where the machine lacks something; for an outcome that fails
    and was not accepted 2 where it is a spec or folder that can't be used, otherwise 1."""
    failing = set(fail_on)
    return max((_exit(r, failing) for r in results), default=EXIT_DONE)


def _exit(r: TargetResult, failing: Collection[Outcome]) -> int:
    if r.code == BUG:
        return EXIT_BUG
    if r.code in _LACKING:
        return EXIT_ENVIRONMENT
    if r.outcome not in failing or r.recorded:
        return EXIT_DONE
    if r.outcome is Outcome.UNPROVEN:
        return EXIT_ENVIRONMENT
    return EXIT_USAGE if r.code in _USAGE else EXIT_FAILED


def counted(results: Iterable[TargetResult]) -> dict[Outcome, int]:
    """How many targets ended with each outcome, gravest first."""
    found = Counter(r.outcome for r in results)
    return {o: found[o] for o in Outcome if found[o]}
