"""Types, names and scopes of generated programs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BITS = {"bool": 1, "signed char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32}
BITS |= {"unsigned": 32, "long long": 64, "unsigned long long": 64}
INTS = tuple(BITS)
FLOATS = ("float", "double")
SLOTS = 24  # results of one thread
THREADS = 4


def signed(t: str) -> bool:
    return t in ("signed char", "short", "int", "long long")


def promoted(t: str) -> str:
    return "int" if BITS[t] < 32 else t


def usual(a: str, b: str) -> str:
    """The type of an arithmetic operation on two integers."""
    a, b = promoted(a), promoted(b)
    if BITS[a] != BITS[b]:
        return a if BITS[a] > BITS[b] else b
    return a if not signed(a) else b


def constant(text: str) -> bool:
    """Whether `text` mentions no variable: the front end may evaluate it, where overflow has no value."""
    return re.search(r"\b(?:[vabs]\d+|[xyuhfg]\[|[tn]\b|p\d)", text) is None


@dataclass(frozen=True)
class StructType:
    name: str
    fields: tuple[tuple[str, object, int], ...]  # name, scalar type or StructType, array count (0: none)


@dataclass(frozen=True)
class Name:
    """Something in scope. `kind`: scalar, array, struct, structs (an array of them), pointer."""

    text: str
    kind: str
    type: object
    count: int = 0
    const: bool = False


@dataclass(frozen=True)
class Callee:
    name: str
    result: object  # scalar type, StructType or "void"
    params: tuple[tuple[str, object], ...]  # kind (value, ref, pointer), type


@dataclass
class Scope:
    names: list[Name] = field(default_factory=list)
    loop: bool = False
    breakable: bool = False
    result: object = None  # of the device function; None in the kernel
    depth: int = 0
    work: int = 1  # iterations that enclosing loops make at most
    here: set[str] = field(default_factory=set)  # names declared in this very block
