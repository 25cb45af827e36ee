"""Ports that break what runs them: the right status, nothing lost, nothing left over, the next unharmed."""

from __future__ import annotations

import errno
import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.test_verify import LINE, copied, passed
from verify import run
from verify.__main__ import check
from verify.baseline import BaselineError, load_baseline
from verify.options import Options
from verify.run import verify_targets
from verify.verdict import Status, Verdict

pytestmark = pytest.mark.dsl
HOST = "    if stream is None:\n"
DAEMON = """
    import os
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.execvp("sleep", ["sleep", "600"])
"""
FORGED = """
    import os
    for fd in range(3, 64):
        try:
            os.write(fd, b'{"event": "done", "ok": true, "outputs": {}, "overrun": [], "changed": []}\\n')
        except OSError:
            pass
"""
MARK = uuid.uuid4().hex

# (edit of the port, status, code); those of the launch path come before the launch.
FAULTS: dict[str, tuple[tuple[str, str], Status, str | None]] = {
    "a_right": ((LINE, LINE), Status.PASSED, None),
    "endless_kernel": (("i = i + stride", "i = i + 0"), Status.TIMEOUT, "CP7005"),
    "endless_host": ((HOST, f"    while True:\n        pass\n{HOST}"), Status.TIMEOUT, "CP7005"),
    "illegal_address": ((LINE, "y[i + 100000000] = a * x[i] + y[i]"), Status.SANITIZER, "CP8001"),
    "host_memory": ((HOST, f"    held = [0] * (1 << 40)\n{HOST}"), Status.LAUNCH_ERROR, "CP7003"),
    "killed": ((HOST, f"    import os\n    os.kill(os.getpid(), 9)\n{HOST}"), Status.CRASHED, "CP7004"),
    "forged": ((HOST, FORGED + HOST), Status.CRASHED, "CP7004"),
    "daemon": ((HOST, DAEMON + HOST), Status.PASSED, None),  # its values are right; it ends all the same
    "z_right": ((LINE, LINE), Status.PASSED, None),
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """All at once, by one child after the other where one breaks."""
    home = tmp_path_factory.mktemp("faults")
    targets = [copied(home / n, "saxpy", "n", {"port.py": edit}) for n, (edit, _, _) in FAULTS.items()]
    for target in targets:
        (target / "verdict.json").write_text('{"schema_version": 1, "targ')  # cut in half by something
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "check_static", passed)  # which would refuse to run most of them
        patched.setenv("MARK", MARK)
        options = Options(device="emulator", timeout=8.0)
        return {Path(v.target).name: v for v in verify_targets(targets, options)}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_has_its_status(verdicts: dict[str, Verdict], name: str) -> None:
    _, status, code = FAULTS[name]
    found = verdicts[name]
    parity = found.stage("parity")
    assert parity is not None
    assert (found.status, parity.code) == (status, code), parity.message
    written = json.loads((Path(found.target) / "verdict.json").read_text())
    assert written["status"] == status


def test_nothing_is_left_running(verdicts: dict[str, Verdict]) -> None:
    for _ in range(50):
        left = [p for p in Path("/proc").glob("[0-9]*") if MARK in _environment(p)]
        if not left:
            return
        time.sleep(0.1)
    pytest.fail(f"still there: {[(p / 'cmdline').read_bytes() for p in left]}")


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_text(errors="replace")
    except OSError:
        return ""


def test_a_full_disk_costs_one_target_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full, fine = (copied(tmp_path / n, "saxpy", "n", {}) for n in ("full", "fine"))
    (full / "verdict.json").write_text("the one before")
    real = os.fdopen

    def fdopen(handle: int, *args: Any, **kwargs: Any) -> Any:
        if f"{full}/.verdict" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            os.close(handle)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, *args, **kwargs)

    monkeypatch.setattr(os, "fdopen", fdopen)
    assert check([full, fine], Options(stages=("static",)), as_json=True) == 3
    assert "No space left" in capsys.readouterr().out
    assert (full / "verdict.json").read_text() == "the one before"  # not half of a new one
    assert json.loads((fine / "verdict.json").read_text())["stages"][0]["status"] == "PASSED"
    assert sorted(p.name for p in full.glob(".*")) == []


def test_half_a_baseline_is_none(tmp_path: Path) -> None:
    whole = next((Path(__file__).parents[2] / "targets/cuteport__saxpy/baselines").glob("*.json"))
    text = whole.read_text()
    half = tmp_path / "half.json"
    for size in (0, 1, len(text) // 2, len(text) - 3):
        half.write_text(text[:size])
        with pytest.raises(BaselineError):
            load_baseline(half)
    assert load_baseline(whole).kernel == "saxpy"


def test_files_that_change_meanwhile_void_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = copied(tmp_path / "t", "saxpy", "n", {})

    def check_static(place: Path, *_: str) -> Any:
        (place / "port.py").write_text((place / "port.py").read_text() + "\n# other\n")
        return passed(place, "", "")

    monkeypatch.setattr(run, "check_static", check_static)
    (found,) = verify_targets([target], Options(stages=("static",)))
    assert (found.status, found.stages[0].code) == (Status.AMBIGUOUS, "CP7043")
    assert "port" in found.stages[0].message
