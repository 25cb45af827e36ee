"""8-bit codes of square blocks of a matrix with one fp32 scale a block, e4m3 or int8: DeepGEMM's weights.

    most = max(max of |x| in the block, least)
    scale[i, j] = most / largest code         q[r, c] = round(x[r, c] · (largest code / most))

Shapes: x is (rows, columns), bf16, fp16 or fp32; q has as many codes, e4m3 (largest 448) or int8 (127). Rows
are `x_stride` and `q_stride` apart. A block is `side` rows of `side` columns (128 is what it is tuned for),
cut off at the edges of the matrix; scale is (ceil(rows / side), ceil(columns / side)), row-major.

Algorithm: one thread block a block of the matrix, which stays in registers between maximum and rounding:

    thread-value layout (bf16, side 128, 512 threads)      a pass: 32 rows of 16 accesses; 4 passes
    gX (side, side) ─128-bit loads→ rX ─ max|x| ─ warps → factor → rX · factor ─ 64-bit stores→ gQ
                                                      └ first thread → mScale

Sizes that blocks divide have predicates that are constants. Codes are the nearest, ties to even. A block of
zeros has the scale least / largest code. One with a NaN or an infinity has that as scale and reads back as
NaN. All sizes and least are compile-time constants.

Units: strides in elements, least in x. Traffic: rows · columns · (bytes of an element + 1), and the scales.
Source of the technique: DeepGEMM's per-block casts; tiled copies as in CUTLASS's elementwise examples.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32, Int64, Numeric
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
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
# -- block row_absmax 826a3946fb3d
def larger(a, b):
    """The larger of two integers."""
    return cutlass.max(a, b)


@cute.jit
def row_absmax(values, least: cutlass.Constexpr, lanes: cutlass.Constexpr, sPart):
    """Largest |x| of the fp32 vectors `values` of the `lanes` threads of a row, no less than `least`, in all
    of them. `sPart` holds a warp's Int32 each; it is not used up to 32 lanes."""
    most = Float32(cute.math.abs(values).reduce(cute.ReductionOp.MAX, least, 0)).bitcast(Int32)
    if cutlass.const_expr(lanes < 32):
        most = lane_reduce(most, larger, lanes)
    else:
        most = Int32(cute.arch.warp_redux_sync(most, "max"))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[warp] = most
        cute.arch.sync_threads()
        most = Int32(cute.arch.warp_redux_sync(sPart[warp // warps * warps + lane % warps], "max"))
    return most.bitcast(Float32)


# -- end of row_absmax
# -- block fp8_convert ad48d1054ef4
E4M3_MAX = 448.0


def to_e4m3(values):
    """fp32 values as e4m3, saturating."""
    return values.to(Float8E4M3FN)


def from_e4m3(codes):
    """e4m3 codes as fp32."""
    return codes.to(Float32)


# -- end of fp8_convert
# -- block int8_convert 307023134ad5
INT8_MAX = 127.0


def to_int8(values, saturate: bool):
    """A vector of fp32 as int8."""
    whole = cute.math.roundeven(values).to(Int32)
    if saturate:
        whole = cute.where(whole > 127, cute.full_like(whole, 127), whole)
        whole = cute.where(whole < -128, cute.full_like(whole, -128), whole)
    return whole.to(Int8)


def from_int8(codes):
    """A vector of int8 as fp32, exact."""
    return codes.to(Float32)


# -- end of int8_convert
# -- block scaled_codes 58a848b3447f
# (element type, largest code) by name
CODES = {"e4m3": (Float8E4M3FN, E4M3_MAX), "int8": (Int8, INT8_MAX)}


def scale_of(most, kind: str):
    """The scale with which `most`, a positive fp32, gets the largest code."""
    return most / CODES[kind][1]


def codes_of(values, factor, kind: str, saturate: bool = False):
    """The codes of a vector of fp32 times `factor`. `saturate`: products may pass the largest code."""
    if kind == "e4m3":
        return to_e4m3(values * factor)
    return to_int8(values * factor, saturate)


# -- end of scaled_codes
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

THREADS = 512  # 32 elements a thread of a block of 128 · 128


def square_tiles(element, side: int, width: int, threads: int):
    """(tiled copy, tile shape): accesses of `width` elements; the tile is `side` rounded up, both ways."""
    across = min(32, -(-side // width))
    down = threads // across
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), element, num_bits_per_copy=width * element.width)
    order = cute.make_layout((down, across), stride=(across, 1))
    copy = cute.make_tiled_copy_tv(atom, order, cute.make_layout((1, width)))
    return copy, (-(-side // down) * down, -(-side // (across * width)) * across * width)


@cute.jit
def in_matrix(tXcX: cute.Tensor, rows, columns):
    """A predicate for each access of a thread: whether its row and its first column exist.
    `tXcX` are the thread's coordinates, ((width, 1), down, across)."""
    down, across = cute.size(tXcX, mode=[1]), cute.size(tXcX, mode=[2])
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, down, across)), cutlass.Boolean)
    for i in cutlass.range_constexpr(down):
        for j in cutlass.range_constexpr(across):
            row, column = tXcX[(0, 0), i, j]
            tXpX[0, i, j] = (row < rows) & (column < columns)
    return tXpX


@cute.kernel
def quantize_blocks_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    mScale: cute.Tensor,
    kind: cutlass.Constexpr,
    side: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    least: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    j, i, _ = cute.arch.block_idx()
    rows, columns = mX.shape
    load, tile = square_tiles(mX.element_type, side, width, threads)
    store, _ = square_tiles(mQ.element_type, side, width, threads)
    gX, gQ = [cute.local_tile(m, (side, side), (i, j)) for m in (mX, mQ)]
    cX = cute.make_identity_tensor((side, side))
    gX, gQ, cX = [cute.local_tile(t, tile, (0, 0)) for t in (gX, gQ, cX)]
    tXgX, tQgQ = load.get_slice(thread).partition_S(gX), store.get_slice(thread).partition_D(gQ)
    # Only at an edge that cuts blocks off do predicates depend on which block it is.
    tXpX = in_matrix(
        load.get_slice(thread).partition_S(cX),
        min(side, rows - i * side) if rows % side else side,
        min(side, columns - j * side) if columns % side else side,
    )
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, threads // 32, 16), cute.make_layout(threads // 32))

    tXrX, tQrQ = cute.make_fragment_like(tXgX), cute.make_fragment_like(tQgQ)
    tXrX.fill(0.0)
    cute.copy(load, tXgX, tXrX, pred=tXpX)

    x = tXrX.load().to(Float32)
    most = row_absmax(x, least, threads, sPart)
    tQrQ.store(codes_of(x, CODES[kind][1] / most, kind))
    cute.copy(store, tQrQ, tQgQ, pred=tXpX)
    if thread == 0:
        mScale[i, j] = scale_of(most, kind)


@cute.jit
def quantize_blocks_launch(
    pQ: cute.Pointer,
    pScale: cute.Pointer,
    pX: cute.Pointer,
    x_stride: Int64,
    q_stride: Int64,
    rows: cutlass.Constexpr,
    columns: cutlass.Constexpr,
    side: cutlass.Constexpr,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    least: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mQ = row_view(pX, rows, columns, x_stride, width), row_view(pQ, rows, columns, q_stride, width)
    down, across = (rows + side - 1) // side, (columns + side - 1) // side
    mScale = cute.make_tensor(pScale, cute.make_layout((down, across), stride=(across, 1)))
    quantize_blocks_kernel(mX, mQ, mScale, kind, side, width, threads, least).launch(
        grid=(across, down, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, rows, columns, side, width, threads, least, capability):
    pX, pQ = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, CODES[kind][0], width)
    return cute.compile(
        quantize_blocks_launch, pQ, device_pointer(0, Float32, 1), pX, Int64(0), Int64(0),
        rows, columns, side, kind, width, threads, least, make_fake_stream(),
    )  # fmt: skip


def compile_quantize_blocks(
    dtype, kind, rows, columns, side, least, width=0, device=NO_DEVICE, threads=THREADS
):  # fmt: skip
    """The compiled launcher for these facts; width 0 is the widest that `columns` and `side` allow."""
    _, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, columns, side)
    return _compiled(dtype, kind, rows, columns, side, width, threads, least, capability)


def quantize_blocks(
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    least: float,
    rows: int,
    columns: int,
    side: int,
    x_stride: int,
    q_stride: int,
    *,
    dtype: str,
    kind: str,
    stream: int | None = None,
) -> None:
    """Quantise a matrix; `kind` is e4m3 or int8, and 448 / `least` must be finite. Tensors or device
    addresses; `stream` defaults to torch's current one."""
    element, code = ELEMENTS[dtype], CODES[kind][0]
    starts = [address_of(x) * 8 // element.width, address_of(q)]
    width = vector_width(element.width, columns, side, x_stride, q_stride, *starts)
    compile_quantize_blocks(dtype, kind, rows, columns, side, least, width, device_facts())(
        device_pointer(q, code, width), device_pointer(scale, Float32, 1), device_pointer(x, element, width),
        Int64(x_stride), Int64(q_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
