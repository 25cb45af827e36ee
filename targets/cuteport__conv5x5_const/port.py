"""CuTe DSL port of `conv5x5_const`."""

# CUDA: conv5x5_const.cu:15-45

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer
import cuda.bindings.runtime as cudart
from cutlass._mlir.dialects import arith
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
TILE_W = 32
RADIUS = 2
TILE_H = 16
SMEM_W = 36
KSIZE = 5
c_coef = cutlass.Array(Float32, 25, space=cutlass.AddressSpace.cmem, name="c_coef")


def axes(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or block size as three numbers."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))


def ldg(p: Pointer, i: Int32 | int) -> Numeric:
    """p[i], of memory that nothing writes while the kernel runs."""
    return (p + i).load(is_invariant=True)


def set_constant(compiled: Any, name: str, source: Any, size: int, stream: int) -> None:
    """Copies `size` bytes of device memory to constant `name` of a compiled port, in stream order."""
    address = source if isinstance(source, int) else source.data_ptr()
    error, symbol, _ = cudart.cudaLibraryGetGlobal(compiled.library, name.encode())
    if error == cudart.cudaError_t.cudaSuccess:
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        (error,) = cudart.cudaMemcpyAsync(symbol, address, size, kind, stream)
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"constant {name} could not be set: {error.name}")


@cute.kernel
def conv5x5_const_kernel(
    src: cutlass.Pointer[Float32, gmem],
    dst: cutlass.Pointer[Float32, gmem],
    width: Int32,
    height: Int32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem_ = cutlass.Array(cute.arch.alloc_smem(Float32, 720, 16).llvm_ptr, shape=720, dtype=Float32)
    x0 = bidx * TILE_W - RADIUS
    y0 = bidy * TILE_H - RADIUS
    tid = tidy * TILE_W + tidx
    # the tile and its apron, by all threads of the block
    for k_round in cutlass.range(0, idiv(720 - tid + 511, Int32(512)), 1):
        k = tid + k_round * 512
        x = x0 + irem(k, Int32(SMEM_W))
        y = y0 + idiv(k, Int32(SMEM_W))
        inside = x >= 0 and x < width and y >= 0 and y < height
        smem_[k] = ldg(src, y * width + x) if inside else Float32(0.0)
    cute.arch.sync_threads()
    x_1 = bidx * TILE_W + tidx
    y_1 = bidy * TILE_H + tidy
    if x_1 < width and y_1 < height:
        sum_ = Float32(0.0)
        for j in cutlass.range(0, KSIZE, 1, unroll_full=True):
            line = smem_.data_ptr() + Int64((tidy + j) * SMEM_W + tidx)
            for i in cutlass.range(0, KSIZE, 1, unroll_full=True):
                sum_ = sum_ + c_coef[j * KSIZE + i] * line[i]
        dst[y_1 * width + x_1] = sum_


@cute.jit
def conv5x5_const_launch(
    src: cutlass.Pointer[Float32, gmem],
    dst: cutlass.Pointer[Float32, gmem],
    width: Int32,
    height: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    conv5x5_const_kernel(src, dst, width, height).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_conv5x5_const(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        conv5x5_const_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def conv5x5_const(
    src: torch.Tensor | int | None,
    dst: torch.Tensor | int | None,
    width: int,
    height: int,
    c_coef: torch.Tensor | int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 16, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `conv5x5_const` (conv5x5_const.cu:15).

    The original's launch: grid ((1283 + 32 - 1) / 32, (721 + 16 - 1) / 16, 1), block (32, 16, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    Variables of the source, to be passed with what they hold there: `c_coef` (set by the host).
    """
    if grid is None:
        grid = ((width + 31) // 32, (height + 15) // 16, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compiled = compile_conv5x5_const(axes(block))
    set_constant(compiled, "c_coef", c_coef, 100, stream)
    compiled(
        device_pointer(src, Float32),
        device_pointer(dst, Float32),
        Int32(width),
        Int32(height),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
