"""Runs under other launches and with other whole numbers: which there are, and what they accuse nobody of."""

from __future__ import annotations

from pathlib import Path

import cuda.bindings
import pytest
from fake_driver import FakeDriver
from in_process import floats, original_side, port_side, saxpy_kernel
from saxpy_target import SPEC, write_target

from verify.heldout import case_named, extra_runs, own_launch
from verify.parity import run_parity
from verify.plan import HELD_OUT
from verify.resolve import resolve
from verify.spec import Spec
from verify.spec_check import examine
from verify.spec_file import load_spec, parse_spec
from verify.variants import launch_parameters, other_launches, other_whole_numbers
from verify.verdict import StageResult, Status

BOTH = frozenset({"grid", "block", "stream"})
BOOL = '[[arg]]\nname = "flip"\nkind = "scalar"\ndtype = "bool"\nvalue = true\n'
INT = '[[arg]]\nname = "step"\nkind = "scalar"\ndtype = "int32"\nvalue = 4\n'


def with_args(*args: str) -> Spec:
    head, _, tail = SPEC.partition("[[case]]")
    return parse_spec(head + "".join(args) + "[[case]]" + tail)


def test_other_launches_of_a_case() -> None:
    spec = parse_spec(SPEC)
    case = case_named(spec, "typical")  # 4 blocks of 256
    assert other_launches(spec, case, BOTH, False) == [((2, 1, 1), None), (None, (128, 1, 1))]
    assert other_launches(spec, case, BOTH, True)[2:] == [((8, 1, 1), (128, 1, 1))]
    assert other_launches(spec, case, frozenset({"block"}), True) == [(None, (128, 1, 1))]
    assert other_launches(spec, case_named(spec, "one"), BOTH, False) == [(None, (128, 1, 1))]


def test_what_the_cases_differ_in_is_not_tried() -> None:
    two = parse_spec(SPEC + 'block = ["64"]\ngrid = ["2"]\n')
    assert other_launches(two, case_named(two, "typical"), BOTH, True) == []
    warp = parse_spec(SPEC.replace('"256"', '"32"'))
    assert [b for _, b in other_launches(warp, case_named(warp, "one"), BOTH, True)] == []


def test_whole_numbers_that_decide_nothing_become_others() -> None:
    assert list(other_whole_numbers(with_args(INT, BOOL))) == [("step", 5), ("flip", 0)]
    assert list(other_whole_numbers(with_args(INT.replace("value = 4", 'value = "n"')))) == []
    sized = with_args(INT).model_dump(by_alias=True)
    sized["launch"]["grid"][0] = "n / step + 1"
    assert list(other_whole_numbers(Spec.model_validate(sized))) == []
    given = with_args(INT).model_dump(by_alias=True)
    given["case"][0]["scalars"] = {"step": 2}
    assert list(other_whole_numbers(Spec.model_validate(given))) == []


def test_only_the_emulator_tries_whole_numbers(tmp_path: Path) -> None:
    """On a GPU nobody sees what the original reads with them."""
    target = write_target(tmp_path / "t")
    spec = with_args(INT)

    def asked(device: str) -> set[str]:
        runs = extra_runs(target, spec, (), 0, device)  # type: ignore[arg-type]
        return {r.case.name.partition("; ")[2] for r in runs}

    assert "step=5" in asked("emulator") and "step=5" not in asked("gpu")
    assert any(a.startswith("launch.grid=") for a in asked("gpu"))


def test_a_case_of_another_launch_is_made_again_from_its_name() -> None:
    spec = parse_spec(SPEC)
    made = case_named(spec, f"{HELD_OUT}n=700; step=5, a=2.75, launch.grid=2x1x1, launch.block=128x1x1")
    assert (made.sizes, made.scalars) == ({"n": 700}, {"step": 5, "a": 2.75})
    assert isinstance(made.scalars["step"], int)
    found = resolve(spec, made.model_copy(update={"scalars": {}}))
    assert (found.grid, found.block) == ((2, 1, 1), (128, 1, 1))
    assert own_launch(made) == f"{HELD_OUT}n=700" and own_launch(case_named(spec, "one")) == ""


