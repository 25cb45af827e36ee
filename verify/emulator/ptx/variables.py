"""Declarations of variables and parameters: `.shared .align 16 .b8 tile[32][33];`."""

from __future__ import annotations

import re
from math import prod

from verify.emulator.ptx.constants import expression
from verify.emulator.ptx.initialiser import initialise
from verify.emulator.ptx.lexical import NAME, brief, split
from verify.emulator.ptx.module import SIZES, PtxError, Reloc, Space, Var

# Types that a variable or register may have; the others of SIZES exist only in opcodes.
_INTEGERS = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
REGISTER_TYPES = frozenset((*_INTEGERS, *_FLOATS, "b128", "pred"))
VARIABLE_TYPES = frozenset((*_INTEGERS, *_FLOATS, "b128"))

_SPACES: dict[str, Space] = {"global": "global", "const": "const", "shared": "shared", "local": "local"}
_MAX_DIMS = 8
_OPAQUE = frozenset(("texref", "samplerref", "surfref"))

_HEAD = re.compile(
    r"""\s*+(?:\.align\s++(?P<align>\d{1,9})\s*+)?
        (?:\.v(?P<lanes>[248])\s*+)?
        \.(?P<type>\w++)\s*+
        (?P<ptr>\.ptr\b\s*+(?:\.(?:global|const|shared|local)\b\s*+)?(?:\.align\s++\d{1,9}\s*+)?)?""",
    re.VERBOSE | re.ASCII,
)
_MODULE_LEVEL = re.compile(
    r"\s*+(?:\.(extern|visible|weak|common)\b\s*+)?\.(\w++)\s*+"
    r"(?:\.attribute\s*+\(((?:[^()]++|\([^()]*+\))*+)\)\s*+)?",
    re.ASCII,
)
_DECLARATOR = re.compile(rf"({NAME})\s*+((?:\[[^\[\]]*+\]\s*+)*+)", re.ASCII)


def declare(text: str, space: Space, *, linkage: str = "") -> list[Var]:
    """The variables of a declaration whose text starts after the space's name.

    PtxError CP7101 if it is malformed, CP7103 for textures, samplers and surfaces.
    """
    head = _HEAD.match(text)
    if not head:
        raise PtxError("CP7101", f"not a declaration of a .{space} variable: {brief(text)}")
    kind = head["type"]
    if kind in _OPAQUE:
        raise PtxError("CP7103", f"variables of type .{kind} are not supported")
    if kind not in VARIABLE_TYPES:
        raise PtxError("CP7101", f".{kind} is not the type of a variable")
    if head["ptr"] and space != "param":
        raise PtxError("CP7101", f".ptr belongs to parameters, not to .{space} variables")
    lanes = int(head["lanes"] or 1)
    align = int(head["align"]) if head["align"] else SIZES[kind] * lanes
    if align & (align - 1) or not align:
        raise PtxError("CP7101", f"the alignment {align} is no power of two")
    found = [_declarator(part, space, kind, lanes, align, linkage) for part in split(text[head.end() :])]
    if not found:
        raise PtxError("CP7101", f"a .{space} declaration without a name")
    return found


def _declarator(text: str, space: Space, kind: str, lanes: int, align: int, linkage: str) -> Var:
    """One name of a declaration, with its dimensions and initial value. A vector is a last dimension."""
    written, equals, value = text.partition("=")
    found = _DECLARATOR.fullmatch(written.strip())
    if not found:
        raise PtxError("CP7101", f"not the name of a variable: {brief(text)}")
    name = found[1]
    sizes = [part.strip() for part in re.findall(r"\[([^\[\]]*)\]", found[2])]
    if len(sizes) > _MAX_DIMS:
        raise PtxError("CP7101", f"{name} has more than {_MAX_DIMS} dimensions")
    dims: list[int] = []
    for place, written_size in enumerate(sizes):
        size = expression(written_size)
        if not place and (not written_size or (size == 0 and linkage == "extern")):
            size = -1  # unsized until the initial value says how many
        elif size is None or not 0 < size < 1 << 40:
            raise PtxError("CP7101", f"{name} has a dimension that is no positive number, or too large a one")
        dims.append(size)
    if lanes > 1:
        dims.append(lanes)
    unsized = dims[:1] == [-1]
    init: bytes | None = None
    relocs: tuple[Reloc, ...] = ()
    if equals:
        if space not in ("global", "const") or linkage == "extern":
            raise PtxError("CP7101", f"{name}: such a variable takes no initial value")
        init, relocs, dims[:1] = initialise(name, value.strip(), kind, tuple(dims))
    elif unsized and linkage != "extern" and space != "param":
        raise PtxError("CP7101", f"{name} has no size")
    return Var(
        name,
        space,
        kind,
        0 if dims[:1] == [-1] else SIZES[kind] * prod(dims),
        align,
        dynamic=dims[:1] == [-1],
        extern=linkage == "extern",
        init=init,
        relocs=relocs,
        dims=(0, *dims[1:]) if dims[:1] == [-1] else tuple(dims),
    )


def declare_in_module(text: str) -> list[Var] | None:
    """The variables of a declaration at module level; None where the text is no such declaration."""
    found = _MODULE_LEVEL.match(text)
    if not found or found[2] not in _SPACES:
        return None
    linkage, space, attribute = found.groups()
    for part in split(attribute or ""):
        if not re.fullmatch(r"\.managed|\.unified\s*\(.*\)", part, re.ASCII):
            raise PtxError("CP7101", f"unknown attribute {brief(part)}")
    return declare(text[found.end() :], _SPACES[space], linkage=linkage or "")


def parameters(text: str) -> tuple[Var, ...]:
    """The parameters between the brackets of a function's header. PtxError CP7103 for those in registers."""
    found: list[Var] = []
    for part in split(text):
        if part.startswith(".reg"):
            raise PtxError("CP7103", "parameters in registers (.reg) are not supported")
        if not re.match(r"\.param\b", part):
            raise PtxError("CP7101", f"not a parameter: {brief(part)}")
        (one,) = declare(part[len(".param") :], "param")
        found.append(one)
    if len({p.name for p in found}) != len(found):
        raise PtxError("CP7101", "two parameters of one name")
    return tuple(found)
