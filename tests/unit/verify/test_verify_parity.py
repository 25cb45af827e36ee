"""The parity stage above the driver: each way to be wrong ends with its own code."""

from __future__ import annotations

from pathlib import Path

import cuda.bindings
import pytest
from fake_driver import FakeDriver
from in_process import original_side, port_side, saxpy_kernel
from saxpy_target import SPEC, write_target

from verify.facts import CompileFacts
from verify.parity import run_parity
from verify.plan import plan
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

HEAD = """
import ctypes
import numpy as np
CALLS = []
def arr(p, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(p))
def saxpy(n, a, x, y, *, grid=None, block=None, smem=0, stream=None):
    CALLS.append(1)
    assert stream == 7 and grid == ((n + 255) // 256, 1, 1) and block == (256, 1, 1)
    X, Y = arr(x, n), arr(y, n)
    np.seterr(all="ignore")
"""
RIGHT = "    Y[:] = np.float32(a) * X + Y\n"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    fake.kernels["k"] = ([4, 4, 8, 8], saxpy_kernel)
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    return fake


def parity(
    driver: FakeDriver,
    folder: Path,
    body: str,
    spec: str = SPEC,
    built: CompileFacts | None = None,
    head: str = HEAD,
) -> StageResult:
    target = write_target(folder, head + body, spec)
    read = load_spec(target)
    runs = plan(read, (), 0)
    sides = original_side(driver, target), port_side(driver, target)
    return run_parity(str(target), read, runs, *sides, built=built)


def test_a_right_port_passes(driver: FakeDriver, tmp_path: Path) -> None:
    got = parity(driver, tmp_path / "t", RIGHT)
    assert got.status is Status.PASSED, got.message
    assert got.parity is not None
    assert got.parity.rule == "original"
    assert [r.counted for r in got.parity.runs if r.case == "empty"] == [False] * 3
    assert {r.values for r in got.parity.runs if r.counted} >= {"spec", "small_int", "large", "special"}
    assert got.parity.outputs[0].bitwise_equal


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        ("    Y[:-1] = (np.float32(a) * X + Y)[:-1]\n", "CP7011", Status.LAUNCH_ERROR),  # n = 1: nothing
        ("    if n > 1: Y[:-1] = (np.float32(a) * X + Y)[:-1]\n    else: Y[:] = np.float32(a) * X + Y\n",
         "CP7012", Status.WRONG_VALUES),
        ("    pass\n", "CP7011", Status.LAUNCH_ERROR),
        ("    Y[:] = 0\n", "CP7012", Status.WRONG_VALUES),
        ("    Y[:] = np.float16(np.float32(a) * X + Y)\n", "CP7012", Status.WRONG_VALUES),
        (RIGHT + "    X[:] = 0\n", "CP7009", Status.WRONG_VALUES),
        (RIGHT + "    arr(y, n + 1)[n] = 1\n", "CP7007", Status.SANITIZER),
        (RIGHT + "    arr(y - 4, 1)[0] = 1\n", "CP7007", Status.SANITIZER),
        ("    Y[:] = np.nan_to_num(np.float32(a) * X + Y)\n", "CP7013", Status.WRONG_VALUES),
        (RIGHT + "    Y[:] *= np.float32(1 + 1e-7 * (len(CALLS) % 3))\n", "CP7015", Status.WRONG_VALUES),
        ("    raise RuntimeError('launch failed')\n", "CP7003", Status.LAUNCH_ERROR),
    ],
)  # fmt: skip
def test_each_wrong_port_has_its_code(
    driver: FakeDriver, tmp_path: Path, body: str, code: str, status: Status
) -> None:
    got = parity(driver, tmp_path / "t", body)
    assert (got.code, got.status) == (code, status), got.message


def test_a_cached_result_is_caught_by_new_values_at_the_old_address(
    driver: FakeDriver, tmp_path: Path
) -> None:
    head = HEAD.replace("CALLS = []", "CALLS = []\nKEPT = {}")
    body = (
        "    key = (x, y, n)\n"
        "    if key not in KEPT: KEPT[key] = np.float32(a) * X + Y\n"
        "    Y[:] = KEPT[key]\n"
    )
    got = parity(driver, tmp_path / "t", body, head=head)
    assert got.code in ("CP7012", "CP7011")


def test_error_in_port_points_at_its_line(driver: FakeDriver, tmp_path: Path) -> None:
    got = parity(driver, tmp_path / "t", "    raise RuntimeError('launch failed')\n")
    assert got.line == HEAD.count("\n") + 1
    assert "launch failed" in got.message


def test_wrong_arity_is_told(driver: FakeDriver, tmp_path: Path) -> None:
    head = "def saxpy(n, x, y, *, grid=None, stream=None):\n"
    got = parity(driver, tmp_path / "t", "    pass\n", head=head)
    assert got.code == "CP7021"


def test_renamed_parameters_bind_by_position(driver: FakeDriver, tmp_path: Path) -> None:
    head = HEAD.replace("saxpy(n, a, x, y,", "saxpy(n, a_, x, y,").replace("CALLS.append(1)", "a = a_")
    assert parity(driver, tmp_path / "t", RIGHT, head=head).status is Status.PASSED


