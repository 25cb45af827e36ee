"""What a target reached on one device model: `baselines/<device>.json`, written by the tool only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from verify.environment import Gpu
from verify.facts import CompileFacts
from verify.verdict import Status, Verdict


def baseline_of(verdict: Verdict, gpu: Gpu) -> dict[str, Any]:
    """The record of a PASSED verdict. ValueError for any other."""
    if verdict.status is not Status.PASSED:
        raise ValueError(f"only what PASSED is recorded, not {verdict.status}")
    compiled, parity, bench = (verdict.stage(s) for s in ("compile", "parity", "bench"))
    assert compiled and compiled.compile and parity and parity.parity
    found: dict[str, Any] = {
        "schema_version": 1,
        "device": gpu.name,
        "kernel": verdict.kernel,
        "recorded": verdict.created,
        "hashes": verdict.hashes,
        "versions": verdict.environment.get("versions", {}),
        "driver": gpu.driver,
        "arch": compiled.compile.arch,
        "resources": {"port": _resources(compiled.compile)},
        "parity": {
            d.output: {"max_abs": d.max_abs, "max_ulp": d.max_ulp, "bitwise_equal": d.bitwise_equal}
            for d in parity.parity.outputs
        },
    }
    if parity.parity.original is not None:
        found["resources"]["original"] = _resources(parity.parity.original)
    if parity.parity.doubts:
        found["machine_code"] = [
            d.model_dump(mode="json", exclude_defaults=True) for d in parity.parity.doubts
        ]
    if bench is not None and bench.bench is not None:
        found["bench"] = bench.bench.model_dump(mode="json")
    return found


def _resources(facts: CompileFacts) -> dict[str, Any]:
    return {
        "ptx_sha256": facts.ptx_sha256,
        "kernels": [k.model_dump(mode="json") for k in facts.kernels],
        "features": facts.features,
    }


def read_baseline(path: Path) -> dict[str, Any]:
    """A recorded baseline. ValueError where it is none."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("schema_version") != 1:
        raise ValueError(f"{path} is no baseline of schema 1")
    return data
