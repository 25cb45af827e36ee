"""Children: they can't forge results, outlive the parent, or hang it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from verify.isolate import Child, ChildDiedError, ChildTimeoutError, end_all

PRELUDE = "import os, sys, json, time\nfd = int(sys.argv[1])\n"


def child(tmp_path: Path, body: str) -> Child:
    script = tmp_path / "child.py"
    script.write_text(PRELUDE + body)
    return Child(argv=[sys.executable, str(script)])


def test_answers_come_over_the_private_pipe_only(tmp_path: Path) -> None:
    body = (
        "print(json.dumps({'event': 'done', 'forged': True}), flush=True)\n"
        "for line in sys.stdin:\n"
        '    os.write(fd, b\'{"event": "step"}\\n\')\n'
        '    os.write(fd, b\'{"event": "done", "ok": true}\\n\')\n'
    )
    events = []
    with child(tmp_path, body) as c:
        assert c.request({"do": "x"}, 10, events.append) == {"event": "done", "ok": True}
        assert events == [{"event": "step"}]
        assert "forged" in c.log()


def test_a_hang_ends_at_the_limit_and_takes_grandchildren_along(tmp_path: Path) -> None:
    body = (
        "import subprocess\n"
        f"p = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))\n"
        "time.sleep(60)\n"
    )
    start = time.monotonic()
    with child(tmp_path, body) as c:
        time.sleep(0.5)
        with pytest.raises(ChildTimeoutError):
            c.request({}, 0.5)
    assert time.monotonic() - start < 20
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if _gone(pid):
            return
        time.sleep(0.1)
    pytest.fail("the grandchild lives on")


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().split(")")[1].split()[0] == "Z"


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("os.kill(os.getpid(), 11)\n", "SIGSEGV"),
        ("print('last words'); sys.exit(7)\n", "exit code 7"),
        ("os.close(fd); time.sleep(60)\n", "closed its result pipe"),
        ("os.write(fd, b'no json\\n'); time.sleep(60)\n", "no result"),
    ],
)
def test_every_death_is_told_apart(tmp_path: Path, body: str, how: str) -> None:
    with child(tmp_path, body) as c, pytest.raises(ChildDiedError) as e:
        c.request({}, 20)
    assert how in e.value.how
    if "last words" in body:
        assert "last words" in e.value.log


def test_scratch_is_removed(tmp_path: Path) -> None:
    with child(tmp_path, "time.sleep(60)\n") as c:
        scratch = c.scratch
        assert scratch.exists()
    assert not scratch.exists()


def test_worker_survives_a_bad_job() -> None:
    with Child() as c:
        reply = c.request({"do": "no such job"}, 60)
        assert reply["ok"] is False
        again = c.request({"do": "compile", "module": "/nowhere.py", "entry": "x", "id": 1}, 60)
        assert (again["ok"], again["code"]) == (False, "CP6101")


def test_a_child_is_killed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another process group's by the time it is closed."""
    ended: list[int] = []
    real = os.killpg
    monkeypatch.setattr(os, "killpg", lambda pid, signal: (ended.append(pid), real(pid, signal)))
    with child(tmp_path, "time.sleep(60)\n") as c:
        with pytest.raises(ChildTimeoutError):
            c.request({"do": "x"}, 0.3)
        end_all()
    assert len(ended) == len(set(ended)) >= 1
