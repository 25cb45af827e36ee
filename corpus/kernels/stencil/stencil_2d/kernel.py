"""A weighted sum of what lies around: out[r, c] = Σ weights[i, j] · x[r + i - radius, c + j - radius],
i and j from 0 to 2 · radius; outside x stand zeros, or with `clamped` the nearest element of x.

Shapes: x and out are `rows` × `columns`, their rows `x_stride` and `out_stride` apart, fp32, bf16 or fp16,
and may not overlap; weights are (2 · radius + 1)² fp32. radius is a compile-time constant; 1 to 3 is what it
is tuned for. Any sizes are right, columns and strides of whole vectors are faster.

Algorithm: a block brings its tile and what lies around it into shared memory by vectors. Then a thread goes
down a column of vectors: each row around them is read once and goes into all sums that it is part of.

    sX (down + 2 · radius, reach + LANES + reach, width)      reach: vectors that cover the radius

    row i of the window   │ v - reach … v - 1 │ v │ v + 1 … v + reach │      in fp32
                                              ├─→ + weights[i]     · … in the sums of row 0
                                              ├─→ + weights[i - 1] · … in the sums of row 1
                                              └─→ …                         of `each` rows

Zeros come from the predicate of the load. Clamped rows are loads of the first or last row; for clamped
columns the first or last vector is loaded and its outer element put into all places. Sums go row by row and
from left to right, as the weights stand.

Units: elements. Traffic: 2 · rows · columns · bytes of an element; what is around a tile comes out of the L2
cache.
Source of the technique: tiles with a halo of CUDA's tutorials, by vectors; sums of several rows in registers.
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
LANES, GROUPS = 32, 8  # vectors of a row of the tile, threads below each other: a block is their product
# (vectors for each multiprocessor up to which it holds, rows of a thread)
ROWS = ((256, 1), (1024, 2), (1 << 62, 4))


@cute.jit
def clamped_to(place, count):
    """The place, or the nearest of 0 … count - 1."""
    return max(min(place, count - 1), 0)


@cute.kernel
def stencil_2d_kernel(
    mX: cute.Tensor,
    mW: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    each: cutlass.Constexpr,
    clamped: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (rows, columns), kind, taps = mX.shape, mX.element_type, mW.shape[0]
    radius, vectors = taps // 2, columns // width
    reach = (radius + width - 1) // width
    down, span, tiles = GROUPS * each, LANES + 2 * reach, (vectors + LANES - 1) // LANES
    places = cute.make_layout((down + 2 * radius, span, width), stride=(span * width, width, 1))
    sX = cute.make_tensor(cute.arch.alloc_smem(kind, cute.size(places), 16), places)
    row, first = block // tiles * down, block % tiles * LANES
    weights = [[mW[i, j] for j in range(taps)] for i in range(taps)]

    rounds = ((down + 2 * radius) * span + LANES * GROUPS - 1) // (LANES * GROUPS)
    rX = []
    for j in cutlass.range_constexpr(rounds):
        place = thread + j * LANES * GROUPS
        r, v = row + place // span - radius, first + place % span - reach
        near = clamped_to(r, rows), clamped_to(v, vectors)
        gX = cute.local_tile(mX, (1, width), near)
        rX.append(load_if(gX, clamped or (r == near[0] and v == near[1])))
    for j in cutlass.range_constexpr(rounds):
        place = thread + j * LANES * GROUPS
        v = first + place % span - reach
        if cutlass.const_expr(clamped):
            left, right = rX[j][0], rX[j][width - 1]
            for k in cutlass.range_constexpr(width):
                value = cutlass.select_(v >= vectors, right, rX[j][k])
                rX[j][k] = cutlass.select_(v < 0, left, value)
        if place < cute.size(places) // width:
            cute.autovec_copy(rX[j][0, None], sX[place // span, place % span, None])
    cute.arch.sync_threads()

    lane, top = thread % LANES, thread // LANES * each
    rO = cute.make_rmem_tensor(cute.make_layout((each, width), stride=(width, 1)), Float32)
    rO.fill(0.0)
    rN = cute.make_rmem_tensor(cute.make_layout((2 * reach + 1, width), stride=(width, 1)), kind)
    for i in cutlass.range_constexpr(each + 2 * radius):
        for k in cutlass.range_constexpr(2 * reach + 1):
            cute.autovec_copy(sX[top + i, lane + k, None], rN[k, None])
        rF = cute.make_rmem_tensor(rN.layout, Float32)
        rF.store(rN.load().to(Float32))
        for j in cutlass.range_constexpr(max(0, i - 2 * radius), min(each, i + 1)):
            for k in cutlass.range_constexpr(taps):
                around = cute.make_tensor(rF.iterator + (reach * width - radius + k), cute.make_layout(width))
                rO[j, None].store(rO[j, None].load() + around.load() * weights[i - j][k])
    for j in cutlass.range_constexpr(each):
        if row + top + j < rows and first + lane < vectors:
            gO = cute.local_tile(mO, (1, width), (row + top + j, first + lane))
            rT = cute.make_fragment_like(gO)
            rT.store(rO[j, None].load().to(kind))
            cute.autovec_copy(rT, gO)


@cute.jit
def stencil_2d_launch(
    pO: cute.Pointer,
    pX: cute.Pointer,
    pW: cute.Pointer,
    rows: Int32,
    columns: Int32,
    x_stride: Int64,
    out_stride: Int64,
    radius: cutlass.Constexpr,
    width: cutlass.Constexpr,
    each: cutlass.Constexpr,
    clamped: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mX, mO = row_view(pX, rows, columns, x_stride, width), row_view(pO, rows, columns, out_stride, width)
    taps = 2 * radius + 1
    mW = cute.make_tensor(pW, cute.make_layout((taps, taps), stride=(taps, 1)))
    across, down = LANES * width, GROUPS * each
    tiles = ((columns + across - 1) // across) * ((rows + down - 1) // down)
    stencil_2d_kernel(mX, mW, mO, width, each, clamped).launch(
        grid=(tiles, 1, 1), block=(LANES * GROUPS, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, radius, width, each, clamped, capability):
    pX, pW = device_pointer(0, ELEMENTS[dtype], width), device_pointer(0, Float32, 1)
    return cute.compile(
        stencil_2d_launch, pX, pX, pW, Int32(0), Int32(0), Int64(0), Int64(0),
        radius, width, each, clamped, make_fake_stream(),
    )  # fmt: skip


def compile_stencil_2d(dtype, rows, columns, radius, clamped, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest that `columns` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    each = min(n for most, n in ROWS if rows * columns <= most * multiprocessors * width)
    return _compiled(dtype, radius, width, each, bool(clamped), capability)


def stencil_2d(
    out: torch.Tensor | int,
    x: torch.Tensor | int,
    weights: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    out_stride: int,
    radius: int,
    clamped: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Weighted sums of what lies around each of `rows` × `columns` elements; outside them zeros, or with
    `clamped` the nearest. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0 or columns == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, x)]
    width = vector_width(kind.width, columns, x_stride, out_stride, *starts)
    compile_stencil_2d(dtype, rows, columns, radius, clamped, width, device_facts())(
        device_pointer(out, kind, width), device_pointer(x, kind, width), device_pointer(weights, Float32, 1),
        Int32(rows), Int32(columns), Int64(x_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
