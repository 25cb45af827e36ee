"""8-bit codes of rows with one fp32 scale a row (per token), e4m3 or int8.

    most = max(max_i |x[r, i]|, least)
    scale[r] = most / largest code         q[r, i] = round(x[r, i] · (largest code / most))

Shapes: x is `rows` rows of `hidden` elements (128 … 16,384 is what it is tuned for), bf16, fp16 or fp32; q
has as many codes, e4m3 (largest 448) or int8 (127). Rows are `x_stride` and `q_stride` apart. scale has
`rows` fp32.

Algorithm: one pass. A row lives in the registers of its lanes, as one 128-bit access after the other:

    gX (rows, hidden) ─128-bit loads→ rX ─ max|x| ─ warp ─ warps → factor → rX · factor ─ 64-bit stores→ gQ
                                                                  └ first lane of the row → mScale

Codes are the nearest, ties to even. A row of zeros has the scale least / largest. A row with a NaN has the
scale NaN, one with an infinity an infinite scale and zeros for what is finite: both read back as NaN. hidden
and least are compile-time constants. Unaligned addresses, strides or odd sizes get narrower accesses.

Units: strides in elements, least in x. Traffic: rows · hidden · (bytes of an element + 1) and 4 bytes a row.
Source of the technique: the row kernels of quack; scales as in DeepGEMM's per-token casts.
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
# -- block row_tiles 532d57a5c3db
def row_tiles(element, columns: int, width: int, lanes: int):
    """(tiled copy, tile shape): accesses of `width` elements; the tile is (1, columns rounded up)."""
    operation, span = cute.nvgpu.CopyUniversalOp(), lanes * width
    atom = cute.make_copy_atom(operation, element, num_bits_per_copy=width * element.width)
    threads_values = cute.make_layout((lanes, width), stride=(width, 1))
    return cute.make_tiled_copy(atom, threads_values, (1, span)), (1, (columns + span - 1) // span * span)


@cute.jit
def in_bounds(tXcX: cute.Tensor, columns: cutlass.Constexpr):
    """A predicate for each access of a thread: whether its first column, and so all of it, exists.
    `tXcX` are the thread's coordinates, ((width, 1), 1, chunks)."""
    chunks = cute.size(tXcX, mode=[2])
    tXpX = cute.make_rmem_tensor(cute.make_layout((1, 1, chunks)), cutlass.Boolean)
    for j in cutlass.range_constexpr(chunks):
        tXpX[0, 0, j] = tXcX[(0, 0), 0, j][1] < columns
    return tXpX


# -- end of row_tiles
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
# -- block row_partition 730513b6d5c9
# (vectors of a row up to which it holds, vectors of a thread)
PREFILL = ((64, 1), (512, 2), (1 << 30, 4))
PREFILL_THREADS, DECODE_THREADS = 128, 32  # of a block at least
LEAST_LANES, MOST_LANES = 4, 1024


def row_partition(columns: int, width: int, rows: int, multiprocessors: int) -> tuple[int, int]:
    """(lanes of a row, rows of a block); their product is the block's threads, a multiple of 32."""
    vectors = -(-columns // width)
    share, threads = 1, DECODE_THREADS
    if rows > multiprocessors:
        share, threads = min(each for most, each in PREFILL if vectors <= most), PREFILL_THREADS
    wanted = -(-vectors // share)
    lanes = LEAST_LANES
    while lanes < wanted and lanes < MOST_LANES:
        lanes *= 2
    return lanes, max(1, threads // lanes)


# -- end of row_partition
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
def quantize_rows_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    mScale: cute.Tensor,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    rows: cutlass.Constexpr,
    least: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % lanes, block * rows + thread // lanes
    count, hidden = mX.shape
    load, tile = row_tiles(mX.element_type, hidden, width, lanes)
    store, _ = row_tiles(mQ.element_type, hidden, width, lanes)
    # Beyond the end: the last row again, whose codes are not stored twice.
    gX, gQ = cute.local_tile(mX, tile, (min(row, count - 1), 0)), cute.local_tile(mQ, tile, (row, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, hidden)), tile, (0, 0))
    tXgX, tQgQ = load.get_slice(lane).partition_S(gX), store.get_slice(lane).partition_D(gQ)
    tXpX = in_bounds(load.get_slice(lane).partition_S(cX), hidden)
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, 32, 16), cute.make_layout(32))

    tXrX, tQrQ = cute.make_fragment_like(tXgX), cute.make_fragment_like(tQgQ)
    tXrX.fill(0.0)
    cute.copy(load, tXgX, tXrX, pred=tXpX)

    x = tXrX.load().to(Float32)
    most = row_absmax(x, least, lanes, sPart)
    tQrQ.store(codes_of(x, CODES[kind][1] / most, kind))
    if row < count:
        cute.copy(store, tQrQ, tQgQ, pred=tXpX)
        if lane == 0:
            mScale[row] = scale_of(most, kind)


@cute.jit
def quantize_rows_launch(
    pQ: cute.Pointer,
    pScale: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    q_stride: Int64,
    hidden: cutlass.Constexpr,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    least: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mQ = row_view(pX, rows, hidden, x_stride, width), row_view(pQ, rows, hidden, q_stride, width)
    mScale = cute.make_tensor(pScale, cute.make_layout(rows))
    quantize_rows_kernel(mX, mQ, mScale, kind, width, lanes, block_rows, least).launch(
        grid=((rows + block_rows - 1) // block_rows, 1, 1), block=(lanes * block_rows, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, hidden, width, lanes, block_rows, least, capability):
    pX, pQ = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, CODES[kind][0], width)
    return cute.compile(
        quantize_rows_launch, pQ, device_pointer(0, Float32, 1), pX, Int32(0), Int64(0), Int64(0),
        hidden, kind, width, lanes, block_rows, least, make_fake_stream(),
    )  # fmt: skip


def compile_quantize_rows(dtype, kind, rows, hidden, least, width=0, device=NO_DEVICE, plan=None):
    """The compiled launcher for these facts; width 0 is the widest that `hidden` allows, `plan` (lanes of a
    row, rows of a block) stands in for row_partition's."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    lanes, block_rows = plan or row_partition(hidden, width, rows, multiprocessors)
    return _compiled(dtype, kind, hidden, width, lanes, block_rows, least, capability)


def quantize_rows(
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    least: float,
    rows: int,
    hidden: int,
    x_stride: int,
    q_stride: int,
    *,
    dtype: str,
    kind: str,
    stream: int | None = None,
) -> None:
    """Quantise `rows` rows; `kind` is e4m3 or int8, and 448 / `least` must be finite. Tensors or device
    addresses; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    element, code = ELEMENTS[dtype], CODES[kind][0]
    starts = [address_of(x) * 8 // element.width, address_of(q)]
    width = vector_width(element.width, hidden, x_stride, q_stride, *starts)
    compile_quantize_rows(dtype, kind, rows, hidden, least, width, device_facts())(
        device_pointer(q, code, width), device_pointer(scale, Float32, 1), device_pointer(x, element, width),
        Int32(rows), Int64(x_stride), Int64(q_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
