"""CuTe DSL port of `layernorm_forward`."""

# CUDA: layernorm_forward.cu:28-59

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float32, Int32, Int64, Numeric, Pointer, Uint32
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


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))


def opaque_pointer(p: Pointer) -> Pointer:
    """p; without it, a pointer used once in a loop is added up anew, in 64 bits, for every element."""
    if p.space != AddressSpace.gmem:
        return p
    text = "mov.b64 {$w0}, {$r0};"
    address = cute.arch.inline_ptx(text, write_only_types=[Int64], read_only_args=[p.toint()])
    return Pointer(cute.make_ptr(p.dtype, address, p.space).llvm_ptr, dtype=p.dtype)


@cute.jit
def all_lanes_sum(v):
    d = Int32(16)
    while d > 0:
        v = v + cute.arch.shuffle_sync_down(v, Uint32(d))
        d = idiv(d, Int32(2))
    return cute.arch.shuffle_sync(v, Int32(0))


@cute.kernel
def layernorm_forward_kernel(
    out: cutlass.Pointer[Float32, gmem],
    mean: cutlass.Pointer[Float32, gmem],
    rstd: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    gamma: cutlass.Pointer[Float32, gmem],
    beta: cutlass.Pointer[Float32, gmem],
    N: Int32,
    C: Int32,
    eps: Float32,
):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    _, bdimy, _ = block_extent()
    row = bidx * bdimy + tidy
    if row < N:
        xr = x + Int64(row) * Int64(C)
        yr = opaque_pointer(out + Int64(row) * Int64(C))
        s = Float32(0.0)
        for c_round in cutlass.range(0, idiv(C - tidx + 31, Int32(32)), 1):
            c = tidx + c_round * 32
            s = s + xr[c]
        mu = all_lanes_sum(s) / Float32(C)
        # second pass over the row: numerically safer than E[x^2] - E[x]^2, and it comes from L1
        q = Float32(0.0)
        for c_round_1 in cutlass.range(0, idiv(C - tidx + 31, Int32(32)), 1):
            c_1 = tidx + c_round_1 * 32
            d = xr[c_1] - mu
            q = q + d * d
        rs = cute.math.rsqrt(all_lanes_sum(q) / Float32(C) + eps)
        if tidx == 0:
            mean[row] = mu
            rstd[row] = rs
        for c_round_2 in cutlass.range(0, idiv(C - tidx + 31, Int32(32)), 1):
            c_2 = tidx + c_round_2 * 32
            yr[c_2] = (xr[c_2] - mu) * rs * (gamma + c_2).load(is_invariant=True) + (beta + c_2).load(is_invariant=True)


@cute.jit
def layernorm_forward_launch(
    out: cutlass.Pointer[Float32, gmem],
    mean: cutlass.Pointer[Float32, gmem],
    rstd: cutlass.Pointer[Float32, gmem],
    x: cutlass.Pointer[Float32, gmem],
    gamma: cutlass.Pointer[Float32, gmem],
    beta: cutlass.Pointer[Float32, gmem],
    N: Int32,
    C: Int32,
    eps: Float32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    layernorm_forward_kernel(out, mean, rstd, x, gamma, beta, N, C, eps).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_layernorm_forward(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        layernorm_forward_launch,
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        device_pointer(16, Float32),
        Int32(0),
        Int32(0),
        Float32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def layernorm_forward(
    out: torch.Tensor | int | None,
    mean: torch.Tensor | int | None,
    rstd: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    gamma: torch.Tensor | int | None,
    beta: torch.Tensor | int | None,
    N: int,
    C: int,
    eps: float,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (32, 4, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `layernorm_forward` (layernorm_forward.cu:28).

    The original's launch: grid ((1024 + 4 - 1) / 4, 1, 1), block (32, 4, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((N + 3) // 4, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_layernorm_forward(axes(block))(
        device_pointer(out, Float32),
        device_pointer(mean, Float32),
        device_pointer(rstd, Float32),
        device_pointer(x, Float32),
        device_pointer(gamma, Float32),
        device_pointer(beta, Float32),
        Int32(N),
        Int32(C),
        Float32(eps),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
