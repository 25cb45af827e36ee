"""CuTe DSL port of `shadowing`."""

# CUDA: shadowing.cu:6-29

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Numeric, Pointer
import cuda.bindings.runtime as cudart
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
n_extra = cutlass.Array(Int32, 1, space=cutlass.AddressSpace.cmem, name="n_extra")


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


def runtime(x: Numeric) -> Numeric:
    """x as a value of the compiled kernel, in its own type."""
    return type(x)(x.ir_value())


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
def shadowing_kernel(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i] & 1023
        sum_ = v
        v_1 = sum_ + 1
        sum_ = sum_ + v_1
        v_2 = Float32(0.5)
        sum_ = sum_ + Int32(runtime(v_2) * 4.0)
        i_1 = Int32(0)
        while i_1 < n_extra[0]:
            sum2 = sum_
            n_1 = i_1 * 2
            for i_2 in cutlass.range(n_1, n_1 + 2, 1):
                sum2 = sum2 + i_2
            sum_ = sum2
            i_1 = i_1 + 1
        v_3 = sum_ & 3
        if v_3 != 0:
            sum_ = sum_ + v_3 * 1000
        out[i] = sum_ + v


@cute.jit
def shadowing_launch(
    out: cutlass.Pointer[Int32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    shadowing_kernel(out, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_shadowing(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        shadowing_launch,
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def shadowing(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    n_extra: torch.Tensor | int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `shadowing` (shadowing.cu:6).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    Variables of the source, to be passed with what they hold there: `n_extra` (3).
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compiled = compile_shadowing(axes(block))
    set_constant(compiled, "n_extra", n_extra, 4, stream)
    compiled(
        device_pointer(out, Int32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
