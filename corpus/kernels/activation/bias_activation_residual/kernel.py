"""Bias, activation and residual in one pass: out[r, i] = act(x[r, i] + bias[i]) + residual[r, i].

Shapes: x, residual and out are `rows` rows of `columns` elements (768 … 32,768 is what it is tuned for),
each with its own stride; bias has `columns`. All of one type, bf16, fp16 or fp32; arithmetic in fp32. act:
relu, gelu (erf), gelu_tanh or silu, by its place in ACTIVATIONS. out may be x or residual: each thread has
read all its rows before it stores one.

Algorithm: a thread owns one vector of columns in `each` rows, and so reads its part of the bias once:

    mB (columns) ─→ rB (w) ──────────────┐
    mX (rows, columns) ─128-bit loads→ rX (each, w) ─ act(x + bias) + residual ─→ rO ─128-bit stores→ mO
    mR (rows, columns) ─128-bit loads→ rR (each, w) ────────┘

Chunks of rows as in `row_chunks`. Activation, columns and `exact`, math as CUDA's library has it (what f32
needs), are compile-time constants.

Units: strides in elements. Traffic: 3 · rows · columns · bytes of an element, and the bias.
Source of the technique: epilogue kernels of inference engines; several rows a thread in place of a loop.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric
from cutlass.cute.runtime import make_fake_stream, make_ptr


# -- block vector_width be5e683f9251
def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width


# -- end of vector_width
# -- block device_pointer 12983485f4af
ELEMENTS = {"bf16": BFloat16, "f16": Float16, "f32": Float32}


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, or a device address as it is."""
    return x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)


# -- end of device_pointer
# -- block row_view 6811058f3db3
def row_view(pointer, rows, columns: int, stride, width: int):
    """Rows of `columns` elements, `stride` elements (Int64) apart."""
    layout = cute.make_layout((rows, columns), stride=(cute.assume(stride, divby=width), 1))
    return cute.make_tensor(pointer, layout)


# -- end of row_view
# -- block activation_math 914458510e21
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
LOG2_E = 1.4426950408889634
# P's coefficients of t, t², … t⁶; their fp32 sum, from the last to the first, is 1/2. Fitted to the least
# error over Φ + 0.03: at most 9e-9 of |x|.
GELU_D = 0.28
GELU_P = (0.116934866, 0.06494512, 0.27515116, -0.24456948, 0.39443973, -0.10690139)


def fast_sigmoid(y):
    """σ(y) in fp32: two instructions of the special-function units, an addition and a product."""
    return cute.arch.rcp_approx(1.0 + cute.math.exp2(y * -LOG2_E, fastmath=True))


def silu(x, exact: bool):
    """x · σ(x) in fp32."""
    return x / (1.0 + cute.math.exp(-x)) if exact else x * fast_sigmoid(x)


def gelu_tanh(x, exact: bool):
    """x/2 · (1 + tanh z) in fp32."""
    z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + cute.math.tanh(z)) if exact else x * fast_sigmoid(2.0 * z)


def gelu(x, exact: bool):
    """x · Φ(x) in fp32."""
    if exact:
        return 0.5 * x * (1.0 + cute.math.erf(x * 0.7071067811865476))
    t = cute.arch.rcp_approx(1.0 + GELU_D * cute.math.absf(x))
    p = GELU_P[-1]
    for c in GELU_P[-2::-1]:
        p = p * t + c
    below = p * t * cute.math.exp2(x * x * (-0.5 * LOG2_E), fastmath=True)  # Φ(-|x|)
    return x * cutlass.select_(x < 0.0, below, 1.0 - below)


def activate(x, name: str, exact: bool):
    """The activation called `name`, one of ACTIVATIONS, of an fp32 number."""
    if name == "relu":
        return cute.arch.fmax(x, 0.0)
    return {"gelu": gelu, "gelu_tanh": gelu_tanh, "silu": silu}[name](x, exact)


# -- end of activation_math
# -- block row_chunks bd781ccf79e2
LEAST_LANES, MOST_LANES = 64, 256
SPREAD, FULL, LOADS = 2, 4, 4


