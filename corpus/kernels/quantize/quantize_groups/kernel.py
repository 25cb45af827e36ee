"""8-bit codes of groups along the row with one fp32 scale a group, e4m3 or int8: DeepGEMM's activations.

    most = max(max of |x| in the group, least)
    scale[r, g] = most / largest code         q[r, i] = round(x[r, i] · (largest code / most))

Shapes: x is `rows` rows of `hidden` elements, bf16, fp16 or fp32; q has as many codes, e4m3 (largest 448) or
int8 (127). Rows are `x_stride` and `q_stride` apart. A group is `group` neighbouring columns (64, 128 and 256
are what it is tuned for), the last one of a row may be shorter. scale[r, g] lies at r · scale_row + g ·
scale_group: (groups, 1) is row-major, (1, rows rounded up to 4) is column-major as TMA wants it.

Algorithm: a few lanes, several groups to a warp, own one group of one row and keep it in registers:

    warp (bf16, group 128, prefill)    lanes 0 … 7 group g, lanes 8 … 15 group g + 1, …    2 accesses a lane
    gX (1, group) ─128-bit loads→ rX ─ max|x| ─ butterfly in the group → factor → rX · factor ─ stores→ gQ
                                                  └ its first lane → mScale

Two accesses a lane halve what index arithmetic and division cost an element; decode takes one, for more
threads. Codes are the nearest, ties to even. A group of zeros has the scale least / largest code. One with a
NaN or an infinity has that as scale and reads back as NaN. hidden, group, least are compile-time constants.

Units: strides in elements, least in x. Traffic: rows · hidden · (bytes of an element + 1 + 4 / group).
Source of the technique: DeepGEMM's per-token casts; several heads a warp as in qk_norm.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import (
    AddressSpace,
    BFloat16,
    Float8E4M3FN,
    Float16,
    Float32,
    Int8,
    Int32,
    Int64,
    Numeric,
    Uint32,
)
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
# -- block warps_of_block 84e96dd2ec74
MOST_WARPS = 4


def warps_of_block(warps: int, multiprocessors: int) -> int:
    """A power of two from 1 to MOST_WARPS; `warps` is how many the whole launch needs."""
    chosen = 1
    while chosen < MOST_WARPS and warps > chosen * multiprocessors:
        chosen *= 2
    return chosen


# -- end of warps_of_block
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

# (groups for each multiprocessor up to which it holds, accesses of a lane)
VECTORS = ((32, 1), (1 << 30, 2))


@cute.kernel
def quantize_groups_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    mScale: cute.Tensor,
    kind: cutlass.Constexpr,
    group: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    least: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (count, hidden), lane = mX.shape, thread % lanes
    groups = (hidden + group - 1) // group
    place = Uint32(block * (warps * 32 // lanes) + thread // lanes)  # signed division rounds down, at a cost
    row, g = Int32(place // groups), Int32(place % groups)

    # Beyond the end: the last row again, whose codes are not stored twice.
    gX = cute.local_tile(mX, (1, group), (min(row, count - 1), g))
    gQ = cute.local_tile(mQ, (1, group), (row, g))
    load, whole = row_tiles(mX.element_type, group, width, lanes)
    store, _ = row_tiles(mQ.element_type, group, width, lanes)
    gX, gQ, cX = [cute.local_tile(t, whole, (0, 0)) for t in (gX, gQ, cute.make_identity_tensor((1, group)))]
    # Only where the last group is shorter do predicates depend on which group it is.
    columns = min(group, hidden - g * group) if hidden % group else group
    tXgX, tQgQ = load.get_slice(lane).partition_S(gX), store.get_slice(lane).partition_D(gQ)
    tXpX = in_bounds(load.get_slice(lane).partition_S(cX), columns)

    tXrX, tQrQ = cute.make_fragment_like(tXgX), cute.make_fragment_like(tQgQ)
    tXrX.fill(0.0)
    cute.copy(load, tXgX, tXrX, pred=tXpX)

    x = tXrX.load().to(Float32)
    most = row_absmax(x, least, lanes, None)
    tQrQ.store(codes_of(x, CODES[kind][1] / most, kind))
    if row < count:
        cute.copy(store, tQrQ, tQgQ, pred=tXpX)
        if lane == 0:
            mScale[row, g] = scale_of(most, kind)


@cute.jit
def quantize_groups_launch(
    pQ: cute.Pointer,
    pScale: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    q_stride: Int64,
    scale_row: Int64,
    scale_group: Int64,
    hidden: cutlass.Constexpr,
    group: cutlass.Constexpr,
    kind: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    least: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mQ = row_view(pX, rows, hidden, x_stride, width), row_view(pQ, rows, hidden, q_stride, width)
    groups, per_block = (hidden + group - 1) // group, warps * 32 // lanes
    mScale = cute.make_tensor(pScale, cute.make_layout((rows, groups), stride=(scale_row, scale_group)))
    quantize_groups_kernel(mX, mQ, mScale, kind, group, width, lanes, warps, least).launch(
        grid=((rows * groups + per_block - 1) // per_block, 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, hidden, group, width, lanes, warps, least, capability):
    pX, pQ = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, CODES[kind][0], width)
    return cute.compile(
        quantize_groups_launch, pQ, device_pointer(0, Float32, 1), pX, Int32(0), *[Int64(0)] * 4,
        hidden, group, kind, width, lanes, warps, least, make_fake_stream(),
    )  # fmt: skip


def compile_quantize_groups(
    dtype, kind, rows, hidden, group, least, width=0, device=NO_DEVICE, vectors=0
):  # fmt: skip
    """The compiled launcher for these facts; width 0 is the widest that `hidden` and `group` allow, `vectors`
    of a lane stands in for the plan's own number."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden, group)
    groups = rows * -(-hidden // group)
    vectors = vectors or min(each for most, each in VECTORS if groups <= most * multiprocessors)
    lanes = 1
    while lanes < 32 and lanes * width * vectors < group:
        lanes *= 2
    warps = warps_of_block(groups * lanes // 32, multiprocessors)
    return _compiled(dtype, kind, hidden, group, width, lanes, warps, least, capability)


def quantize_groups(
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    least: float,
    rows: int,
    hidden: int,
    group: int,
    x_stride: int,
    q_stride: int,
    scale_row: int,
    scale_group: int,
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
    width = vector_width(element.width, hidden, group, x_stride, q_stride, *starts)
    compile_quantize_groups(dtype, kind, rows, hidden, group, least, width, device_facts())(
        device_pointer(q, code, width), device_pointer(scale, Float32, 1), device_pointer(x, element, width),
        Int32(rows), Int64(x_stride), Int64(q_stride), Int64(scale_row), Int64(scale_group),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
