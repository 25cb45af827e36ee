"""Instantiations of kernel templates: named, forced into a unit, or guessed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clang.cindex import CursorKind as K
from clang.cindex import TemplateArgumentKind

from translator.frontend import ast, clang, relations
from translator.frontend.no_code import COMMENT
from translator.frontend.relations import Cursor

WRAPPER = "cuteport_instantiation_"
_PARAMETERS = (K.TEMPLATE_TYPE_PARAMETER, K.TEMPLATE_NON_TYPE_PARAMETER, K.TEMPLATE_TEMPLATE_PARAMETER)
_TRIES = 14
_EXPLICIT = re.compile(r"^[ \t]*template\s+(?!<)[^;{}<>]*?([\w:]+)\s*<([^;{}()]*)>\s*\([^;{}]*\)\s*;", re.M)
_ANONYMOUS = re.compile(r"\((?:anonymous namespace|anonymous)\)::")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` is type, bool, int, enum or other; `choices` are enumerators for an enum."""

    name: str
    kind: str
    has_default: bool
    is_pack: bool = False
    choices: tuple[str, ...] = ()


def parameters(unit: clang.Unit, template: Cursor) -> tuple[Parameter, ...]:
    """The template parameters of a function template, in order."""
    found = []
    for child in ast.children(template):
        if child.kind not in _PARAMETERS:
            continue
        text = clang.text_of(unit, child)
        found.append(
            Parameter(
                child.spelling,
                _kind(child),
                "=" in text,
                "..." in text,
                _enumerators(child),
            )
        )
    return tuple(found)


def _kind(parameter: Cursor) -> str:
    if parameter.kind == K.TEMPLATE_TYPE_PARAMETER:
        return "type"
    if parameter.kind == K.TEMPLATE_TEMPLATE_PARAMETER:
        return "other"
    kind = parameter.type.get_canonical().kind.name
    if kind in ("BOOL", "ENUM"):
        return str(kind).lower()
    integers = ("INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT")
    return "int" if kind in integers else "other"


def _enumerators(parameter: Cursor) -> tuple[str, ...]:
    if parameter.kind != K.TEMPLATE_NON_TYPE_PARAMETER:
        return ()
    declaration = parameter.type.get_canonical().get_declaration()
    if declaration.kind != K.ENUM_DECL:
        return ()
    outer = qualified_name(declaration if declaration.is_scoped_enum() else declaration.semantic_parent)
    prefix = f"{outer}::" if outer else ""
    return tuple(prefix + c.spelling for c in ast.children(declaration) if c.kind == K.ENUM_CONSTANT_DECL)


def qualified_name(cursor: Cursor | None) -> str:
    """`ns::Outer::name`; anonymous and inline parts without a name are left out."""
    words: list[str] = []
    while cursor is not None and cursor.kind not in (K.TRANSLATION_UNIT, K.LINKAGE_SPEC):
        if cursor.spelling and "(" not in cursor.spelling and cursor.kind != K.UNEXPOSED_DECL:
            words.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(reversed(words))


def arguments(unit: clang.Unit, function: Cursor) -> tuple[tuple[str, str], ...] | int:
    """(parameter name, argument as C++ text) of an instantiation; the position of one that can't be named."""
    count = function.get_num_template_arguments()
    template = relations.specialized_template(function)
    declared = [c for c in ast.children(template) if c.kind in _PARAMETERS] if template is not None else []
    named = []
    for position in range(max(count, 0)):
        parameter = declared[position] if position < len(declared) else None
        text = _argument(function, position, parameter)
        if text is None:
            return position
        named.append((parameter.spelling if parameter is not None else "", text))
    return tuple(named)


def _argument(function: Cursor, position: int, parameter: Cursor | None) -> str | None:
    try:
        kind = function.get_template_argument_kind(position)
    except ValueError:
        return None  # a pack, which the bindings don't know
    if kind == TemplateArgumentKind.TYPE:
        spelled = function.get_template_argument_type(position).get_canonical().spelling
        spelled = _ANONYMOUS.sub("", spelled)
        return None if "(lambda" in spelled or "(unnamed" in spelled else str(spelled)
    if kind != TemplateArgumentKind.INTEGRAL:
        return None
    value = int(function.get_template_argument_value(position))
    if parameter is None:
        return str(value)
    declared = parameter.type.get_canonical()
    if declared.kind.name == "BOOL":
        return "true" if value else "false"
    if declared.kind.name == "ENUM":
        declaration = declared.get_declaration()
        for name, constant in zip(_enumerators(parameter), _constants(declaration), strict=False):
            if constant == value:
                return name
        return f"static_cast<{qualified_name(declaration)}>({value})"
    if declared.kind.name in ("UINT", "ULONG", "ULONGLONG") and value < 0:
        return str(int(function.get_template_argument_unsigned_value(position)))
    return str(value)


def _constants(enum: Cursor) -> Iterator[int]:
    for child in ast.children(enum):
        if child.kind == K.ENUM_CONSTANT_DECL:
            yield int(child.enum_value)


