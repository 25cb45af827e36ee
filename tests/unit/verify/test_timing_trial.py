"""The trial of the timing rule, on the stand-in driver: what runs on a GPU is this code."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import cuda.bindings
import pytest
from fake_driver import FakeDriver
from in_process import saxpy_kernel
from saxpy_target import SPEC, write_target

from tests.gpu import timing_trial
from verify.original import Built


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()

    def spin(_grid: Any, _block: Any, values: list[bytes]) -> None:
        fake.clock += 1.5e-6 + int.from_bytes(values[0], "little") / 2e9

    fake.kernels |= {"k": ([4, 4, 8, 8], saxpy_kernel), "spin": ([8], spin)}
    fake.seconds["spin"] = lambda: 0.0
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    monkeypatch.setattr(timing_trial, "build", lambda *_: Built(b"x", "", {"saxpy": "k"}, "none"))
    return fake


@pytest.mark.parametrize("us", [20.0, 300.0])
def test_both_trials(driver: FakeDriver, tmp_path: Path, us: float) -> None:
    rng = random.Random(1)
    driver.seconds["k"] = lambda: us * 1e-6 * rng.gauss(1, 0.01)
    target = write_target(
        tmp_path / "t", "", SPEC.replace("sizes = { n = 1009 }", 'sizes = { n = 65 }\nrole = "large"')
    )
    out = tmp_path / "out.json"
    assert timing_trial.main([str(target), "--repetitions", "10", "--out", str(out)]) == 0
    got = json.loads(out.read_text(encoding="utf-8"))
    assert got["itself_same"] == 1.0
    assert got["slower_by_3_percent_slower"] == 1.0
    one = got["trials"]["t"]
    assert one["itself"]["words"] == {"SAME": 10}
    assert abs(one["itself"]["grown_by"]) < 0.002
    assert one["slower"]["grown_by"] == pytest.approx(0.03, abs=0.004)
    assert one["slower"]["every"] == (5 if us == 20 else 1)
    assert not driver.memory
