"""CuTe DSL port of `const_table`."""

# CUDA: const_table.cu:8-14

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int16, Int32, Int64, Numeric, Pointer, Uint32
import cuda.bindings.runtime as cudart
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
primes = cutlass.Array(Int32, 8, space=cutlass.AddressSpace.cmem, name="primes")
weights = cutlass.Array(Float32, 4, space=cutlass.AddressSpace.cmem, name="weights")


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
def const_table_kernel(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    deltas: cutlass.Pointer[Int16, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i]
        out[i] = Float32(primes[v & 7]) * weights[v >> 3 & 3] + Float32(Int32(deltas[Int64(v & 1) * 3 + Int64(Uint32(v) % 3)]))


@cute.jit
def const_table_launch(
    out: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    deltas: cutlass.Pointer[Int16, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    const_table_kernel(out, x, n, deltas).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_const_table(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        const_table_launch,
        device_pointer(16, Float32),
        device_pointer(16, Int32),
        Int32(0),
        device_pointer(16, Int16),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def const_table(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    deltas: torch.Tensor | int | None,
    primes: torch.Tensor | int,
    weights: torch.Tensor | int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `const_table` (const_table.cu:8).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    Variables of the source, to be passed with what they hold there: `primes` (2, 3, 5, 7, 11, 13, 17, 19), `weights` (set by the host), `deltas` (-1, 0, 1, 4, 5, 6).
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compiled = compile_const_table(axes(block))
    set_constant(compiled, "primes", primes, 32, stream)
    set_constant(compiled, "weights", weights, 16, stream)
    compiled(
        device_pointer(out, Float32),
        device_pointer(x, Int32),
        Int32(n),
        device_pointer(deltas, Int16),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
