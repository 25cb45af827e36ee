"""From a builtin's name and argument types to its row, and from the row to DSL text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from translator.mapping.prototype import DSL_TYPES as DSL_TYPES
from translator.mapping.rule import HELPERS, Rule, load_rules, signature_of
from translator.model.types import I8, U8, Array, Pointer, Scalar, Struct, Type, uniform_scalar

Const: TypeAlias = "int | float | None"
Text: TypeAlias = "str | tuple[str, ...]"
"""The DSL text of an argument; for a struct value one text per field."""

_STRUCT_PATTERNS = {
    "half2": ("__half2", "half2", "__nv_half2"),
    "bf162": ("__nv_bfloat162", "nv_bfloat162"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a builtin has no DSL text: the code to report, its message argument, and a hint for people."""

    code: str
    what: str
    hint: str = ""


@cache
def _by_name() -> Mapping[str, tuple[Rule, ...]]:
    table: dict[str, list[Rule]] = {}
    for rule in load_rules():
        for name in rule.names:
            table.setdefault(name, []).append(rule)
    return {name: tuple(rules) for name, rules in table.items()}


def known(name: str) -> bool:
    """True if some row, refused ones included, answers to this C name."""
    return bool(rows(name))


def rows(name: str) -> tuple[Rule, ...]:
    """All rows for a C name, in order of preference; `std::x` and `__builtin_x` fall back to `x`."""
    table = _by_name()
    for spelling in _spellings(name):
        if spelling in table:
            return table[spelling]
    return ()


def _spellings(name: str) -> tuple[str, ...]:
    plain = name.removeprefix("::")
    short = plain.removeprefix("std::").removeprefix("cuda::std::")
    return (name, plain, short, short.removeprefix("__builtin_"))


def resolve(
    name: str, arg_types: tuple[Type, ...], result: Type, *, consts: tuple[Const, ...] = ()
) -> Rule | None:
    """The first row that fits the call, or None (then `refusal` says why). `result` is the C result type."""
    del result  # overloads differ in their parameters; kept so that a row may one day depend on it
    for rule in rows(name):
        if rule.support != "none" and _fits(rule, arg_types, consts):
            return rule
    return None


def refusal(name: str, arg_types: tuple[Type, ...], *, consts: tuple[Const, ...] = ()) -> Refusal:
    """Why `resolve` answered None."""
    candidates = rows(name)
    if not candidates:
        return Refusal("CP2101", name)
    shown = ", ".join(str(t) for t in arg_types)
    for rule in candidates:
        if rule.support == "none" and _fits(rule, arg_types, consts):
            return Refusal(rule.code, name, rule.hint or rule.caveat)
    for rule in candidates:
        if rule.when and _types_fit(rule, arg_types):
            wants = ", ".join(f"{k} = {'/'.join(map(str, v))}" for k, v in rule.when)
            return Refusal("CP2103", name, f"it has a translation for {wants}")
    forms = sorted({r.cuda for r in candidates if r.support != "none"})
    return Refusal("CP2102", f"{name}({shown})", "known forms: " + "; ".join(forms[:4]) if forms else "")


def _fits(rule: Rule, arg_types: Sequence[Type], consts: Sequence[Const]) -> bool:
    if rule.support == "none" and not rule.args:
        return True  # refused whatever its arguments
    return _types_fit(rule, arg_types) and _consts_fit(rule, consts)


def _types_fit(rule: Rule, arg_types: Sequence[Type]) -> bool:
    if not rule.required <= len(arg_types) <= len(rule.args):
        return False
    return all(matches(p, t) for p, t in zip(rule.types, arg_types, strict=False))


def _consts_fit(rule: Rule, consts: Sequence[Const]) -> bool:
    values: dict[str, Const] = {a.name: a.default for a in rule.args}
    values |= {a.name: c for a, c in zip(rule.args, consts, strict=False)}
    for name, allowed in rule.when:
        value = values.get(name)
        if value is None or ("const" not in allowed and value not in allowed):
            return False
    return True


def matches(pattern: str, t: Type) -> bool:
    """True if a C type fits a row's type pattern."""
    return any(_matches_one(p.strip(), t) for p in pattern.split("|"))