def row_chunks(vectors: int, rows: int, loads: int, multiprocessors: int) -> tuple[int, int, int]:
    """(lanes of a chunk, rows of a thread, groups of lanes in a block); `loads` is a thread's for one row."""
    threads, each = LEAST_LANES, 1
    while threads < MOST_LANES and rows * -(-vectors // threads) > SPREAD * multiprocessors:
        threads *= 2
    if 2 * vectors <= threads:
        lanes = 1 << (vectors - 1).bit_length()
        groups = threads // lanes
    else:
        chunks = -(-vectors // threads)
        lanes, groups = -(-vectors // (32 * chunks)) * 32, 1  # chunks of even length
    blocks = rows // groups * -(-vectors // lanes)
    while each * loads < LOADS and blocks >= 2 * each * FULL * multiprocessors:
        each *= 2
    return lanes, each, groups


def chunk_blocks(vectors: int, rows, lanes: int, each: int, groups: int):
    """How many blocks there are for `rows` rows (a number at run time)."""
    return (rows + each * groups - 1) // (each * groups) * -(-vectors // lanes)


def chunk_place(vectors: int, lanes: int, each: int, groups: int):
    """(vector of the row, first row) of this thread; either may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    chunks = -(-vectors // lanes)
    return block % chunks * lanes + thread % lanes, (block // chunks * groups + thread // lanes) * each


# -- end of row_chunks
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts


@cute.kernel
def bias_activation_residual_kernel(
    mX: cute.Tensor,
    mB: cute.Tensor,
    mR: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    exact: cutlass.Constexpr,
):
    element, (rows, columns) = mX.element_type, mX.shape
    tile, vectors = (1, width), columns // width
    vector, first = chunk_place(vectors, lanes, each, groups)
    if vector < vectors and first < rows:
        gB = cute.local_tile(mB, tile, (0, vector))
        rB = cute.make_fragment_like(gB)
        rX, rR = ([cute.make_fragment_like(gB) for _ in range(each)] for _ in range(2))
        cute.autovec_copy(gB, rB)
        for k in cutlass.range_constexpr(each):
            row = cutlass.min(first + k, rows - 1)  # beyond the end: the last one again
            cute.autovec_copy(cute.local_tile(mX, tile, (row, vector)), rX[k])
            cute.autovec_copy(cute.local_tile(mR, tile, (row, vector)), rR[k])
        for k in cutlass.range_constexpr(each):
            rA = cute.make_rmem_tensor(tile, Float32)
            rA.store(rX[k].load().to(Float32) + rB.load().to(Float32))
            for i in cutlass.range_constexpr(width):
                rA[i] = activate(rA[i], activation, exact)
            rX[k].store((rA.load() + rR[k].load().to(Float32)).to(element))
            if first + k < rows:
                cute.autovec_copy(rX[k], cute.local_tile(mO, tile, (first + k, vector)))


@cute.jit
def bias_activation_residual_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pB: cute.Pointer,
    pR: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    residual_stride: Int64,
    out_stride: Int64,
    columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    exact: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    views = (
        (pX, rows, x_stride),
        (pB, 1, Int64(columns)),
        (pR, rows, residual_stride),
        (pO, rows, out_stride),
    )
    mX, mB, mR, mO = [row_view(p, count, columns, stride, width) for p, count, stride in views]
    bias_activation_residual_kernel(mX, mB, mR, mO, width, *plan, activation, exact).launch(
        grid=(chunk_blocks(columns // width, rows, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
    )


@functools.cache
def _compiled(dtype, columns, width, plan, activation, exact, capability):
    pointers = [device_pointer(0, ELEMENTS[dtype], width)] * 4
    return cute.compile(
        bias_activation_residual_launch, *pointers, Int32(0), Int64(0), Int64(0), Int64(0),
        columns, width, plan, activation, exact, make_fake_stream(),
    )  # fmt: skip


def compile_bias_activation_residual(
    dtype, activation, rows, columns, width=0, exact=None, plan=None, device=NO_DEVICE
):
    """The compiled launcher for these facts. `width` is the widest that `columns` allows, `plan` what
    `row_chunks` says, and `exact` (math as CUDA's library has it) holds for f32 only, where not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    plan = plan or row_chunks(columns // width, rows, 2, multiprocessors)
    exact = dtype == "f32" if exact is None else exact
    return _compiled(dtype, columns, width, plan, ACTIVATIONS[activation], exact, capability)


def bias_activation_residual(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    bias: torch.Tensor | int,
    residual: torch.Tensor | int,
    activation: int,
    rows: int,
    columns: int,
    x_stride: int,
    residual_stride: int,
    out_stride: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Finish `rows` rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    kind, arguments, strides = (
        ELEMENTS[dtype],
        (out, x, bias, residual),
        (x_stride, residual_stride, out_stride),
    )
    starts = [address_of(t) * 8 // kind.width for t in arguments]
    width = vector_width(kind.width, columns, *strides, *starts)
    compile_bias_activation_residual(dtype, activation, rows, columns, width, device=device_facts())(
        *(device_pointer(t, kind, width) for t in arguments),
        Int32(rows), *(Int64(s) for s in strides),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
