"""What instructions a PTX text consists of: accesses by space and width, arithmetic by precision, order.

Counts are of the text, not of what runs: a loop counts once, an unrolled one as often as it is unrolled. So
numbers of two compilers differ where the programs do not; what is there on one side only tells more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field

from verify.emulator.classes import access_bytes, class_of, space_of

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OPCODE = re.compile(r"\s*(?:[\w$]+:\s*)*(?:@!?%?[\w$]+\s+)?([a-z]\w*(?:\.[\w:]+)*)(?=\s|$)")
_OPERATIONS = ("add", "min", "max", "inc", "dec", "cas", "exch", "and", "or", "xor", "popc", "sub")
_SIGNLESS = frozenset({"add", "cas", "exch", "and", "or", "xor"})
_BARE = frozenset({"ret", "exit", "trap", "bra", "call", "brkpt"})  # the rest has a type or a modifier
_SPACES = ("global", "shared", "local", "const", "generic")
_FLOAT = re.compile(r"(f64|f32|tf32|bf16|f16|e4m3|e5m2|e3m2|e2m3|e2m1)(?:x\d+)?")
_BITS = {"f64": 64, "f32": 32, "tf32": 19, "bf16": 16, "f16": 16, "e4m3": 8, "e5m2": 8}
_BITS |= {"e3m2": 6, "e2m3": 6, "e2m1": 4}
# What computes; conversions and moves have a precision at either end.
_ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt"})
_ARITHMETIC |= {"sin", "cos", "lg2", "ex2", "tanh"}
_ROUNDED = frozenset({"div", "rcp", "sqrt"})
_APPROXIMATE = frozenset({"approx", "full"})
_MATRIX = re.compile(r"mma\.|wmma\.mma\.|wgmma\.mma_async\.|tcgen05\.mma\.")
_ASYNCHRONOUS = re.compile(r"cp\.(?:async|reduce\.async)\.(?:ca|cg|bulk)")


class CodeFacts(BaseModel):
    """How often each kind stands in one PTX text. `loads` and `stores` are by space and width in bits, as in
    "global 128"; `atomics` by space, operation and type; `arithmetic` by the type that it works in;
    `rounded` are divisions, reciprocals and roots that are right to the last place, `approximate` those and
    other functions that are not; `narrowed` are conversions of floats to fewer bits, as in "f32 to f16";
    `matrix` is by a tensor core's types."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instructions: int
    classes: dict[str, int] = Field(default_factory=dict)
    loads: dict[str, int] = Field(default_factory=dict)
    stores: dict[str, int] = Field(default_factory=dict)
    atomics: dict[str, int] = Field(default_factory=dict)
    barriers: int = 0
    shuffles: int = 0
    arithmetic: dict[str, int] = Field(default_factory=dict)
    rounded: dict[str, int] = Field(default_factory=dict)
    approximate: dict[str, int] = Field(default_factory=dict)
    narrowed: dict[str, int] = Field(default_factory=dict)
    matrix: dict[str, int] = Field(default_factory=dict)
    asynchronous: int = 0
    dynamic_shared: bool = False


def opcodes(ptx: str) -> Counter[str]:
    """How often each opcode with its modifiers stands in a text."""
    found: Counter[str] = Counter()
    for statement in _statements(ptx):
        opcode = _OPCODE.match(statement)
        if opcode is not None and ("." in opcode[1] or opcode[1] in _BARE):
            found[opcode[1]] += 1
    return found


def _statements(ptx: str) -> Iterator[str]:
    return (s for s in re.split(r"[;{}\n]", _COMMENT.sub(" ", ptx)) if not s.lstrip().startswith("."))


def read_code(ptx: str) -> CodeFacts:
    """The facts of a text."""
    counts = opcodes(ptx)
    return CodeFacts(
        instructions=counts.total(),
        classes=_sums(counts, class_of),
        loads=_accesses(counts, "ld"),
        stores=_accesses(counts, "st"),
        atomics=_sums(counts, _atomic),
        barriers=sum(n for op, n in counts.items() if _is_barrier(op)),
        shuffles=sum(n for op, n in counts.items() if op.startswith("shfl.")),
        arithmetic=_sums(counts, _precision),
        rounded=_sums(counts, lambda op: _function(op, approximate=False)),
        approximate=_sums(counts, lambda op: _function(op, approximate=True)),
        narrowed=_sums(counts, _narrowed),
        matrix=_sums(counts, _matrix),
        asynchronous=sum(n for op, n in counts.items() if _ASYNCHRONOUS.match(op)),
        dynamic_shared=re.search(r"\.extern\s+\.shared\b", ptx) is not None,
    )


def _sums(counts: Mapping[str, int], kind: Callable[[str], str]) -> dict[str, int]:
    """Counts by kind, the most first; "" is no kind."""
    found: Counter[str] = Counter()
    for op, n in counts.items():
        if name := kind(op):
            found[name] += n
    return dict(sorted(found.items(), key=lambda row: (-row[1], row[0])))


def _accesses(counts: Mapping[str, int], family: str) -> dict[str, int]:
    return {
        f"{space} {8 * width}": n
        for space in _SPACES
        for width, n in access_bytes(counts, family, space).items()
    }


def _atomic(op: str) -> str:
    words = op.split(".")
    if words[0] not in ("atom", "red"):
        return ""
    operation = next((w for w in words if w in _OPERATIONS), "?")
    # Signed or not is the same to an addition, and compilers differ in what they write.
    kind = re.sub(r"^[us](?=\d)", "b", words[-1]) if operation in _SIGNLESS else words[-1]
    return f"{space_of(op)} {operation} {kind}"


def _is_barrier(op: str) -> bool:
    return op.startswith(("bar.", "barrier.")) and ".warp" not in op and ".cluster" not in op


def _precision(op: str) -> str:
    words = op.split(".")
    if words[0] not in _ARITHMETIC:
        return ""
    types = [m[1] for w in words[1:] if (m := _FLOAT.fullmatch(w))]
    return types[-1] if types else ""


def _function(op: str, *, approximate: bool) -> str:
    words = op.split(".")
    if not _precision(op) or bool(_APPROXIMATE & set(words)) != approximate:
        return ""
    return words[0] if approximate or words[0] in _ROUNDED else ""


def _narrowed(op: str) -> str:
    words = op.split(".")
    types = [m[1] for w in words[1:] if (m := _FLOAT.fullmatch(w))]
    if words[0] != "cvt" or len(types) != 2 or _BITS[types[0]] >= _BITS[types[1]]:
        return ""
    return f"{types[1]} to {types[0]}"


def _matrix(op: str) -> str:
    if not _MATRIX.match(op):
        return ""
    kinds = r"f64|f32|tf32|bf16|f16|e4m3|e5m2|e3m2|e2m3|e2m1|[su]8|[su]4|b1|s32"
    return " ".join(w for w in op.split(".") if re.fullmatch(kinds, w))
