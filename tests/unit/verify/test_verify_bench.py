"""The bench stage: which cases are timed, what is concluded, and the measurement above the driver."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda.bindings
import pytest
from fake_driver import CUresult, FakeDriver
from in_process import port_side, saxpy_kernel
from saxpy_target import SPEC, write_target

from verify import bench_jobs, environment, timing
from verify.bench import BenchJob, first_build, run_bench, timed_cases
from verify.ceiling_kernels import measure_ceilings
from verify.counts import CountFacts, counts_of
from verify.device import CudaDevice
from verify.facts import BenchFacts, CeilingFacts
from verify.flags import slowed
from verify.floor import moved
from verify.rating import LEAST_ROUNDS
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
LARGE = '[[case]]\nname = "large"\nsizes = { n = 40013 }\nrole = "large"\n'
CEILINGS = CeilingFacts(
    bytes=1 << 20, read_gbytes_per_s=4000, copy_gbytes_per_s=3800, fill_gbytes_per_s=3000, fma_tflops=50
)
Seconds = Callable[[], float]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    fake.kernels["k"] = fake.kernels["port"] = ([4, 4, 8, 8], saxpy_kernel)
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    return fake


def measured(
    driver: FakeDriver,
    folder: Path,
    spec_text: str = SPEC,
    ceilings: tuple[CeilingFacts | None, str] = (CEILINGS, ""),
    build_us: tuple[float | None, str] = (5e4, ""),
    **more: Any,
) -> StageResult:
    target = write_target(folder, BENCH_PORT, spec_text)
    cubin = folder / "cubin"
    cubin.write_bytes(b"x")
    side = port_side(driver, target)
    driver.seconds.setdefault("sweep", lambda: 2e-3)
    job = BenchJob("t", load_spec(target), cubin, {"saxpy": "k"}, **more)
    return run_bench(job, side, lambda: ceilings, lambda: build_us)  # type: ignore[arg-type]


def facts_of(result: StageResult) -> BenchFacts:
    assert result.bench is not None, result.message
    return result.bench


def test_both_sides_are_timed_by_graph_and_equal(driver: FakeDriver, tmp_path: Path) -> None:
    got = measured(driver, tmp_path / "t", build=("NVRTC 13.0", "--std=c++17"), dropped=("-O2",))
    assert got.status is Status.PASSED, got.message
    facts = facts_of(got)
    assert (facts.rating, facts.method, facts.case) == ("SAME", "CUDA graph replays", "typical")
    assert facts.port.median_us == pytest.approx(10, rel=1e-3)
    # y is read and written: no set may be used twice within one sample
    assert 1 < facts.launches_per_sample <= facts.buffer_sets
    assert facts.port.samples == facts.original.samples == 2 * LEAST_ROUNDS
    assert len(facts.port.quantiles) == 21
    assert facts.original_build == ["NVRTC 13.0", "--std=c++17", "without -O2"]
    assert {side: len(found) for side, found in facts.checked.items()} == {"port": 1, "original": 1}


def test_the_other_clocks_are_told_apart(driver: FakeDriver, tmp_path: Path) -> None:
    facts = facts_of(measured(driver, tmp_path / "t", SPEC + LARGE))
    assert facts.case == "large"
    for side in ("port", "original"):
        launch = facts.launch[side]
        assert 0 < launch.call.median_us <= launch.done.median_us
        assert launch.call.samples == launch.done.samples >= 8
    first = facts.first_call
    assert first["original"].build_us == 5e4
    assert first["original"].load_us is not None
    # this port has no compile function: all is in its first launch
    assert (first["port"].build_us, first["port"].load_us) == (None, None)
    assert first["port"].total_us == first["port"].launch_us > 0
    assert first["original"].total_us > 5e4
    (also,) = facts.also
    assert (also.case, also.first_call, also.also) == ("typical", {}, [])
    assert also.launch["port"].done.median_us > 0


def test_a_build_that_fails_now_is_a_note(driver: FakeDriver, tmp_path: Path) -> None:
    facts = facts_of(measured(driver, tmp_path / "t", build_us=(None, "no space")))
    assert "the original's build was not timed: no space" in facts.notes
    assert facts.first_call["original"].build_us is None


def test_the_original_is_built_in_a_process_of_its_own(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", BENCH_PORT)
    us, why = first_build(str(target), "sm_90a", 60.0)
    if us is None:
        pytest.skip(why)
    assert 1e3 < us < 6e7
    bad = write_target(tmp_path / "bad", BENCH_PORT, device="int x = ;")
    assert first_build(str(bad), "sm_90a", 60.0)[0] is None


def test_the_device_is_done_before_the_clock_stops(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = CudaDevice.synchronize

    def slow(self: CudaDevice) -> None:
        time.sleep(0.002)
        waited(self)

    monkeypatch.setattr(CudaDevice, "synchronize", slow)
    facts = facts_of(measured(driver, tmp_path / "t"))
    for side in ("port", "original"):
        assert facts.launch[side].call.median_us < 1500 < 2000 < facts.launch[side].done.median_us
        assert facts.first_call[side].launch_us > 2000


def test_more_rounds_until_the_interval_is_narrow(driver: FakeDriver, tmp_path: Path) -> None:
    rng = random.Random(3)
    driver.seconds = {k: lambda: 1e-4 * rng.uniform(0.9, 1.1) for k in ("k", "port")}
    facts = facts_of(measured(driver, tmp_path / "t"))
    assert facts.rating == "SAME"
    assert facts.port.samples > 2 * LEAST_ROUNDS
    assert facts.ratio_high / facts.ratio_low < 1.01


@pytest.mark.parametrize(
    ("share", "status", "code"),
    [(1.03, Status.PASSED, None), (1.3, Status.SLOWER, "CP9101"), (0.8, Status.PASSED, None)],
)
def test_slow_and_fast_ports(
    driver: FakeDriver, tmp_path: Path, share: float, status: Status, code: str | None
) -> None:
    driver.seconds = {"k": lambda: 1e-4, "port": lambda: 1e-4 * share}
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (status, code), got.message
    assert facts_of(got).ratio == pytest.approx(1 / share, abs=1e-3)
    assert facts_of(got).rating == ("SLOWER" if share > 1 else "FASTER")


def test_wrong_timed_outputs_are_an_error(driver: FakeDriver, tmp_path: Path) -> None:
    driver.kernels["port"] = ([4, 4, 8, 8], lambda *_: None)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")


@pytest.mark.parametrize("lazy_after", [1, 8, 40])
def test_right_in_the_warm_up_and_idle_when_timed(
    driver: FakeDriver, tmp_path: Path, lazy_after: int
) -> None:
    calls = []

    def fading(*launch: Any) -> None:
        calls.append(1)
        if len(calls) <= lazy_after:
            saxpy_kernel(*launch)

    driver.kernels["port"] = ([4, 4, 8, 8], fading)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")


def test_idle_once_replays_are_over(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launch clock's calls are checked by one more call after them."""
    launches = bench_jobs.launches

    def idle(*args: Any) -> Any:
        driver.kernels["port"] = ([4, 4, 8, 8], lambda *_: None)
        return launches(*args)

    monkeypatch.setattr(bench_jobs, "launches", idle)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")
    assert "a call after the timed ones: " in got.message


