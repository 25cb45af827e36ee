"""CuTe DSL port of `range`."""

# CUDA: keyword_names.cu:8-19

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Int32, Numeric, Pointer
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
pass_ = 3


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
def len_(lambda_, None_):
    return lambda_ * 2 + None_


@cute.kernel
def range__kernel(
    in_: cutlass.Pointer[Int32, gmem],
    is_: cutlass.Pointer[Int32, gmem],
    print_: Int32,
    None_: Int32,
    lambda_: Int32,
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    def_ = bidx * bdimx + tidx
    if def_ < n:
        from_ = is_[def_]
        self_ = Int32(1)
        cute_ = Int32(2)
        cutlass_ = Int32(4)
        Int32_ = Int32(8)
        range__1 = Int32(16)
        and_ = from_ & print_
        yield_ = len_(from_ & 255, None_)
        for int_ in cutlass.range(0, pass_, 1):
            global_ = int_ + lambda_
            yield_ = yield_ + global_
        in_[def_] = and_ + yield_ + self_ + cute_ + cutlass_ + Int32_ + range__1


@cute.jit
def range__launch(
    in_: cutlass.Pointer[Int32, gmem],
    is_: cutlass.Pointer[Int32, gmem],
    print_: Int32,
    None_: Int32,
    lambda_: Int32,
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    range__kernel(in_, is_, print_, None_, lambda_, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_range_(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        range__launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        Int32(0),
        Int32(0),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def range_(
    in_: torch.Tensor | int | None,
    is_: torch.Tensor | int | None,
    print_: int,
    None_: int,
    lambda_: int,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `range` (keyword_names.cu:8).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_range_(axes(block))(
        device_pointer(in_, Int32),
        device_pointer(is_, Int32),
        Int32(print_),
        Int32(None_),
        Int32(lambda_),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
