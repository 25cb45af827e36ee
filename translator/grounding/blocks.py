"""The corpus's building blocks: which functions they define, and their text to be read or inlined."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpus.inline import BLOCKS, Block, load_blocks
from translator.grounding.suggest import like, plain


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """A function or class of a block. `summary` are the first lines of its own docstring."""

    name: str
    block: str
    signature: str
    summary: str


class Blocks:
    """The blocks of one folder."""

    def __init__(self, blocks: dict[str, Block]) -> None:
        self._blocks = blocks
        self._entries = {e.name: e for b in blocks.values() for e in _entries(b)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the blocks, sorted."""
        return tuple(sorted(self._blocks))

    def entries(self) -> tuple[BlockEntry, ...]:
        """Every public function, sorted by block and place in it."""
        return tuple(self._entries.values())

    def lookup(self, name: str) -> BlockEntry | None:
        """The entry of a function, or the main one of a block by the block's name."""
        found = self._entries.get(name)
        return found or next((e for e in self._entries.values() if e.block == name), None)

    def summary(self, block: str) -> str:
        """The first paragraph of a block's own description. KeyError for one that is not there."""
        return self._blocks[block].summary

    def nearest(self, name: str, most: int = 3) -> tuple[str, ...]:
        """Functions of blocks that may be meant: spelt alike, or of the same words in another order."""
        words = frozenset(name.lower().strip("_").split("_"))
        same = [n for n in self._entries if len(words) > 1 and frozenset(n.split("_")) == words]
        return tuple(dict.fromkeys([*same, *like(name, self._entries, most)]))[:most]

    def read(self, name: str) -> str | None:
        """What a kernel needs of a block, given its name or that of one of its functions: the import lines,
        then the blocks that it needs, then itself, each between its markers as kernels carry them."""
        entry = self.lookup(name)
        block = name if name in self._blocks else entry.block if entry is not None else None
        if block is None:
            return None
        order = self._order(block)
        imports = sorted({i for b in order for i in self._blocks[b].imports})
        lines = [f"from {module} import {what}" if what else f"import {module}" for module, what in imports]
        parts = ["\n".join(lines)] if lines else []
        for b in order:
            held = self._blocks[b]
            parts.append(f"# -- block {b} {held.digest}\n{held.text}\n\n# -- end of {b}")
        return "\n\n\n".join(parts) + "\n"

    def _order(self, block: str) -> list[str]:
        found: list[str] = []
        for need in self._blocks[block].needs:
            found += [b for b in self._order(need) if b not in found]
        return [*found, block]


@cache
def corpus_blocks(folder: Path = BLOCKS) -> Blocks:
    """The blocks of the corpus. CorpusError for one that can't be read."""
    return Blocks(load_blocks(folder))


def _entries(block: Block) -> list[BlockEntry]:
    made = []
    for node in ast.parse(block.text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            doc = inspect.cleandoc(ast.get_docstring(node) or "")
            summary = " ".join(doc.partition("\n\n")[0].split())
            made.append(BlockEntry(node.name, block.name, _signature(node), summary))
    # what bears the block's name is what it is for
    return sorted(made, key=lambda e: plain(e.name) != plain(block.name))


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.FunctionDef):
        back = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"({ast.unparse(node.args)}){back}"
    maker = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if maker is None:
        return ""
    return f"({ast.unparse(maker.args).partition(', ')[2]})"