def test_an_original_that_is_kept_from_its_default_optimisation_is_no_opponent(
    driver: FakeDriver, tmp_path: Path
) -> None:
    spec = SPEC.replace('kernel = "saxpy"', 'kernel = "saxpy"\nflags = ["-Xptxas", "-O1"]')
    got = measured(driver, tmp_path / "t", spec, build=["--ptxas-options=-O1"])
    assert (got.status, got.code) == (Status.AMBIGUOUS, "CP9102")
    assert "no fair opponent" in got.message
    assert slowed(["-O0", "--ptxas-options=-v", "--ptxas-options=-O3", "-DN=O1"]) == ""
    assert slowed(["--ptxas-options=-v,-O2"]) and slowed(["-Xptxas=-O0"])


def test_outputs_are_poisoned_before_the_checked_launch(driver: FakeDriver, tmp_path: Path) -> None:
    """A port that writes nothing when timed must not be judged by what the original left there."""
    spec = SPEC.replace('role = "inout"', 'role = "out"')

    def set_kernel(_grid: Any, _block: Any, values: list[bytes]) -> None:
        from in_process import floats

        n = int.from_bytes(values[0], "little")
        floats(int.from_bytes(values[3], "little"), n)[:] = 2.0

    driver.kernels["k"] = ([4, 4, 8, 8], set_kernel)
    driver.kernels["port"] = ([4, 4, 8, 8], lambda *_: None)
    got = measured(driver, tmp_path / "t", spec)
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")
    assert "not written by the port" in got.message


