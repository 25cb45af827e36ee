"""CuTe DSL port of `ldg`."""

# CUDA: ldg.cu:4-13

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer
from cutlass._mlir.dialects import arith, llvm
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


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))


@cute.kernel
def ldg_1_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    pairs: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        a = (x + i).load(is_invariant=True)
        b = (x + n - 1 - i).load(is_invariant=True)
        vector = (pairs + Int64(i) * 2).load(count=2, alignment=8, is_invariant=True)
        x_1, y = vector[0], vector[1]
        p_x = x_1
        p_y = y
        c = (x + i).nvvm_load_ext(cache_modifier="cs") + x.nvvm_load_ext(cache_modifier="cg")
        (out + i).nvvm_store_ext(a - b + c + Float32(irem(p_x ^ p_y, Int32(100))), cache_modifier="cs")


@cute.jit
def ldg_1_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    pairs: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    ldg_1_kernel(out, x, pairs, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_ldg_1(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        ldg_1_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def ldg_1(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    pairs: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `ldg` (ldg.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_ldg_1(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        device_pointer(pairs, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
