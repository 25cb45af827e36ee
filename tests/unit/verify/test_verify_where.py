"""Which device a verification takes."""

from __future__ import annotations

import pytest

from verify import where
from verify.emulator.ptx.module import PtxError
from verify.environment import Gpu
from verify.options import DeviceChoice, Options
from verify.where import Where, choose, emulator_gap

GPU = Gpu("NVIDIA H200", "sm_90a", 132, 1, 1, "CUDA 13.0")


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("emulator", [True, False])
@pytest.mark.parametrize("device", ["auto", "gpu", "emulator"])
def test_what_is_chosen(
    gpu: bool, emulator: bool, device: DeviceChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "find_gpu", lambda: (GPU, "") if gpu else (None, "no driver"))
    monkeypatch.setattr(where, "emulator_gap", lambda: ("", "") if emulator else ("CP7106", "no compiler"))
    found = choose(Options(device=device))
    on_gpu = gpu and device != "emulator"
    assert found.gpu is (GPU if on_gpu else None)
    assert found.emulator is (emulator and device != "gpu" and not on_gpu)
    assert found.runs is (on_gpu or found.emulator)
    if not found.runs:
        assert found.why
        assert found.code == ("CP7106" if device == "emulator" else "CP9002")
    elif found.emulator:
        assert found.code == "CP9002" and found.why  # of the times, which are not taken


def test_a_gpu_of_another_architecture_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "find_gpu", lambda: (GPU, ""))
    monkeypatch.setattr(where, "emulator_gap", lambda: ("", ""))
    found = choose(Options(arch="sm_80"))
    assert (found.gpu, found.emulator, found.arch) == (None, True, "sm_80")
    assert "the GPU here is sm_90a" in found.why


def test_nothing_is_looked_for_where_values_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked() -> None:
        raise AssertionError

    monkeypatch.setattr(where, "find_gpu", looked)
    assert choose(Options(stages=("compile",))) == Where("sm_90a", why="not asked for")


def test_each_gap_has_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where.platform, "machine", lambda: "riscv64")
    assert emulator_gap()[0] == "CP7110"
    monkeypatch.undo()
    monkeypatch.setattr(where, "check_version", lambda: None)
    monkeypatch.setattr(where, "compiler", lambda: ("cc",))
    monkeypatch.setattr(where, "find_nvrtc", lambda: None)
    monkeypatch.setattr(where, "find_nvcc", lambda: "/usr/bin/nvcc")
    assert emulator_gap() == ("", "")
    monkeypatch.setattr(where, "find_nvcc", lambda: None)
    assert emulator_gap()[0] == "CP9003"

    def none() -> None:
        raise PtxError("CP7106", "no C compiler")

    monkeypatch.setattr(where, "compiler", none)
    assert emulator_gap() == ("CP7106", "no C compiler")
