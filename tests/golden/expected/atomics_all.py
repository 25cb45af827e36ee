"""CuTe DSL port of `atomics_all`."""

# CUDA: atomics_all.cu:17-33

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Boolean, Float32, Int32, Int64, Numeric, Pointer, Uint32, Uint64
from cutlass._mlir.dialects import llvm, nvvm
from cutlass.cute.runtime import make_fake_stream, make_ptr
from typing import Any

gmem = cutlass.AddressSpace.gmem


def atomic_dec(address: Pointer, val: Uint32, scope: str = "gpu") -> Uint32:
    """*address = old == 0 or old > val ? val : old - 1, at once; the old value. `scope`: cta, gpu or sys."""
    scopes = {"cta": nvvm.MemScopeKind.CTA, "gpu": nvvm.MemScopeKind.GPU, "sys": nvvm.MemScopeKind.SYS}
    return Uint32(nvvm.atomicrmw(nvvm.AtomicOpKind.DEC, address, val.ir_value(), syncscope=scopes[scope]))


def atomic_inc(address: Pointer, val: Uint32, scope: str = "gpu") -> Uint32:
    """*address = old >= val ? 0 : old + 1, at once; the old value. `scope`: cta, gpu or sys."""
    scopes = {"cta": nvvm.MemScopeKind.CTA, "gpu": nvvm.MemScopeKind.GPU, "sys": nvvm.MemScopeKind.SYS}
    return Uint32(nvvm.atomicrmw(nvvm.AtomicOpKind.INC, address, val.ir_value(), syncscope=scopes[scope]))


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
def atomic_max_float(address, value):
    bits = cutlass.Pointer(address, dtype=Int32)
    old = bits[0]
    assumed = Int32(0)
    running = Boolean(True)
    while running:
        assumed = old
        if assumed.bitcast(Float32) >= value:
            running = Boolean(False)
        else:
            old = cute.arch.atomic_cas(bits, cmp=assumed, val=value.bitcast(Int32))
        if running:
            running = old != assumed


# r starts as {0, 0, 2147483647, -2147483648, -1, 0, 0, 0, 1000}, wide as {0}, fmax as {-1e30}
@cute.kernel
def atomics_all_kernel(
    r: cutlass.Pointer[Int32, gmem],
    wide: cutlass.Pointer[Uint64, gmem],
    fmax: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v = x[i] & 65535
        cute.arch.atomic_add(r, v)
        cute.arch.atomic_add(r + 1, Int32(0) - v)
        cute.arch.atomic_min(r + 2, v)
        cute.arch.atomic_max(r + 3, v)
        cute.arch.atomic_and(r + 4, v | 1)
        cute.arch.atomic_or(r + 5, v)
        cute.arch.atomic_xor(r + 6, v)
        atomic_inc(cutlass.Pointer(r + 7, dtype=Uint32), Uint32(6))
        atomic_dec(cutlass.Pointer(r + 8, dtype=Uint32), Uint32(1000))
        cute.arch.atomic_add(wide, Uint64(Int64(v)) << 20)
        atomic_max_float(fmax, Float32(v) * 0.5)


@cute.jit
def atomics_all_launch(
    r: cutlass.Pointer[Int32, gmem],
    wide: cutlass.Pointer[Uint64, gmem],
    fmax: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Int32, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    atomics_all_kernel(r, wide, fmax, x, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_atomics_all(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        atomics_all_launch,
        device_pointer(16, Int32),
        device_pointer(16, Uint64),
        device_pointer(16, Float32),
        device_pointer(16, Int32),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def atomics_all(
    r: torch.Tensor | int | None,
    wide: torch.Tensor | int | None,
    fmax: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `atomics_all` (atomics_all.cu:17).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_atomics_all(axes(block))(
        device_pointer(r, Int32),
        device_pointer(wide, Uint64),
        device_pointer(fmax, Float32),
        device_pointer(x, Int32),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
