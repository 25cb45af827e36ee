"""A struct passed by value that holds pointers: its fields' memory is memory like any other."""

from __future__ import annotations

from pathlib import Path

import cuda.bindings
import numpy as np
import pytest
from fake_driver import FakeDriver
from in_process import InProcessSide, floats, original_side, port_side
from saxpy_target import write_target

from verify.device_jobs import _reference_arguments
from verify.inputs import generate
from verify.parity import run_parity
from verify.plan import plan
from verify.resolve import resolve
from verify.spec_file import SpecError, load_spec, parse_spec
from verify.verdict import StageResult, Status

DEVICE = """
struct P { const float* in; float* out; int n; float c[2]; };
__global__ void saxpy(P p) { int i = threadIdx.x; if (i < p.n) p.out[i] = p.in[i] * p.c[0] + p.c[1]; }
"""
SPEC = """
schema = 1
name = "saxpy"
[original]
kernel = "saxpy"
[port]
entry = "saxpy"
[launch]
grid = ["(n + 255) / 256"]
block = ["256"]
[[arg]]
name = "p"
kind = "struct"
size = 32
fields = [
    { name = "in", offset = 0, buffer = { dtype = "float32", elems = "p.n", role = "in", init = "normal" } },
    { name = "out", offset = 8, buffer = { dtype = "float32", elems = "n", role = "out" } },
    { name = "n", dtype = "int32", offset = 16, value = "n" },
    { name = "c_0", dtype = "float32", offset = 20, value = 0.5 },
    { name = "c_1", dtype = "float32", offset = 24, value = 2 },
]
[[case]]
name = "one"
sizes = { n = 1 }
role = "boundary"
[[case]]
name = "typical"
sizes = { n = 1009 }
"""
PORT = """
import ctypes
import numpy as np
def arr(p, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(p))
def saxpy(p_in, p_out, p_n, p_c_0, p_c_1, *, grid=None, block=None, smem=0, stream=None):
    np.seterr(all="ignore")
    X, Y = arr(p_in, p_n), arr(p_out, p_n)
"""
RIGHT = "    Y[:] = X * np.float32(p_c_0) + np.float32(p_c_1)\n"


def kernel(_grid: object, _block: object, values: list[bytes]) -> None:
    (p,) = values
    source, to = (int.from_bytes(p[at : at + 8], "little") for at in (0, 8))
    n = int.from_bytes(p[16:20], "little")
    a, b = np.frombuffer(p[20:28], np.float32)
    with np.errstate(invalid="ignore"):
        floats(to, n)[:] = floats(source, n) * a + b


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    fake.kernels["k"] = ([32], kernel)
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    return fake


def parity(driver: FakeDriver, folder: Path, body: str) -> StageResult:
    target = write_target(folder, PORT + body, SPEC, DEVICE)
    sides: tuple[InProcessSide, InProcessSide] = original_side(driver, target), port_side(driver, target)
    spec = load_spec(target)
    return run_parity("t", spec, plan(spec, (), 0), *sides)


def test_a_right_port_passes(driver: FakeDriver, tmp_path: Path) -> None:
    got = parity(driver, tmp_path / "t", RIGHT)
    assert got.status is Status.PASSED, got.message
    assert got.parity is not None
    assert [o.output for o in got.parity.outputs] == ["p.out"]
    assert {r.values for r in got.parity.runs} >= {"spec", "small_int", "large", "special"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("    Y[:] = X\n", "CP7012"),
        ("    pass\n", "CP7011"),
        (RIGHT + "    X[:] = 0\n", "CP7009"),
        (RIGHT + "    arr(p_out, p_n + 1)[p_n] = 1\n", "CP7007"),
    ],
)
def test_poison_guards_and_values_hold_for_fields_too(
    driver: FakeDriver, tmp_path: Path, body: str, code: str
) -> None:
    got = parity(driver, tmp_path / "t", body)
    assert got.code == code, got.message
    assert "p." in got.message or code == "CP7011"


def test_the_reference_sees_fields_by_their_dotted_names() -> None:
    spec = parse_spec(SPEC)
    case = resolve(spec, spec.case[1])
    given = _reference_arguments(spec, case, generate(spec, case, 0, "spec"))
    assert given["p.n"] == 1009
    assert given["p.in"].shape == (1009,)
    assert "p.out" not in given


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("offset = 8, buffer", "offset = 28, buffer", "reaches past"),
        (', role = "out"', "", "role"),
        ('name = "out"', 'name = "in"', "named twice"),
        ('dtype = "int32"', 'dtype = "int33"', "unknown dtype"),
    ],
)  # fmt: skip
def test_wrong_fields_are_said(old: str, new: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse_spec(SPEC.replace(old, new))


def test_memory_that_starts_at_given_values() -> None:
    text = SPEC.replace('init = "normal"', "values = [1, 2.5]")
    spec = parse_spec(text)
    made = generate(spec, resolve(spec, spec.case[1]), 0, "large")["p.in"].view(np.float32)
    assert made[:3].tolist() == [1, 2.5, 0]
    spec = parse_spec(
        text.replace('dtype = "float32", elems = "p.n"', 'dtype = "u64", elems = 2').replace(
            "[1, 2.5]", "[18446744073709551615]"
        )
    )
    made = generate(spec, resolve(spec, spec.case[1]), 0, "spec")["p.in"].view(np.uint64)
    assert made.tolist() == [2**64 - 1, 0]
    with pytest.raises(SpecError, match="in place of init"):
        parse_spec(SPEC.replace('init = "normal"', 'values = [1], init = "zeros"'))
