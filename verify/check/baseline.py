"""Baselines as a check needs them: read whatever tool version wrote them, written only for what passed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verify.baseline import BaselineError, load_baseline
from verify.counts import CountFacts
from verify.environment import Gpu
from verify.facts import CompileFacts, KernelResources, ParityFacts
from verify.files import read_text

EMULATOR = "emulator"
_KNOWN = (2,)  # of the emulator's records; those of a GPU are read by verify.baseline


class Loose(BaseModel):
    """Of a record only what is compared is read; later versions may say more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Resources(Loose):
    """`code_sha256` is that of the PTX without comments; absent where it was not recorded."""

    ptx_sha256: str
    code_sha256: str | None = None
    kernels: list[KernelResources]
    features: dict[str, int] = Field(default_factory=dict)


class Agreement(Loose):
    max_abs: float
    max_ulp: float
    bitwise_equal: bool


class Times(Loose):
    median_us: float
    p10_us: float
    p90_us: float


class Bench(Loose):
    """`ratio` is original time / port time with its interval."""

    case: str
    ratio: float
    ratio_low: float
    ratio_high: float
    port: Times
    original: Times
    also: list[Bench] = Field(default_factory=list)  # further cases, timed alike


class Proof(Loose):
    """That values agreed: `key` is the hash of all they depend on, `verified` when (UTC), `outputs` the
    digest of each side's output bits."""

    key: str
    verified: str
    target: str = ""
    runs: int = 0
    counted: int = 0
    outputs: dict[Literal["original", "port"], str] = Field(default_factory=dict)
    parity: dict[str, Agreement] = Field(default_factory=dict)
    counts: CountFacts | None = None

    @classmethod
    def of(cls, key: str, verified: str, target: str, facts: ParityFacts) -> Self:
        return cls(
            key=key,
            verified=verified,
            target=target,
            runs=len(facts.runs),
            counted=sum(r.counted for r in facts.runs),
            outputs=dict(facts.output_bits),
            parity={
                d.output: Agreement(max_abs=d.max_abs, max_ulp=d.max_ulp, bitwise_equal=d.bitwise_equal)
                for d in facts.outputs
            },
            counts=facts.counts,
        )


class Recorded(Loose):
    """One `baselines/<device>.json`. `driver` is empty for the emulator, `proof` there alone."""

    schema_version: int
    device: str
    kernel: str
    recorded: str
    hashes: dict[str, str]
    versions: dict[str, str]
    driver: str = ""
    arch: str
    seed: int | None = None
    resources: dict[Literal["port", "original"], Resources]
    parity: dict[str, Agreement] = Field(default_factory=dict)
    bench: Bench | None = None
    proof: Proof | None = None


def read(path: Path) -> Recorded:
    """The record in a file, of a GPU or of the emulator. BaselineError for what can't be used."""
    try:
        data = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as e:
        raise BaselineError(f"{path} can't be read: {e}") from e
    if not isinstance(data, dict) or data.get("device") != EMULATOR:
        return Recorded.model_validate(load_baseline(path).model_dump(mode="json"))
    version = data.get("schema_version")
    if version not in _KNOWN:
        raise BaselineError(f"{path} has schema {version}; known is {_KNOWN[0]}: record it again")
    try:
        return Recorded.model_validate(data)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        raise BaselineError(f"{path} is damaged: {where}: {first['msg']}") from e


def find(target: Path, gpu: Gpu | None) -> tuple[Path, Recorded | None]:
    """Where this device's baseline of a target belongs, and what it says. BaselineError also where it is
    another device's."""
    slug, name = (gpu.slug, gpu.name) if gpu is not None else (EMULATOR, EMULATOR)
    path = target / "baselines" / f"{slug}.json"
    if not path.exists():
        return path, None
    found = read(path)
    if found.device != name:
        raise BaselineError(f"{path} was recorded on {found.device}, not on {name}")
    return path, found


def elsewhere(target: Path, own: Path, arch: str) -> tuple[Path, Recorded] | None:
    """Another device's baseline for the same architecture: its PTX and resources can be compared."""
    for path in sorted((target / "baselines").glob("*.json")):
        if path == own:
            continue
        try:
            found = read(path)
        except BaselineError:
            continue
        if found.arch == arch:
            return path, found
    return None


def emulator_record(
    kernel: str,
    recorded: str,
    hashes: dict[str, str],
    versions: dict[str, str],
    seed: int,
    sides: dict[Literal["port", "original"], tuple[CompileFacts, str]],
    proof: Proof,
) -> dict[str, Any]:
    """What is written for a target whose values agreed in the emulator; `sides` with the hash of their PTX
    without comments."""
    made = Recorded(
        schema_version=_KNOWN[-1],
        device=EMULATOR,
        kernel=kernel,
        recorded=recorded,
        hashes=hashes,
        versions=versions,
        arch=sides["port"][0].arch,
        seed=seed,
        resources={
            name: Resources(ptx_sha256=f.ptx_sha256, code_sha256=code, kernels=f.kernels, features=f.features)
            for name, (f, code) in sides.items()
        },
        parity=proof.parity,
        proof=proof.model_copy(update={"parity": {}}),
    )
    return made.model_dump(mode="json", exclude_none=True, exclude_defaults=False)
