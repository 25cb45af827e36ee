"""The JSON that `cuteport api` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from translator.diag.diagnostic import Diagnostic
from translator.grounding.api import Api
from translator.grounding.asked import Answer


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NameEntry(Document):
    """One name that was asked for. `what` is dsl, block (then `block` is its file's name) or unknown (then
    `nearest` has what may be meant); `kind` is module, class, function, property, value or block."""

    asked: str
    what: Literal["dsl", "block", "unknown"]
    name: str = ""
    kind: str = ""
    signature: str = ""
    summary: str = ""
    doc: str = ""
    deprecated: str = ""
    block: str = ""
    nearest: list[str] = []

    @classmethod
    def of(cls, told: Answer) -> NameEntry:
        if told.entry is not None:
            e = told.entry
            return cls(
                asked=told.name,
                what="dsl",
                name=e.name,
                kind=e.kind,
                signature=e.signature,
                summary=e.summary,
                doc=e.doc,
                deprecated=e.deprecated,
            )
        if told.block is not None:
            b = told.block
            return cls(
                asked=told.name,
                what="block",
                name=b.name,
                kind="block",
                signature=b.signature,
                summary=b.summary,
                block=b.block,
            )
        return cls(asked=told.name, what="unknown", nearest=list(told.nearest))


class ApiDocument(Document):
    """What `cuteport api --json` prints. `version` is the DSL's, null where there is none; then `problems`
    says why, and only blocks were looked for."""

    schema_version: Literal[1] = 1
    exit_code: int
    version: str | None
    names: list[NameEntry]
    problems: list[str]

    @classmethod
    def of(
        cls, code: int, told: Sequence[Answer], api: Api | None, problems: Sequence[Diagnostic]
    ) -> ApiDocument:
        return cls(
            exit_code=code,
            version=api.version if api is not None else None,
            names=[NameEntry.of(t) for t in told],
            problems=[f"{d.code}: {d.message}" for d in problems],
        )
