"""What a target reached on one device model: `baselines/<device>.json`, written by the tool only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from verify.environment import Gpu
from verify.facts import BenchFacts, CompileFacts, Difference, DoubtFacts, ErrorFacts, KernelResources, Strict
from verify.files import read_text
from verify.verdict import Status, Verdict

_NOW: Literal[2] = 2


class Resources(Strict):
    """What one side compiled to. `features` counts telling PTX instructions."""

    ptx_sha256: str
    kernels: list[KernelResources]
    features: dict[str, int] = Field(default_factory=dict)


class Agreement(Strict):
    """How far one output of the port was from the original's, at worst; `*_fp64` from reference.py. What
    schema 1 did not record is absent."""

    rule: Literal["exact", "fp64", "original"] | None = None
    dtype: str | None = None
    max_abs: float
    max_rel: float | None = None
    max_ulp: float
    bitwise_equal: bool
    port_fp64: float | None = None
    original_fp64: float | None = None
    port_error: ErrorFacts | None = None
    original_error: ErrorFacts | None = None


class Baseline(Strict):
    """Schema 1 held no more of a bench than medians and p10 to p90 of its largest case: see `lacks`."""

    schema_version: Literal[1, 2] = _NOW
    device: str
    kernel: str
    recorded: str
    hashes: dict[str, str]
    versions: dict[str, str]
    driver: str
    arch: str
    seed: int | None = None
    resources: dict[Literal["port", "original"], Resources]
    parity: dict[str, Agreement]
    machine_code: list[DoubtFacts] = Field(default_factory=list)
    bench: BenchFacts | None = None

    @property
    def lacks(self) -> str:
        """What a record of an earlier schema does not say, or ""."""
        if self.schema_version == _NOW:
            return ""
        return (
            f"recorded with schema {self.schema_version}: no quantiles, no clocks of launch and first call, "
            "no floors, no errors against float64; record it again to compare those"
        )


class BaselineError(Exception):
    """The file can't be used as a baseline; the text says why, and what to do."""


def baseline_of(verdict: Verdict, gpu: Gpu) -> Baseline:
    """The record of a PASSED verdict. ValueError for any other."""
    if verdict.status is not Status.PASSED:
        raise ValueError(f"only what PASSED is recorded, not {verdict.status}")
    compiled, parity, bench = (verdict.stage(s) for s in ("compile", "parity", "bench"))
    assert compiled and compiled.compile and parity and parity.parity
    resources: dict[Literal["port", "original"], Resources] = {"port": _resources(compiled.compile)}
    if parity.parity.original is not None:
        resources["original"] = _resources(parity.parity.original)
    versions: dict[str, str] = verdict.environment.get("versions", {})
    return Baseline(
        device=gpu.name,
        kernel=verdict.kernel,
        recorded=verdict.created,
        hashes=verdict.hashes,
        versions=versions,
        driver=gpu.driver,
        arch=compiled.compile.arch,
        seed=verdict.seed,
        resources=resources,
        parity={d.output: _agreement(d) for d in parity.parity.outputs},
        machine_code=parity.parity.doubts,
        bench=bench.bench if bench is not None else None,
    )


def _resources(facts: CompileFacts) -> Resources:
    return Resources(ptx_sha256=facts.ptx_sha256, kernels=facts.kernels, features=facts.features)


def _agreement(found: Difference) -> Agreement:
    return Agreement(**{name: getattr(found, name) for name in Agreement.model_fields})


def load_baseline(path: Path) -> Baseline:
    """A recorded baseline of this schema or an earlier one. BaselineError where it is none."""
    try:
        data = json.loads(read_text(path))
    except (OSError, ValueError) as e:
        raise BaselineError(f"{path} can't be read: {e}") from e
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, int) or version < 1:
        raise BaselineError(f"{path} is no baseline")
    if version > _NOW:
        raise BaselineError(f"{path} has schema {version}; this version reads 1 to {_NOW}: record it again")
    try:
        return Baseline.model_validate(data)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        raise BaselineError(f"{path} is damaged: {where}: {first['msg']}") from e
