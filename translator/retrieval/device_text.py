"""The device code of a kernel by its text alone: for sources that the frontend refuses.

Functions are found by their shape, `name (…) {…}`; what a kernel calls by name belongs to it, as do the
call operators of the file. Macros are expanded as far as a name and its arguments go. `#if` is not resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from translator.retrieval.normal import closing, expanded, macros, normal, tokens

_NO_FUNCTIONS = frozenset(
    ("if", "for", "while", "switch", "return", "sizeof", "catch", "decltype", "alignof")
)


@dataclass(frozen=True, slots=True)
class TextKernel:
    """`body` is the normal form of the kernel and what it calls; `words` the same as tokens of the source."""

    name: str
    body: str
    words: tuple[str, ...]


def kernels(source: str) -> list[TextKernel]:
    """The kernels that a CUDA text defines, in order."""
    table = macros(source)
    code = expanded(tokens(source), table)
    types = frozenset(re.findall(r"\b(?:typename|class)\s+(\w+)", source))
    functions = _functions(code)
    found = []
    for name, start, end in functions:
        if "__global__" not in code[start:end]:
            continue
        reached = _reached(code, functions, (name, start, end))
        text = [t for s, e in reached for t in code[s:e]]
        found.append(TextKernel(name, normal([t for t in text if t != "__global__"], types), tuple(text)))
    return found


def _functions(code: list[str]) -> list[tuple[str, int, int]]:
    """(name, first token of its declaration, end of its body) of each definition, outermost ones only."""
    found: list[tuple[str, int, int]] = []
    k = border = 0
    while k < len(code):
        t = code[k]
        if t in (";", "{", "}"):
            border = k + 1
        if t == "__launch_bounds__" and code[k + 1 : k + 2] == ["("]:
            k = closing(code, k + 1) + 1
            continue
        at = k + 3 if code[k : k + 3] == ["operator", "(", ")"] else k + 1
        if code[at : at + 1] == ["<"]:
            at = closing(code, at) + 1  # a specialisation, `f<float>(…)`
        if _is_name(t) and code[at : at + 1] == ["("]:
            after = closing(code, at) + 1
            while after < len(code) and code[after] in ("const", "noexcept", "override"):
                after += 1
            if after < len(code) and code[after] == "{":
                end = closing(code, after) + 1
                found.append((t, border, end))
                k = border = end
                continue
        k += 1
    return found


def _is_name(token: str) -> bool:
    return token not in _NO_FUNCTIONS and re.match(r"[A-Za-z_]\w*$", token) is not None


def _reached(
    code: list[str], functions: list[tuple[str, int, int]], kernel: tuple[str, int, int]
) -> list[tuple[int, int]]:
    """Places of what `kernel` calls, in the order of the file, and of itself."""
    wanted, todo = {kernel[1:]}, [kernel[1:]]
    todo += [(s, e) for n, s, e in functions if n == "operator"]
    while todo:
        start, end = todo.pop()
        wanted.add((start, end))
        names = set(code[start:end])
        for name, s, e in functions:
            if name in names and (s, e) not in wanted and "__global__" not in code[s:e]:
                todo.append((s, e))
    return sorted(wanted)
