"""Baselines: what is recorded, and which files can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verify.baseline import Baseline, BaselineError, baseline_of, load_baseline
from verify.environment import Gpu
from verify.facts import CompileFacts, Difference, ParityFacts, RunFacts
from verify.verdict import StageResult, Status, Verdict

COMPILED = CompileFacts(
    arch="sm_90a", compile_seconds=0, ptx_bytes=1, ptx_sha256="bb", cubin_bytes=1, cubin_sha256="", kernels=[]
)
RECORDED = sorted((Path(__file__).parents[3] / "targets").glob("*/baselines/*.json"))


def test_every_recorded_baseline_is_read() -> None:
    found = {p.parent.parent.name: load_baseline(p) for p in RECORDED}
    assert len(found) == 24
    for path in RECORDED:
        data = json.loads(path.read_text(encoding="utf-8"))
        one = found[path.parent.parent.name]
        assert one.device == data["device"]
        assert one.resources["port"].ptx_sha256 == data["resources"]["port"]["ptx_sha256"]
        assert {n: a.max_abs for n, a in one.parity.items()} == {
            n: a["max_abs"] for n, a in data["parity"].items()
        }
        assert one.bench is not None
        assert one.bench.port.median_us == data["bench"]["port"]["median_us"]


def test_what_passed_is_recorded_and_read_back(tmp_path: Path) -> None:
    difference = Difference(
        output="y", dtype="float32", rule="fp64", elements=8, max_abs=0.25, max_ulp=2, port_fp64=0.5
    )
    stages = [
        StageResult(stage="static", target="t", status=Status.PASSED),
        StageResult(stage="compile", target="t", status=Status.PASSED, compile=COMPILED),
        StageResult(
            stage="parity",
            target="t",
            status=Status.PASSED,
            parity=ParityFacts(
                runs=[
                    RunFacts(case="c", seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=True)
                ],
                outputs=[difference],
                rule="fp64",
                deterministic=True,
                order_dependent=False,
                port_repeats=3,
            ),
        ),
    ]
    environment = {"versions": {"torch": "2.13.0"}, "gpu": None}
    verdict = Verdict(
        target="/home/someone/t", kernel="k", status=Status.PASSED, proven="all", stages=stages,
        hashes={"port": "aa"}, environment=environment, seed=7, created="2026-11-30T00:00:00+00:00",
    )  # fmt: skip
    made = baseline_of(verdict, Gpu("NVIDIA H200", "sm_90a", 132, 1, 1, "CUDA 13.0"))
    text = json.dumps(made.model_dump(mode="json", exclude_none=True))
    assert "/home" not in text  # neither places nor hosts
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    again = load_baseline(path)
    assert again == made
    assert again.lacks == ""
    assert (again.seed, again.parity["y"].rule, again.parity["y"].port_fp64) == (7, "fp64", 0.5)
    assert list(json.loads(text))[:4] == ["schema_version", "device", "kernel", "recorded"]
    failed = verdict.model_copy(update={"status": Status.SLOWER})
    with pytest.raises(ValueError, match="only what PASSED"):
        baseline_of(failed, Gpu("NVIDIA H200", "sm_90a", 132, 1, 1, "CUDA 13.0"))


def first_schema() -> dict[str, object]:
    return {
        "schema_version": 1, "device": "NVIDIA H200", "kernel": "k", "recorded": "2026-11-30T04:48:57+00:00",
        "hashes": {"spec": "aa"}, "versions": {"python": "3.12.3"}, "driver": "CUDA 13.0", "arch": "sm_90a",
        "resources": {"port": {"ptx_sha256": "bb", "kernels": [], "features": {}}},
        "parity": {"y": {"max_abs": 0.5, "max_ulp": 2.0, "bitwise_equal": False}},
    }  # fmt: skip


def test_an_earlier_schema_says_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps(first_schema()), encoding="utf-8")
    old = load_baseline(path)
    assert old.parity["y"].max_ulp == 2.0
    assert old.parity["y"].rule is None
    assert "schema 1" in old.lacks
    assert Baseline.model_validate({**first_schema(), "schema_version": 2}).lacks == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "can't be read"),
        ("[]", "is no baseline"),
        ('{"schema_version": true}', "is damaged"),
        (json.dumps({**first_schema(), "schema_version": 3}), "schema 3"),
        (json.dumps({**first_schema(), "driver": 1}), "damaged: driver"),
        (json.dumps({**first_schema(), "host": "x"}), "damaged: host"),
    ],
)
def test_what_is_no_baseline_is_told(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BaselineError, match=words):
        load_baseline(path)


def test_a_missing_baseline_is_told(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="can't be read"):
        load_baseline(tmp_path / "none.json")