def _matches_one(pattern: str, t: Type) -> bool:
    if pattern == "any":
        return True
    if pattern == "text":
        return isinstance(t, Pointer | Array) and (t.to if isinstance(t, Pointer) else t.of) in (I8, U8)
    if pattern.startswith("ptr"):
        if not isinstance(t, Pointer | Array):
            return False
        pointee = t.to if isinstance(t, Pointer) else t.of
        return pattern == "ptr" or matches(pattern.removeprefix("ptr:").replace("/", "|"), pointee)
    if isinstance(t, Struct):
        if pattern == "struct":  # a vector type: one scalar type without gaps, 1, 2 or 4 of it
            return (one := uniform_scalar(t)) is not None and t.size // one.size in (1, 2, 4)
        return pattern == t.name or t.name in _STRUCT_PATTERNS.get(pattern, ())
    if not isinstance(t, Scalar):
        return False
    if pattern == "int":
        return t.is_integer and t.bits >= 8
    if pattern == "scalar":
        return t.bits > 0
    return pattern == t.name


def call_name(rule: Rule) -> str:
    """The module-level name a libdevice row calls: `__nv_lgammaf` → `nv_lgammaf`."""
    return rule.libdevice.removeprefix("__")


def ffi_line(rule: Rule) -> str:
    """The module-level declaration a libdevice row needs in the port."""
    result, params = signature_of(rule.signature)
    return (
        f'{call_name(rule)} = cute.ffi(name="{rule.libdevice}", '
        f"params_types=[{', '.join(params)}], return_type={result})"
    )


@dataclass(frozen=True, slots=True)
class Helper:
    """A small function the port inlines: import lines and the source of its one function."""

    name: str
    imports: tuple[str, ...]
    source: str
    needs: tuple[str, ...] = ()  # other helpers it calls


@cache
def helper(name: str) -> Helper:
    """Read `helpers/NAME.py`. Raises KeyError if there is none."""
    path = HELPERS / f"{name}.py"
    if not path.is_file():
        raise KeyError(name)
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    imports, needs, functions = [], [], []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            line = ast.unparse(node)
            match = re.fullmatch(r"from translator\.mapping\.helpers\.(\w+) import \1", line)
            if match:
                needs.append(match[1])
            elif "__future__" not in line:
                imports.append(line)
        elif isinstance(node, ast.FunctionDef):
            first = min([d.lineno for d in node.decorator_list] + [node.lineno])
            functions.append("\n".join(lines[first - 1 : node.end_lineno]))
    if len(functions) != 1:
        raise ValueError(f"{path.name} must hold exactly one function")
    return Helper(name, tuple(imports), functions[0] + "\n", tuple(needs))


@cache
def provided_names() -> frozenset[str]:
    """Functions that a port may hold beside the author's: every helper, every libdevice call."""
    helpers = {p.stem for p in HELPERS.glob("*.py") if p.stem != "__init__"}
    return frozenset(helpers | {call_name(r) for r in load_rules() if r.libdevice})


@cache
def imported_names() -> frozenset[str]:
    """What the helpers import, which at the top of a port no other thing may be called."""
    helpers = [helper(p.stem) for p in HELPERS.glob("*.py") if p.stem != "__init__"]
    lines = {line for h in helpers for line in h.imports}
    aliases = [a for line in lines for node in ast.parse(line).body for a in getattr(node, "names", ())]
    return frozenset((a.asname or a.name).split(".")[0] for a in aliases)


_PLACEHOLDER = re.compile(r"\{([A-Za-z]\w*(?:\.\w+|\.\*)?)(:lit)?\}")


def dsl_type(t: Type) -> str:
    """DSL name of a scalar; of a struct's component if they are all the same. Raises KeyError otherwise."""
    scalar = t if isinstance(t, Scalar) else uniform_scalar(t)
    if scalar is None:
        raise KeyError(str(t))
    return DSL_TYPES[scalar.name]


