"""A mapping row: how one CUDA builtin is written in CuTe DSL; and the reader of the tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from translator.mapping.prototype import DSL_TYPES, Prototype, parse_prototype

Support = Literal["full", "partial", "idiom", "none"]
Components = Literal["", "elementwise", "fields", "tuple", "vector"]
Effect = Literal["sync", "atomic", "memory", "print", "trap", "clock", "order"]

TABLES = Path(__file__).parent / "tables"
HELPERS = Path(__file__).parent / "helpers"


@dataclass(frozen=True, slots=True)
class Arg:
    """A parameter by its CUDA name; `default` is its value when the call leaves it out."""

    name: str
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One row.

    names       C names it answers to; overloads are told apart by `types`, first matching row wins
    cuda        C prototype; `args`, `types` and `c_result` are read from it
    types       one pattern per argument, alternatives joined by `|`: a scalar's name (`f32`), `int` (8 to
                64 bits, no bool), `any`, `text` (a string), `struct` (a vector type), `half2`, `bf162`,
                `ptr`, `ptr:<pattern>`
    when        constants an argument must have: (name, allowed values), or ("const",) for any constant
    cute        the text; see `resolve.render` for its placeholders
    result      DSL type the text has: a name, `{T0}`, `{E0}`, `{R}`, or `none` for a statement
    components  how struct values are written:
                `elementwise`  apply `scalar` (a builtin's name) to each component
                `fields`       `fields` has one text per component of the result
                `tuple`        the text is a tuple: the components of the result, in order
                `vector`       the text is indexable by component (`v[0]` …)
    outs        pointer arguments that are written; the text is then a tuple (result if any, then each out),
                or the plain value where that is only one
    libdevice   symbol of CUDA's device library the text calls as `{lib}`; `signature` is
                `Result(Param, …)` in DSL types
    pure        no side effect, no memory access, safe to evaluate when the result is not needed
    code        diagnostic that refuses (support none) or that goes with the port (partial, idiom)
    ptx         patterns its compiled form has; `no_ptx` ones it hasn't
    """

    id: str
    names: tuple[str, ...]
    cuda: str
    args: tuple[Arg, ...] = ()
    types: tuple[str, ...] = ()
    c_result: str = "void"
    when: tuple[tuple[str, tuple[int | float | str, ...]], ...] = ()
    cute: str = ""
    result: str = "none"
    components: Components = ""
    scalar: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    outs: tuple[str, ...] = ()
    libdevice: str = ""
    signature: str = ""
    helpers: tuple[str, ...] = ()
    pure: bool = True
    effects: tuple[Effect, ...] = ()
    support: Support = "full"
    code: str = ""
    caveat: str = ""
    hint: str = ""
    since: str = "4.8"
    group: str = ""
    ptx: tuple[str, ...] = ()
    no_ptx: tuple[str, ...] = ()

    @property
    def required(self) -> int:
        """Arguments without a default."""
        return sum(a.default is None for a in self.args)


class TableError(ValueError):
    """A mapping table is malformed: a mistake in the tables, not in a user's source."""