def test_open_question_forbids_passed(driver: FakeDriver, tmp_path: Path) -> None:
    spec = SPEC + '[[question]]\ncode = "CP3901"\ntext = "how long is x?"\n'
    got = parity(driver, tmp_path / "a", RIGHT, spec)
    assert (got.status, got.code) == (Status.AMBIGUOUS, "CP7018")
    line = spec[: spec.index("[[question]]")].count("\n") + 1
    where = f"{tmp_path / 'a' / 'spec.toml'}:{line}"
    words = f'{where}: a [[question]] without `answer = "…"`: CP3901: how long is x?'
    assert got.message == f"values agree, but {words}"
    two = spec + 'answer = "n"\n' + 2 * '[[question]]\ncode = "CP3902"\ntext = "and y?"\nanswer = ""\n'
    got = parity(driver, tmp_path / "c", RIGHT, two)
    assert f":{line + 4}: a [[question]]" in got.message and got.message.endswith("and y?; 1 more is open")
    answered = spec + 'answer = "n"\n'
    assert parity(driver, tmp_path / "b", RIGHT, answered).status is Status.PASSED


def test_blind_case_does_not_count(driver: FakeDriver, tmp_path: Path) -> None:
    """With x and y zero the answer is zeros: no run can tell."""
    spec = SPEC.replace('role = "in"', 'role = "in"\ninit = "zeros"').replace(
        'role = "inout"', 'role = "inout"\ninit = "zeros"'
    )
    got = parity(driver, tmp_path / "t", RIGHT, spec)
    assert (got.status, got.code) == (Status.AMBIGUOUS, "CP7017")
    assert "zeros" in got.message


def test_racy_original_is_suspect(driver: FakeDriver, tmp_path: Path) -> None:
    count = [0]

    def racy(grid, block, values):
        saxpy_kernel(grid, block, values)
        count[0] += 1
        values[1] = b"\0\0\0\0"
        import numpy as np
        from in_process import floats

        n = int.from_bytes(values[0], "little")
        floats(int.from_bytes(values[3], "little"), n)[0] += np.float32(count[0])

    driver.kernels["k"] = ([4, 4, 8, 8], racy)
    got = parity(driver, tmp_path / "t", RIGHT)
    assert (got.status, got.code) == (Status.ORIGINAL_SUSPECT, "CP7016")


def test_float_atomics_make_the_order_free(driver: FakeDriver, tmp_path: Path) -> None:
    built = CompileFacts(
        arch="sm_90a",
        compile_seconds=0,
        ptx_bytes=0,
        ptx_sha256="",
        cubin_bytes=0,
        cubin_sha256="",
        kernels=[],
        features={"float_atomics": 1, "atomics": 1},
    )
    wobble = RIGHT + "    Y[:] *= np.float32(1 + 1e-7 * (len(CALLS) % 3))\n"
    got = parity(driver, tmp_path / "t", wobble, built=built)
    assert got.status is Status.PASSED, got.message
    assert got.parity is not None
    assert not got.parity.deterministic


def test_original_that_faults_on_odd_values_only_narrows_the_test(driver: FakeDriver, tmp_path: Path) -> None:
    def picky(grid, block, values):
        import numpy as np
        from in_process import floats

        n = int.from_bytes(values[0], "little")
        if not np.isfinite(floats(int.from_bytes(values[2], "little"), n)).all():
            raise MemoryError
        saxpy_kernel(grid, block, values)

    driver.kernels["k"] = ([4, 4, 8, 8], picky)
    got = parity(driver, tmp_path / "t", RIGHT)
    assert got.status is Status.PASSED, got.message
    assert got.parity is not None
    assert any("original itself" in r.note for r in got.parity.runs)


def test_original_that_faults_is_suspect(driver: FakeDriver, tmp_path: Path) -> None:
    def broken(grid, block, values):
        raise MemoryError

    driver.kernels["k"] = ([4, 4, 8, 8], broken)
    got = parity(driver, tmp_path / "t", RIGHT)
    assert (got.status, got.code) == (Status.ORIGINAL_SUSPECT, "CP7002")
    assert "ILLEGAL_ADDRESS" in got.message


def test_spec_that_does_not_fit_the_kernel_is_told(driver: FakeDriver, tmp_path: Path) -> None:
    driver.kernels["k"] = ([8, 4, 8, 8], saxpy_kernel)
    got = parity(driver, tmp_path / "t", RIGHT)
    assert got.code == "CP7025"


def test_fp64_rule_uses_the_reference(driver: FakeDriver, tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", HEAD + RIGHT)
    (target / "reference.py").write_text(
        "import numpy as np\n"
        "def reference(args, sizes):\n"
        "    assert sizes['n'] == args['n'] == len(args['x'])\n"
        "    with np.errstate(all='ignore'):\n"
        "        return {'y': args['a'] * args['x'].astype(np.float64) + args['y']}\n"
    )
    spec = load_spec(target)
    ref = port_side(driver, target)

    def reference(case, inputs):
        import numpy as np

        job = {"do": "run_reference", "target": str(target), "case": case, "inputs": inputs.files()}
        reply = ref.ask({**job, "out": str(inputs.folder)})
        return {n: np.fromfile(p, np.float64) for n, p in reply["outputs"].items()}

    sides = original_side(driver, target), port_side(driver, target)
    got = run_parity("t", spec, plan(spec, (), 0), *sides, reference=reference)
    assert got.status is Status.PASSED, got.message
    assert got.parity is not None
    assert "fp64" in got.parity.rule
