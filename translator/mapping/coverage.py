"""Answers about the tables: rows for a name, near misses, a description for people, the Markdown table."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence

from translator.mapping.resolve import ffi_line, known, literal, rows
from translator.mapping.rule import Rule, load_rules

__all__ = ["count", "describe", "find", "load_rules", "markdown", "names", "nearest"]

_GROUPS = {
    "arith": "Integers, bits and bit casts",
    "atomic": "Atomics",
    "convert": "Rounding modes and conversions",
    "half": "Half and bfloat16",
    "half2": "Pairs of halves",
    "math": "Math",
    "memory": "Loads and stores with cache operators",
    "misc": "Printing, assertions, memory blocks, 8-bit floats",
    "refused": "Refused",
    "simd": "Bytes and half-words in a register",
    "sync": "Barriers, fences, clocks",
    "warp": "Warp",
}


def names() -> list[str]:
    """Every C name some row answers to, sorted."""
    return sorted({n for rule in load_rules() for n in rule.names})


def find(name: str) -> list[Rule]:
    """Rows for a query: the C name itself, else names that begin with it, else a row's id or its group."""
    name = name.strip().removesuffix("()")
    if known(name):
        return list(rows(name))
    if not name:
        return []
    begin = [r for r in load_rules() if any(n.startswith(name) for n in r.names)]
    return begin or [r for r in load_rules() if name in (r.id, r.group) or r.id.startswith(name + ".")]


def nearest(name: str, limit: int = 5) -> list[str]:
    """Known names spelt like `name`, best first."""
    bare = {n.strip("_").lower(): n for n in names()}
    close = difflib.get_close_matches(name.strip("_").lower(), list(bare), limit, 0.6)
    return [bare[c] for c in close]


_LANGUAGE = {
    **dict.fromkeys(("threadIdx", "blockIdx"), "cute.arch.thread_idx() and block_idx() give three axes each"),
    **dict.fromkeys(
        ("blockDim", "gridDim"),
        "block_extent() and grid_extent(), inlined into the port, give three axes each\n"
        "  note: cute.arch.block_dim() and grid_dim() are wrong where an axis is as long as CUDA allows"
        " (DSL 4.8.1)",
    ),
    "volatile": "every access through a volatile lvalue is made: p.load(is_volatile=True) and"
    " p.store(value, is_volatile=True)",
}


def language(name: str) -> str:
    """What becomes of a word of CUDA C++ that is no function, empty if it has no line here."""
    word = name.strip().partition(".")[0]
    return f"{word}    [no builtin, but of the language]\n  {_LANGUAGE[word]}" if word in _LANGUAGE else ""


def describe(rules: Sequence[Rule]) -> str:
    """The rows as text: prototype, DSL text, support and what to know; said once for rows that share it."""
    parts: list[tuple[list[str], list[str]]] = []
    for rule in rules:
        body = _body(rule)
        if not parts or not body or parts[-1][1] != body:
            parts.append(([], body))
        parts[-1][0].append(f"{_prototype(rule)}    [{rule.support}]")
    return "\n\n".join("\n".join([*heads, *body]) for heads, body in parts)


def _body(rule: Rule) -> list[str]:
    lines = [f"  {text}" for text in _texts(rule)]
    if rule.when:
        lines.append("  where " + ", ".join(f"{k} is {_one_of(v)}" for k, v in rule.when))
    if rule.outs:
        lines.append(
            f"  gives {', '.join((['the result'] if rule.result != 'none' else []) + list(rule.outs))}"
        )
    if rule.libdevice:
        lines.append(f"  with {ffi_line(rule)}")
    if rule.helpers:
        lines.append(f"  with {', '.join(rule.helpers)} inlined into the port")
    lines += [f"  {word}: {text}" for word, text in (("note", rule.caveat), ("instead", rule.hint)) if text]
    if rule.code:
        lines.append(f"  {rule.code}: cuteport explain {rule.code}")
    return lines


def _prototype(rule: Rule) -> str:
    shown = rule.cuda.removeprefix("any ")
    generic = [p for p in (*rule.types, rule.c_result) if "|" in p and not p.startswith("ptr:")]
    return f"{shown}   T: {generic[0].replace('|', ', ')}" if generic else shown


def _texts(rule: Rule) -> list[str]:
    if rule.support == "none":
        return []
    if rule.components == "elementwise":
        return [f"{rule.scalar} of each component"]
    if rule.components == "fields":
        return [f".{field} = {text}" for field, text in rule.fields]
    return [rule.cute.replace(":lit}", "}")]


def _one_of(values: Iterable[int | float | str]) -> str:
    return " or ".join("a constant" if v == "const" else literal(v) for v in values)


def count(rules: Iterable[Rule] | None = None) -> dict[str, int]:
    """Rows by support."""
    return dict(Counter(r.support for r in (load_rules() if rules is None else rules)))


def markdown(rules: Sequence[Rule]) -> str:
    """The rows as Markdown tables, one per group."""
    parts = ["# CUDA builtins in CuTe DSL"]
    totals = count(rules)
    order = ("full", "partial", "idiom", "none")
    parts.append(", ".join(f"{totals[s]} {s}" for s in order if s in totals) + ".")
    for group in sorted({r.group for r in rules}, key=lambda g: (g == "refused", _GROUPS.get(g, g))):
        parts.append(f"## {_GROUPS.get(group, group)}")
        table = ["| CUDA | CuTe DSL | support | notes |", "| --- | --- | --- | --- |"]
        table += [_row(r) for r in rules if r.group == group]
        parts.append("\n".join(table))
    return "\n\n".join(parts)


def _row(rule: Rule) -> str:
    texts = "<br>".join(_code(t) for t in _texts(rule))
    notes = [rule.code, rule.caveat, rule.hint]
    if rule.when:
        notes.insert(0, "where " + ", ".join(f"{k} is {_one_of(v)}" for k, v in rule.when))
    shown = "; ".join(n for n in notes if n).replace("|", "\\|")
    return f"| {_code(_prototype(rule))} | {texts} | {rule.support} | {shown} |"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