def _substitute(value: Any, subst: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return re.sub(r"<(\w+)>", lambda m: str(subst.get(m[1], m[0])), value)
    if isinstance(value, list):
        return [_substitute(v, subst) for v in value]
    if isinstance(value, dict):
        return {k: _substitute(v, subst) for k, v in value.items()}
    return value


_Sets = Mapping[str, list[dict[str, Any]]]


def _variants(row: Mapping[str, Any], sets: _Sets) -> Iterator[dict[str, Any]]:
    """A row stands for one per substitution of `<name>`.

    The substitutions are the product of `each` (a list of tables), of the table's named `sets` listed in
    `over`, and of `cross` (name → values).
    """
    lists = [row.get("each", [{}]), *(sets[name] for name in row.get("over", ()))]
    lists += [[{name: value} for value in values] for name, values in row.get("cross", {}).items()]
    for combo in product(*lists):
        subst: dict[str, Any] = {}
        for one in combo:
            subst |= one
        subst = {k: _substitute(v, subst) for k, v in subst.items()}
        yield {k: _substitute(v, subst) for k, v in row.items() if k not in ("each", "over", "cross")}


_DSL = {"void": "none", **DSL_TYPES}
_OWN = {"also", "else", "T"}  # keys of a row that are no field of Rule
_KEYS = {f for f in Rule.__dataclass_fields__ if f not in ("code", "args", "types", "c_result")} | _OWN
_LISTS = ("outs", "helpers", "effects", "ptx", "no_ptx")


def make_rule(row: Mapping[str, Any], group: str) -> Rule:
    """A Rule from one expanded table row: names, arguments, types and result come from its prototype.

    Raises TableError for an unknown key, a prototype that can't be read or an inconsistent row.
    """
    unknown = set(row) - _KEYS
    if unknown:
        raise TableError(f"{row.get('id')}: unknown keys {sorted(unknown)}")
    try:
        proto = parse_prototype(row["cuda"], row.get("T", ""))
    except ValueError as bad:
        raise TableError(f"{row.get('id')}: {bad}") from None
    made: dict[str, Any] = {k: v for k, v in row.items() if k not in _OWN}
    made |= {key: tuple(row[key]) for key in _LISTS if key in row}
    made["names"] = tuple(dict.fromkeys((*row.get("names", (proto.name,)), *row.get("also", ()))))
    made["args"] = tuple(Arg(p.name, p.default) for p in proto.params)
    made["types"] = tuple(p.pattern for p in proto.params)
    made["c_result"] = proto.result
    made["fields"] = tuple(row.get("fields", {}).items())
    made["code"] = row.get("else", "")
    when = row.get("when", {})
    made["when"] = tuple((k, _allowed(v)) for k, v in when.items())
    made.setdefault("result", _result(row, proto))
    made.setdefault("group", group)
    made.setdefault("pure", "effects" not in row)
    if made.get("libdevice") and not made.get("cute"):
        made["cute"] = "{result}({lib}(" + ", ".join(f"{{{a.name}}}" for a in made["args"]) + "))"
    made["cute"] = made.get("cute", "").replace("{result}", made["result"])
    rule = Rule(**made)
    _check(rule)
    return rule


def _allowed(value: Any) -> tuple[int | float | str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(int(v) if isinstance(v, str) and v.lstrip("-").isdigit() else v for v in values)


def _result(row: Mapping[str, Any], proto: Prototype) -> str:
    if row.get("signature"):
        return signature_of(row["signature"])[0]
    return _DSL.get(proto.result, "{R}")  # of several types: that of the call


def signature_of(signature: str) -> tuple[str, tuple[str, ...]]:
    """`"Float32(Float32, Int32)"` → `("Float32", ("Float32", "Int32"))`."""
    result, _, rest = signature.partition("(")
    return result, tuple(p.strip() for p in rest.rstrip(")").split(",") if p.strip())


def _check(rule: Rule) -> None:
    def require(ok: object, what: str) -> None:
        if not ok:
            raise TableError(f"{rule.id}: {what}")

    require(rule.names, "no names")
    left = re.search(r"<[a-z]\w*>", f"{rule.names} {rule.cute} {rule.cuda} {rule.ptx} {rule.fields}")
    require(not left, f"{left and left[0]} is not substituted")
    require(bool(rule.libdevice) == bool(rule.signature), "libdevice and signature go together")
    if rule.support == "none":
        require(rule.code, "a refused row needs its code in `else`")
    elif rule.components == "elementwise":
        require(rule.scalar, "an elementwise row names its scalar builtin")
    elif rule.components == "fields":
        require(rule.fields, "a row by fields has one text per field")
    else:
        require(rule.cute, "no text")
    require(not (rule.pure and rule.effects), "a row with effects is not pure")


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rows of all tables, in table order (file name, then position)."""
    found: list[Rule] = []
    for path in sorted(TABLES.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        sets = table.get("sets", {})
        for row in table["rule"]:
            for one in _variants(row, sets):
                found.append(make_rule(one, path.stem))
    ids = [r.id for r in found]
    twice = {i for i in ids if ids.count(i) > 1}
    if twice:
        raise TableError(f"ids used twice: {sorted(twice)}")
    return tuple(found)
