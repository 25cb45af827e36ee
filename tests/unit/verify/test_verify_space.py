"""A full scratch disk is the machine's fault: no stage fails for it, and no bug is told."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from saxpy_target import write_target

from verify import isolate, run
from verify.__main__ import main
from verify.isolate import Child
from verify.options import Options
from verify.run import verify_target
from verify.space import DiskFullError, from_full_disk, is_full
from verify.verdict import StageResult, Status

ROOT = Path(__file__).resolve().parents[3]
_FULL = OSError(errno.ENOSPC, "No space left on device")


def caused(cause: BaseException) -> Exception:
    made = RuntimeError("compilation failed")
    made.__cause__ = cause
    return made


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (_FULL, True),
        (OSError(errno.EDQUOT, "quota"), True),
        (caused(_FULL), True),
        (RuntimeError("LLVM ERROR: IO failure: No space left on device"), True),
        (OSError("40028 requested and 24576 written"), True),
        (caused(OSError(errno.EACCES, "denied")), False),
        (ValueError("3 requested and 4 written by whom?"), False),
    ],
)
def test_what_says_that_the_disk_is_full(error: Exception, full: bool) -> None:
    assert from_full_disk(error) is full


def test_a_folder_with_room_is_not_full(tmp_path: Path) -> None:
    assert not is_full(tmp_path)
    assert not is_full(tmp_path / "gone")


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ('{"event": "done", "ok": false, "message": "m", "full": true}', False),
        ('{"event": "done", "ok": false, "message": "m"}', True),  # the parent sees it itself
        ("", True),  # a dead child
    ],
)
def test_a_child_that_failed_for_want_of_room_is_no_verdict_on_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, seen: bool
) -> None:
    monkeypatch.setattr(isolate, "is_full", lambda _: seen)
    script = tmp_path / "child.py"
    script.write_text(
        f"import os, sys\nos.write(int(sys.argv[1]), {body.encode()!r} + b'\\n' * {bool(body)})\n"
    )
    with Child(argv=[sys.executable, str(script)]) as child, pytest.raises(DiskFullError):
        child.request({}, 20)


def test_a_job_that_worked_counts_however_full_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "is_full", lambda _: True)
    script = tmp_path / "child.py"
    script.write_text('import os, sys\nos.write(int(sys.argv[1]), b\'{"event": "done", "ok": true}\\n\')\n')
    with Child(argv=[sys.executable, str(script)]) as child:
        assert child.request({}, 20)["ok"]


def test_inputs_that_find_no_room_are_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails:
        def __enter__(self) -> object:
            def serve(*_: object) -> list[StageResult]:
                raise OSError("40028 requested and 24576 written")  # as NumPy says it, without a number

            return serve

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(run, "_runner", lambda *_: Fails())
    monkeypatch.setattr(run, "choose", lambda _: run.Where("sm_90a", emulator=True, why="no GPU"))

    def compiled(jobs: list[run.CompileJob], *_: object) -> list[StageResult]:
        from report_targets import compiled as facts

        return [
            StageResult(stage="compile", target=j.target, status=Status.PASSED, compile=facts()) for j in jobs
        ]

    monkeypatch.setattr(run, "compile_ports", compiled)
    target = write_target(tmp_path / "t")
    parity = verify_target(target, Options()).stage("parity")
    assert parity is not None
    assert (parity.status, parity.code) == (Status.NOT_RUN, "CP9005")
    assert "$TMPDIR" in parity.message and "24576 written" in parity.message
    assert main([str(target)]) == 3


_ON_A_SMALL_DISK = """
mount -t tmpfs -o size=8k none "$1" || exit
echo mounted >&2
TMPDIR="$1" exec "$2" -P -m verify "$3" --stages compile --json
"""


def test_on_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk, target = tmp_path / "disk", write_target(tmp_path / "t")
    disk.mkdir()
    shell = ["sh", "-c", _ON_A_SMALL_DISK, "sh", str(disk), sys.executable, str(target)]
    try:
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", *shell],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "mounted" not in done.stderr:
        pytest.skip(f"no small disk can be had here: {done.stderr.strip()[:200]}")
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert [(s["status"], s.get("code")) for s in verdict["stages"]][1] == ("NOT_RUN", "CP9005")
    assert (done.returncode, verdict["status"]) == (3, "NOT_RUN")
