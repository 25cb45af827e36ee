"""Residual add and layer norm of rows, in one pass.

    residual ← x + residual, rounded to its type
    out = (residual - mean(residual)) / sqrt(var(residual) + eps) · weight + bias

Shapes: x, out and residual are `rows` rows of `hidden` elements (128 … 16,384 is what it is tuned for); rows
of x and out are `x_stride` and `out_stride` elements apart, those of residual next to each other; weight and
bias have `hidden` elements. All of one type: bf16, fp16 or fp32; sums in fp32.

Algorithm: a row lives in the registers of its lanes, as one 128-bit access after the other:

    gX, gR ─128-bit loads→ rX + rR = rR ─128-bit stores→ gR
                                     └─ mean, Σ (r - mean)² ─ lanes ─ warps ─→ mean, 1/sqrt
                                             └─ (rR - mean) · scale · rW + rB ─128-bit stores→ gO

Mean and squares come from one exchange between threads (block row_moments), and nothing cancels.
The new residual is on its way while the sums are made. Weight and bias are loaded before them where a thread
has few elements, after them where registers would not suffice for two blocks. hidden and eps are compile-time
constants. Unaligned addresses, strides or odd sizes get narrower accesses.

Units: strides in elements, eps in x². Traffic: 4 · rows · hidden · bytes of an element, weight and bias.
Source of the technique: the row kernels of quack, with registers in place of shared memory; Chan's merge.
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
# -- block zero_outside b2b9d2162174
@cute.jit
def zero_outside(tXrX: cute.Tensor, tXpX: cute.Tensor):
    """Overwrite the accesses of `tXrX` whose predicate in `tXpX` (row_tiles.in_bounds) does not hold."""
    for j in cutlass.range_constexpr(cute.size(tXrX, mode=[2])):
        if not tXpX[0, 0, j]:
            tXrX[None, 0, j].fill(0.0)


# -- end of zero_outside
# -- block row_moments f3586e4879ab
def elements_of(first, count: int, shape: tuple[int, int, int]):
    """Elements of `count` neighbouring lanes from `first`, as a float; shape is (columns, width, lanes)."""
    columns, width, lanes = shape
    whole, rest = divmod(columns, width * lanes)
    if rest == 0:
        return float(whole * width * count)
    beyond = cute.arch.fmax(Float32(rest) - Float32(first * width), Float32(0.0))
    return cute.arch.fmin(beyond, Float32(width * count)) + float(whole * width * count)


def part_of(own, other=0.0):
    """1 / (own + other), and of no elements anything."""
    if isinstance(own, float):
        return 1.0 / (own + other)
    return cute.arch.rcp_approx(cute.arch.fmax(own + other, Float32(1.0)))


@cute.jit
def merge_moments(
    mean, squares, lane, group: cutlass.Constexpr, lanes: cutlass.Constexpr, shape: cutlass.Constexpr
):
    """Merge over `lanes` lanes, each of which stands for `group` lanes of the row; `lane` counts those."""
    for k in cutlass.range_constexpr(lanes.bit_length() - 1):
        step = 1 << k
        first = lane // step * step
        own = elements_of(first * group, step * group, shape)
        other = elements_of((first ^ step) * group, step * group, shape)
        weight = other * part_of(own, other)
        distance = cute.arch.shuffle_sync_bfly(mean, step) - mean
        squares = squares + cute.arch.shuffle_sync_bfly(squares, step) + distance * distance * (own * weight)
        mean = mean + distance * weight
    return mean, squares


@cute.jit
def row_moments(tXrX: cute.Tensor, tXpX: cute.Tensor, shape: cutlass.Constexpr, sMean, sSquares):
    """(mean, Σ (x - mean)²), fp32, in all threads of a row. tXrX: a thread's elements, zeros outside; tXpX:
    row_tiles.in_bounds; shape is (columns, width, lanes). Up to 32 lanes the arrays are not used."""
    lanes = shape[2]
    thread, _, _ = cute.arch.thread_idx()
    x, own = tXrX.load().to(Float32), elements_of(thread % lanes, 1, shape)
    mean = x.reduce(cute.ReductionOp.ADD, 0.0, 0) * part_of(own)
    tXrC = cute.make_fragment_like(tXrX, Float32)
    tXrC.store(x - mean)
    zero_outside(tXrC, tXpX)
    centred = tXrC.load()
    squares = (centred * centred).reduce(cute.ReductionOp.ADD, 0.0, 0)
    mean, squares = merge_moments(mean, squares, thread % lanes, 1, min(lanes, 32), shape)
    if cutlass.const_expr(lanes > 32):
        warps, warp, lane = lanes // 32, thread // 32, thread % 32
        if lane == 0:
            sMean[warp], sSquares[warp] = mean, squares
        cute.arch.sync_threads()
        place = lane % warps
        mean, squares = sMean[warp // warps * warps + place], sSquares[warp // warps * warps + place]
        mean, squares = merge_moments(mean, squares, place, 32, warps, shape)
    return mean, squares


# -- end of row_moments


EARLY = 16  # elements of a thread up to which weight and bias are loaded before the sums


@cute.kernel
def add_layer_norm_kernel(
    mX: cute.Tensor,
    mR: cute.Tensor,
    mW: cute.Tensor,
    mB: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    rows: cutlass.Constexpr,
    early: cutlass.Constexpr,
    eps: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, hidden = mX.element_type, mX.shape[1]
    copy, tile = row_tiles(element, hidden, width, lanes)
    mine, row = copy.get_slice(thread % lanes), block * rows + thread // lanes
    gX, gR, gO = [cute.local_tile(m, tile, (row, 0)) for m in (mX, mR, mO)]
    gW, gB = [cute.local_tile(m, tile, (0, 0)) for m in (mW, mB)]
    gRead = gR
    if row >= mX.shape[0]:
        gX, gRead = gW, gW  # beyond the end: memory that nobody writes
    cX = cute.local_tile(cute.make_identity_tensor((1, hidden)), tile, (0, 0))
    tXgX, tXgR, tXgW, tXgB = [mine.partition_S(g) for g in (gX, gRead, gW, gB)]
    tRgR, tXgO = mine.partition_D(gR), mine.partition_D(gO)
    tXpX = in_bounds(mine.partition_S(cX), hidden)
    sMean = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    sSquares = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))

    tXrX, tXrR, tXrW, tXrB = [cute.make_fragment_like(tXgX) for _ in range(4)]
    tXrX.fill(0.0)
    tXrR.fill(0.0)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    cute.copy(copy, tXgR, tXrR, pred=tXpX)
    if cutlass.const_expr(early):
        cute.copy(copy, tXgW, tXrW, pred=tXpX)
        cute.copy(copy, tXgB, tXrB, pred=tXpX)

    tXrR.store((tXrX.load().to(Float32) + tXrR.load().to(Float32)).to(element))
    if row < mX.shape[0]:
        cute.copy(copy, tXrR, tRgR, pred=tXpX)
    mean, squares = row_moments(tXrR, tXpX, (hidden, width, lanes), sMean, sSquares)
    scale = cute.math.rsqrt(squares * (1.0 / hidden) + eps, fastmath=True)
    if cutlass.const_expr(not early):
        cute.copy(copy, tXgW, tXrW, pred=tXpX)
        cute.copy(copy, tXgB, tXrB, pred=tXpX)
    centred = tXrR.load().to(Float32) - mean
    weight, bias = tXrW.load().to(Float32), tXrB.load().to(Float32)
    tXrX.store((centred * scale * weight + bias).to(element))
    if row < mX.shape[0]:
        cute.copy(copy, tXrX, tXgO, pred=tXpX)


@cute.jit
def add_layer_norm_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pR: cute.Pointer,
    pW: cute.Pointer,
    pB: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    out_stride: Int64,
    hidden: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    eps: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = row_view(pX, rows, hidden, x_stride, width), row_view(pO, rows, hidden, out_stride, width)
    mW, mB = row_view(pW, 1, hidden, Int64(hidden), width), row_view(pB, 1, hidden, Int64(hidden), width)
    mR = row_view(pR, rows, hidden, Int64(hidden), width)
    early = hidden <= EARLY * lanes
    add_layer_norm_kernel(mX, mR, mW, mB, mO, width, lanes, block_rows, early, eps).launch(
        grid=((rows + block_rows - 1) // block_rows, 1, 1), block=(lanes * block_rows, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, hidden, width, lanes, block_rows, eps, capability):
    pointer = device_pointer(0, ELEMENTS[dtype], width)
    return cute.compile(
        add_layer_norm_launch, pointer, pointer, pointer, pointer, pointer, Int32(0), Int64(0), Int64(0),
        hidden, width, lanes, block_rows, eps, make_fake_stream(),
    )  # fmt: skip


def compile_add_layer_norm(dtype, rows, hidden, eps, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest that `hidden` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    lanes, block_rows = row_partition(hidden, width, rows, multiprocessors)
    return _compiled(dtype, hidden, width, lanes, block_rows, eps, capability)


def add_layer_norm(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    residual: torch.Tensor | int,
    weight: torch.Tensor | int,
    bias: torch.Tensor | int,
    eps: float,
    rows: int,
    hidden: int,
    x_stride: int,
    out_stride: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Add and normalise rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    kind, arguments = ELEMENTS[dtype], (out, x, residual, weight, bias)
    starts = [address_of(t) * 8 // kind.width for t in arguments]
    width = vector_width(kind.width, hidden, x_stride, out_stride, *starts)
    compile_add_layer_norm(dtype, rows, hidden, eps, width, device_facts())(
        *(device_pointer(t, kind, width) for t in arguments),
        Int32(rows), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
