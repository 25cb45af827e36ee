"""A compiler ends with whoever runs it, and does not use up the time of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from verify.emulator import cc
from verify.isolate import Child, ChildTimeoutError

# As a compiler is: a driver that runs the work in a process of its own, here one that writes down its number.
SLOW = ["/bin/sh", "-c", 'sleep 100 & echo $! > "$0"; wait']


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def _number(file: Path) -> int:
    assert _until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


@pytest.mark.parametrize("kernel", ["new", "old"])
def test_status_and_words_come_back(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel == "old":

        def refuse(pid: int) -> int:
            raise OSError(pid)

        monkeypatch.setattr(os, "pidfd_open", refuse)
    assert cc.run(["/bin/sh", "-c", "echo no >&2; echo out; exit 3"], 60) == (3, "no\n")
    assert cc.run(["true"], 60) == (0, "")


def test_its_limit_ends_all_of_it(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        cc.run([*SLOW, str(tmp_path / "pid")], 1.5)
    work = _number(tmp_path / "pid")
    assert _until(lambda: not _is_running(work))


def test_a_killed_parent_leaves_no_compiler_behind(tmp_path: Path) -> None:
    code = f"from verify.emulator import cc; cc.run({[*SLOW, str(tmp_path / 'pid')]!r}, 100)"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    work = _number(tmp_path / "pid")
    assert _is_running(work)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert _until(lambda: not _is_running(work))


# A worker whose one job compiles for longer than it may run.
WORKER = """
import json, os, sys
from verify.emulator import cc
pipe = os.fdopen(int(sys.argv[1]), "w")
def emit(event):
    print(json.dumps(event), file=pipe, flush=True)
if {signs}:
    cc.waiting = lambda: emit({{"event": "compiling"}})
for _ in sys.stdin:
    cc.run(["sleep", "3"], 100)
    emit({{"event": "done", "ok": True}})
"""


@pytest.mark.parametrize("signs", [True, False])
def test_the_limit_of_a_run_is_none_on_the_compiler(signs: bool) -> None:
    with Child(argv=[sys.executable, "-c", WORKER.format(signs=signs)]) as child:
        if signs:
            assert child.request({}, timeout=2.0)["ok"]
        else:
            with pytest.raises(ChildTimeoutError):
                child.request({}, timeout=2.0)
