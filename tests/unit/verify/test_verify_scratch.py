"""Memory of the kernel's own, and kernels whose answer is as plain as a null answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cuda.bindings
import numpy as np
import pytest
from fake_driver import FakeDriver
from in_process import floats, original_side, port_side, saxpy_kernel
from saxpy_target import SPEC, write_target

from verify.inputs import generate
from verify.parity import run_parity
from verify.plan import plan
from verify.resolve import resolve
from verify.spec_file import SpecError, load_spec, parse_spec
from verify.verdict import StageResult, Status, _compared

LOCK = '[[arg]]\nname = "lock"\nkind = "buffer"\ndtype = "float32"\nelems = "2"\nrole = "scratch"\n'
ZEROS = 'init = "zeros"\n'
Kernel = Callable[[tuple[int, ...], tuple[int, ...], list[bytes]], None]
HEAD = """
import ctypes
import numpy as np
def arr(p, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(p))
def saxpy(n, a, x, y, {more}*, grid=None, block=None, smem=0, stream=None):
    X, Y = arr(x, n), arr(y, n)
    np.seterr(all="ignore")
"""
SAXPY = "    Y[:] = np.float32(a) * X + Y\n"


def with_lock(*how: str) -> str:
    head, _, tail = SPEC.partition("[[case]]")
    return head + LOCK + "".join(how) + "[[case]]" + tail


def parity(
    folder: Path, patched: pytest.MonkeyPatch, spec: str, kernel: Kernel, body: str, more: str = ""
) -> StageResult:
    driver = FakeDriver()
    driver.kernels["k"] = ([4, 4, 8, 8] + [8] * bool(more), kernel)
    patched.setattr(cuda.bindings, "driver", driver)
    target = write_target(folder, HEAD.format(more=more) + body, spec)
    read = load_spec(target)
    return run_parity("t", read, plan(read, (), 0), original_side(driver, target), port_side(driver, target))


def locking(left: float | None) -> Kernel:
    """saxpy that leaves the lock at a value; None: as it was."""

    def kernel(grid: tuple[int, ...], block: tuple[int, ...], values: list[bytes]) -> None:
        saxpy_kernel(grid, block, values[:4])
        if left is not None:
            floats(int.from_bytes(values[4], "little"), 2)[0] = left

    return kernel


def test_scratch_is_filled_where_the_spec_says_how_else_poisoned() -> None:
    for text, poisoned in ((with_lock(ZEROS), False), (with_lock(), True)):
        spec = parse_spec(text)
        lock = next(b for b in spec.buffers if b.name == "lock")
        assert (lock.poisoned, lock.compared) == (poisoned, False)
        made = generate(spec, resolve(spec, spec.case[1]), 0, "spec")
        assert ("lock" in made) is not poisoned
    assert not np.any(generate(parse_spec(with_lock(ZEROS)), resolve(spec, spec.case[1]), 0, "spec")["lock"])


def test_scratch_is_not_compared_and_the_verdict_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, body = with_lock(ZEROS), SAXPY + "    arr(lock, 2)[:] = 9\n"
    got = parity(tmp_path / "t", monkeypatch, spec, locking(5.0), body, "lock, ")
    assert got.status is Status.PASSED and got.parity is not None, got.message
    assert got.parity.not_compared == ["lock"] and {d.output for d in got.parity.outputs} == {"y"}
    assert _compared(got.parity) == "; scratch memory not compared: lock"


def test_what_the_original_restores_the_port_must_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = with_lock(ZEROS)
    kept = parity(tmp_path / "a", monkeypatch, spec, locking(None), SAXPY, "lock, ")
    assert kept.status is Status.PASSED
    left = SAXPY + "    arr(lock, 2)[:1] = n > 100\n"
    got = parity(tmp_path / "b", monkeypatch, spec, locking(None), left, "lock, ")
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP7030") and "case typical" in got.message
    unfilled = parity(tmp_path / "c", monkeypatch, with_lock(), locking(None), left, "lock, ")
    assert unfilled.status is Status.PASSED, "nothing is expected of what nothing filled"


def test_scratch_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = SAXPY + "    arr(lock, 3)[2] = 1\n"
    got = parity(tmp_path / "t", monkeypatch, with_lock(ZEROS), locking(5.0), body, "lock, ")
    assert (got.code, got.message.endswith("outside lock")) == ("CP7007", True)


# fills and copies

OUT = SPEC.replace('role = "inout"', 'role = "out"')


def filling(value: float) -> Kernel:
    def kernel(grid: tuple[int, ...], block: tuple[int, ...], values: list[bytes]) -> None:
        n = int.from_bytes(values[0], "little")
        floats(int.from_bytes(values[3], "little"), n)[:] = value

    return kernel


def copying(grid: tuple[int, ...], block: tuple[int, ...], values: list[bytes]) -> None:
    n = int.from_bytes(values[0], "little")
    x, y = (floats(int.from_bytes(v, "little"), n) for v in values[2:4])
    y[:] = x


def meant(what: str) -> str:
    return OUT.replace('role = "out"', f'role = "out"\nmeans = "{what}"')


@pytest.mark.parametrize(
    ("kernel", "body", "what", "hint"),
    [
        (filling(0), "    Y[:] = 0\n", "fill", "y could be zeros and pass; if the kernel is to write zeros"),
        (
            filling(3),
            "    Y[:] = 3\n",
            "fill",
            "y could be a constant and pass; if the kernel is to write one",
        ),
        (copying, "    Y[:] = X\n", "copy", "y could be a copy of x and pass; if the kernel is to copy"),
    ],
)
def test_a_plain_kernel_passes_where_the_spec_means_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: Kernel, body: str, what: str, hint: str
) -> None:
    asked = parity(tmp_path / "a", monkeypatch, OUT, kernel, body)
    assert (asked.status, asked.code) == (Status.AMBIGUOUS, "CP7017") and hint in asked.message
    other = parity(tmp_path / "b", monkeypatch, meant("copy" if what == "fill" else "fill"), kernel, body)
    assert other.code == "CP7017"
    assert parity(tmp_path / "c", monkeypatch, meant(what), kernel, body).status is Status.PASSED
    wrong = parity(tmp_path / "d", monkeypatch, meant(what), kernel, body.replace("Y[:]", "Y[1:]"))
    assert wrong.code in ("CP7011", "CP7014")


def test_a_kernel_that_changes_nothing_does_not_pass_as_a_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SPEC.replace('role = "inout"', 'role = "inout"\nmeans = "fill"\ninit = "zeros"')
    got = parity(tmp_path / "t", monkeypatch, spec, filling(0), "    pass\n")
    assert (
        got.code == "CP7017" and "y could be as it was before and pass; for a counter or lock" in got.message
    )


@pytest.mark.parametrize("more", ['means = "fill"', 'order = "free"'])
def test_keys_of_outputs_are_for_outputs(more: str) -> None:
    with pytest.raises(SpecError, match="for outputs"):
        parse_spec(SPEC.replace('role = "in"', f'role = "in"\n{more}', 1))
