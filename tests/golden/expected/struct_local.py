"""CuTe DSL port of `struct_local`."""

# CUDA: struct_local.cu:26-38

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer, Uint32, Uint8
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


@cute.jit
def add(a_x, a_y, b_x, b_y):
    a_x = a_x + b_x
    a_y = a_y + b_y
    return a_x, a_y


@cute.jit
def moved(b_pos_x, b_pos_y, b_trail_0, b_trail_1, b_trail_2, b_age, by_x, by_y):
    b = cutlass.Array(Uint32, 6)
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8), dtype=Float32)[0] = b_pos_x
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] = b_pos_y
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0] = b_trail_0
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0] = b_trail_1
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0] = b_trail_2
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] = b_age
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + irem(cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0], Int32(3)) * 4 + 8, dtype=Float32)[0] = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8), dtype=Float32)[0]
    x = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8), dtype=Float32)[0]
    y = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0]
    x_1, y_1 = add(x, y, by_x, by_y)
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8), dtype=Float32)[0] = x_1
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] = y_1
    cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] + 1
    pos_x = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8), dtype=Float32)[0]
    pos_y = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0]
    trail_0 = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0]
    trail_1 = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0]
    trail_2 = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0]
    age = cutlass.Pointer(cutlass.Pointer(b.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0]
    return pos_x, pos_y, trail_0, trail_1, trail_2, age


@cute.kernel
def struct_local_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        a = cutlass.Array(Uint32, 6)
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8), dtype=Float32)[0] = x[i]
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] = Float32(1.0)
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0] = Float32(0.0)
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0] = Float32(0.0)
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0] = Float32(0.0)
        cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] = Int32(0)
        step_x = Float32(0.5)
        step_y = Float32(-0.25)
        before = cutlass.Array(Uint32, 6)
        pos_x = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8), dtype=Float32)[0]
        pos_y = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0]
        trail_0 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0]
        trail_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0]
        trail_2 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0]
        age = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0]
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8), dtype=Float32)[0] = pos_x
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] = pos_y
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0] = trail_0
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0] = trail_1
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0] = trail_2
        cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] = age
        for k in cutlass.range(0, 4, 1):
            pos_x_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8), dtype=Float32)[0]
            pos_y_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0]
            trail_0_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0]
            trail_1_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0]
            trail_2_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0]
            age_1 = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0]
            pos_x_2, pos_y_2, trail_0_2, trail_1_2, trail_2_2, age_2 = moved(pos_x_1, pos_y_1, trail_0_1, trail_1_1, trail_2_1, age_1, step_x, step_y)
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8), dtype=Float32)[0] = pos_x_2
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] = pos_y_2
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0] = trail_0_2
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0] = trail_1_2
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0] = trail_2_2
            cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0] = age_2
        p = cutlass.Pointer(a.data_ptr(), dtype=Uint8)
        cutlass.Pointer(p + 4, dtype=Float32)[0] = cutlass.Pointer(p + 4, dtype=Float32)[0] * 2.0
        out[i] = cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8), dtype=Float32)[0] + cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 4, dtype=Float32)[0] + cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 8, dtype=Float32)[0] * 3.0 + cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 12, dtype=Float32)[0] + cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 16, dtype=Float32)[0] + Float32(cutlass.Pointer(cutlass.Pointer(a.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0]) + cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8), dtype=Float32)[0] + Float32(cutlass.Pointer(cutlass.Pointer(before.data_ptr(), dtype=Uint8) + 20, dtype=Int32)[0])


@cute.jit
def struct_local_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    struct_local_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_struct_local(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        struct_local_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def struct_local(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `struct_local` (struct_local.cu:26).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_struct_local(axes(block))(
        device_pointer(out, Float32),
        device_pointer(x, Float32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
