"""CuTe DSL port of `half2_math`."""

# CUDA: half2_math.cu:4-18

import functools

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Array, Float16, Float32, Int32, Int64, Numeric, Pointer, Uint16, Vector
from cutlass._mlir import ir
from cutlass._mlir.dialects import arith, llvm, vector
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


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))


def pair_op(op: str, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Numeric, Numeric]:
    """(a[0] op b[0], a[1] op b[1]); `op` is add, sub or mul, all values of one 16-bit type."""
    kind = type(a[0])
    shape = ir.VectorType.get([2], kind.mlir_type)
    left = vector.from_elements(shape, [v.ir_value() for v in a])
    right = vector.from_elements(shape, [v.ir_value() for v in b])
    made = {"add": arith.addf, "sub": arith.subf, "mul": arith.mulf}[op](left, right)
    both = Vector(made, dtype=kind)
    return both[0], both[1]


def ptx_op(instruction: str, result: Any, *args: Numeric) -> Numeric:
    """`instruction result, args…;` with operands in registers of their own types; halves go as their bits."""
    half = result.is_float and result.width == 16
    raw = Uint16 if half else result
    values = [a.bitcast(Uint16) if type(a).is_float and a.width == 16 else a for a in args]
    floats, integers = {32: "f", 64: "d"}, {16: "h", 32: "r", 64: "l"}
    kinds = [raw, *(type(v) for v in values)]
    letters = [(floats if k.is_float else integers)[k.width] for k in kinds]
    operands = ", ".join(f"${i}" for i in range(len(kinds)))
    made = llvm.inline_asm(
        raw.mlir_type,
        [v.ir_value() for v in values],
        f"{instruction} {operands};",
        ",".join(["=" + letters[0], *letters[1:]]),
        has_side_effects=False,
    )
    return raw(made).bitcast(result) if half else raw(made)


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)


@cute.kernel
def half2_math_kernel(
    out: cutlass.Pointer[Float16, gmem],
    x: cutlass.Pointer[Float16, gmem],
    scale: cutlass.Pointer[Float16, gmem],
    n: Int32,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdimx, _, _ = block_extent()
    i = bidx * bdimx + tidx
    if i < n:
        v_x, v_y = load_vector(x + Int64(i) * 2, 2, 4)
        s = scale[i]
        x_1, y = s, s
        x_2, y_1 = pair_op("add", (v_x, v_y), (x_1, y))
        a_x = x_2
        a_y = y_1
        x_3, y_2 = Float16(Float32(0.5)), Float16(Float32(2.0))
        x_4, y_3 = pair_op("mul", (a_x, a_y), (x_3, y_2))
        b_x = x_4
        b_y = y_3
        x_5, y_4 = cute.arch.fma_packed_f16x2((v_x, v_y), (v_x, v_y), (b_x, b_y))
        c_x = x_5
        c_y = y_4
        lo = c_x + c_y * s
        if lo > Float16(Float32(1.0)):
            lo = ptx_op("max.f16", Float16, lo - s, s)
        f = Float32(lo) * 0.25
        x_6, y_5 = lo, Float16(f)
        store_vector(out + Int64(i) * 2, (x_6, y_5), 4)


@cute.jit
def half2_math_launch(
    out: cutlass.Pointer[Float16, gmem],
    x: cutlass.Pointer[Float16, gmem],
    scale: cutlass.Pointer[Float16, gmem],
    n: Int32,
    grid_x: Int32,
    grid_y: Int32,
    grid_z: Int32,
    block: cutlass.Constexpr,
    smem: Int32,
    stream: cuda.CUstream,
):
    half2_math_kernel(out, x, scale, n).launch(
        grid=(grid_x, grid_y, grid_z), block=block, smem=smem, stream=stream
    )


@functools.cache
def compile_half2_math(block: tuple[int, int, int]):
    """The compiled launcher for one block size; needs no GPU where CUTE_DSL_ARCH is set."""
    return cute.compile(
        half2_math_launch,
        device_pointer(16, Float16),
        device_pointer(16, Float16),
        device_pointer(16, Float16),
        Int32(0),
        *map(Int32, (1, 1, 1)),
        block,
        Int32(0),
        make_fake_stream(),
    )


def half2_math(
    out: torch.Tensor | int | None,
    x: torch.Tensor | int | None,
    scale: torch.Tensor | int | None,
    n: int,
    *,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] = (128, 1, 1),
    smem: int = 0,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `half2_math` (half2_math.cu:4).

    The original's launch: grid ((n + 127) / 128, 1, 1), block (128, 1, 1).
    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if grid is None:
        grid = ((n + 127) // 128, 1, 1)
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    compile_half2_math(axes(block))(
        device_pointer(out, Float16),
        device_pointer(x, Float16),
        device_pointer(scale, Float16),
        Int32(n),
        *map(Int32, axes(grid)),
        Int32(smem),
        cuda.CUstream(stream),
    )
