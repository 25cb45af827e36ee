"""A register that was not written holds neither zero nor a number nor an address."""

from __future__ import annotations

import ctypes
import struct

import numpy as np

from verify.emulator.launch import LaunchShape, Program
from verify.emulator.memory import Memory

KERNEL = """.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .b16 %h<2>; .reg .b32 %r<3>; .reg .b64 %d<4>; .reg .pred %p<2>;
    ld.param.u64 %d1, [out];
    st.global.u64 [%d1], %d2;
    st.global.u32 [%d1+8], %r1;
    st.global.u16 [%d1+12], %h1;
    mov.u32 %r2, 5;
    @%p1 mov.u32 %r2, 6;
    st.global.u32 [%d1+16], %r2;
    ret;
}
"""


def test_unwritten_registers_show() -> None:
    memory = Memory()
    at = memory.alloc(20, "out")
    program = Program(KERNEL)
    ran = program.run("k", LaunchShape((1, 1, 1), (1, 1, 1)), [struct.pack("<Q", at)], memory)
    assert not ran.findings
    data = ctypes.string_at(at, 20)
    wide, word, half = struct.unpack_from("<dfe", data)
    assert np.isnan([wide, word, half]).all()
    assert struct.unpack_from("<I", data, 16) == (6,)
    assert int.from_bytes(data[8:12], "little", signed=True) < -(1 << 20)
