"""Inline PTX: what is carried over and what the helper makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.mapping.row_kernels import HEAD
from translator.mapping.ptx import admitted
from translator.mapping.resolve import helper


@pytest.mark.parametrize(
    ("template", "constraints"),
    [
        ("ex2.approx.ftz.f32 %0, %1;", "=f,f"),
        ("mov.u32 %0, %%laneid;", "=r"),
        ("  lop3.b32 %0, %1, %2, %3, 0xe8;\n", "=r,r,r,r"),
        ("dp4a.s32.s32 %0, %1, %2, %0;", "=r,r,r,0"),
        ("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n", "r,l,n"),
        ("cp.async.wait_all;\n", ""),
        ("st.global.v2.f32 [%0], {%1, %2};", "l,f,f"),
        ("bar.sync 1, 64; // half of the block", ""),
    ],
)
def test_admitted(template: str, constraints: str) -> None:
    assert admitted(template, constraints)


@pytest.mark.parametrize(
    ("template", "constraints"),
    [
        ("{ .reg .pred p; setp.gt.u32 p, %1, 7; selp.u32 %0, 1, 2, p; }", "=r,r"),
        ("add.u32 %0, %1, %2; add.u32 %0, %0, 1;", "=r,r,r"),
        ("add.cc.u32 %0, %1, %2;", "=r,r,r"),
        ("bra L1;", ""),
        ("wgmma.fence.sync.aligned;", ""),
        ("cp.async.bulk.wait_group %0;", "n"),
        ("mov.u32 %0, %1;", "=r,m"),
        ("", ""),
    ],
)
def test_not_admitted(template: str, constraints: str) -> None:
    assert not admitted(template, constraints)


KERNEL = """
@cute.kernel
def row0_0(base: cutlass.Pointer[Uint8, GMEM]):
    f = cutlass.Pointer(base, dtype=Float32)
    h = cutlass.Pointer(base + 4096, dtype=Float16)
    i = cutlass.Pointer(base + 8192, dtype=Int32)
    s = cutlass.Array(Float32, 64, space=cutlass.AddressSpace.smem)
    f[0] = inline_asm("ex2.approx.ftz.f32 %0, %1;", "=f,f", Float32, False, f[1])
    h[0] = inline_asm("tanh.approx.f16 %0, %1;", "=h,h", Float16, False, h[1])
    i[0] = inline_asm("mov.u32 %0, %%laneid;", "=r", Int32, True)
    i[1] = inline_asm("dp4a.s32.s32 %0, %1, %2, %0;", "=r,r,r,0", Int32, False, i[2], i[3], i[1])
    f[2] = inline_asm("ld.global.nc.f32 %0, [%1];", "=f,l", Float32, True, f + 3)
    to = Uint32(shared_address(s.data_ptr() + 4))
    inline_asm("cp.async.ca.shared.global [%0], [%1], %2;", "r,l,n", None, True, to, f + 4, Int32(16))
    inline_asm("cp.async.wait_all;", "", None, True)
@cute.jit
def launch(base: cutlass.Pointer[Uint8, GMEM]):
    row0_0(base).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""


@pytest.mark.dsl
def test_statements_keep_their_text(tmp_path: Path) -> None:
    os.environ |= {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    import importlib.util

    import cutlass.cute as cute
    from cutlass import AddressSpace, Uint8
    from cutlass.cute.runtime import make_ptr

    needed = [helper(n) for n in ("inline_asm", "shared_address")]
    lines = [HEAD, *sorted({i for h in needed for i in h.imports}), *(h.source for h in needed), KERNEL]
    path = tmp_path / "asm_statements.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    base = make_ptr(Uint8, 1 << 20, AddressSpace.gmem, assumed_align=16)
    ptx = cute.compile(module.launch, base).artifacts.PTX
    for text in (
        "ex2.approx.ftz.f32 %r",
        "tanh.approx.f16 %rs",
        ", %laneid;",
        "dp4a.s32.s32 %r",
        "ld.global.nc.f32 %r",
        "cp.async.ca.shared.global [%r",
        ", 16;",
        "cp.async.wait_all;",
    ):
        assert text in ptx, text
