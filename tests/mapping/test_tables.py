"""The tables are consistent with themselves, with the codes and with the installed DSL."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from translator.diag.codes import CODES
from translator.mapping.prototype import parse_prototype
from translator.mapping.resolve import helper, resolve, rows
from translator.mapping.rule import HELPERS, Rule, TableError, load_rules, make_rule
from translator.model.types import BF16, F16

RULES = load_rules()
EMIT = Path(__file__).parents[2] / "translator" / "emit"


def texts(rule: Rule) -> list[str]:
    return [rule.cute, *(t for _, t in rule.fields)]


def dotted_names(tree: ast.AST) -> set[str]:
    """`cute.x.y` and `cutlass.x.y` used in a tree, longest form."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if re.fullmatch(r"(cute|cutlass)(\.\w+)+", name):
                found.add(name)
    return {n for n in found if not any(o.startswith(n + ".") for o in found)}


def dsl_names() -> list[str]:
    found: set[str] = set()
    for rule in RULES:
        for text in texts(rule):
            plain = re.sub(r"\{(\w+)(\.\w+|\.\*)?(:lit)?\}", r"\1", text)
            if plain:
                found |= dotted_names(ast.parse(plain))
    for path in HELPERS.glob("*.py"):
        found |= dotted_names(ast.parse(path.read_text()))
    return sorted(found)


@pytest.mark.dsl
@pytest.mark.parametrize("name", dsl_names())
def test_name_exists_in_the_dsl(name: str) -> None:
    root, *parts = name.split(".")
    value = importlib.import_module({"cute": "cutlass.cute"}.get(root, root))
    for part in parts:
        value = getattr(value, part)


@pytest.mark.dsl
@pytest.mark.parametrize("name", sorted(p.stem for p in HELPERS.glob("[!_]*.py")))
def test_helper_is_one_importable_function(name: str) -> None:
    made = helper(name)
    assert made.name == name
    assert made.source.startswith((f"def {name}(", "@"))
    module = importlib.import_module(f"translator.mapping.helpers.{name}")
    assert callable(getattr(module, name))


def test_helpers_are_used_and_exist() -> None:
    there = {p.stem for p in HELPERS.glob("[!_]*.py")}
    wanted = {h for r in RULES for h in r.helpers}
    assert wanted <= there
    for r in RULES:
        called = {h for h in there if any(re.search(rf"\b{h}\(", t) for t in texts(r))}
        assert called == set(r.helpers), r.id
    used = wanted | {n for h in there for n in helper(h).needs}
    emitter = "".join(p.read_text() for p in EMIT.rglob("*.py"))
    assert {h for h in there - used if f'"{h}"' not in emitter} == set()


def test_codes_exist() -> None:
    assert {r.code for r in RULES if r.code} <= set(CODES)
    for r in RULES:
        if r.support == "none":
            assert CODES[r.code].severity == "error", r.id


def test_elementwise_rows_name_a_scalar_row() -> None:
    for r in RULES:
        if r.components == "elementwise":
            kind = F16 if r.types[0] == "half2" else BF16
            assert resolve(r.scalar, (kind,) * len(r.args), kind), r.id


def test_partial_rows_say_what_differs() -> None:
    assert [r.id for r in RULES if r.support == "partial" and not r.caveat] == []


def test_no_row_is_hidden_by_an_earlier_one() -> None:
    """A row without conditions must not come before one with the same name and types."""
    for name in {n for r in RULES for n in r.names}:
        seen: set[tuple[str, ...]] = set()
        for r in rows(name):
            assert r.types not in seen or r.support == "none", f"{r.id} can never be chosen for {name}"
            if not r.when:
                seen.add(r.types)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"id": "a", "cuda": "float f(float x)"}, "no text"),
        ({"id": "a", "cuda": "float f(float x", "cute": "{x}"}, "not a prototype"),
        ({"id": "a", "cuda": "float f(quad x)", "cute": "{x}"}, "unknown type"),
        ({"id": "a", "cuda": "T f(T x)", "cute": "{x}"}, "needs the row's T"),
        ({"id": "a", "cuda": "float f(float x)", "cute": "{x}", "colour": "red"}, "unknown keys"),
        ({"id": "a", "cuda": "any f(...)", "support": "none"}, "needs its code"),
        ({"id": "a", "cuda": "float f(float x)", "libdevice": "__nv_f"}, "go together"),
        ({"id": "a", "cuda": "half2 f(half2 x)", "components": "elementwise"}, "scalar builtin"),
    ],
)
def test_malformed_rows_are_named(row: dict[str, str], complaint: str) -> None:
    with pytest.raises(TableError, match=complaint):
        make_rule(row, "test")


def test_prototypes() -> None:
    read = parse_prototype("T __shfl_sync(unsigned mask, T var, int srcLane, int width=32)", "i32|f32")
    assert read.name == "__shfl_sync"
    assert [(p.name, p.pattern, p.default) for p in read.params] == [
        ("mask", "u32", None),
        ("var", "i32|f32", None),
        ("srcLane", "i32", None),
        ("width", "i32", 32),
    ]
    assert read.result == "i32|f32"
    load = parse_prototype("T __ldg(const T* p)", "f32|i8")
    assert load.params[0].pattern == "ptr:f32/i8"