def test_the_checked_sample_is_random(driver: FakeDriver, tmp_path: Path) -> None:
    seen = {tuple(facts_of(measured(driver, tmp_path / str(i))).checked["port"][0]) for i in range(6)}
    assert len(seen) > 1


def test_calls_that_launch_nothing_are_an_error(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = timing.Timer.measure

    def fewer(self: timing.Timer, *args: Any) -> Any:
        raw, outputs = real(self, *args)
        raw.nodes["port"] = raw.launches - 1
        return raw, outputs

    monkeypatch.setattr(timing.Timer, "measure", fewer)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")
    assert "calls of the port made" in got.message


def test_a_result_that_depends_on_the_order_is_still_looked_at(driver: FakeDriver, tmp_path: Path) -> None:
    got = measured(driver, tmp_path / "t", order_dependent=True)
    assert got.status is Status.PASSED, got.message
    assert len(facts_of(got).checked["original"]) == 4
    driver.kernels["port"] = ([4, 4, 8, 8], lambda *_: None)
    lazy = measured(driver, tmp_path / "lazy", order_dependent=True)
    assert (lazy.status, lazy.code) == (Status.WRONG_VALUES, "CP9103")


def test_faster_than_the_device_can_move_the_bytes(driver: FakeDriver, tmp_path: Path) -> None:
    spec = SPEC.replace("n = 1009", "n = 40000")  # 480 kB: 12 us at 40 GB/s
    slow = (
        CEILINGS.model_copy(
            update={"read_gbytes_per_s": 40, "copy_gbytes_per_s": 38, "fill_gbytes_per_s": 30}
        ),
        "",
    )
    driver.seconds = {"k": lambda: 2e-5, "port": lambda: 5e-6}
    got = measured(driver, tmp_path / "t", spec, slow)
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9105"), got.message
    floor = facts_of(got).floor
    assert floor is not None
    assert floor.floor_us == 12.0
    assert (floor.port_share, floor.original_share) == (2.4, 0.6)
    # An original that is as fast shows that the spec's bytes are not what moves.
    driver.seconds = {"k": lambda: 5e-6, "port": lambda: 5e-6}
    both = measured(driver, tmp_path / "both", spec, slow)
    assert both.status is Status.PASSED, both.message
    assert "the original is under it too" in (facts_of(both).floor or floor).note


@pytest.mark.parametrize(
    ("y", "us", "size", "told"),
    # bytes of y that are (read, written) of 4000; bytes of a larger launch, and what forbids its time
    [
        ((4000, 4000), 6.0, 480_000, "480000 bytes at 40 GB/s take"),
        ((0, 2000), 6.0, 240_000, ""),
        ((0, 2000), 2.0, 240_000, "160000 bytes at 40 GB/s take"),
    ],
)
def test_a_cache_of_which_half_is_written_has_no_impossible_time_nor_impossible_rate(
    driver: FakeDriver, tmp_path: Path, y: tuple[int, int], us: float, size: int, told: str
) -> None:
    spec = SPEC.replace("n = 1009", "n = 40000").replace("sizes = { n = 1 }", "sizes = { n = 1000 }")
    rates = {"read_gbytes_per_s": 40, "copy_gbytes_per_s": 38, "fill_gbytes_per_s": 30}
    side = counts_of({"st.global.f32": 1}, {"x": (4000, 0), "y": y})
    counts = CountFacts(case="one", original=side, port=side)
    driver.seconds = {"k": lambda: 2e-5, "port": lambda: us * 1e-6}  # all bytes take 12 us
    got = measured(driver, tmp_path / "t", spec, (CEILINGS.model_copy(update=rates), ""), counts=counts)
    assert got.code == ("CP9105" if told else None), got.message
    assert told in got.message
    facts = facts_of(got)
    assert facts.floor is not None
    assert facts.bytes_per_launch == facts.floor.read_bytes + facts.floor.written_bytes == size
    assert facts.port.gbytes_per_s == pytest.approx(size / us / 1e3)


def test_a_clock_that_is_false_for_both_sides_is_told_by_a_kernel_of_known_bytes(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing.Timer, "_elapsed_us", lambda *_: 0.001)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9105"), got.message
    assert "the clock is false" in got.message


def test_no_ceilings_no_floor(driver: FakeDriver, tmp_path: Path) -> None:
    facts = facts_of(measured(driver, tmp_path / "t", ceilings=(None, "no memory")))
    assert facts.floor is None
    assert "no floor: no memory" in facts.notes


def test_without_capture_short_kernels_are_ambiguous(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fake_driver

    refuse = lambda *_: (CUresult.CUDA_ERROR_INVALID_VALUE,)  # noqa: E731
    monkeypatch.setattr(fake_driver, "_cuStreamBeginCapture", refuse)
    got = measured(driver, tmp_path / "t")
    assert (got.status, got.code) == (Status.AMBIGUOUS, "CP9102")
    assert "capture failed" in got.message


def test_persisting_lines_are_reset_before_every_round(driver: FakeDriver, tmp_path: Path) -> None:
    facts = facts_of(measured(driver, tmp_path / "t"))
    assert driver.calls.count("cuCtxResetPersistingL2Cache") == facts.port.samples / 2


def test_device_memory_is_given_back(driver: FakeDriver, tmp_path: Path) -> None:
    measured(driver, tmp_path / "t")
    assert not driver.memory


def test_which_cases_are_timed(tmp_path: Path) -> None:
    spec = load_spec(write_target(tmp_path / "t", "", SPEC + LARGE))
    names = lambda cases: [c.name for c, _ in timed_cases(spec, cases)]  # noqa: E731
    assert names(()) == ["large", "typical"]
    assert names(("typical",)) == ["typical"]
    assert names(("one", "typical")) == ["typical"]
    assert names(("empty",)) == []
    typical = next(c for c in spec.case if c.name == "typical")
    assert moved(spec, resolve(spec, typical)) == (1009 * 8, 1009 * 4)


def test_fast_math_has_no_counterpart(driver: FakeDriver, tmp_path: Path) -> None:
    spec = SPEC.replace('kernel = "saxpy"', 'kernel = "saxpy"\nflags = ["--use_fast_math"]')
    assert any("fast math" in n for n in facts_of(measured(driver, tmp_path / "t", spec)).notes)


def test_ceilings_above_the_driver(driver: FakeDriver) -> None:
    got = CeilingFacts.model_validate(measure_ceilings(CudaDevice()))
    # everything takes 10 us here: 64 MB read or filled, twice that copied
    assert got.bytes == 1 << 26
    assert got.read_gbytes_per_s == got.fill_gbytes_per_s == pytest.approx(6710.89)
    assert got.copy_gbytes_per_s == got.gbytes_per_s == pytest.approx(13421.77)
    assert got.left_out == {"matrix_tflops": "no kernel asked for it"}
    assert not driver.memory


def test_device_model_as_file_name() -> None:
    gpu = environment.Gpu("NVIDIA H200", "sm_90a", 132, 1, 1, "CUDA 13.0")
    assert gpu.slug == "h200"
    assert environment.arch_of(8, 0) == "sm_80"
    assert environment.arch_of(12, 0) == "sm_120a"
