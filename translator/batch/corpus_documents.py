"""The JSON that `cuteport corpus` prints: models, from which the schemas come too."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from corpus.catalog import KERNEL, NOTES, Item
from corpus.entry import Proof
from corpus.problem import Problem
from corpus.search import Hit
from translator.batch.corpus_check import Checked
from translator.batch.corpus_search import Found, Searched
from translator.batch.corpus_search import Hit as KernelHit
from translator.outcome import Finding


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemEntry(Document):
    """`line` is 1-based in `path`; 0 for the whole file or folder."""

    code: str
    path: str
    line: int
    message: str

    @classmethod
    def of(cls, p: Problem) -> ProblemEntry:
        return cls(code=p.code, path=str(p.path), line=p.line, message=p.message)


class CorpusEntry(Document):
    """One entry; `proof` holds for it as it is now, and is absent where none does."""

    id: str
    family: str
    summary: str
    dtypes: list[str]
    proof: Proof | None = None
    problems: list[ProblemEntry]

    @classmethod
    def of(cls, c: Checked) -> CorpusEntry:
        e = c.item.entry
        return cls(
            id=e.id,
            family=e.family,
            summary=e.summary,
            dtypes=e.dtypes,
            proof=c.proof,
            problems=[ProblemEntry.of(p) for p in c.problems],
        )


class CorpusDocument(Document):
    """What `corpus list` and `corpus check` print. `problems` are those of entries that can't be read, and of
    blocks."""

    schema_version: Literal[1] = 1
    exit_code: int
    entries: list[CorpusEntry]
    problems: list[ProblemEntry]

    @classmethod
    def of(cls, exit_code: int, checked: list[Checked], others: list[Problem]) -> CorpusDocument:
        return cls(
            exit_code=exit_code,
            entries=[CorpusEntry.of(c) for c in checked],
            problems=[ProblemEntry.of(p) for p in others],
        )


class ShowDocument(Document):
    """What `corpus show` prints. `variants` by name with what each puts into the spec, `proven` the devices
    on which the entry was proven as it is now; `notes` (Markdown) and `kernel` (Python) are whole texts."""

    schema_version: Literal[1] = 1
    id: str
    family: str
    summary: str
    folder: str
    idioms: list[str]
    teaches: list[str]
    lessons: list[str]
    dtypes: list[str]
    arch_min: str
    dsl: str
    blocks: list[str]
    variants: dict[str, dict[str, str]]
    origin: str
    license: str
    proven: list[str]
    notes: str
    kernel: str

    @classmethod
    def of(cls, item: Item) -> ShowDocument:
        e = item.entry
        return cls(
            id=e.id,
            family=e.family,
            summary=e.summary,
            folder=str(item.folder),
            idioms=list(e.idioms),
            teaches=list(e.teaches),
            lessons=list(e.lessons),
            dtypes=list(e.dtypes),
            arch_min=e.arch_min,
            dsl=e.dsl,
            blocks=list(e.blocks),
            variants={v.name: v.values for v in e.variant},
            origin=e.provenance.origin,
            license=e.provenance.license,
            proven=list(dict.fromkeys(p.device for p in e.verified if item.proof(p.device))),
            notes=item.text(NOTES),
            kernel=item.text(KERNEL),
        )


class WrittenDocument(Document):
    """What `corpus expand`, `inline`, `add` and `new` print. `written` are the folders or kernels that were
    written, `stale` the entries whose proofs are out of date by that, `next` what is to be done or said by a
    person, `diff` the text of a new entry."""

    schema_version: Literal[1] = 1
    exit_code: int
    written: list[str]
    stale: list[str]
    next: list[str]
    diff: str
    problems: list[ProblemEntry]


class HitEntry(Document):
    """`words` are those of the query that were found."""

    id: str
    family: str
    summary: str
    score: float
    words: list[str]

    @classmethod
    def of(cls, h: Hit) -> HitEntry:
        e = h.item.entry
        return cls(id=e.id, family=e.family, summary=e.summary, score=h.score, words=list(h.words))


class SearchDocument(Document):
    """What `corpus search` prints, best first."""

    schema_version: Literal[1] = 1
    hits: list[HitEntry]


class FindingEntry(Document):
    """A diagnostic of the search; `line` is 0 where it has no place."""

    code: str
    severity: Literal["error", "warning", "note"]
    path: str
    line: int
    message: str

    @classmethod
    def of(cls, f: Finding) -> FindingEntry:
        return cls(code=f.code, severity=f.severity, path=f.span.path, line=f.span.line, message=f.message)


class ExemplarEntry(Document):
    """An entry for a kernel. `reasons` are in words; `parts` of the score lie between 0 and 1, by name."""

    id: str
    family: str
    summary: str
    score: float
    reasons: list[str]
    parts: dict[str, float]

    @classmethod
    def of(cls, h: KernelHit) -> ExemplarEntry:
        e = h.item.entry
        return cls(
            id=e.id,
            family=e.family,
            summary=e.summary,
            score=h.ranked.score,
            reasons=list(h.reasons),
            parts=dict(h.ranked.parts),
        )


class KernelEntry(Document):
    """One kernel, its facts, and the entries that it can be ported after, best first. `origin` is `model`, or
    `text` where the frontend refused it with `refused_by`."""

    source: str
    kernel: str
    origin: Literal["model", "text"]
    refused_by: list[str]
    idioms: list[str]
    access: list[str]
    sync: list[str]
    dtypes: list[str]
    arch: str
    hits: list[ExemplarEntry]

    @classmethod
    def of(cls, f: Found) -> KernelEntry:
        facts = f.query.facts
        return cls(
            source=f.query.path,
            kernel=facts.kernel,
            origin=facts.origin,
            refused_by=list(facts.refused_by),
            idioms=list(facts.idioms),
            access=list(facts.access),
            sync=list(facts.sync),
            dtypes=list(facts.dtypes),
            arch=facts.arch,
            hits=[ExemplarEntry.of(h) for h in f.hits],
        )


class SearchForDocument(Document):
    """What `corpus search --for` prints."""

    schema_version: Literal[1] = 1
    exit_code: int
    kernels: list[KernelEntry]
    problems: list[FindingEntry]

    @classmethod
    def of(cls, s: Searched) -> SearchForDocument:
        return cls(
            exit_code=s.exit_code,
            kernels=[KernelEntry.of(f) for f in s.kernels],
            problems=[FindingEntry.of(f) for f in s.problems],
        )
