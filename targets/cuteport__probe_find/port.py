"""CuTe DSL port of `probe_find`."""

# CUDA: probe_find.cu:15-45

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Int32, Int64, Numeric, Pointer, Uint32
from cutlass._mlir.dialects import llvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem
EMPTY = 0
INVALID = -2
NOT_FOUND = -1


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
def probe_find_kernel(
    keys: cutlass.Pointer[Int32, gmem],
    mask: Uint32,
    query: cutlass.Pointer[Int32, gmem],
    home: cutlass.Pointer[Uint32, gmem],
    n: Int32,
    max_probe: Int32,
    slot: cutlass.Pointer[Int32, gmem],
    probes: cutlass.Pointer[Int32, gmem],
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        q = query[i]
        if q <= EMPTY:
            slot[i] = Int32(INVALID)
            probes[i] = Int32(0)
        else:
            at = home[i] & mask
            result = Int32(NOT_FOUND)
            looked = Int32(0)
            running = Boolean(True)
            while running and looked < max_probe:
                k = keys[Int64(at)]
                looked = looked + 1
                if k == q:
                    result = Int32(at)
                    running = Boolean(False)
                elif k == EMPTY:
                    running = Boolean(False)
                else:
                    at = at + 1 & mask
            slot[i] = result
            probes[i] = looked


@cute.jit
def probe_find_launch(
    keys: cutlass.Pointer[Int32, gmem],
    mask: Uint32,
    query: cutlass.Pointer[Int32, gmem],
    home: cutlass.Pointer[Uint32, gmem],
    n: Int32,
    max_probe: Int32,
    slot: cutlass.Pointer[Int32, gmem],
    probes: cutlass.Pointer[Int32, gmem],
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    probe_find_kernel(keys, mask, query, home, n, max_probe, slot, probes).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_probe_find(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        probe_find_launch,
        device_pointer(16, Int32),
        Uint32(0),
        device_pointer(16, Int32),
        device_pointer(16, Uint32),
        Int32(0),
        Int32(0),
        device_pointer(16, Int32),
        device_pointer(16, Int32),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def probe_find(
    keys: torch.Tensor | int | None,
    mask: int,
    query: torch.Tensor | int | None,
    home: torch.Tensor | int | None,
    n: int,
    max_probe: int,
    slot: torch.Tensor | int | None,
    probes: torch.Tensor | int | None,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `probe_find` (probe_find.cu:15).

    The original's launch: grid ((100000 + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_probe_find(axes(block))(
        device_pointer(keys, Int32),
        Uint32(mask),
        device_pointer(query, Int32),
        device_pointer(home, Uint32),
        Int32(n),
        Int32(max_probe),
        device_pointer(slot, Int32),
        device_pointer(probes, Int32),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
