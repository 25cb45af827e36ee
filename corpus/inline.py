"""Blocks copied into kernels, so that an entry is usable by copying its folder alone.

    # -- block lane_reduce 3f2a9c0d1e2b
    …the block's code, without its docstring's title page and imports…
    # -- end of lane_reduce

The twelve digits are the first of the sha256 of the text between the markers. A marker without them, and
without an end, is a place to fill.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.problem import CorpusError, Problem

BLOCKS = Path(__file__).parent / "blocks"
_BEGIN = re.compile(r"^# -- block (\w+)(?: ([0-9a-f]{12}))?$")
_OWN = "corpus.blocks."


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is what is inlined; `needs` are blocks that must stand before it, `imports` the import lines
    that the kernel must have, each as (module, name), name being "" for `import module`."""

    name: str
    summary: str
    text: str
    needs: tuple[str, ...]
    imports: frozenset[tuple[str, str]]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def text_of(path: Path) -> str:
    """The text of a block. ValueError for what is none; a pipe is not waited for."""
    if not path.is_file():
        raise ValueError("not a regular file")
    return path.read_text(encoding="utf-8")


def parsed(source: str) -> ast.Module:
    """The syntax tree of a text. SyntaxError, and ValueError for what Python's parser gives up on."""
    try:
        return ast.parse(source)
    except (RecursionError, MemoryError) as e:
        raise ValueError("nested too deeply") from e


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of each import at the top; an alias other than the name itself is part of the module."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for a in node.names:
                yield (f"{a.name} as {a.asname}" if a.asname else a.name), ""
        elif isinstance(node, ast.ImportFrom):
            for a in node.names:
                yield node.module or ".", a.name


def load_blocks(folder: Path = BLOCKS) -> dict[str, Block]:
    """Every block by name. CorpusError for one that can't be read."""
    found: dict[str, Block] = {}
    for path in sorted(folder.glob("*.py")):
        if path.stem == "__init__":
            continue
        try:
            source = text_of(path)
            tree = parsed(source)
        except SyntaxError as e:
            raise CorpusError([Problem("CP5003", path, f"no Python: {e.msg}", e.lineno or 0)]) from e
        except ValueError as e:  # no UTF-8, a NUL
            raise CorpusError([Problem("CP5003", path, f"no Python: {e}")]) from e
        every = list(imports_of(tree))
        code = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)][1:]
        first = min(_first_line(n, source) for n in code) if code else len(source.splitlines())
        text = "".join(source.splitlines(keepends=True)[first:]).strip("\n") + "\n"
        needs = tuple(m.removeprefix(_OWN) for m, _ in every if m.startswith(_OWN))
        imports = frozenset(i for i in every if not i[0].startswith(_OWN))
        doc = (ast.get_docstring(tree) or "").strip()
        found[path.stem] = Block(path.stem, doc.partition("\n\n")[0].replace("\n", " "), text, needs, imports)
    return found


def _first_line(node: ast.stmt, source: str) -> int:
    """0-based line where a statement begins, decorators and comments right above it included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    lines = source.splitlines()
    while line > 0 and lines[line - 1].startswith("#"):
        line -= 1
    return line


@dataclass(frozen=True, slots=True)
class Inlined:
    """One place in a kernel: 0-based line of its first marker, line after its last, what is between."""

    name: str
    start: int
    end: int
    digest: str | None
    text: str | None


def inlined(source: str) -> list[Inlined]:
    """The places of blocks in a kernel's text, in order. ValueError for a marker that is never closed."""
    lines, found, k = source.splitlines(keepends=True), [], 0
    while k < len(lines):
        begin = _BEGIN.match(lines[k].rstrip("\n"))
        if begin is None:
            k += 1
            continue
        name, digest = begin[1], begin[2]
        closing = f"# -- end of {name}"
        if digest is None:
            found.append(Inlined(name, k, k + 1, None, None))
            k += 1
            continue
        end = next((j for j in range(k + 1, len(lines)) if lines[j].rstrip("\n") == closing), None)
        if end is None:
            raise ValueError(f"block {name} is never closed by '{closing}'")
        found.append(Inlined(name, k, end + 1, digest, "".join(lines[k + 1 : end])))
        k = end + 1
    return found


def own_text(source: str) -> str:
    """A kernel's text without its inlined blocks."""
    lines = source.splitlines(keepends=True)
    for place in reversed(inlined(source)):
        del lines[place.start : place.end]
    return "".join(lines)


def own_lines(source: str) -> int:
    """Lines of a kernel apart from its inlined blocks."""
    return len(source.splitlines()) - sum(i.end - i.start for i in inlined(source))


def check_inlined(path: Path, source: str, blocks: dict[str, Block]) -> list[Problem]:
    """CP5004 for each inlined block that is unknown, changed, out of date, or misses what it needs."""
    try:
        places = inlined(source)
        tree = parsed(source)
    except (ValueError, SyntaxError) as e:
        return [Problem("CP5004", path, str(e))]
    problems: list[Problem] = []
    imports, before = set(imports_of(tree)), set[str]()
    for place in places:

        def tell(what: str, line: int = place.start + 1) -> None:
            problems.append(Problem("CP5004", path, what, line))

        block = blocks.get(place.name)
        if block is None:
            tell(f"no block is called {place.name}")
            continue
        if place.text is None:
            tell(f"block {place.name} is not filled in")
        elif place.text.strip("\n") + "\n" != block.text or place.digest != block.digest:
            tell(f"block {place.name} differs from corpus/blocks/{place.name}.py")
        for need in block.needs:
            if need not in before:
                tell(f"block {place.name} needs block {need} before it")
        for module, name in sorted(block.imports - imports):
            tell(
                f"block {place.name} needs "
                + (f"from {module} import {name}" if name else f"import {module}")
            )
        before.add(place.name)
    return problems


def with_blocks(source: str, blocks: dict[str, Block]) -> str:
    """A kernel's text with every known block as it is now. ValueError for an unclosed marker."""
    lines = source.splitlines(keepends=True)
    for place in reversed(inlined(source)):
        block = blocks.get(place.name)
        if block is not None:
            opening, closing = f"# -- block {block.name} {block.digest}\n", f"# -- end of {block.name}\n"
            # two empty lines, as formatters want them
            lines[place.start : place.end] = [opening, block.text, "\n\n", closing]
    return "".join(lines)
