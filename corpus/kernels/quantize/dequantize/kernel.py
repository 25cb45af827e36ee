"""Numbers from 8-bit codes, e4m3 or int8: out[r, c] = q[r, c] · scale[r / tile_rows, c / tile_columns].

Shapes: q is `rows` rows of `hidden` codes, out as many numbers, bf16, fp16 or fp32; rows are `q_stride` and
`out_stride` apart. A scale belongs to `tile_rows` by `tile_columns` elements; scale[i, j] lies at
i · scale_row + j · scale_column:

    a tensor's      tile 1, hidden     strides 0, 0          a row's     tile 1, hidden     strides 1, 0
    a group's       tile 1, 128        strides groups, 1     a block's   tile 128, 128      strides across, 1

Algorithm: a row to a group of lanes, as in quantize_rows; each access and its scale are under way together:

    gQ (rows, hidden) ─64-bit loads→ rQ ─ to fp32 ─ · rScale (chunks,) ─ rounded ─128-bit stores→ gO

Products are made in fp32 and rounded once. hidden and tiles are compile-time constants: one scale a row is
one load a thread. Unaligned addresses, strides or odd sizes get narrower accesses.

Units: strides in elements, scale in out a code. Traffic: rows · hidden · (1 + bytes of an element).
Source of the technique: the row kernels of quack; scales as in DeepGEMM.
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
def dequantize_kernel(
    mQ: cute.Tensor,
    mScale: cute.Tensor,
    mO: cute.Tensor,
    tile_rows: cutlass.Constexpr,
    tile_columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    rows: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % lanes, block * rows + thread // lanes
    count, hidden = mQ.shape
    source = min(row, count - 1)  # beyond the end: the last row again, which is not stored twice
    load, tile = row_tiles(mQ.element_type, hidden, width, lanes)
    store, _ = row_tiles(mO.element_type, hidden, width, lanes)
    gQ, gO = cute.local_tile(mQ, tile, (source, 0)), cute.local_tile(mO, tile, (row, 0))
    cQ = cute.local_tile(cute.make_identity_tensor((1, hidden)), tile, (0, 0))
    tQgQ, tOgO = load.get_slice(lane).partition_S(gQ), store.get_slice(lane).partition_D(gO)
    tQcQ = load.get_slice(lane).partition_S(cQ)
    tQpQ = in_bounds(tQcQ, hidden)

    tQrQ, tOrO = cute.make_fragment_like(tQgQ), cute.make_fragment_like(tOgO)
    chunks = cute.size(tQrQ, mode=[2])
    rScale = cute.make_rmem_tensor(cute.make_layout(chunks), Float32)
    cute.copy(load, tQgQ, tQrQ, pred=tQpQ)
    for j in cutlass.range_constexpr(chunks):
        column = min(tQcQ[(0, 0), 0, j][1], hidden - 1) // tile_columns if tile_columns < hidden else 0
        rScale[j] = mScale[source // tile_rows, column]
    for j in cutlass.range_constexpr(chunks):
        values = tQrQ[None, 0, j].load().to(Float32) * rScale[j]
        tOrO[None, 0, j].store(values.to(mO.element_type))
    if row < count:
        cute.copy(store, tOrO, tOgO, pred=tQpQ)


@cute.jit
def dequantize_launch(
    pO: cute.Pointer,
    pQ: cute.Pointer,
    pScale: cute.Pointer,
    rows: Int32,
    q_stride: Int64,
    out_stride: Int64,
    scale_row: Int64,
    scale_column: Int64,
    hidden: cutlass.Constexpr,
    tile_rows: cutlass.Constexpr,
    tile_columns: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    block_rows: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mQ, mO = row_view(pQ, rows, hidden, q_stride, width), row_view(pO, rows, hidden, out_stride, width)
    tiles = ((rows + tile_rows - 1) // tile_rows, (hidden + tile_columns - 1) // tile_columns)
    mScale = cute.make_tensor(pScale, cute.make_layout(tiles, stride=(scale_row, scale_column)))
    dequantize_kernel(mQ, mScale, mO, tile_rows, tile_columns, width, lanes, block_rows).launch(
        grid=((rows + block_rows - 1) // block_rows, 1, 1), block=(lanes * block_rows, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, kind, hidden, tile_rows, tile_columns, width, lanes, block_rows, capability):
    pO, pQ = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, CODES[kind][0], width)
    return cute.compile(
        dequantize_launch, pO, pQ, device_pointer(0, Float32, 1), Int32(0), *[Int64(0)] * 4,
        hidden, tile_rows, tile_columns, width, lanes, block_rows, make_fake_stream(),
    )  # fmt: skip


def compile_dequantize(
    dtype, kind, rows, hidden, tile_rows, tile_columns, width=0, device=NO_DEVICE, plan=None
):  # fmt: skip
    """The compiled launcher for these facts; width 0 is the widest that `hidden` and tiles allow, `plan`
    (lanes of a row, rows of a block) stands in for row_partition's."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden, tile_columns)
    lanes, block_rows = plan or row_partition(hidden, width, rows, multiprocessors)
    return _compiled(dtype, kind, hidden, tile_rows, tile_columns, width, lanes, block_rows, capability)


def dequantize(
    out: torch.Tensor | int,
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    rows: int,
    hidden: int,
    tile_rows: int,
    tile_columns: int,
    q_stride: int,
    out_stride: int,
    scale_row: int,
    scale_column: int,
    *,
    dtype: str,
    kind: str,
    stream: int | None = None,
) -> None:
    """Numbers of `rows` rows; `dtype` is theirs, `kind` of the codes e4m3 or int8. Tensors or device
    addresses; `stream` defaults to torch's current one."""
    if rows == 0:
        return
    element, code = ELEMENTS[dtype], CODES[kind][0]
    starts = [address_of(out) * 8 // element.width, address_of(q)]
    width = vector_width(element.width, hidden, tile_columns, q_stride, out_stride, *starts)
    compile_dequantize(dtype, kind, rows, hidden, tile_rows, tile_columns, width, device_facts())(
        device_pointer(out, element, width), device_pointer(q, code, width),
        device_pointer(scale, Float32, 1),
        Int32(rows), Int64(q_stride), Int64(out_stride), Int64(scale_row), Int64(scale_column),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
