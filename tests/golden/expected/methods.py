"""CuTe DSL port of `methods<Clamp>`."""

# CUDA: methods.cu:22-31

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


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


@cute.jit
def mul(self_re, self_im, o_re, o_im):
    return self_re * o_re - self_im * o_im, self_re * o_im + self_im * o_re


@cute.jit
def scale(self_, s):
    self_[0] = self_[0] * s
    self_[1] = self_[1] * s


@cute.jit
def call(self_hi, v):
    return self_hi if v > self_hi else v


@cute.jit
def norm(self_re, self_im):
    return self_re * self_re + self_im * self_im


@cute.kernel
def methods_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    f_hi: Float32,
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        z = cutlass.Array(Float32, 2)
        z[0] = x[i]
        z[1] = Float32(0.5)
        for k in cutlass.range(0, 3, 1):
            re = z[0]
            im = z[1]
            re_1, im_1 = mul(re, im, Float32(0.8), Float32(0.6))
            z[0] = re_1
            z[1] = im_1
        scale(z.data_ptr(), Float32(0.5))
        re_2 = z[0]
        im_2 = z[1]
        out[i] = call(f_hi, norm(re_2, im_2)) + z[0]


@cute.jit
def methods_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    f_hi: Float32,
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    methods_kernel(out, x, f_hi, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_methods(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        methods_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Float32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def methods(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    f_hi: float,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `methods<Clamp>` (methods.cu:22).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_methods(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Float32(f_hi),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
