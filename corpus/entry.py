"""`entry.toml`: what an entry of the corpus says of itself, and what the tool says of its proof."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

# Licences whose text may be kept in a project under Apache-2.0.
LICENCES = ("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "ISC", "CC0-1.0")
# What families and ids may be called. `id__variant` is a folder: with no `__` in an id it is one variant's.
NAME = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
LONGEST = 64  # characters of one: with a variant's name it is a file's name
Name = Annotated[str, Field(pattern=NAME, max_length=LONGEST)]
# What a proof shows at least: the share of changed kernels turned away, the twin's time over the kernel's.
LEAST_SCORE = 0.95
LEAST_RATIO = 0.95
# No line break, and nothing that a terminal obeys: lines are printed as they are.
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Variant(Strict):
    """One specialisation that is verified: `values` replace `${name}` in spec.toml. Changed kernels are
    judged in the first one, or in those that say `mutate`, whose kernels go other ways."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", max_length=LONGEST)
    values: dict[str, str]
    mutate: bool = False


class Provenance(Strict):
    """Where an entry comes from. `origin` is `written here`, or the project and path of the CUDA source."""

    origin: Line
    license: str
    technique: Line

    @field_validator("license")
    @classmethod
    def _spdx(cls, v: str) -> str:
        if v not in LICENCES:
            raise ValueError(f"{v!r} is none of the SPDX licences {', '.join(LICENCES)}")
        return v


class Proof(Strict):
    """What `corpus check` found on one device, the emulator being one. `hashes` are sha256 by file name;
    `mutation` is the share of changed kernels turned away, `ratio` the CUDA twin's time over the kernel's,
    both the least of all variants; absent where not measured."""

    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    device: str = Field(min_length=1)
    status: Literal["PASSED"]
    variants: list[str]
    mutation: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    ratio: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    hashes: dict[str, str]


class Entry(Strict):
    schema_version: Literal[1] = Field(alias="schema")
    id: Name
    family: Name
    summary: Line
    idioms: list[Line] = Field(min_length=1)
    teaches: list[Line] = Field(min_length=1)
    """CUDA constructs, as they stand in the twin."""
    dtypes: list[str] = Field(min_length=1)
    arch_min: str = Field(pattern=r"^sm_\d+a?$")
    arch_tested: list[str]
    dsl: str
    """Versions of the DSL, as in `>=4.8,<5`."""
    blocks: list[str]
    lessons: list[Line] = Field(max_length=3)
    provenance: Provenance
    same: dict[str, Line] = Field(default_factory=dict)
    """Changes that change no result, by what `verify --mutate` calls them, and why: they do not count."""
    beside: dict[str, Line] = Field(default_factory=dict)
    """Entries of nearly the same structure, by id, and why both stay."""
    draft: Line | None = None
    """Why the entry is not proven yet. Like every entry without a proof it is not found by a search."""
    variant: list[Variant] = Field(min_length=1)
    verified: list[Proof] = Field(default_factory=list)

    @field_validator("dsl")
    @classmethod
    def _range(cls, v: str) -> str:
        if not re.fullmatch(r"(>=|<|==)\d+(\.\d+)*(,(>=|<|==)\d+(\.\d+)*)*", v):
            raise ValueError(f"{v!r} is no range of versions such as >=4.8,<5")
        return v

    @model_validator(mode="after")
    def _variants_fit(self) -> Self:
        names = [v.name for v in self.variant]
        if len(set(names)) < len(names):
            raise ValueError("variants have the same name")
        if len({frozenset(v.values) for v in self.variant}) > 1:
            raise ValueError("variants give values for different names")
        return self

    def mutated(self) -> list[Variant]:
        """The variants in which changed kernels are judged: types alone show no more of what cases miss."""
        return [v for v in self.variant if v.mutate] or self.variant[:1]
