"""The part of STYLE.md that a program can hold. Each rule gives CP5003 with a line."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from corpus.catalog import ENTRY, KERNEL, NOTES, Item
from corpus.inline import inlined, own_lines, parsed, text_of
from corpus.problem import Problem

MOST_LINES = 200
SECTIONS = ("Shapes:", "Algorithm:", "Units:", "Traffic:", "Source of the technique:")
_PICTURE = re.compile(r"^ {4,}.*[→←─│:]", re.MULTILINE)
_ROOTS = frozenset({"cutlass", "torch", "cuda"})
# What makes a tensor, and the memory-space letters that its name may have after an optional `tX`.
_MADE_BY = {
    "local_tile": "gc",
    "make_fragment_like": "r",
    "make_rmem_tensor": "rp",
    "partition_S": "gcs",
    "partition_D": "gs",
}


def check_style(item: Item, draft: bool = False) -> list[Problem]:
    """Every rule that an entry breaks; a draft may have things to do."""
    path, source = item.folder / KERNEL, item.text(KERNEL)
    try:
        tree = parsed(source)
        names = [i.name for i in inlined(source)]
        told = list(_kernel(tree, source, item.entry.id))
    except SyntaxError as e:
        return [Problem("CP5003", path, f"no Python: {e.msg}", e.lineno or 0)]
    except ValueError as e:  # a marker that is never closed, a NUL
        return [Problem("CP5003", path, str(e))]
    except RecursionError:  # of a tree that was read, but can't be written again
        return [Problem("CP5003", path, "nested too deeply")]
    found = [Problem("CP5003", path, what, line) for line, what in told]
    if names != item.entry.blocks:
        own, said = (", ".join(some) or "none" for some in (names, item.entry.blocks))
        words = f"inlines the blocks {own}; entry.toml says {said}"
        found.append(Problem("CP5003", path, words))
    notes = item.text(NOTES)
    if not re.search(r"^\| CUDA \| CuTe DSL \|\n\| --- \| --- \|\n\|", notes, re.MULTILINE):
        found.append(Problem("CP5003", item.folder / NOTES, "has no table `| CUDA | CuTe DSL |` with a row"))
    if not draft and not re.search(r"^## Pitfalls\n\n- ", notes, re.MULTILINE):
        found.append(Problem("CP5003", item.folder / NOTES, "has no list under `## Pitfalls`"))
    for k, line in enumerate(notes.splitlines(), 1):
        if line.startswith("|") and re.search(r"\|[ \t]*(``)?[ \t]*(?=\|)", line):
            found.append(Problem("CP5003", item.folder / NOTES, "has a row with an empty cell", k))
    texts = {} if draft else {NOTES: notes, KERNEL: source, ENTRY: item.text(ENTRY)}
    for name, text in texts.items():
        lines = enumerate(text.splitlines(), 1)
        found += [Problem("CP5003", item.folder / name, "has a TODO", k) for k, t in lines if "TODO" in t]
    return found


def check_block(path: Path) -> list[Problem]:
    """Every rule that a block's file breaks."""
    try:
        source = text_of(path)
        tree = parsed(source)
    except (SyntaxError, ValueError) as e:
        return [Problem("CP5003", path, f"no Python: {e}")]
    told: list[tuple[int, str]] = []
    if not ast.get_docstring(tree):
        told.append((1, "has no docstring"))
    if (n := len(source.splitlines())) > MOST_LINES:
        told.append((0, f"has {n} lines, more than {MOST_LINES}"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not ast.get_docstring(node):
            told.append((node.lineno, f"{node.name} has no docstring"))
    told += [t for t in _imports(tree) if not t[1].endswith("imports corpus")]
    told += _calls(tree)
    return [Problem("CP5003", path, what, line) for line, what in told]


def _kernel(tree: ast.Module, source: str, entry: str) -> Iterator[tuple[int, str]]:
    doc = ast.get_docstring(tree) or ""
    for section in SECTIONS:
        if section not in doc:
            yield 1, f"its docstring says nothing under `{section}`"
    if not _PICTURE.search(doc):
        yield 1, "its docstring has no picture of the layout"
    if (n := own_lines(source)) > MOST_LINES:
        yield 0, f"has {n} lines of its own, more than {MOST_LINES}"
    yield from _imports(tree)
    yield from _calls(tree)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in (entry, f"compile_{entry}"):
        if name not in functions:
            yield 0, f"has no function {name}"
        elif not ast.get_docstring(functions[name]):
            yield functions[name].lineno, f"{name} has no docstring"
    if entry in functions:
        keywords = {a.arg for a in functions[entry].args.kwonlyargs}
        for name in sorted({"dtype", "stream"} - keywords):
            yield functions[entry].lineno, f"{entry} does not take {name} by keyword"
    for f in functions.values():
        if any(ast.unparse(d).startswith("cute.kernel") for d in f.decorator_list):
            yield from _device(f)


def _device(kernel: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """Memory-space letters of what a kernel takes and makes; facts known at compile time are Constexpr."""
    for a in kernel.args.args:
        kind = ast.unparse(a.annotation) if a.annotation else ""
        if not kind:
            yield a.lineno, f"parameter {a.arg} of a kernel has no type"
        elif kind == "cute.Tensor" and not re.match(r"m[A-Z]", a.arg):
            yield a.lineno, f"tensor {a.arg} of a kernel is not called m and a capital"
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                made = value.func.attr if isinstance(value.func, ast.Attribute) else ""
                letters = _MADE_BY.get(made)
                if letters and not re.match(rf"(t[A-Z])?[{letters}][A-Z]", target.id):
                    yield target.lineno, f"{target.id} comes from {made}: its name has none of {letters}"


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.Name, ast.Call]]:
    """Each name with the call that makes it; of a comprehension its element."""
    for target in node.targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(names)
        for name, given in zip(names, values, strict=False):
            value = given.elt if isinstance(given, ast.ListComp) else given
            if isinstance(name, ast.Name) and isinstance(value, ast.Call):
                yield name, value


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            named = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or "."]
            for root in (n.partition(".")[0] for n in named):
                if root not in _ROOTS and root not in sys.stdlib_module_names:
                    yield node.lineno, f"imports {root}"


def _calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "block_dim":
            yield node.lineno, "asks for block_dim, which is wrong at 1024 threads: pass the block's size"