def render(
    rule: Rule,
    args: Sequence[Text],
    arg_types: Sequence[Type],
    result: Type,
    consts: Sequence[Const] = (),
    *,
    template: str | None = None,
) -> str:
    """The row's text (or another `template` of it, such as a field's) for a call.

    Placeholders: `{x}` argument text · `{x:lit}` a bare Python literal where the argument is constant ·
    `{x.f}` a component of a struct argument · `{x.*}` all components, comma separated · `{T0}` DSL type
    of argument 0 · `{E0}` of what pointer argument 0 points to (its component type for vectors) · `{n}`
    components and `{bytes}` size of that pointee · `{R}` DSL type of the C result · `{lib}` the libdevice
    call. Everything else in braces is left alone (PTX operands).
    Arguments that are not atoms are parenthesised where the text around needs it.
    """
    values = _values(rule, args, arg_types, result, consts)
    text = rule.cute if template is None else template

    def fill(match: re.Match[str]) -> str:
        key, literal = match[1], match[2] or ""
        value = values.get(key + literal, values.get(key))
        if value is None:
            return match[0]
        before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
        alone = before in ("", "(", ",", "[", "=") and after in ("", ")", ",", "]")
        return value if alone or _is_atom(value, after) else f"({value})"

    return _PLACEHOLDER.sub(fill, text)


def render_fields(
    rule: Rule,
    args: Sequence[Text],
    arg_types: Sequence[Type],
    result: Type,
    consts: Sequence[Const] = (),
) -> dict[str, str]:
    """Component name → text, for a row with components `fields`."""
    return {f: render(rule, args, arg_types, result, consts, template=t) for f, t in rule.fields}


def result_type(rule: Rule, arg_types: Sequence[Type], result: Type) -> str:
    """DSL type of the rendered text, "none" for a statement."""
    return render(rule, (), arg_types, result, template=rule.result)


@cache
def _is_atom(text: str, after: str) -> bool:
    """Whether `text` can stand before `after` in any expression without parentheses."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    if isinstance(node, ast.Constant):
        return after != "."  # `1.x` is a float and a syntax error
    if isinstance(node, ast.Tuple):
        return text.startswith("(")
    return isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript)


def _values(
    rule: Rule, args: Sequence[Text], arg_types: Sequence[Type], result: Type, consts: Sequence[Const]
) -> dict[str, str]:
    values: dict[str, str] = {"lib": call_name(rule)}
    for i, t in enumerate(arg_types):
        if isinstance(t, Pointer | Array):
            pointee = t.to if isinstance(t, Pointer) else t.of
            scalar = pointee if isinstance(pointee, Scalar) else uniform_scalar(pointee)
            if scalar is not None and scalar.bits:
                values[f"E{i}"] = DSL_TYPES[scalar.name]
                values[f"n{i}"] = str(max(1, pointee.size // scalar.size))
                values[f"bytes{i}"] = str(pointee.size)
        elif isinstance(t, Scalar) and t.bits:
            values[f"T{i}"] = DSL_TYPES[t.name]
        elif isinstance(t, Struct) and (scalar := uniform_scalar(t)) is not None:
            values[f"T{i}"] = DSL_TYPES[scalar.name]
    for short in ("n", "bytes"):
        if f"{short}0" in values:
            values[short] = values[f"{short}0"]
    if isinstance(result, Scalar | Struct) and result != Scalar("void", 0, False):
        scalar = result if isinstance(result, Scalar) else uniform_scalar(result)
        if scalar is not None:
            values["R"] = DSL_TYPES[scalar.name]
    for i, a in enumerate(rule.args):
        text: Text | None = args[i] if i < len(args) else None
        const = consts[i] if i < len(consts) else None
        if text is None and a.default is not None:
            text, const = repr(a.default), a.default
        if isinstance(text, tuple):
            struct = arg_types[i]
            names = [f.name for f in struct.fields] if isinstance(struct, Struct) else []
            values |= {f"{a.name}.{f}": t for f, t in zip(names, text, strict=False)}
            values[f"{a.name}.*"] = ", ".join(text)
        elif text is not None:
            values[a.name] = text
            if const is not None:
                values[f"{a.name}:lit"] = literal(const)
    return values


def literal(value: int | float | str) -> str:
    """A constant as Python text; masks in hexadecimal."""
    return f"0x{value:X}" if isinstance(value, int) and value > 0x7FFFFFFF else repr(value)
