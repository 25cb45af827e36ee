"""Baselines: what is recorded, and which files can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verify.baseline import Baseline, BaselineError, load_baseline

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
