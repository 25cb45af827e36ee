"""CuTe DSL port of `rounding`."""

# CUDA: rounding.cu:4-19

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
nv_fadd_rn = cute.ffi(name="__nv_fadd_rn", params_types=[Float32, Float32], return_type=Float32)
nv_fadd_ru = cute.ffi(name="__nv_fadd_ru", params_types=[Float32, Float32], return_type=Float32)
nv_fdiv_rn = cute.ffi(name="__nv_fdiv_rn", params_types=[Float32, Float32], return_type=Float32)
nv_float2int_rd = cute.ffi(name="__nv_float2int_rd", params_types=[Float32], return_type=Int32)
nv_float2int_rn = cute.ffi(name="__nv_float2int_rn", params_types=[Float32], return_type=Int32)
nv_float2int_ru = cute.ffi(name="__nv_float2int_ru", params_types=[Float32], return_type=Int32)
nv_float2int_rz = cute.ffi(name="__nv_float2int_rz", params_types=[Float32], return_type=Int32)
nv_float2uint_rn = cute.ffi(name="__nv_float2uint_rn", params_types=[Float32], return_type=Uint32)
nv_fmaf_rd = cute.ffi(name="__nv_fmaf_rd", params_types=[Float32, Float32, Float32], return_type=Float32)
nv_fmul_rz = cute.ffi(name="__nv_fmul_rz", params_types=[Float32, Float32], return_type=Float32)
nv_fsqrt_rn = cute.ffi(name="__nv_fsqrt_rn", params_types=[Float32], return_type=Float32)
nv_int2float_rn = cute.ffi(name="__nv_int2float_rn", params_types=[Int32], return_type=Float32)
nv_llrintf = cute.ffi(name="__nv_llrintf", params_types=[Float32], return_type=Int64)
nv_roundf = cute.ffi(name="__nv_roundf", params_types=[Float32], return_type=Float32)
nv_uint2float_rz = cute.ffi(name="__nv_uint2float_rz", params_types=[Uint32], return_type=Float32)


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
def rounding_kernel(
    out: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i]
        r = Int32(nv_float2int_rn(v)) + 3 * Int32(nv_float2int_rz(v)) + 5 * Int32(nv_float2int_ru(v)) + 7 * Int32(nv_float2int_rd(v))
        r = r + (Int32(v) + Int32(cute.math.roundeven(v)) + Int32(Float32(nv_roundf(v))) + Int32(cute.math.floor(v)) + Int32(cute.math.ceil(v)) + Int32(cute.math.trunc(v)))
        r = Int32(Uint32(r) + (Uint32(nv_float2uint_rn(cute.math.abs(v))) + Uint32(Int32(Int64(nv_llrintf(v))))))
        out[i] = r
        s = Float32(nv_fadd_rn(v, Float32(0.1)))
        s = Float32(nv_fmul_rz(s, Float32(1.1)))
        s = Float32(nv_fadd_ru(s, Float32(1e-08)))
        s = Float32(nv_fdiv_rn(s, Float32(3.0)))
        s = Float32(nv_fmaf_rd(s, s, v))
        fout[i] = Float32(nv_fsqrt_rn(cute.math.abs(s))) + Float32(nv_int2float_rn(r)) + Float32(nv_uint2float_rz(Uint32(0x81000001)))


@cute.jit
def rounding_launch(
    out: cutlass.Pointer[Int32, gmem],
    fout: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    rounding_kernel(out, fout, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_rounding(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        rounding_launch,
        device_pointer(16, Int32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def rounding(
    out: torch.Tensor | int | None,
    fout: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `rounding` (rounding.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_rounding(axes(block))(
        device_pointer(out, Int32),
        device_pointer(fout, Float32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
