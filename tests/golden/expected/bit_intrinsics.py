"""CuTe DSL port of `bit_intrinsics`."""

# CUDA: bit_intrinsics.cu:4-17

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Int64, Numeric, Pointer, Uint32, Uint64
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_byte_perm = cute.ffi(name="__nv_byte_perm", params_types=[Uint32, Uint32, Uint32], return_type=Uint32)
nv_ffs = cute.ffi(name="__nv_ffs", params_types=[Int32], return_type=Int32)
nv_ffsll = cute.ffi(name="__nv_ffsll", params_types=[Int64], return_type=Int32)
nv_mul24 = cute.ffi(name="__nv_mul24", params_types=[Int32, Int32], return_type=Int32)
nv_mulhi = cute.ffi(name="__nv_mulhi", params_types=[Int32, Int32], return_type=Int32)
nv_sad = cute.ffi(name="__nv_sad", params_types=[Int32, Int32, Uint32], return_type=Uint32)
nv_umul64hi = cute.ffi(name="__nv_umul64hi", params_types=[Uint64, Uint64], return_type=Uint64)
nv_umulhi = cute.ffi(name="__nv_umulhi", params_types=[Uint32, Uint32], return_type=Uint32)


def axes(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or block size as three numbers."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def block_extent() -> tuple[Int32, Int32, Int32]:
    """blockDim; cute.arch.block_dim() lets the compiler take its axes for less than 1024, 1024 and 64."""
    read = "llvm.nvvm.read.ptx.sreg.ntid"
    x, y, z = (llvm.call_intrinsic(Int32.mlir_type, f"{read}.{axis}", [], [], []) for axis in "xyz")
    return Int32(x), Int32(y), Int32(z)


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))


@cute.kernel
def bit_intrinsics_kernel(
    out: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Uint32, gmem],
    y: cutlass.Pointer[Uint64, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        u = x[i]
        w = y[i]
        r = Uint32(Int32(cute.arch.popc(u)) + 3 * Int32(cute.arch.clz(Int32(u))) + 5 * Int32(nv_ffs(Int32(u)))) + cute.arch.brev(u)
        r = r ^ Uint32(nv_byte_perm(u, ~u, Uint32(12661)))
        r = r + (Uint32(nv_umulhi(u, Uint32(0x9e3779b1))) + Uint32(Int32(nv_mulhi(Int32(u), Int32(-77)))))
        r = r ^ cute.arch.inline_ptx("shf.l.wrap.b32 {$w0}, {$r0}, {$r1}, {$r2};", write_only_types=[Uint32], read_only_args=[u, r, Uint32(9)])
        r = r + (Uint32(Int32(cute.arch.popc(w)) + 3 * Int32(cute.arch.clz(Int64(w))) + 5 * Int32(nv_ffsll(Int64(w)))) + Uint32(cute.arch.brev(w) >> 32))
        r = r + Uint32(Uint64(nv_umul64hi(w, Uint64(0x9e3779b97f4a7c15))) >> 7)
        out[i] = r + Uint32(nv_sad(Int32(u) >> 8, Int32(1000), Uint32(5))) + Uint32(Int32(nv_mul24(Int32(u & 65535), Int32(77))))


@cute.jit
def bit_intrinsics_launch(
    out: cutlass.Pointer[Uint32, gmem],
    x: cutlass.Pointer[Uint32, gmem],
    y: cutlass.Pointer[Uint64, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    bit_intrinsics_kernel(out, x, y, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_bit_intrinsics(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        bit_intrinsics_launch,
        device_pointer(16, Uint32),
        device_pointer(16, Uint32),
        device_pointer(16, Uint64),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def bit_intrinsics(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    y: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `bit_intrinsics` (bit_intrinsics.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_bit_intrinsics(axes(block))(
        device_pointer(out, Uint32),
        device_pointer(x, Uint32),
        device_pointer(y, Uint64),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
