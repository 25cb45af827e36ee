"""A process that runs many kernels keeps the stacks of the last one only: mappings are few."""

from __future__ import annotations

import ctypes
from pathlib import Path

from tests.emulator.ptx_sample import HEAD
from verify.emulator.launch import LaunchShape, Program
from verify.emulator.memory import Memory

THREADS = 512


def adding(number: int) -> Program:
    """A kernel whose threads wait at a barrier, so that each has a stack of its own."""
    return Program(
        HEAD
        + f"""
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    bar.sync 0;
    add.u32 %r2, %r1, {number};
    st.global.u32 [%rd3], %r2;
    ret;
}}
"""
    )


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_stacks_are_given_back_when_another_kernel_runs() -> None:
    programs = [adding(n) for n in range(5)]
    memory = Memory()
    out = memory.alloc(4 * THREADS, "out")
    held = []
    for turn in range(2):
        for n, program in enumerate(programs):
            program.run("k", LaunchShape((1, 1, 1), (THREADS, 1, 1)), [out.to_bytes(8, "little")], memory)
            values = (ctypes.c_uint32 * THREADS).from_address(out)
            assert [values[0], values[THREADS - 1]] == [n, n + THREADS - 1], turn
            held.append(mappings())
    assert held[0] > THREADS and max(held) < held[0] + THREADS
