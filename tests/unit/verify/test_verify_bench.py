"""The bench stage: what samples mean, and the measurement above the driver."""

from __future__ import annotations

from pathlib import Path

import cuda.bindings
import numpy as np
import pytest
from fake_driver import FakeDriver
from in_process import port_side, saxpy_kernel
from saxpy_target import SPEC, write_target

from verify import bench, environment
from verify.bench import largest_case, rate, ratio_interval, run_bench, throttled, traffic
from verify.resolve import resolve
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

BENCH_PORT = """
import struct
import numpy as np
import ctypes
import cuda.bindings
class Call:
    def __init__(self, *v): self.v = v
def saxpy(n, a, x, y, *, grid=None, block=None, smem=0, stream=None):
    packed = struct.pack("<i", n), struct.pack("<f", a), struct.pack("<Q", x), struct.pack("<Q", y)
    rooms = [(ctypes.c_ubyte * 8)(*p) for p in packed]
    table = (ctypes.c_void_p * 4)(*[ctypes.addressof(r) for r in rooms])
    cuda.bindings.driver.cuLaunchKernel("port", *grid, *block, smem, stream, ctypes.addressof(table), 0)
"""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    fake.kernels["k"] = fake.kernels["port"] = ([4, 4, 8, 8], saxpy_kernel)
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    monkeypatch.setattr(bench, "gpu_state", dict)
    return fake


def measured(driver: FakeDriver, folder: Path, order_dependent: bool = False) -> StageResult:
    target = write_target(folder, BENCH_PORT)
    cubin = folder / "cubin"
    cubin.write_bytes(b"x")
    side = port_side(driver, target)
    spec = load_spec(target)
    return run_bench("t", spec, (), 0, side, cubin, {"saxpy": "k"}, order_dependent)  # type: ignore[arg-type]


def test_both_sides_are_timed_by_graph_and_equal(driver: FakeDriver, tmp_path: Path) -> None:
    got = measured(driver, tmp_path / "t")
    assert got.status is Status.PASSED, got.message
    facts = got.bench
    assert facts is not None
    assert (facts.rating, facts.method, facts.case) == ("SAME", "CUDA graph replays", "typical")
    assert facts.port.median_us == pytest.approx(10, rel=1e-3)
    # y is read and written: no set may be used twice within one sample
    assert 1 < facts.launches_per_sample <= facts.buffer_sets
    assert driver.calls.count("cuGraphInstantiate") == 2


def test_wrong_timed_outputs_are_an_error(driver: FakeDriver, tmp_path: Path) -> None:
    driver.kernels["port"] = ([4, 4, 8, 8], lambda *_: None)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")


def test_without_capture_short_kernels_are_ambiguous(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fake_driver

    refuse = lambda *_: (fake_driver.CUresult.CUDA_ERROR_INVALID_VALUE,)  # noqa: E731
    monkeypatch.setattr(fake_driver, "_cuStreamBeginCapture", refuse)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.AMBIGUOUS, "CP9102")
    assert "capture failed" in got.message


def test_device_memory_is_given_back(driver: FakeDriver, tmp_path: Path) -> None:
    measured(driver, tmp_path / "t")
    assert len(driver.memory) <= 1  # the flush buffer lives as long as the child


def test_ratio_and_its_interval() -> None:
    rng = np.random.default_rng(1)
    base = 100 + rng.standard_normal(40)
    ratio, low, high = ratio_interval(base * 1.2, base)
    assert low < ratio < high
    assert ratio == pytest.approx(1.2, rel=0.01)
    assert rate(40, low, high) == "FASTER"
    assert rate(40, *ratio_interval(base * 0.8, base)[1:]) == "SLOWER"
    assert rate(40, *ratio_interval(base, base[::-1])[1:]) == "SAME"
    assert rate(5, low, high) == "AMBIGUOUS"
    assert rate(40, 0.9, 1.2) == "AMBIGUOUS"


def test_largest_case_and_traffic(tmp_path: Path) -> None:
    spec = load_spec(write_target(tmp_path / "t", "", SPEC))
    found = largest_case(spec, ())
    assert found is not None
    assert found[0].name == "typical"
    assert largest_case(spec, ("empty",)) is None
    assert traffic(spec, resolve(spec, found[0])) == 1009 * 4 * 3


def test_throttle_bits() -> None:
    key = "clocks_event_reasons.active"
    assert throttled([{key: "0x0000000000000004"}, {}]) == ""  # a software power cap is normal under load
    assert throttled([{key: "0x0000000000000040"}]) == "0x40"
    assert throttled([{key: "[N/A]"}]) == ""


def test_device_model_as_file_name() -> None:
    gpu = environment.Gpu("NVIDIA H200", "sm_90a", 132, 1, 1, "CUDA 13.0")
    assert gpu.slug == "h200"
    assert environment.arch_of(8, 0) == "sm_80"
    assert environment.arch_of(12, 0) == "sm_120a"