def wrapper(texts: Sequence[str], label: str = "explicit") -> str:
    """Host code that takes the address of each instantiation, to follow the unit's own text."""
    return "\n" + "".join(f"void {WRAPPER}{label}_{n}() {{ (void)&{t}; }}\n" for n, t in enumerate(texts))


def explicit(unit: clang.Unit) -> list[str]:
    """Instantiations that the unit's own text asks for with `template void f<float>(…);`.

    The AST doesn't show these; a host function template so instantiated may launch kernels.
    """
    asked = _EXPLICIT.findall(COMMENT.sub(" ", unit.text))
    if not asked:
        return []
    names: dict[str, str] = {}
    stack = list(reversed(unit.top_level))
    while stack:
        cursor = stack.pop()
        if cursor.kind in (K.NAMESPACE, K.LINKAGE_SPEC) and relations.is_user(cursor):
            stack += reversed(ast.children(cursor))
        elif cursor.kind == K.FUNCTION_TEMPLATE:
            names.setdefault(cursor.spelling, qualified_name(cursor))
    found = []
    for name, args in asked:
        plain = name.split("::")[-1]
        if plain in names:
            found.append(f"{names[plain]}<{args.strip()}>")
    return list(dict.fromkeys(found))


def forced(unit: clang.Unit, position: int = 0) -> Cursor | None:
    """The instantiation that the wrapper's function `position` names, None if it names nothing."""
    for child in unit.top_level:
        if child.kind == K.FUNCTION_DECL and child.spelling == f"{WRAPPER}forced_{position}":
            stack = [child]
            while stack:
                cursor = stack.pop()
                if cursor.kind == K.DECL_REF_EXPR and cursor.referenced is not None:
                    target = cursor.referenced
                    if target.kind == K.FUNCTION_DECL and target.get_num_template_arguments() > 0:
                        return target
                stack += reversed(ast.children(cursor))
    return None


# ---- guesses

_BY_NAME = (  # (pattern of a value parameter's name, first guess); the first match counts
    (r"(?i)warp_?size|wsize", 32),
    (r"(?i)num_?warps|warps_?per|nwarps", 8),
    (r"(?i)block|threads|tpb|bdim|^nt$|num_?thr|wg_?size|work_?group", 256),
    (r"(?i)tile|^ts$|^b[mnk]$", 32),
    (r"(?i)^t[mnk]$|vec|items|unroll|pack|per_?thread|radius|stages?", 4),
    (r"(?i)head|hidden|dim", 64),
)
_TYPE_BY_NAME = (
    (r"(?i)idx|index|int|offset|size", "int"),
    (r"(?i)(vec|t|float)4", "float4"),
    (r"(?i)(vec|t|float)2", "float2"),
    (r"(?i)half", "half"),
    (r"(?i)double", "double"),
)


def too_few(text: str, params: Sequence[Parameter]) -> str:
    """What `k<…>` leaves out of the parameters that have no default; empty if nothing."""
    inside = text.partition("<")[2].rpartition(">")[0]
    depth, given = 0, 1 if inside.strip() else 0
    for c in inside:
        depth += (c in "<([{") - (c in ">)]}")
        given += c == "," and depth == 0
    wanted = list(itertools.takewhile(lambda p: not (p.has_default or p.is_pack), params))
    if given >= len(wanted):
        return ""
    missing = ", ".join(p.name or "an unnamed one" for p in wanted[given:])
    few = f"{given} template argument{'' if given == 1 else 's'} given"
    return f"{few}, {len(wanted)} needed; missing: {missing}"


def guesses(params: Sequence[Parameter]) -> list[tuple[str, ...]]:
    """Argument lists to try for a template nobody launches, likeliest first; [] if nothing can be guessed."""
    wanted = list(itertools.takewhile(lambda p: not (p.has_default or p.is_pack), params))
    if any(p.kind == "other" or (p.kind == "enum" and not p.choices) for p in wanted):
        return []
    first = tuple(_first(p) for p in wanted)
    tries = [first]
    for change in ("double", "int", "half", "unsigned int"):
        tries.append(tuple(change if p.kind == "type" else f for p, f in zip(wanted, first, strict=True)))
    for change in ("32", "128", "64", "16", "8", "4", "2", "1"):
        tries.append(tuple(change if p.kind == "int" else f for p, f in zip(wanted, first, strict=True)))
    tries.append(tuple("false" if p.kind == "bool" else f for p, f in zip(wanted, first, strict=True)))
    return list(dict.fromkeys(tries))[:_TRIES]


def _first(parameter: Parameter) -> str:
    if parameter.kind == "bool":
        return "true"
    if parameter.kind == "enum":
        return parameter.choices[0]
    if parameter.kind == "type":
        return next((t for p, t in _TYPE_BY_NAME if re.search(p, parameter.name)), "float")
    return str(next((v for p, v in _BY_NAME if re.search(p, parameter.name)), 8))
