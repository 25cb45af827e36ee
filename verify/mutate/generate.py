"""Systematic mutants of a port: each is the port's text with one small change in device code."""

from __future__ import annotations

import ast
import difflib
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from verify.mutate import expressions, statements
from verify.mutate.place import Place
from verify.mutate.scope import device_functions, module_numbers
from verify.mutate.text import Change, Text


@dataclass(frozen=True, slots=True)
class Mutant:
    """`id` is `kind-LINE-k`, the k-th of its kind on that line; `source` is the whole changed module."""

    id: str
    kind: str
    line: int
    description: str
    source: str


def mutants(source: str, entry: str) -> list[Mutant]:
    """Every mutant of a port, in the order of the text; the same source gives the same list.

    Only the kernels that `entry` leads to and the @cute.jit functions they call are changed: neither the
    host's code nor helpers that run while tracing. Changes that can be seen to change nothing are left out.
    SyntaxError where `source` is no Python.
    """
    module = ast.parse(source)
    text = Text(source)
    numbers = module_numbers(module)
    found: dict[tuple[int, int, str], Change] = {}
    for function in device_functions(module, entry):
        for change in _changes(Place(text, function, numbers)):
            found.setdefault((change.start, change.end, change.new), change)
    made: list[Mutant] = []
    seen: Counter[tuple[str, int]] = Counter()
    for change in sorted(found.values(), key=lambda c: (c.start, c.end, c.kind, c.new)):
        line = text.line(change.start)
        seen[change.kind, line] += 1
        name = f"{change.kind}-{line}-{seen[change.kind, line]}"
        made.append(Mutant(name, change.kind, line, change.what, text.replace(change)))
    return made


def _changes(place: Place) -> list[Change]:
    found: list[Change] = []
    for node in place.visible():
        if isinstance(node, ast.stmt):
            for statement_rule in statements.RULES:
                found += statement_rule(node, place)
        else:
            for expression_rule in expressions.RULES:
                found += expression_rule(node, place)
    return found


def sample(every: Sequence[Mutant], n: int, seed: int = 0) -> list[Mutant]:
    """At most `n` of them in the given order: each kind in turn gives one, so that rare kinds are heard."""
    if n >= len(every):
        return list(every)
    chance = random.Random(seed)
    kinds: dict[str, list[int]] = defaultdict(list)
    for k, mutant in enumerate(every):
        kinds[mutant.kind].append(k)
    lots = [kinds[kind] for kind in sorted(kinds)]
    chance.shuffle(lots)
    for lot in lots:
        chance.shuffle(lot)
    turns = [lot[turn] for turn in range(max(map(len, lots), default=0)) for lot in lots if turn < len(lot)]
    return [every[k] for k in sorted(turns[:n])]


def diff(original: str, mutant: Mutant, path: str = "port.py") -> str:
    """The change as a unified diff with two lines around it."""
    lines = difflib.unified_diff(
        original.splitlines(keepends=True),
        mutant.source.splitlines(keepends=True),
        path,
        f"{path} ({mutant.id})",
        n=2,
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
