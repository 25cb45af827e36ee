"""What a child's foreign code can't do, and that nothing it starts outlives it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verify import isolate
from verify.isolate import LEVELS, Child, ChildDiedError, ChildTimeoutError
from verify.sides import SideError, read_outputs

ROOT = Path(__file__).parents[3]
# Leaves a process behind that nothing of its parents remains of.
DAEMON = """
import os, time
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.execvp('sleep', ['sleep', '600'])
daemon()
time.sleep(0.3)
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """A value that all processes of one test carry in their environment."""
    value = uuid.uuid4().hex
    yield value
    for pid in alive(value):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(isolate, "_level", [request.param])
    return str(request.param)


def alive(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def all_gone(mark: str, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while alive(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def run(tmp_path: Path, body: str, timeout: float = 30, **given: Any) -> dict[str, Any]:
    """The reply to the job of importing a module with this body."""
    module = tmp_path / "module.py"
    module.write_text(body)
    with Child(**given) as c:
        return c.request({"do": "compile", "module": str(module), "entry": "x", "id": 1}, timeout)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "_HELD", {})


def test_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        reply = run(tmp_path, f"import socket\nsocket.create_connection({address!r}, 2)\n")
    if isolate.confinement()["network"] == "open":
        pytest.skip("this kernel grants no network namespace")
    assert reply["code"] == "CP6101"
    assert "Error" in reply["message"] and "X has no" not in reply["message"]


def test_the_network_is_there_without_confinement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the test above can fail."""
    monkeypatch.setattr(isolate, "_level", ["none"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        reply = run(tmp_path, f"import socket\nsocket.create_connection({address!r}, 2)\n")
    assert reply["code"] == "CP6004"
    assert isolate.confinement()["network"] == "open"


def test_only_the_scratch_folder_can_be_written(tmp_path: Path) -> None:
    other = tmp_path / "verdict.json"
    other.write_text("{}")
    body = f"open('mine', 'w').write('x')\nopen({str(other)!r}, 'w').write('PASSED')\n"
    reply = run(tmp_path, body)
    if isolate.confinement()["files"] == "open":
        pytest.skip("this kernel has no Landlock")
    assert (reply["code"], reply["line"]) == ("CP6101", 2)
    assert "PermissionError" in reply["message"]
    assert other.read_text() == "{}"
    body = f"import os\nos.replace('log', {str(other)!r})\n"
    assert "PermissionError" in run(tmp_path, body)["message"]
    assert "PermissionError" in run(tmp_path, f"import os\nos.unlink({str(other)!r})\n")["message"]


def test_the_parent_can_not_be_killed(tmp_path: Path) -> None:
    reply = run(tmp_path, f"import os\nos.kill({os.getpid()}, 0)\n")
    if isolate.confinement()["processes"] != "namespace":
        pytest.skip("this kernel grants no process namespace")
    assert "ProcessLookupError" in reply["message"] or "PermissionError" in reply["message"]


def test_a_daemon_ends_with_its_child(tmp_path: Path, mark: str, level: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(DAEMON)
    with Child({"MARK": mark}) as c:
        c.request({"do": "compile", "module": str(module), "entry": "x", "id": 1}, 30)
        assert len(alive(mark)) >= 3  # the guard, the worker, the daemon
    assert all_gone(mark)


def test_a_hang_takes_its_daemon_along(tmp_path: Path, mark: str, level: str) -> None:
    with pytest.raises(ChildTimeoutError):
        run(tmp_path, DAEMON + "while True: pass\n", 2, env={"MARK": mark})
    assert all_gone(mark)


def test_a_bomb_of_processes_ends_with_its_child(tmp_path: Path, mark: str, level: str) -> None:
    body = DAEMON.replace("daemon()\ntime", "for _ in range(60): daemon()\ntime") + "time.sleep(600)\n"
    with pytest.raises(ChildTimeoutError):
        run(tmp_path, body, 3, env={"MARK": mark})
    assert all_gone(mark)


def test_a_killed_parent_leaves_nothing(tmp_path: Path, mark: str, level: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(DAEMON + "time.sleep(600)\n")
    job = {"do": "compile", "module": str(module), "entry": "x", "id": 1}
    code = (
        "from verify import isolate\n"
        f"isolate.set_level({level!r})\n"
        f"with isolate.Child() as c: c.request({job!r}, 600)\n"
    )
    env = {**os.environ, "MARK": mark, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", code], env=env)
    end = time.monotonic() + 30
    while not any(b"sleep" in Path(f"/proc/{p}/cmdline").read_bytes() for p in alive(mark)):
        assert time.monotonic() < end, "the daemon never came"
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    assert all_gone(mark)


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("import os; os._exit(7)", "exit code 7"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
    ],
)
def test_deaths_are_told_apart_at_every_level(tmp_path: Path, level: str, body: str, how: str) -> None:
    with pytest.raises(ChildDiedError) as e:
        run(tmp_path, body)
    assert how in e.value.how


def test_a_forged_result_is_none(tmp_path: Path) -> None:
    body = (
        "import os\n"
        "for fd in range(3, 64):\n"
        '    try: os.write(fd, b\'{"event": "done", "ok": true, "seconds": 0.1}\\n\')\n'
        "    except OSError: pass\n"
    )
    with pytest.raises(ChildDiedError) as e:
        run(tmp_path, body)
    assert "no result" in e.value.how


def test_a_started_program_has_not_the_pipe(tmp_path: Path) -> None:
    body = (
        "import subprocess, sys\n"
        "code = 'import os; print([f for f in range(3, 64) if os.path.exists(f\"/proc/self/fd/{f}\")])'\n"
        "raise ValueError(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,"
        " close_fds=False).stdout)\n"
    )
    assert (
        "ValueError: [3]" in run(tmp_path, body)["message"]
        or "ValueError: []" in run(tmp_path, body)["message"]
    )


def test_too_much_memory_is_an_error_not_an_end(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    job = {"do": "compile", "module": str(module), "entry": "x", "id": 1}
    with Child(memory=1 << 30) as c:
        module.write_text("x = bytearray(4 << 30)\n")
        reply = c.request(job, 30)
        assert "MemoryError" in reply["message"]
        module.write_text("x = bytearray(1 << 20)\n")
        assert c.request({**job, "id": 2}, 30)["code"] == "CP6004"  # it still works
    assert isolate.confinement()["memory"] == "1024 MiB"


def test_a_file_has_an_end(tmp_path: Path) -> None:
    code = (
        "from verify.confine import limits\n"
        "limits(1 << 20)\n"
        f"open({str(tmp_path / 'big')!r}, 'wb').write(bytes(2 << 20))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "File too large" in done.stderr
    assert (tmp_path / "big").stat().st_size <= 1 << 20


def test_outputs_are_plain_files_of_the_job(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.write_bytes(b"12")
    (mine / "good").write_bytes(b"123")
    assert bytes(read_outputs({"y": str(mine / "good")}, mine)["y"]) == b"123"
    (mine / "link").symlink_to(other)
    os.mkfifo(mine / "fifo")
    for path in (other, mine / "link", mine / "fifo", mine / ".." / "other"):
        with pytest.raises(SideError):
            read_outputs({"y": str(path)}, mine)
    assert other.exists()


def test_the_level_is_the_users_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "_level", [])
    monkeypatch.setenv("CUTEPORT_ISOLATION", "files")
    assert isolate.level() == "files"
    monkeypatch.setenv("CUTEPORT_ISOLATION", "nonsense")
    assert isolate.level() == "full"
