"""The JSON that commands print: one model per document, from which both the output and its schema come."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from translator.analysis.effort import Effort
from translator.batch.preflight import Analysis, Preflight
from translator.doctor import Examination
from translator.mapping.rule import Rule
from translator.outcome import Finding, Outcome, Question, Report, Stage
from verify.verdict import Failure


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DiagnosticEntry(Document):
    """`line` is 1-based in `path` (the CUDA source, or port.py for a finding about it); 0 for no place."""

    code: str
    severity: Literal["error", "warning", "note"]
    line: int
    message: str
    path: str = ""
    column: int = 0
    hint: str = ""

    @classmethod
    def of(cls, f: Finding) -> DiagnosticEntry:
        return cls(
            code=f.code,
            severity=f.severity,
            line=f.span.line,
            message=f.message,
            path=f.span.path,
            column=f.span.column,
            hint=f.hint,
        )


class StageEntry(Document):
    """`status` is OK, NOT_RUN (then `why` says why) or what the stage ended with."""

    stage: str
    status: str
    seconds: float
    why: str = ""

    @classmethod
    def of(cls, s: Stage) -> StageEntry:
        return cls(stage=s.name, status=s.status, seconds=round(s.seconds, 4), why=s.why)


class QuestionEntry(Document):
    """An open question of a spec: `line` is that of its `[[question]]` in spec.toml, 0 where it is not known.
    `answer = "…"` there closes it."""

    code: str
    text: str
    line: int = 0

    @classmethod
    def of(cls, q: Question) -> QuestionEntry:
        return cls(code=q.code, text=q.text, line=q.line)


class PortEntry(Document):
    """One kernel instantiation; or a file with no kernel to show for it, then `kernel` is empty.

    `out` is the folder that was written, null if none was; `questions` are the open ones of its spec.toml,
    which forbid PASSED.
    """

    source: str
    kernel: str
    instantiation: str
    status: str
    diagnostics: list[DiagnosticEntry]
    stages: list[StageEntry]
    out: str | None
    seconds: float
    line: int = 0
    questions: list[QuestionEntry] = []

    @classmethod
    def of(cls, o: Outcome) -> PortEntry:
        return cls(
            source=o.source,
            kernel=o.kernel,
            instantiation=o.instantiation,
            status=o.status,
            diagnostics=[DiagnosticEntry.of(f) for f in o.findings],
            stages=[StageEntry.of(s) for s in o.stages],
            out=o.out or None,
            seconds=round(o.seconds, 4),
            line=o.line,
            questions=[QuestionEntry.of(q) for q in o.questions],
        )


class PortSummary(Document):
    """`statuses` counts the entries by status; `not_run` says which stages were left out and why.

    `skipped` are folders that cuteport wrote, which a search for sources passes by.
    """

    kernels: int
    files: int
    statuses: dict[str, int]
    proven: str
    not_run: dict[str, str]
    seconds: float
    exit_code: int
    interrupted: bool = False
    run_folder: str | None = None
    skipped: list[str] = []


class PortDocument(Document):
    """What `cuteport port --json` prints."""

    kernels: list[PortEntry]
    summary: PortSummary

    @classmethod
    def of(cls, report: Report) -> PortDocument:
        summary = PortSummary(
            kernels=report.kernels,
            files=report.files,
            statuses=report.counts,
            proven=report.proven,
            not_run=report.not_run,
            seconds=round(report.seconds, 3),
            exit_code=report.exit_code,
            interrupted=report.interrupted,
            run_folder=report.run_folder or None,
            skipped=list(report.skipped),
        )
        return cls(kernels=[PortEntry.of(o) for o in report.outcomes], summary=summary)


class AnalyzeEntry(Document):
    """One kernel: `constructs` with how often each occurs, callees included; tier 0 if it can't be read."""

    source: str
    line: int
    kernel: str
    instantiation: str
    lines: int
    tier: int
    effort: Effort
    constructs: dict[str, int]
    diagnostics: list[DiagnosticEntry]

    @classmethod
    def of(cls, a: Analysis) -> AnalyzeEntry:
        return cls(
            source=a.outcome.source,
            line=a.outcome.line,
            kernel=a.outcome.kernel,
            instantiation=a.outcome.instantiation,
            lines=a.lines,
            tier=a.tier,
            effort=a.effort,
            constructs=a.constructs,
            diagnostics=[DiagnosticEntry.of(f) for f in a.outcome.findings],
        )


class AnalyzeSummary(Document):
    """`efforts` counts kernels by class, `refusals` by refusing code, `constructs` by construct used."""

    kernels: int
    files: int
    efforts: dict[Effort, int]
    refusals: dict[str, int]
    constructs: dict[str, int]
    seconds: float
    exit_code: int


