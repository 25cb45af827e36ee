"""What volatile does not do shows in values too, under the schedule that is made for it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.emulator.defects.suite import compiled
from verify.emulator.emit.module import emit_kernel
from verify.emulator.launch import LaunchShape, Program, RunOptions
from verify.emulator.memory import Memory
from verify.emulator.ptx.parse import parse

pytest.importorskip("cuda.bindings.nvrtc")


@pytest.fixture(scope="module")
def program() -> Program:
    return Program(compiled("ordered.cu"))


def _left(program: Program, kernel: str, shape: LaunchShape, schedule: str, number: int | None = None) -> int:
    """The first word of the last buffer after a launch on 0, 1, 4, 9 … and that buffer."""
    memory = Memory()
    x, out = memory.alloc(256, "x"), memory.alloc(4, "out")
    ctypes.memmove(x, (np.arange(64, dtype=np.int32) ** 2).tobytes(), 256)
    params = (
        [out.to_bytes(8, "little")] if number is not None else [p.to_bytes(8, "little") for p in (x, out)]
    )
    if number is not None:
        params.append(number.to_bytes(4, "little"))
    program.run(kernel, shape, params, memory, RunOptions(schedule=schedule))
    return ctypes.c_int32.from_address(out).value


def test_a_lost_update_shows_where_all_load_before_one_stores(program: Program) -> None:
    shape = LaunchShape((2, 1, 1), (4, 1, 1))
    assert _left(program, "volatile_count_bad", shape, "reverse", 3) < 24
    assert _left(program, "volatile_count_good", shape, "reverse", 3) == 24


def test_lanes_that_count_on_running_in_step_show_where_they_do_not(program: Program) -> None:
    shape, right = LaunchShape((1, 1, 1), (32, 1, 1)), int((np.arange(64) ** 2).sum())
    assert _left(program, "in_step_bad", shape, "forward") != right
    assert _left(program, "in_step_good", shape, "forward") == right


def test_which_loads_and_stores_belong_together() -> None:
    module = parse(compiled("ordered.cu"))

    def extras(kernel: str) -> set[str]:
        text = emit_kernel(module, kernel).text
        return {word for word in ("IN_UPDATE", "AS_DATA", "IN_CTA") if word in text}

    assert extras("volatile_count_bad") == {"IN_UPDATE"}
    assert extras("in_step_bad") == {"IN_UPDATE", "AS_DATA"}
    assert extras("turns_good") == set()
    assert extras("message_good") == set()
    assert extras("warp_message_good") == set()
    assert extras("block_scope_bad") == {"IN_CTA"}
