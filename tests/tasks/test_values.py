"""The harder originals themselves: values in the emulator against float64, with no finding, in any order.

Specs and references are those that their ports were judged by, with the recorded conversations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from verify.device_jobs import _reference_arguments
from verify.inputs import decode, generate, lanes, view
from verify.jobs import load_module
from verify.original_side import build_original
from verify.plan import too_large
from verify.resolve import resolve
from verify.sides import EMULATED_ORIGINAL, ChildSide, Inputs
from verify.spec_file import load_spec

RECORDED = Path(__file__).parents[1] / "replay"
SCHEDULES = 3  # forward, reverse, one random order
# How far each output may be from float64, in units of the largest value: f16 results by their rounding, f32
# ones by their sums. The others are exact.
NEAR = {
    "online_softmax_attention": {"o": 2**-10, "log_sums": 1e-6},
    "grid_wide_solver": {"x": 4e-6, "history": 4e-6},
    "bulk_copy_ring": {"out": 2**-10},
    "cluster_softmax": {"out": 1e-6, "log_sums": 1e-6},
    "block_radix_sort": {},
    "decoupled_look_back": {},
    "label_state_machine": {},
    "split_k_int8_product": {},
}


@pytest.fixture(scope="module")
def side() -> Iterator[ChildSide]:
    with closing(ChildSide(EMULATED_ORIGINAL, {}, "sm_90a", 120.0)) as child:
        yield child


@pytest.mark.parametrize("name", NEAR)
def test_an_original_is_right_and_clean(side: ChildSide, name: str, tmp_path: Path) -> None:
    target = RECORDED / name / "task"
    spec = load_spec(target)
    built = build_original(side, str(target), "sm_90a", tmp_path, lines=True)
    given = {"target": str(target), "ptx": str(tmp_path / "ptx.lines"), "names": built.names, "original": {}}
    side.reload(given)
    reference = load_module(target / "reference.py", f"_{name}").reference
    ran = 0
    for case in spec.case:
        resolved = resolve(spec, case)
        if too_large(resolved, "emulator"):
            continue
        raw = generate(spec, resolved, 0, "spec")
        wanted = reference(_reference_arguments(spec, resolved, raw), dict(case.sizes))
        inputs = Inputs(raw, tmp_path)
        runs = [side.run(case.name, inputs, schedule) for schedule in range(SCHEDULES)]
        assert [r.findings for r in runs] == [[]] * SCHEDULES
        for buffer in spec.buffers:
            if not buffer.compared:
                continue
            assert len({r.outputs[buffer.name].tobytes() for r in runs}) == 1
            (lane,) = lanes(buffer)
            found = decode(view(runs[0].outputs[buffer.name], lane), lane.dtype)
            right = np.asarray(wanted[buffer.name], np.float64)
            finite = np.isfinite(right)
            assert np.array_equal(found[~finite], right[~finite])
            most = np.abs(right[finite]).max(initial=0.0)
            off = np.abs(found[finite] - right[finite]).max(initial=0.0)
            assert off <= NEAR[name].get(buffer.name, 0.0) * most
            ran += 1
    assert ran >= 4