class AnalyzeDocument(Document):
    """What `cuteport analyze --json` prints; `problems` are files that can't be read or hold no kernel."""

    kernels: list[AnalyzeEntry]
    problems: list[DiagnosticEntry]
    summary: AnalyzeSummary

    @classmethod
    def of(cls, p: Preflight) -> AnalyzeDocument:
        summary = AnalyzeSummary(
            kernels=len(p.kernels),
            files=p.files,
            efforts=p.efforts,
            refusals=p.refusals,
            constructs=p.constructs,
            seconds=round(p.seconds, 3),
            exit_code=p.exit_code,
        )
        problems = [DiagnosticEntry.of(f) for o in p.problems for f in o.findings]
        return cls(kernels=[AnalyzeEntry.of(k) for k in p.kernels], problems=problems, summary=summary)


class CheckEntry(Document):
    name: str
    verdict: Literal["ok", "warning", "missing", "not run"]
    detail: str
    costs: str
    needed: bool
    more: str = ""  # details, a line each


class DoctorDocument(Document):
    """What `cuteport doctor --json` prints."""

    checks: list[CheckEntry]
    can_port: bool
    can_compare: bool
    can_prove: bool

    @classmethod
    def of(cls, e: Examination) -> DoctorDocument:
        checks = [
            CheckEntry(
                name=c.name,
                verdict=c.verdict,
                detail=c.detail,
                costs=c.costs,
                needed=c.needed,
                more=c.more,
            )
            for c in e.checks
        ]
        return cls(checks=checks, can_port=e.can_port, can_compare=e.can_compare, can_prove=e.can_prove)


class ExplainDocument(Document):
    """What `cuteport explain CODE --json` prints; `page` is Markdown."""

    code: str
    page: str

    @classmethod
    def of(cls, code: str, page: str) -> ExplainDocument:
        return cls(code=code.strip().upper(), page=page)


class MapEntry(Document):
    """One mapping row; `code` is the diagnostic that refuses it or goes with it."""

    id: str
    cuda: str
    cute: str
    support: Literal["full", "partial", "idiom", "none"]
    types: list[str]
    caveat: str
    hint: str
    code: str
    since: str
    group: str

    @classmethod
    def of(cls, r: Rule) -> MapEntry:
        return cls(
            id=r.id,
            cuda=r.cuda,
            cute=r.cute,
            support=r.support,
            types=list(r.types),
            caveat=r.caveat,
            hint=r.hint,
            code=r.code,
            since=r.since,
            group=r.group,
        )


class MapDocument(Document):
    """What `cuteport map NAME --json` prints."""

    name: str
    rows: list[MapEntry] = Field(default_factory=list)

    @classmethod
    def of(cls, name: str, rules: list[Rule]) -> MapDocument:
        return cls(name=name, rows=[MapEntry.of(r) for r in rules])


def to_json(document: BaseModel) -> str:
    """The document as text; a path's bytes that are no UTF-8 are escaped, as Python's json does."""
    made = json.dumps(document.model_dump(mode="json"), indent=2, ensure_ascii=False)
    return made.encode("utf-8", "backslashreplace").decode()


NAMES = (
    "port",
    "analyze",
    "verify",
    "check",
    "bisect",
    "emulate",
    "replay",
    "map",
    "api",
    "explain",
    "doctor",
    "error",
    "verdict",
    "spec",
    "spec-check",
    "report",
    "corpus",
    "corpus-search",
    "corpus-search-for",
    "corpus-show",
    "corpus-written",
    "run",
    "runs",
    "runs-compare",
)


def schema_of(name: str) -> str:
    """The JSON schema of a document in NAMES, as text."""
    model = _MODELS.get(name)
    if model is None:
        module, kind = _ELSEWHERE[name]
        model = getattr(import_module(module), kind)
    return json.dumps(model.model_json_schema(), indent=2)


# Documents whose modules are only imported where they are needed.
_ELSEWHERE = {
    "api": ("translator.api_document", "ApiDocument"),
    "bisect": ("verify.check.bisect", "BisectReport"),
    "check": ("verify.check.model", "CheckReport"),
    "corpus": ("translator.batch.corpus_documents", "CorpusDocument"),
    "corpus-search": ("translator.batch.corpus_documents", "SearchDocument"),
    "corpus-search-for": ("translator.batch.corpus_documents", "SearchForDocument"),
    "corpus-show": ("translator.batch.corpus_documents", "ShowDocument"),
    "corpus-written": ("translator.batch.corpus_documents", "WrittenDocument"),
    "emulate": ("verify.emulate", "Emulated"),
    "replay": ("verify.replay", "Replay"),
    "report": ("verify.report.command", "ReportDocument"),
    "run": ("translator.batch.run_documents", "RunDocument"),
    "runs": ("translator.batch.run_documents", "RunsDocument"),
    "runs-compare": ("translator.batch.compare", "Comparison"),
    "spec": ("verify.spec", "Spec"),
    "spec-check": ("verify.spec_check", "SpecDocument"),
    "verdict": ("verify.verdict", "Verdict"),
    "verify": ("verify.verdict", "Report"),
}
_MODELS: dict[str, type[BaseModel]] = {
    "port": PortDocument,
    "analyze": AnalyzeDocument,
    "map": MapDocument,
    "explain": ExplainDocument,
    "doctor": DoctorDocument,
    "error": Failure,
}
