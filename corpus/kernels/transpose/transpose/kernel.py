"""The transpose of a matrix: out[c, r] = x[r, c].

Shapes: x is `rows` × `columns`, its rows `x_stride` apart; out is `columns` × `rows`, its rows `out_stride`
apart. Elements are bf16, fp16 or fp32; x and out may not overlap. Any sizes are right; tuned for 512 and more
each way.

Algorithm: a block turns a tile of 64 × 64 in shared memory. It comes in and goes out by vectors along rows of
x and of out; in between, each thread gathers `o_width` elements of a column:

    mX (rows, columns) ─ vectors of a row ─→ sT (64, 64) ─ o_width elements of a column ─→ mO (columns, rows)

    row r of sT    vector 0 stands at place h, 1 at h ^ 1, 2 at h ^ 2, …      h = r / o_width

The exclusive or in place of padding: rows stay aligned for vectors, and where both sides have full widths the
32 lanes of a gather (8 vectors of a row of out, 4 such rows) meet in no bank; of narrower ones up to four do.

Units: elements. Traffic: 2 · rows · columns · bytes of an element.
Source of the technique: tiled transposes of CUDA's samples, with swizzled instead of padded shared memory.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int16, Int32, Int64, Numeric
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
# -- block load_if 88c0167c5857
@cute.jit
def load_if(tXgX: cute.Tensor, exists):
    """A thread's one access `tXgX` of global memory in registers; zeros where `exists` does not hold."""
    tXrX = cute.make_fragment_like(tXgX)
    bits = cute.size(tXgX) * tXgX.element_type.width
    word = Int32 if cutlass.const_expr(bits >= 32) else Int16
    count = bits // word.width
    rW = cute.make_tensor(cute.recast_ptr(tXrX.iterator, dtype=word), cute.make_layout(count))
    names = ["{$w" + str(k) + "}" for k in range(count)]
    vector = "{" + ", ".join(names) + "}" if cutlass.const_expr(count > 1) else names[0]
    size = f"b{word.width}" if cutlass.const_expr(count == 1) else f"v{count}.b32"
    zeros = " ".join(f"mov.b{word.width} {name}, 0;" for name in names)
    code = f"setp.ne.s32 p, {{$r1}}, 0; {zeros} @p ld.global.nc.{size} {vector}, [{{$r0}}];"
    loaded = cute.arch.inline_ptx(
        "{ .reg .pred p; " + code + " }",
        write_only_types=[word] * count,
        read_only_args=[tXgX.iterator, Int32(exists)],
    )
    for k in cutlass.range_constexpr(count):
        rW[k] = loaded[k] if cutlass.const_expr(count > 1) else loaded
    return tXrX


# -- end of load_if
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
TILE, THREADS = 64, 256
LINE = 1024  # bits of a row of out that lanes next to each other write, where vectors allow


@cute.kernel
def transpose_kernel(
    mX: cute.Tensor,
    mO: cute.Tensor,
    x_width: cutlass.Constexpr,
    o_width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (rows, columns), kind = mX.shape, mX.element_type
    across, down = TILE // x_width, TILE // o_width  # vectors of a row of the tile, of one of its columns
    places = cute.make_layout((TILE, across, x_width), stride=(TILE, x_width, 1))
    sT = cute.make_tensor(cute.arch.alloc_smem(kind, TILE * TILE, 16), places)
    tiles = (columns + TILE - 1) // TILE
    row, column = block // tiles * TILE, block % tiles * TILE

    rX = []
    for j in cutlass.range_constexpr(TILE * across // threads):
        r, v = (thread + j * threads) // across, (thread + j * threads) % across
        inside = row + r < rows and column + v * x_width < columns
        gX = cute.local_tile(mX, (1, x_width), (row + r, column // x_width + v))
        rX.append(load_if(gX, inside))
    for j in cutlass.range_constexpr(TILE * across // threads):
        r, v = (thread + j * threads) // across, (thread + j * threads) % across
        cute.autovec_copy(rX[j][0, None], sT[r, v ^ r // o_width % across, None])
    cute.arch.sync_threads()

    lanes = min(32, down, LINE // (o_width * kind.width))
    for j in cutlass.range_constexpr(TILE * down // threads):
        unit, lane = thread // 32 + j * (threads // 32), thread % 32
        v = unit % (down // lanes) * lanes + lane % lanes
        c = unit // (down // lanes) * (32 // lanes) + lane // lanes
        rO = cute.make_rmem_tensor((1, o_width), kind)
        for k in cutlass.range_constexpr(o_width):
            rO[0, k] = sT[v * o_width + k, c // x_width ^ v % across, c % x_width]
        if column + c < columns and row + v * o_width < rows:
            cute.autovec_copy(rO, cute.local_tile(mO, (1, o_width), (column + c, row // o_width + v)))


@cute.jit
def transpose_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    columns: Int32,
    x_stride: Int64,
    out_stride: Int64,
    x_width: cutlass.Constexpr,
    o_width: cutlass.Constexpr,
    threads: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX = row_view(pX, rows, columns, x_stride, x_width)
    mO = row_view(pO, columns, rows, out_stride, o_width)
    tiles = ((rows + TILE - 1) // TILE) * ((columns + TILE - 1) // TILE)
    transpose_kernel(mX, mO, x_width, o_width, threads).launch(
        grid=(tiles, 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, x_width, o_width, threads, capability):
    pO, pX = (device_pointer(0, ELEMENTS[dtype], width) for width in (o_width, x_width))
    return cute.compile(
        transpose_launch, pO, pX, Int32(0), Int32(0), Int64(0), Int64(0),
        x_width, o_width, threads, make_fake_stream(),
    )  # fmt: skip


def compile_transpose(dtype, rows, columns, x_width=0, o_width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; widths of 0 are the widest that the sizes allow."""
    x_width = x_width or vector_width(ELEMENTS[dtype].width, columns)
    o_width = o_width or vector_width(ELEMENTS[dtype].width, rows)
    return _compiled(dtype, x_width, o_width, THREADS, device[1])


def transpose(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    out_stride: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Transpose `rows` × `columns` elements. Tensors or device addresses; `stream` defaults to torch's
    current one."""
    if rows == 0 or columns == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (x, out)]
    x_width = vector_width(kind.width, columns, x_stride, starts[0])
    o_width = vector_width(kind.width, rows, out_stride, starts[1])
    compile_transpose(dtype, rows, columns, x_width, o_width, device_facts())(
        device_pointer(out, kind, o_width), device_pointer(x, kind, x_width),
        Int32(rows), Int32(columns), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
