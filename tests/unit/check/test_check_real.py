"""Checks with the real compilers and the emulator: what a trace sees, and runs that are cut short."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from saxpy_target import PORT, write_target

from verify.check.folder import NoRunError, RunFolder
from verify.check.model import CheckReport
from verify.check.trace import Lanes, Trace
from verify.compile import compile_ports, job_of
from verify.sides import SideError
from verify.spec_file import load_spec

pytestmark = pytest.mark.dsl
ROOT = Path(__file__).resolve().parents[3]
TARGETS = ROOT / "targets"
MARK = "CUTEPORT_TEST_MARK"
# Compiling the emulator for each test anew would take most of the time.
CACHE = Path(tempfile.mkdtemp(prefix="cuteport-test-cache-"))
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


@pytest.fixture(scope="module")
def lanes() -> Iterator[Lanes]:
    with closing(Lanes("sm_90a", 120.0)) as made:
        yield made


def trace(lanes: Lanes, target: Path) -> Trace:
    with lanes.one() as lane:
        return lane.trace(target, load_spec(target))


def test_a_trace_is_the_same_in_another_folder(lanes: Lanes, tmp_path: Path) -> None:
    one = trace(lanes, write_target(tmp_path / "a"))
    other = trace(lanes, write_target(tmp_path / "elsewhere/b", port=PORT + "\n# a comment\n"))
    assert one.unseen == ""
    assert set(one.launches) == {
        "one",
        "one, shifted addresses",
        "typical",
        "typical, shifted addresses",
    }  # fmt: skip  (nothing is launched for `empty`)
    assert one.launches["one"] != one.launches["typical"] != one.launches["typical, shifted addresses"]
    assert one.launches == other.launches
    assert (one.port_code, one.original_code) == (other.port_code, other.original_code)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("Int32(grid[0])", "Int32(grid[0] + 1)"),
        ("Int32(smem)", "Int32(smem + 16)"),
        ("Float32(a), pointer(x)", "Float32(a + 1), pointer(x)"),
        ("pointer(x), pointer(y), Int32(grid", "pointer(y), pointer(x), Int32(grid"),
        ("    compile_saxpy(block)(", "    block = (block[0] // 2, 1, 1)\n    compile_saxpy(block)("),
    ],
)
def test_host_code_that_asks_for_something_else_is_seen(
    lanes: Lanes, tmp_path: Path, text: str, edit: str
) -> None:
    assert PORT.count(text) == 1
    one = trace(lanes, write_target(tmp_path / "a"))
    other = trace(lanes, write_target(tmp_path / "b", port=PORT.replace(text, edit)))
    assert one.port_code == other.port_code  # the kernel is the same
    assert one.launches != other.launches


def test_constants_that_a_port_sets_are_seen(lanes: Lanes, tmp_path: Path) -> None:
    place = tmp_path / "conv"
    source = TARGETS / "cuteport__conv5x5_const"
    write_target(
        place,
        port=(source / "port.py").read_text(),
        spec=(source / "spec.toml").read_text(),
        device=(source / "original/device.cu").read_text(),
    )
    one = trace(lanes, place)
    text = (place / "port.py").read_text()
    assert text.count('"c_coef", c_coef, 100') == 1
    (place / "port.py").write_text(text.replace('"c_coef", c_coef, 100', '"c_coef", c_coef, 96'))
    other = trace(lanes, place)
    assert one.unseen == other.unseen == "" and one.launches != other.launches


def test_a_trace_compiles_what_the_compile_stage_compiles(lanes: Lanes, tmp_path: Path) -> None:
    target = write_target(tmp_path / "a")
    seen = trace(lanes, target)
    (stage,) = compile_ports([job_of(target, load_spec(target))])
    assert stage.compile is not None
    own, other = (f.model_dump(exclude={"compile_seconds"}) for f in (seen.port, stage.compile))
    assert own == other


@pytest.mark.parametrize(
    ("port", "code"),
    [
        ("import os\nos._exit(3)\n" + PORT, "CP6104"),
        ("raise RuntimeError('no')\n" + PORT, "CP6101"),
        (PORT.replace("y[i] = a * x[i] + y[i]", "y[i] = nothing"), "CP6102"),
    ],
)
def test_a_port_that_fails_leaves_the_next_one_alone(
    lanes: Lanes, tmp_path: Path, port: str, code: str
) -> None:
    with pytest.raises(SideError) as failed:
        trace(lanes, write_target(tmp_path / "bad", port=port))
    assert failed.value.code == code
    assert trace(lanes, write_target(tmp_path / "good")).unseen == ""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three targets with other code each, so that none stands for another."""
    for k, operation in enumerate(("a * x[i]", "a + x[i]", "a - x[i]")):
        device = f"""
__global__ void saxpy(int n, float a, const float* x, float* y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = {operation} + y[i];
}}
"""
        port = PORT.replace("a * x[i]", operation)
        write_target(tmp_path / f"targets/t{k}", port=port, device=device)
    return tmp_path


