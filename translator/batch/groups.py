"""Translation units that belong together: those that include one another are read in one process.

A fragment that only parses through the file which includes it, and a template whose launch is in another
file, are judged where all of their readings are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from translator.frontend.inputs import Inputs, UnitInput, peek

_MOST = 12  # units in one group: a project that includes everything everywhere is still spread
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


def groups(inputs: Inputs) -> list[Inputs]:
    """`inputs` in parts that can be read apart, the largest first (it ends last otherwise)."""
    every = [*inputs.units, *inputs.includers]
    data = [_bytes(u) for u in every]
    made: list[tuple[int, Inputs]] = []
    for members in _components(every, data):
        units = [k for k in members if k < len(inputs.units)]
        includers = [every[k] for k in members if k >= len(inputs.units)]
        for at in range(0, len(units), _MOST):
            part = units[at : at + _MOST]
            size = sum(len(data[k]) for k in part)
            made.append((size, Inputs([every[k] for k in part], includers)))
    return [part for _, part in sorted(made, key=lambda m: -m[0])]


def alone(part: Inputs) -> list[Inputs]:
    """Each unit of a part for itself, so that only one which brings its process down is lost."""
    return [Inputs([unit], part.includers) for unit in part.units]


def _components(every: Sequence[UnitInput], data: Sequence[bytes]) -> list[list[int]]:
    """Indices joined by `#include` of a file's name, each component in order."""
    parent = list(range(len(every)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    by_name: dict[str, list[int]] = {}
    for k, unit in enumerate(every):
        by_name.setdefault(Path(unit.path).name, []).append(k)
    for k, content in enumerate(data):
        for found in _INCLUDE.findall(content):
            for other in _nearest(every, k, by_name.get(Path(found.decode("latin-1")).name, [])):
                parent[max(root(k), root(other))] = min(root(k), root(other))
    components: dict[int, list[int]] = {}
    for k in range(len(every)):
        components.setdefault(root(k), []).append(k)
    return list(components.values())


def _nearest(every: Sequence[UnitInput], k: int, named: Sequence[int]) -> Sequence[int]:
    """Of several files of one name, those in the includer's own folder where there are any."""
    folder = Path(every[k].path).parent
    own = [n for n in named if Path(every[n].path).parent == folder]
    return own or named


def _bytes(unit: UnitInput) -> bytes:
    return peek(Path(unit.path))
