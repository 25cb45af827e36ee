"""Reads the C prototype of a mapping row: `float fmaf(float x, float y, float z)`."""

from __future__ import annotations

import re
from dataclasses import dataclass

DSL_TYPES = {
    "bool": "Boolean",
    **{f"i{b}": f"Int{b}" for b in (8, 16, 32, 64)},
    **{f"u{b}": f"Uint{b}" for b in (8, 16, 32, 64)},
    **{f"f{b}": f"Float{b}" for b in (16, 32, 64)},
    "bf16": "BFloat16",
    "f8e4m3": "Float8E4M3FN",
    "f8e5m2": "Float8E5M2",
}
_TYPES = {
    "void": "void",
    "bool": "bool",
    "char": "i8",
    "signed char": "i8",
    "unsigned char": "u8",
    "short": "i16",
    "unsigned short": "u16",
    "int": "i32",
    "unsigned": "u32",
    "long long": "i64",
    "unsigned long long": "u64",
    "size_t": "u64",
    "half": "f16",
    "bf16": "bf16",
    "fp8_e4m3": "f8e4m3",
    "fp8_e5m2": "f8e5m2",
    "float": "f32",
    "double": "f64",
    "half2": "half2",
    "bf162": "bf162",
    "float2": "float2",
    "float4": "float4",
    "double2": "double2",
    "struct": "struct",
    "text": "text",  # a string literal
    "any": "any",
}


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: its name, type pattern and default value."""

    name: str
    pattern: str
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function's name, parameters and result pattern; `variadic` if it ends in `...`."""

    name: str
    params: tuple[Param, ...]
    result: str


def parse_prototype(text: str, generic: str) -> Prototype:
    """Read a prototype. `T` stands for the pattern `generic`. Raises ValueError where it can't be read."""
    match = re.fullmatch(r"(.*?)\s*(\*?)\s*([\w:]+(?: new| delete)?(?:\[\])?)\((.*)\)", text.strip())
    if not match:
        raise ValueError(f"not a prototype: {text}")
    result, star, name, params = match.groups()
    if params == "...":
        return Prototype(name, (), _pattern(result + star, generic))
    read = [_param(p.strip(), generic) for p in params.split(",") if p.strip()]
    return Prototype(name, tuple(read), _pattern(result + star, generic))


def _param(text: str, generic: str) -> Param:
    text, _, default = (part.strip() for part in text.partition("="))
    match = re.fullmatch(r"(.*[\s*])(\w+)", text)
    if not match:
        raise ValueError(f"not a parameter: {text}")
    return Param(match[2], _pattern(match[1], generic), int(default, 0) if default else None)


def _pattern(text: str, generic: str) -> str:
    base = text.replace("const ", "").replace("volatile ", "").strip()
    if base.endswith("*"):
        pointee = _pattern(base[:-1], generic)
        return "ptr" if pointee == "void" else "ptr:" + pointee.replace("|", "/")
    if base == "T":
        if not generic:
            raise ValueError("a prototype with T needs the row's T")
        return generic
    if base not in _TYPES:
        raise ValueError(f"unknown type {base!r}")
    return _TYPES[base]
