"""Parity and bench through real child processes, with the stand-in driver put into the children."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from saxpy_target import SPEC, write_target
from test_verify_bench import BENCH_PORT

from verify import gpu
from verify.__main__ import main
from verify.environment import Gpu
from verify.facts import CompileFacts
from verify.gpu import Quiet, on_gpu
from verify.options import Options
from verify.sides import ChildSide
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

HERE = Path(__file__).parent
# Loaded by every Python that finds it on its path at start.
SITE = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import cuda.bindings
from fake_driver import FakeDriver
from in_process import saxpy_kernel
fake = FakeDriver()
fake.kernels["k"] = fake.kernels["port"] = ([4, 4, 8, 8], saxpy_kernel)
cuda.bindings.driver = fake
"""
REFERENCE = "def reference(args, sizes):\n    return {'y': args['a'] * args['x'].astype('f8') + args['y']}\n"
FACTS = CompileFacts(
    arch="sm_90a",
    compile_seconds=0,
    ptx_bytes=1,
    ptx_sha256="",
    cubin_bytes=1,
    cubin_sha256="",
    kernels=[],
)
FAKE = Gpu("NVIDIA Fake", "sm_90a", 1, 4096, 1 << 30, "CUDA 13.0")


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]))

    def build(_child: ChildSide, _place: str, _arch: str, folder: Path, **_how: bool) -> gpu.BuiltOriginal:
        (folder / "cubin").write_bytes(b"x")
        return gpu.BuiltOriginal({"saxpy": "k"}, FACTS, "none")

    monkeypatch.setattr(gpu, "build_original", build)


def stages(folder: Path, port: str, reference: str = "", timeout: float = 60.0):  # type: ignore[no-untyped-def]
    target = write_target(folder, port)
    if reference:
        (target / "reference.py").write_text(reference)
    return on_gpu(target, load_spec(target), FAKE, Options(timeout=timeout), Quiet())


def test_a_right_port_passes_both_stages(tmp_path: Path) -> None:
    parity, bench = stages(tmp_path / "t", BENCH_PORT, REFERENCE)
    assert parity.status is Status.PASSED, parity.message
    assert bench.status is Status.PASSED, bench.message
    assert parity.parity is not None
    assert "fp64" in parity.parity.rule


def test_timed_outputs_are_judged_by_the_reference_that_parity_went_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original is off by more than a float32's own tolerance, the port is exact."""
    site = tmp_path / "site/sitecustomize.py"
    inexact = "import in_process\nfake.kernels['k'] = ([4, 4, 8, 8], in_process.off_by(1e-4))\n"
    site.write_text(site.read_text() + inexact)
    # without a range of their own, buffers get values too that parity asks no reference for
    ranged = SPEC.replace('elems = "n"', 'elems = "n"\nlow = 0.5\nhigh = 2.0')

    def last(folder: Path) -> StageResult:
        target = write_target(folder, BENCH_PORT, ranged)
        (target / "reference.py").write_text(REFERENCE)
        return on_gpu(target, load_spec(target), FAKE, Options(timeout=60.0), Quiet())[-1]

    got = last(tmp_path / "t")
    assert (got.stage, got.status, got.code) == ("bench", Status.PASSED, None), got.message
    monkeypatch.setattr(gpu, "own_reference", lambda *_: nullcontext(None))
    bare = last(tmp_path / "bare")
    assert (bare.stage, bare.status, bare.code) == ("bench", Status.WRONG_VALUES, "CP9103"), bare.message


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("import os; os.abort()", Status.CRASHED, "CP7004"),
        ("import time; time.sleep(60)", Status.TIMEOUT, "CP7005"),
        ("pass", Status.LAUNCH_ERROR, "CP7011"),
    ],
)
def test_a_port_that_breaks_its_process(tmp_path: Path, body: str, status: Status, code: str) -> None:
    port = f"def saxpy(n, a, x, y, *, grid=None, block=None, smem=0, stream=None):\n    {body}\n"
    (parity,) = stages(tmp_path / "t", port, timeout=4)
    assert (parity.status, parity.code) == (status, code), parity.message


def test_a_port_that_fails_to_import(tmp_path: Path) -> None:
    (parity,) = stages(tmp_path / "t", "raise RuntimeError('no such thing')\n")
    assert (parity.status, parity.code) == (Status.COMPILE_ERROR, "CP6101")
    assert parity.line == 1


def test_a_failing_reference_is_named(tmp_path: Path) -> None:
    (parity,) = stages(tmp_path / "t", BENCH_PORT, "def reference(args, sizes):\n    return 1 / 0\n")
    assert (parity.status, parity.code) == (Status.AMBIGUOUS, "CP7019")
    assert "division" in parity.message


def test_without_the_dsl_nothing_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "site/sitecustomize.py").write_text("import sys\nsys.modules['cutlass'] = None\n")
    folder = tmp_path / "targets"
    for name in ("a", "b"):
        write_target(folder / name)
    assert main([str(folder), "--stages", "compile"]) == 3
    found = json.loads((folder / "a/verdict.json").read_text())
    assert found["status"] == "NOT_RUN"
    assert found["stages"][1]["code"] == "CP9001"
    assert "cutlass" in found["proven"]