def test_what_an_entry_takes(tmp_path: Path) -> None:
    port = tmp_path / "port.py"
    port.write_text("def f(x, *, grid=None, stream=None):\n    pass\n")
    assert launch_parameters(port, "f") == {"grid", "stream"}
    assert launch_parameters(port, "g") == launch_parameters(tmp_path / "none.py", "f") == frozenset()


# through a comparison

HEAD = """
import ctypes
import numpy as np
def arr(p, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(p))
def saxpy(n, a, x, y, *, grid=None, block=None, smem=0, stream=None):
    X, Y = arr(x, n), arr(y, n)
    np.seterr(all="ignore")
"""


def parity(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, loops: bool) -> StageResult:
    """An original that loops over its grid, or computes only what its threads cover."""
    driver = FakeDriver()

    def kernel(grid: tuple[int, ...], block: tuple[int, ...], values: list[bytes]) -> None:
        n = int.from_bytes(values[0], "little")
        y = floats(int.from_bytes(values[3], "little"), n)
        before = y.copy()
        saxpy_kernel(grid, block, values)
        if not loops:
            y[grid[0] * block[0] :] = before[grid[0] * block[0] :]

    driver.kernels["k"] = ([4, 4, 8, 8], kernel)
    monkeypatch.setattr(cuda.bindings, "driver", driver)
    target = write_target(folder, HEAD + body, SPEC)
    spec = load_spec(target)
    runs = extra_runs(target, spec, (), 0, "gpu")
    assert any("launch.grid" in r.case.name for r in runs)
    return run_parity("t", spec, runs, original_side(driver, target), port_side(driver, target))


RIGHT = "    Y[:] = np.float32(a) * X + Y\n"
ONE_ROUND = "    m = grid[0] * block[0]\n    Y[:m] = np.float32(a) * X[:m] + Y[:m]\n"


def test_a_loop_that_ends_after_one_round_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parity(tmp_path / "a", monkeypatch, RIGHT, loops=True).status is Status.PASSED
    got = parity(tmp_path / "b", monkeypatch, ONE_ROUND, loops=True)
    assert got.code == "CP7012" and "launch." in got.message


def test_a_launch_that_changes_the_original_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = parity(tmp_path / "t", monkeypatch, RIGHT, loops=False)
    assert got.status is Status.PASSED and got.parity is not None
    skipped = [r.note for r in got.parity.runs if not r.counted and "launch." in r.case]
    assert skipped and all("other values with this launch" in note for note in skipped)


def test_a_port_may_refuse_a_launch_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = "    if block != (256, 1, 1): raise ValueError('blocks of 256')\n" + RIGHT
    got = parity(tmp_path / "t", monkeypatch, refuses, loops=True)
    assert got.status is Status.PASSED and got.parity is not None
    assert any("refuses it: ValueError: blocks of 256" in r.note for r in got.parity.runs)
    other = refuses.replace("ValueError", "RuntimeError")
    assert parity(tmp_path / "u", monkeypatch, other, loops=True).code == "CP7003"


# what reading tells


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('block = ["256", "1", "1"]', 'block = ["32", "1", "1"]', "CP6012"),
        ('value = 2.5', 'value = 2', ""),
        ('dtype = "float32"\nvalue = 2.5', 'dtype = "int32"\nvalue = 2', "CP6013"),
    ],
)  # fmt: skip
def test_what_all_cases_share_is_told(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert old in SPEC
    target = write_target(tmp_path, spec=SPEC.replace(old, new))
    assert [r.code for r in examine(target).remarks if r.code] == ([code] if code else [])


def test_a_loop_over_the_grid_of_one_block_is_told(tmp_path: Path) -> None:
    spec = SPEC.replace('grid = ["(n + 255) / 256", "1", "1"]', 'grid = ["1"]').replace("n = 1009", "n = 200")
    target = write_target(tmp_path, spec=spec)
    source = target / "original/device.cu"
    text = source.read_text()
    assert not [r.code for r in examine(target).remarks if r.code]
    source.write_text(text.replace("if (i < n)", "for (; i < n; i += gridDim.x * blockDim.x)"))
    assert [r.code for r in examine(target).remarks if r.code] == ["CP6014"]
    (target / "spec.toml").write_text(spec.replace("n = 200", "n = 300"))
    assert not [r.code for r in examine(target).remarks if r.code]
