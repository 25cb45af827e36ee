"""Variables of shared memory lie apart from each other, and a kernel does not see it."""

from __future__ import annotations

import ctypes

import pytest

from tests.emulator.ptx_sample import HEAD
from verify.emulator.emit.layout import lay_out
from verify.emulator.launch import LaunchShape, Program
from verify.emulator.memory import Memory
from verify.emulator.ptx.module import PtxError
from verify.emulator.ptx.parse import parse

KERNEL = """
.extern .shared .align 16 .b8 window[];
.visible .entry k(.param .u64 out)
{
    .reg .b32 %%r<4>; .reg .b64 %%rd<2>;
    .shared .align 4 .b8 first[%d];
    .shared .align 2 .b8 second[6];
    ld.param.u64 %%rd1, [out];
    mov.u32 %%r1, %%total_smem_size;
    mov.u32 %%r2, %%dynamic_smem_size;
    st.global.v2.u32 [%%rd1], {%%r1, %%r2};
    mov.u32 %%r1, first;
    mov.u32 %%r2, second;
    mov.u32 %%r3, window;
    ret;
}
"""
SHAPE = LaunchShape((1, 1, 1), (1, 1, 1), 64)


def test_the_layout() -> None:
    shared = lay_out(parse(HEAD + KERNEL % 100), "k").shared
    assert shared.offsets == {"first": 0, "second": 200, "window": 240}
    assert shared.zones == ((100, 200), (206, 240))
    assert shared.set_aside == 112


def test_a_kernel_is_told_the_size_that_a_gpu_sets_aside() -> None:
    memory = Memory()
    out = memory.alloc(8, "out")
    ran = Program(HEAD + KERNEL % 100).run("k", SHAPE, [out.to_bytes(8, "little")], memory)
    assert ran.findings == ()
    assert (ctypes.c_uint32 * 2).from_address(out)[:] == [112 + 64, 64]


def test_the_room_between_counts_against_no_limit() -> None:
    memory = Memory()
    out = memory.alloc(8, "out").to_bytes(8, "little")
    most = 227 * 1024 - 64 - 16
    assert Program(HEAD + KERNEL % most).run("k", SHAPE, [out], memory).findings == ()
    with pytest.raises(PtxError) as refused:
        Program(HEAD + KERNEL % (most + 16)).run("k", SHAPE, [out], memory)
    assert refused.value.code == "CP7108"
