"""Facts of a CUDA kernel: what it does, how it goes through memory, where its threads wait for each other.

They come from the kernel's model where the frontend can make one, else from the text of its device code;
both are brought into one normal form and looked at through the same table.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from translator.model.kernel import KernelModel
from translator.retrieval.normal import normal, tokens
from translator.retrieval.plain import plain

Origin = Literal["model", "text"]
Kind = Literal["idiom", "access", "sync"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of `idioms.toml`, its patterns compiled."""

    id: str
    says: str
    kind: Kind
    weight: float
    any: tuple[re.Pattern[str], ...]
    all: tuple[re.Pattern[str], ...]
    none: tuple[re.Pattern[str], ...]
    needs: frozenset[str]
    without: frozenset[str]
    either: frozenset[str]

    def holds(self, text: str, before: set[str]) -> bool:
        """Whether the normal form `text`, of which the rows `before` hold, shows this one."""
        if not self.needs <= before or self.without & before:
            return False
        if self.either and not self.either & before:
            return False
        if not all(p.search(text) for p in self.all) or any(p.search(text) for p in self.none):
            return False
        return not self.any or any(p.search(text) for p in self.any)


@dataclass(frozen=True, slots=True)
class Facts:
    """Ids of the rows that hold, by kind, in the table's order. `sync` is ("none",) where threads never meet.

    `dtypes` are element types seen, in the DSL's short names; `arch` the least target that has what is used,
    "" where any has. `origin` says whether a model was made; `refused_by` why not, as codes.
    """

    kernel: str
    idioms: tuple[str, ...]
    access: tuple[str, ...]
    sync: tuple[str, ...]
    dtypes: tuple[str, ...]
    arch: str = ""
    origin: Origin = "model"
    refused_by: tuple[str, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """All rows that hold."""
        return frozenset((*self.idioms, *self.access, *self.sync)) - {"none"}


@cache
def table() -> tuple[Row, ...]:
    """The rows of `idioms.toml`, in its order."""
    text = files("translator.retrieval").joinpath("idioms.toml").read_text(encoding="utf-8")
    return tuple(_row(r) for r in tomllib.loads(text)["row"])


def _row(read: dict[str, object]) -> Row:
    def patterns(name: str) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_spelt(p)) for p in _strings(read.get(name, [])))

    def names(name: str) -> frozenset[str]:
        return frozenset(_strings(read.get(name, [])))

    known = {"id", "says", "kind", "weight", "any", "all", "none", "needs", "without", "either"}
    assert read.keys() <= known, read
    return Row(
        id=str(read["id"]),
        says=str(read["says"]),
        kind=read["kind"],  # type: ignore[arg-type]
        weight=float(str(read["weight"])),
        any=patterns("any"),
        all=patterns("all"),
        none=patterns("none"),
        needs=names("needs"),
        without=names("without"),
        either=names("either"),
    )


def _strings(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(v) for v in value]


# How far apart the parts of one idiom may stand: without a bound, long kernels would take long.
_NEAR = ".{0,2500}"
_LONGEST = 100_000  # characters of a normal form that are looked at
_VALUE = r"[A-Za-z_@]\w*(?: (?:\.|->) \w+| \[ (?:[^\[\];]|\[ [^\[\];]* \])* \])*"


def _spelt(pattern: str) -> str:
    pattern = pattern.replace(".*", _NEAR)
    return pattern.replace("%v", _VALUE).replace("%n", r"[A-Za-z_@]\w*")


_DTYPES = {
    "bf16": r"\bbf16\b|bfloat16",
    "f16": r"\bf16\b|\b__half2?\b|\bhalf[248]?\b|half4",
    "f32": r"\bf32\b|\bfloat[234]?\b",
    "f64": r"\bf64\b|\bdouble\b",
    "f8": r"f8e\dm\d|fp8",
    "f4": r"fp4|e2m1|E2M1",
    "i8": r"\bi8\b|int8|\bsigned char\b|\bchar4\b",
    "u8": r"\bu8\b|uint8_t|unsigned char",
    "i64": r"\bi64 \*|int64_t \*|long long \*",
}
# The least target first that has what the pattern finds.
_ARCH = (
    ("sm_100a", r"e2m1x2|e8m0x2|tcgen05"),
    (
        "sm_90",
        r"cluster_group|this_cluster|wgmma|cp\.async\.bulk|griddepcontrol|cudaGridDependencySynchronize",
    ),
    ("sm_89", r"fp8|f8e\dm\d"),
    ("sm_80", r"bf16|bfloat16|cp\.async|memcpy_async|__reduce_\w+_sync"),
)


def of_model(model: KernelModel) -> Facts:
    """Facts of a kernel that the frontend could read."""
    return of_normal(model.kernel.name, normal(tokens(plain(model))), "model")


def of_normal(
    kernel: str, text: str, origin: Origin, refused_by: tuple[str, ...] = (), source: str = ""
) -> Facts:
    """Facts of a normal form; `source` is text that may name what the form has lost, such as assembly."""
    held: dict[str, Row] = {}
    text = text[:_LONGEST]
    for row in table():
        if row.holds(text, set(held)):
            held[row.id] = row

    def of(kind: Kind) -> tuple[str, ...]:
        return tuple(r.id for r in held.values() if r.kind == kind)

    return Facts(
        kernel=kernel,
        idioms=of("idiom"),
        access=of("access"),
        sync=of("sync") or ("none",),
        dtypes=tuple(n for n, p in _DTYPES.items() if re.search(p, text)),
        arch=next((a for a, p in _ARCH if re.search(p, text + source)), ""),
        origin=origin,
        refused_by=refused_by,
    )
