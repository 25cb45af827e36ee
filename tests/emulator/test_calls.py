"""Calls in circles and through pointers, and addresses of parameters."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from tests.emulator.ptx_sample import HEAD
from verify.emulator.launch import LaunchShape, Program, Ran, RunOptions
from verify.emulator.memory import Memory

FUNCTIONS = """
.visible .func (.param .b32 r) one(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    add.s32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .func (.param .b32 r) two(.param .b32 x, .param .b32 y)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    st.param.b32 [r], %r1;
    ret;
}
.visible .func (.param .b32 r) sum(.param .b32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<5>;
    ld.param.b32 %r1, [n];
    mov.b32 %r3, 0;
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra END;
    add.s32 %r2, %r1, -1;
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), sum, (a);
    ld.param.b32 %r3, [b];
    }
END:
    add.s32 %r4, %r3, %r1;
    st.param.b32 [r], %r4;
    ret;
}
.global .align 8 .u64 table[3] = {one, two, 0};
.visible .entry through(.param .u64 out, .param .u32 k)
{
    .reg .b32 %r<3>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [k];
    mov.u64 %rd2, table;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u64 %rd5, [%rd4];
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], 41;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %rd5, (a), proto;
    ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry circles(.param .u64 out, .param .u32 n)
{
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), sum, (a);
    ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry generic(.param .u64 out, .param .u32 n)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.b64 %rd2, n;
    cvta.param.u64 %rd3, %rd2;
    ld.u32 %r1, [%rd3];
    st.global.u32 [%rd1], %r1;
    st.u32 [%rd3], %r1;
    ret;
}
"""
Call = Callable[[str, int], tuple[Ran, int]]


@pytest.fixture(scope="module", params=[True, False], ids=["checked", "raw"])
def call(request: pytest.FixtureRequest) -> Call:
    """Runs an entry with a number; gives what it left."""
    program = Program(HEAD + FUNCTIONS)

    def run(kernel: str, number: int) -> tuple[Ran, int]:
        memory = Memory()
        out = memory.alloc(4, "out")
        params = [out.to_bytes(8, "little"), number.to_bytes(4, "little")]
        options = RunOptions(checks=request.param)
        ran = program.run(kernel, LaunchShape((1, 1, 1), (1, 1, 1)), params, memory, options)
        return ran, ctypes.c_int32.from_address(out).value

    return run


def test_a_table_of_functions_leads_to_them(call: Call) -> None:
    ran, left = call("through", 0)
    assert (ran.findings, left) == ((), 42)


@pytest.mark.parametrize("which, why", [(1, "other parameters"), (2, "no function")])
def test_a_call_to_what_does_not_fit_ends_the_launch(call: Call, which: int, why: str) -> None:
    ran, _ = call("through", which)
    assert ran.stopped == "CP8032"
    assert why in ran.findings[0].message


def test_calls_in_circles_have_room_and_an_end(call: Call) -> None:
    ran, left = call("circles", 500)
    assert (ran.findings, left) == ((), 500 * 501 // 2)
    ran, _ = call("circles", 10_000_000)
    assert ran.stopped == "CP8003"
    assert "deeper" in ran.findings[0].message


def test_a_parameter_has_a_generic_address_for_reading() -> None:
    program = Program(HEAD + FUNCTIONS)
    memory = Memory()
    out = memory.alloc(4, "out")
    params = [out.to_bytes(8, "little"), (7).to_bytes(4, "little")]
    ran = program.run("generic", LaunchShape((1, 1, 1), (1, 1, 1)), params, memory)
    assert ctypes.c_int32.from_address(out).value == 7
    assert [f.code for f in ran.findings] == ["CP8001"]
    assert "write to constant memory" in ran.findings[0].message
