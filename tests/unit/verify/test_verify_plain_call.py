"""A port called as its users call it: what becomes a tensor, and what of the launch is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saxpy_target import SPEC

from verify.device_jobs import call_port
from verify.heldout import called_plainly, case_named, name_of
from verify.jobs import JobError
from verify.plain_call import left_out, on_gpu, tensors
from verify.resolve import resolve
from verify.spec import Spec
from verify.spec_file import parse_spec

PLAINLY = name_of({"n": 700}, plainly=True)
ALL = {"grid", "block", "smem"}
BODY = "    SEEN.append((grid, block, smem, x, y))\n"


def entry(folder: Path, signature: str, body: str = "") -> tuple[Any, Path, list[Any]]:
    path = folder / "port.py"
    path.write_text(f"SEEN = []\ndef saxpy(n, a, x, y, *, {signature}, stream=None):\n{body}{BODY}")
    made: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), made)
    return made["saxpy"], path, made["SEEN"]


def spec() -> Spec:
    return parse_spec(SPEC)


def addresses(memory: dict[str, Any]) -> dict[str, int]:
    return {n: m.ctypes.data for n, m in memory.items()}


def test_its_name_says_what_is_asked() -> None:
    case = case_named(spec(), PLAINLY)
    assert PLAINLY == "held out: n=700; tensors and its own launch"
    assert called_plainly(case) and case.sizes == {"n": 700} and not case.scalars
    assert not called_plainly(case_named(spec(), "typical"))


def test_buffers_are_tensors_over_the_same_memory() -> None:
    memory = {n: np.arange(700, dtype=np.float32) for n in "xy"}
    made = tensors(spec(), resolve(spec(), case_named(spec(), PLAINLY)), addresses(memory))
    x = made["x"]
    assert (x.data_ptr(), x.numel(), str(x.dtype)) == (memory["x"].ctypes.data, 700, "torch.float32")
    assert x.is_cuda and str(x.device) == "cuda:0"
    memory["x"][5] = -1
    assert x[5].item() == -1


def test_empty_buffers_structs_and_globals_stay_addresses() -> None:
    empty = resolve(spec(), case_named(spec(), "empty"))
    assert tensors(spec(), empty, {"x": 64, "y": 128}) == {"x": 64, "y": 128}
    text = SPEC.replace('dtype = "float32"\nelems = "n"\nrole = "in"', (
        'size = 8\nelems = "n"\nrole = "in"\nfields = [{ name = "a", dtype = "f32", offset = 0 }]'
    ))  # fmt: skip
    structs = parse_spec(
        text.replace('elems = "n"\nrole = "inout"', 'elems = "n"\nrole = "inout"\nsymbol = "g"')
    )
    assert tensors(structs, resolve(structs, case_named(structs, "one")), {"x": 64, "y": 128})["x"] == 64
    assert tensors(structs, resolve(structs, case_named(structs, "one")), {"x": 64, "y": 128})["y"] == 128


@pytest.mark.parametrize(
    ("signature", "body", "omitted"),
    [
        ("grid=None, block=(256, 1, 1), smem=0", "    if grid is None: grid = n // 9\n", ALL),
        ("grid=None, block=256, smem=0", "    grid = grid if grid is not None else n\n", ALL),
        ("grid=None, block=256, smem=0", "    grid = n if grid is None else grid\n", ALL),
        ("grid=None, block=256, smem=0", "    if grid is None: grid = 2048\n", {"block", "smem"}),
        ("grid=None, block=(256, 1, 1), smem=0", "", {"block", "smem"}),  # it needs one all the same
        ("grid=None, block=(128, 1, 1), smem=0", "    if grid is None: grid = n\n", {"smem"}),
        ("grid=None, smem=0, block", "    if grid is None: grid = n\n", {"smem"}),
        ("grid, block=None, smem=None", "", set()),
    ],
)
def test_what_of_the_launch_is_left_out(tmp_path: Path, signature: str, body: str, omitted: set[str]) -> None:
    made, path, _ = entry(tmp_path, signature, body)
    assert left_out(made, resolve(spec(), case_named(spec(), PLAINLY)), path) == omitted


def test_a_port_is_called_so_in_that_case_only(tmp_path: Path) -> None:
    made, path, seen = entry(
        tmp_path, "grid=None, block=(256, 1, 1), smem=0", "    if grid is None: grid = f'own {n}'\n"
    )
    memory = {n: np.zeros(1009, np.float32) for n in "xy"}
    for name in ("typical", PLAINLY):
        call_port(made, spec(), resolve(spec(), case_named(spec(), name)), addresses(memory), 0, path)
    (grid, _, _, x, _), (own, _, _, tensor, _) = seen
    assert (grid, own) == ((4, 1, 1), "own 700")
    assert x == memory["x"].ctypes.data == tensor.data_ptr()


def test_a_torch_without_gpu_is_no_fault_of_the_port(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this torch has one")
    made, path, _ = entry(tmp_path, "grid=None, block=(256, 1, 1), smem=0")
    resolved = resolve(spec(), case_named(spec(), PLAINLY))
    with pytest.raises(JobError, match="ValueError: this torch has no GPU"):
        call_port(made, spec(), resolved, {"x": 64, "y": 64}, 0, path, on_gpu)
