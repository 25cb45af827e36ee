"""Gated activation (SwiGLU, GEGLU, ReGLU): out[r, i] = act(gate[r, i]) · up[r, i].

Shapes: x is `rows` rows of 2 · `inter` elements, `x_stride` apart: gate | up in halves, or interleaved, g0
u0 g1 u1 …; out is `rows` rows of `inter`, `out_stride` apart, elsewhere. inter from 768 to 32,768 is what
it is tuned for. All of one type, bf16, fp16 or fp32; arithmetic in fp32. act: relu, gelu (erf), gelu_tanh
or silu, by its place in ACTIVATIONS.

Algorithm: one layout says where gate and up lie, and nothing else differs. For vectors of w elements of out:

    mX (element, gate | up, vector, row)      halves      (w, 2, inter / w, rows) : (1, inter, w, x_stride)
                                              interleaved (w, 2, inter / w, rows) : (2, 1, 2w, x_stride)

    mX[:, :, vector, row] ─128-bit loads→ rX (w, 2) ─ act(rX[:, 0]) · rX[:, 1] → rO (w) ─→ gO

Halves are two loads of 128 bits and one store of as many; interleaved one load, and a store of 64. Chunks
of rows as in `row_chunks`. Activation, layout, inter and the kind of arithmetic are compile-time constants:
`exact` for math as CUDA's library has it (what f32 needs), `packed` to multiply pairs of elements in their
own type.

Units: strides in elements. Traffic: 3 · rows · inter · bytes of an element.
Source of the technique: activation kernels of inference engines; several rows a thread in place of a loop.
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


def gated_view(pointer, rows, inter: int, stride, width: int, x_width: int, interleaved: bool):
    """(element, gate | up, vector, row); rows begin at multiples of `x_width` elements."""
    strides = (2, 1, 2 * width) if interleaved else (1, inter, width)
    shape, row = (width, 2, inter // width, rows), cute.assume(stride, divby=x_width)
    return cute.make_tensor(pointer, cute.make_layout(shape, stride=(*strides, row)))


@cute.kernel
def gated_activation_kernel(
    mX: cute.Tensor,
    mO: cute.Tensor,
    lanes: cutlass.Constexpr,
    each: cutlass.Constexpr,
    groups: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    exact: cutlass.Constexpr,
    packed: cutlass.Constexpr,
):
    element, (width, _, vectors, rows) = mX.element_type, mX.shape
    vector, first = chunk_place(vectors, lanes, each, groups)
    if vector < vectors:
        tXrX = [cute.make_fragment_like(mX[None, None, 0, 0]) for _ in range(each)]
        for k in cutlass.range_constexpr(each):
            row = cutlass.min(first + k, rows - 1)  # beyond the end: the last one again
            cute.autovec_copy(mX[None, None, vector, row], tXrX[k])
        for k in cutlass.range_constexpr(each):
            rA, rO = (cute.make_rmem_tensor((width,), t) for t in (Float32, element))
            rA.store(tXrX[k][None, 0].load().to(Float32))
            for i in cutlass.range_constexpr(width):
                rA[i] = activate(rA[i], activation, exact)
            gate, up = rA.load(), tXrX[k][None, 1].load()
            rO.store(gate.to(element) * up if packed else (gate * up.to(Float32)).to(element))
            if first + k < rows:
                gO = cute.local_tile(mO, (1, width), (first + k, vector))
                cute.autovec_copy(rO, gO[0, None])


@cute.jit
def gated_activation_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    out_stride: Int64,
    inter: cutlass.Constexpr,
    interleaved: cutlass.Constexpr,
    width: cutlass.Constexpr,
    x_width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    exact: cutlass.Constexpr,
    packed: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = gated_view(pX, rows, inter, x_stride, width, x_width, interleaved)
    mO = row_view(pO, rows, inter, out_stride, width)
    gated_activation_kernel(mX, mO, *plan, activation, exact, packed).launch(
        grid=(chunk_blocks(inter // width, rows, *plan), 1, 1), block=(plan[0] * plan[2], 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, inter, interleaved, width, x_width, plan, activation, exact, packed, capability):
    pO, pX = (device_pointer(0, ELEMENTS[dtype], w) for w in (width, x_width))
    return cute.compile(
        gated_activation_launch, pO, pX, Int32(0), Int64(0), Int64(0),
        inter, interleaved, width, x_width, plan, activation, exact, packed, make_fake_stream(),
    )  # fmt: skip


def compile_gated_activation(
    dtype, activation, interleaved, rows, inter, packed=False, exact=None, widths=None, plan=None,
    device=NO_DEVICE,
):  # fmt: skip
    """The compiled launcher for these facts. `widths` of accesses of out and x are the widest that `inter`
    allows, `plan` is what `row_chunks` says, and `exact` holds for f32 only, where they are not given."""
    multiprocessors, capability = device
    width, x_width = widths or access_widths(ELEMENTS[dtype].width, interleaved, inter, (), (inter,))
    plan = plan or row_chunks(inter // width, rows, 1 if interleaved else 2, multiprocessors)
    exact = dtype == "f32" if exact is None else exact
    name = ACTIVATIONS[activation]
    return _compiled(
        dtype, inter, bool(interleaved), width, x_width, plan, name, exact, packed, capability
    )  # fmt: skip


def access_widths(bits: int, interleaved: bool, inter: int, of_out: tuple, of_x: tuple) -> tuple[int, int]:
    """Elements of a store to out and of a load from x, by what else they depend on (strides, addresses)."""
    if interleaved:
        width = vector_width(bits, inter, *of_out, access=64)
        return width, vector_width(bits, 2 * width, *of_x)
    width = vector_width(bits, inter, *of_out, *of_x)
    return width, width


def gated_activation(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    activation: int,
    interleaved: bool,
    rows: int,
    inter: int,
    x_stride: int,
    out_stride: int,
    *,
    dtype: str,
    packed: bool = False,
    stream: int | None = None,
) -> None:
    """Activate `rows` rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    kind = ELEMENTS[dtype]
    out_start, x_start = (address_of(t) * 8 // kind.width for t in (out, x))
    widths = access_widths(kind.width, interleaved, inter, (out_stride, out_start), (x_stride, x_start))
    compile_gated_activation(
        dtype, activation, interleaved, rows, inter, packed, widths=widths, device=device_facts()
    )(
        *(device_pointer(t, kind, w) for t, w in zip((out, x), widths, strict=True)),
        Int32(rows), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
