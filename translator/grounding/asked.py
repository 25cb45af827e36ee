"""What `cuteport api` and a model's tool call are answered: names of the DSL and blocks, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from translator.grounding.api import Api, ApiEntry
from translator.grounding.blocks import BlockEntry, Blocks


@dataclass(frozen=True, slots=True)
class Answer:
    """`entry` or `block` is what was found; if neither was, `nearest` has what may be meant."""

    name: str
    entry: ApiEntry | None = None
    block: BlockEntry | None = None
    nearest: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return self.entry is not None or self.block is not None

    @property
    def what(self) -> Literal["dsl", "block", "unknown"]:
        return "dsl" if self.entry else "block" if self.block else "unknown"


def answer(name: str, api: Api | None, blocks: Blocks, most: int = 5) -> Answer:
    """What stands behind a name. Without an `api` only blocks are found. A bare name is looked for in
    `cutlass` and `cute` too."""
    name = name.strip().removesuffix("()")
    if api is not None:
        spellings = (name,) if "." in name else (name, f"cutlass.{name}", f"cute.{name}")
        entry = next((e for s in spellings if (e := api.lookup(s)) is not None), None)
        if entry is not None:
            return Answer(name, entry=entry)
    block = blocks.lookup(name) if "." not in name else None
    if block is not None:
        return Answer(name, block=block)
    near = [*(api.nearest(name, most) if api is not None else ()), *blocks.nearest(name, 2)]
    return Answer(name, nearest=tuple(dict.fromkeys(near))[:most])


def shown(told: Answer, blocks: Blocks) -> str:
    """An answer for people and prompts: name and signature, what is deprecated, the documentation."""
    if told.entry is not None:
        e = told.entry
        lines = [f"{e.name}{e.signature}    [{e.kind}]"]
        lines += [f"  deprecated: {e.deprecated}"] if e.deprecated else []
        return "\n".join([*lines, *(f"  {line}".rstrip() for line in e.doc.splitlines())])
    if told.block is not None:
        b = told.block
        lines = [f"{b.name}{b.signature}    [block {b.block}]"]
        lines += [f"  {text}" for text in (b.summary, blocks.summary(b.block)) if text]
        return "\n".join(lines)
    return f"no {told.name}; nearest: {', '.join(told.nearest) or 'none'}"