def start(place: Path, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CUTEPORT_CACHE": str(CACHE), MARK: str(place)}
    command = [sys.executable, "-P", "-m", "translator.cli.main", "check", "--device", "emulator", *arguments]
    return subprocess.Popen(
        command, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def report_of(process: subprocess.Popen[str]) -> tuple[int, CheckReport]:
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return process.returncode, CheckReport.model_validate_json(out)


def wait_for_first(process: subprocess.Popen[str]) -> str:
    """The first target that has a result."""
    assert process.stdout is not None
    return process.stdout.readline()


def children_left(place: Path) -> list[str]:
    """Processes that still have this test's mark in their environment."""
    wanted, found = f"{MARK}={place}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_cut_short_goes_on(place: Path, how: signal.Signals) -> None:
    process = start(place, "--full", "-j", "1")
    assert wait_for_first(process).startswith("NEW targets/t")
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (-9 if how is signal.SIGKILL else 130)
    assert "Traceback" not in err
    if how is not signal.SIGKILL:
        assert "`cuteport check --resume` goes on" in out
    for _ in range(50):  # a child ends with its parent, not in the same moment
        if not (left := children_left(place)):
            break
        time.sleep(0.1)
    assert left == []
    code, report = report_of(start(place, "--full", "--resume", "--json"))
    assert code == 0
    outcomes = {Path(r.target).name: r.outcome.value for r in report.targets}
    assert outcomes == dict.fromkeys(("t0", "t1", "t2"), "NEW")
    assert 1 <= sum(r.resumed for r in report.targets) < 3


def test_two_checks_at_once_do_not_disturb_each_other(place: Path) -> None:
    both = [start(place, "--record", "--json", "-j", "1") for _ in range(2)]
    results = [report_of(p) for p in both]
    assert [code for code, _ in results] == [0, 0]
    assert results[0][1].run != results[1][1].run
    for k in range(3):
        data = json.loads((place / f"targets/t{k}/baselines/emulator.json").read_text())
        assert data["device"] == "emulator"
        assert [p.name for p in (place / f"targets/t{k}/baselines").iterdir()] == ["emulator.json"]
    code, report = report_of(start(place, "--json", "-j", "2"))
    assert code == 0
    assert {r.outcome.value for r in report.targets} == {"OK"}
    assert {r.values.how for r in report.targets} == {"baseline"}
    with pytest.raises(NoRunError, match="came to its end"):  # and so can be read: nobody holds it
        RunFolder.last(place / "runs")


def test_a_wrong_port_is_broken_and_a_changed_one_changed(place: Path) -> None:
    assert report_of(start(place, "--record", "--json"))[0] == 0
    port = place / "targets/t0/port.py"
    text = port.read_text()
    port.write_text(text.replace("if i < n:", "if i < n - 1:"))
    same = place / "targets/t1/port.py"
    text = same.read_text().replace("y[i] = a + x[i] + y[i]", "y[i] = y[i] + (a + x[i])")
    same.write_text(text.replace("if i < n:", "if i < n and n > 0:"))
    code, report = report_of(start(place, "--json"))
    assert code == 1
    found = {Path(r.target).name: r for r in report.targets}
    assert {n: r.outcome.value for n, r in found.items()} == {"t0": "BROKEN", "t1": "STALE", "t2": "OK"}
    assert found["t0"].code in ("CP7012", "CP7014", "CP7011")
    assert {n: r.values.how for n, r in found.items()} == {"t0": "run", "t1": "run", "t2": "baseline"}
    assert "port: PTX changed" in [c.words for c in found["t1"].changes]
