"""Target folders with verdicts of every kind, without running anything."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from verify.counts import CountFacts, Moved, SideCounts
from verify.facts import (
    BenchFacts,
    CompileFacts,
    Difference,
    DoubtFacts,
    ErrorFacts,
    FindingFacts,
    KernelResources,
    MutantFacts,
    MutationFacts,
    ParityFacts,
    RunFacts,
    Timing,
)
from verify.verdict import StageName, StageResult, Status, Verdict

PORT = '''"""A port."""

import cutlass


@cute.kernel
def add_kernel(n, x):
    i = tidx()
    if i < n:
        x[i] = x[i] + 1.5  # CP2103: not the same
'''
CUDA = """// The author's file.
#include <cstdio>

__global__ void add(int n, float* x) {
  int i = threadIdx.x;
  if (i < n) {
    x[i] = x[i] + 1.5f;
  }
}
"""
SLICE = "\n".join(CUDA.split("\n")[3:])
LINES = [[8, "add.cu", 4], [9, "add.cu", 5], [10, "add.cu", 6], [10, "add.cu", 7], [11, "other.cuh", 3]]


def compiled(registers: int = 40) -> CompileFacts:
    return CompileFacts(
        arch="sm_90a",
        compile_seconds=0.2,
        ptx_bytes=2048,
        ptx_sha256="ab" * 32,
        cubin_bytes=4096,
        cubin_sha256="cd" * 32,
        kernels=[KernelResources(name="add", registers=registers, static_shared_bytes=1088)],
        features={"global_loads": registers // 10, "barriers": 2},
    )


def mutation() -> MutationFacts:
    diff = "--- port.py\n+++ port.py\n@@ -9 +9 @@\n-    if i < n:\n+    if i <= n:\n"
    mutants = [
        MutantFacts(id="a", kind="bound", line=9, what="i < n: < → <=", fate="survived", diff=diff),
        MutantFacts(id="b", kind="store", line=10, what="without the store", fate="killed", code="CP7012"),
    ]
    return MutationFacts(
        available=9,
        seed=3,
        seconds=1.5,
        killed=1,
        survived=1,
        equivalent=0,
        invalid=0,
        unjudged=0,
        share=0.5,
        kinds={"bound": {"survived": 1}, "store": {"killed": 1}},
        codes={"CP7012": 1},
        mutants=mutants,
    )


def parity(**changes: Any) -> ParityFacts:
    side = SideCounts(
        instructions=123456,
        classes={"integer": 100000, "float": 23456},
        loads={"32": 77},
        barriers=8,
        traffic={"x": Moved(read=4096, written=0)},
        traffic_bytes=4096,
    )
    error = ErrorFacts(max_abs=3e-7, max_rel=2e-6, max_ulp=1.75, histogram=[0, 90, 8, 2, 0, 0])
    facts: dict[str, Any] = {
        "device": "emulator",
        "runs": [
            RunFacts(
                case="n=17", seed=s, values=v, grid=(3, 1, 1), block=(256, 2, 1), counted=s < 2, note=note
            )
            for s, v, note in (
                (0, "spec", ""),
                (1, "tiny", "no fp64 reference here"),
                (2, "constant", "null"),
            )
        ],
        "outputs": [
            Difference(
                output="x",
                dtype="f32",
                rule="fp64",
                elements=67108864,
                max_abs=1.25e-07,
                max_rel=3e-6,
                max_ulp=2.0,
                port_fp64=3e-7,
                original_fp64=3e-7,
                limit="abs 1e-06",
                port_error=error,
                original_error=error,
            )
        ],
        "rule": "fp64 + original",
        "deterministic": True,
        "order_dependent": False,
        "port_repeats": 3,
        "original": compiled(64),
        "original_builder": "NVRTC 13.0.88",
        "doubts": [
            DoubtFacts(side="port", runs=3, equal=1, rule="tolerance", left_open=["rsqrt.approx.f32"])
        ],
        "counts": CountFacts(case="typical", original=side, port=side),
        "mutation": mutation(),
    }
    return ParityFacts(**(facts | changes))


def bench() -> BenchFacts:
    return BenchFacts(
        case="large",
        grid=(132, 1, 1),
        block=(256, 1, 1),
        rating="FASTER",
        ratio=1.25,
        ratio_low=1.24,
        ratio_high=1.26,
        method="CUDA graph replays",
        launches_per_sample=3,
        buffer_sets=2,
        bytes_per_launch=536887296,
        clocks={"clocks.sm": "1980"},
        port=Timing(median_us=109.04, p10_us=108.0, p90_us=111.0, samples=120, gbytes_per_s=3970.0),
        original=Timing(median_us=136.3, p10_us=136.1, p90_us=136.9, samples=120, gbytes_per_s=3200.0),
    )


def stage(name: StageName, status: Status = Status.PASSED, **facts: Any) -> StageResult:
    return StageResult(stage=name, target="t", status=status, **facts)


def verdict(folder: Path, kernel: str, status: Status, *stages: StageResult) -> Verdict:
    return Verdict(
        target=str(folder).encode("utf-8", "replace").decode(),
        kernel=kernel,
        status=status,
        proven=f"what {kernel} proves",
        stages=list(stages),
        hashes={
            "port": _sha(folder / "port.py"),
            "original": _sha(folder / "original/device.cu"),
            "spec": _sha(folder / "spec.toml"),
            "harness": "5" * 64,
        },
        environment={"versions": {"python": "3.11.7", "torch": "2.13.0"}, "gpu": None},
        seed=7,
        created="2026-11-30T00:00:00+00:00",
    )


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_folder(folder: Path, port: str | bytes = PORT, cuda: str | bytes = CUDA) -> Path:
    (folder / "original").mkdir(parents=True)
    (folder / "port.py").write_bytes(port if isinstance(port, bytes) else port.encode())
    (folder / "original/add.cu").write_bytes(cuda if isinstance(cuda, bytes) else cuda.encode())
    (folder / "original/device.cu").write_text(SLICE)
    (folder / "spec.toml").write_text("schema = 1\n")
    (folder / "line_map.json").write_text(json.dumps({"format": 1, "lines": LINES}))
    return folder


def write(folder: Path, found: Verdict) -> Path:
    (folder / "verdict.json").write_text(found.model_dump_json(exclude_none=True))
    return folder


def passed(folder: Path, kernel: str = "add<float, 4>") -> Path:
    """Everything there is to say."""
    write_folder(folder)
    stages = (stage("static"), stage("compile", compile=compiled()), stage("parity", parity=parity()))
    not_asked = stage("sanitize", Status.NOT_RUN, message="not asked for")
    return write(
        folder, verdict(folder, kernel, Status.PASSED, *stages, not_asked, stage("bench", bench=bench()))
    )


def racy(folder: Path, message: str = "race in shared memory") -> Path:
    """The port and the original both do what they must not."""
    write_folder(folder)
    findings = [
        FindingFacts(
            side="port", code="CP8011", message=message, case="n=1", file="port.py", line=10, count=16
        ),
        FindingFacts(side="original", code="CP8006", message="x read", case="n=1", file="device.cu", line=4),
        FindingFacts(
            side="original", code="CP8001", message="odd", case="n=1", ptx="ld.global.f32 %f1, [%rd1]"
        ),
    ]
    facts = parity(findings=findings, outputs=[], runs=[], mutation=None, counts=None)
    failed = stage("parity", Status.SANITIZER, code="CP8011", message=message, line=10, parity=facts)
    stages = (stage("static"), stage("compile", compile=compiled()), failed)
    why = stage("bench", Status.NOT_RUN, message="parity ended SANITIZER")
    return write(folder, verdict(folder, "add", Status.SANITIZER, *stages, why))


def wrong(folder: Path) -> Path:
    """One output has wrong elements."""
    write_folder(folder)
    bad = Difference(
        output="x",
        dtype="f32",
        rule="original",
        elements=17,
        max_abs=4.5,
        max_rel=1.0,
        max_ulp=1e9,
        bad=3,
        first_bad=11,
        port_value="0.0",
        original_value="4.5",
        limit="abs 1e-06",
    )
    facts = parity(outputs=[bad], mutation=None, counts=None)
    failed = stage(
        "parity", Status.WRONG_VALUES, code="CP7012", message="3 of 17 elements differ", parity=facts
    )
    stages = (stage("static"), stage("compile", compile=compiled()), failed)
    return write(folder, verdict(folder, "add", Status.WRONG_VALUES, *stages))
