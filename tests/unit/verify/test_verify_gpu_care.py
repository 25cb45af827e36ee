"""One timing at a time on a GPU, and no blame for a candidate whose device was sick."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_driver import FakeDriver

from verify import device_jobs, environment, isolate
from verify.device import CudaDevice
from verify.environment import Gpu, describe
from verify.gpu import Quiet
from verify.gpu_lock import GpuLock
from verify.health import tended
from verify.jobs import JobError
from verify.verdict import StageResult, Status

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys
from pathlib import Path
from verify.gpu_lock import GpuLock
lock = GpuLock("u", Path(sys.argv[1]))
lock.take(alone=sys.argv[2] == "alone")
print("held", flush=True)
sys.stdin.read()
"""


def holder(folder: Path, how: str) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin closes."""
    pipe = subprocess.PIPE
    p = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), how], stdin=pipe, stdout=pipe, text=True, cwd=ROOT
    )
    assert p.stdout is not None and p.stdout.readline() == "held\n"
    return p


def waits(quiet: Quiet, alone: bool) -> threading.Event:
    """Set once the GPU was had."""
    had = threading.Event()

    def take() -> None:
        with quiet.alone() if alone else quiet.shared():
            had.set()

    threading.Thread(target=take, daemon=True).start()
    return had


@pytest.mark.parametrize(
    ("other", "alone", "free"),
    [("alone", False, False), ("alone", True, False), ("shared", True, False), ("shared", False, True)],
)
def test_timing_waits_for_other_processes(tmp_path: Path, other: str, alone: bool, free: bool) -> None:
    process = holder(tmp_path, other)
    had = waits(Quiet(GpuLock("u", tmp_path)), alone)
    assert had.wait(0.5 if not free else 20) is free
    process.communicate("")
    assert had.wait(20)


def test_comparisons_that_overlap_without_an_end_do_not_keep_another_process_from_timing(
    tmp_path: Path,
) -> None:
    busy, over = Quiet(GpuLock("u", tmp_path)), threading.Event()
    inside = [threading.Event(), threading.Event()]  # one is always set before the other is cleared

    def compare(own: int) -> None:
        while not over.is_set():
            with busy.shared():
                inside[own].set()
                inside[1 - own].wait(0.2)
                over.wait(0.05)
                inside[own].clear()

    threads = [threading.Thread(target=compare, args=(k,), daemon=True) for k in range(2)]
    for thread in threads:
        thread.start()
    assert all(e.wait(20) for e in inside)
    had = waits(Quiet(GpuLock("u", tmp_path)), True)
    assert had.wait(20)
    over.set()
    for thread in threads:
        thread.join(20)


def test_two_gpus_do_not_wait_for_each_other(tmp_path: Path) -> None:
    process = holder(tmp_path, "alone")
    assert waits(Quiet(GpuLock("another", tmp_path)), True).wait(20)
    process.communicate("")


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    process = holder(tmp_path, "alone")
    had = waits(Quiet(GpuLock("u", tmp_path)), True)
    process.kill()
    process.communicate()
    assert had.wait(20)


def test_where_no_lock_can_be_had_nothing_is_locked(tmp_path: Path) -> None:
    assert waits(Quiet(GpuLock("u", tmp_path / "missing")), True).wait(20)
    (tmp_path / "cuteport-gpu-0bfe935e70c321c7.lock").symlink_to(tmp_path / "elsewhere")
    assert waits(Quiet(GpuLock("u", tmp_path)), True).wait(20)
    assert not (tmp_path / "elsewhere").exists()


def stage(status: Status, code: str | None = None) -> StageResult:
    return StageResult(stage="parity", target="t", status=status, code=code, message="m")


def test_a_candidate_is_tried_again_when_the_device_was_sick() -> None:
    ran: list[int] = []
    sick = iter(["no answer", "no answer", ""])

    def run() -> list[StageResult]:
        ran.append(1)
        return [stage(Status.CRASHED, "CP7004") if len(ran) == 1 else stage(Status.WRONG_VALUES, "CP7012")]

    slept: list[float] = []
    (found,) = tended(run, lambda: next(sick), slept.append)
    assert (found.status, len(ran), len(slept)) == (Status.WRONG_VALUES, 2, 2)


def test_a_healthy_device_leaves_the_blame_where_it_is() -> None:
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        return ""

    for status, code, expected in (
        (Status.CRASHED, "CP7004", 1),
        (Status.TIMEOUT, "CP7005", 2),
        (Status.LAUNCH_ERROR, "CP7003", 3),
        (Status.WRONG_VALUES, "CP7012", 3),  # no crash: nobody is asked
    ):
        assert tended(lambda s=status, c=code: [stage(s, c)], ask) == [stage(status, code)]  # type: ignore[misc]
        assert len(asked) == expected


def test_a_device_that_stays_sick_says_nothing_about_the_port() -> None:
    (found,) = tended(lambda: [stage(Status.CRASHED, "CP7004")], lambda: "no answer", lambda _: None)
    assert (found.status, found.code) == (Status.AMBIGUOUS, "CP9004")
    assert "no answer" in found.message and "CRASHED" in found.message


def test_the_health_job(monkeypatch: pytest.MonkeyPatch) -> None:
    import cuda.bindings

    driver = FakeDriver()
    monkeypatch.setattr(cuda.bindings, "driver", driver)
    monkeypatch.setattr(device_jobs, "HELD", device_jobs.Bench())
    assert device_jobs.health({}, lambda _: None) == {}
    monkeypatch.setattr(CudaDevice, "fill", lambda *_: None)
    with pytest.raises(JobError) as e:
        device_jobs.health({}, lambda _: None)
    assert e.value.code == "CP9004"


def test_a_gpu_that_needs_room_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CUDA does not start in a tight place, children are confined less, and the verdict says so."""
    gpu = Gpu("NVIDIA Fake", "sm_90a", 1, 1, 1, "CUDA 13.0", "uuid")
    monkeypatch.setattr(isolate, "_level", [])
    monkeypatch.setattr(environment.ctypes, "CDLL", lambda _: None)
    monkeypatch.setattr(
        environment, "_asked", lambda: (gpu, "") if isolate.level() == "none" else (None, "too tight")
    )
    assert environment.find_gpu.__wrapped__() == (gpu, "")
    assert isolate.level() == "none"
    monkeypatch.setattr(isolate, "_level", [])
    monkeypatch.setattr(environment, "_asked", lambda: (None, "broken"))
    assert environment.find_gpu.__wrapped__() == (None, "broken")
    assert isolate.level() == "full"


def test_no_document_names_the_machine() -> None:
    gpu = Gpu("NVIDIA Fake", "sm_90a", 1, 1, 1, "CUDA 13.0", "uuid")
    assert "uuid" not in describe(gpu)["gpu"]
