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
from verify.options import Mutate

# Kinds that a verification misses easily: they show in few elements, few shapes or few orders of threads.
_SLY = frozenset({"barrier", "bound", "guard", "tail", "mask", "shuffle", "stride", "axis"})
_SOME, _LEAST_OTHERS = 40, 12


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


def choose(every: Sequence[Mutant], wanted: Mutate, seed: int = 0) -> list[Mutant]:
    """Those to try: all, a number of them, or `some`: each that a verification misses easily, and a sample of
    the rest."""
    if wanted == "all":
        return list(every)
    if wanted != "some":
        return sample(every, wanted, seed)
    sly = {m.id for m in every if m.kind in _SLY}
    rest = [m for m in every if m.id not in sly]
    kept = sly | {m.id for m in sample(rest, max(_LEAST_OTHERS, _SOME - len(sly)), seed)}
    return [m for m in every if m.id in kept]


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
