"""Footprints of hand-written kernels: sizes, roles, widths and counts are those one counts by hand."""

from __future__ import annotations

import struct

import pytest

from verify.emulator.footprint import Footprint, Pointer, footprint
from verify.emulator.launch import LaunchShape, Program

HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"
INDEX = """
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
"""
REGISTERS = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<6>;"
KERNELS = (
    HEAD
    + f"""
.visible .entry shift(.param .u64 out, .param .u64 from, .param .u32 n) {{
    {REGISTERS} {INDEX}
    ld.param.u32 %r5, [n]; setp.ge.s32 %p1, %r4, %r5; @%p1 ret;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from];
    mul.wide.s32 %rd3, %r4, 16; add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
    ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd4+32];
    st.global.f32 [%rd5], %f1;
    ret;
}}
.visible .entry scale(.param .u64 x, .param .u64 unused, .param .u32 n) {{
    {REGISTERS} {INDEX}
    ld.param.u64 %rd1, [x]; mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4]; add.f32 %f1, %f1, %f1; st.global.f32 [%rd4], %f1;
    ret;
}}
.visible .entry twice(.param .u64 x, .param .u64 unused, .param .u32 n) {{
    {REGISTERS} {INDEX}
    ld.param.u64 %rd1, [x]; mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r4; ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd4], %r5;
    ret;
}}
"""
)


def run(kernel: str, blocks: int = 4, n: int = 100, first: str = "out", second: str = "from") -> Footprint:
    shape = LaunchShape((blocks, 1, 1), (32, 1, 1))
    params = [Pointer(first), Pointer(second), struct.pack("<i", n)]
    return footprint(Program(KERNELS), kernel, shape, params)


def test_sizes_roles_and_widths() -> None:
    found = run("shift")
    out, source = found.pointers
    assert (out.role, out.extent, out.read, out.written) == ("out", 99 * 16 + 4, 0, 100 * 4)
    assert (source.role, source.extent, source.read, source.written) == ("in", 32 + 100 * 16, 100 * 16, 0)
    assert found.access_bytes("ld") == {16: 100}
    assert found.access_bytes("st") == {4: 100}
    assert found.compulsory == 2000
    assert found.opcodes["mul.wide.s32"] == 100
    assert found.opcodes["mov.u32"] == 3 * 128


def test_what_is_read_before_it_is_written_goes_both_ways() -> None:
    scaled, nothing = run("scale", first="x", second="unused").pointers
    assert (scaled.role, scaled.read, scaled.written) == ("inout", 512, 512)
    assert (nothing.role, nothing.extent) == ("unused", 0)
    written, _ = run("twice", first="x", second="unused").pointers
    assert (written.role, written.read, written.written) == ("out", 0, 512)


@pytest.mark.parametrize("blocks", [3000, 40000])
def test_memory_grows_until_the_kernel_stays_inside(blocks: int) -> None:
    found, _ = run("scale", blocks, first="x", second="unused").pointers
    assert (found.extent, found.complete) == (blocks * 32 * 4, True)
