"""MXFP8 and MXFP4: rows as e4m3 or e2m1 codes, with an E8M0 scale for each group of 32.

    scale(group) = power of two from the group's largest magnitude;  q[i] = nearest code of x[i] / scale

Shapes: x is `rows` rows of `columns` elements (bf16, fp16, fp32), `x_stride` elements apart; q has as many
codes of `bits` (8: e4m3, 4: e2m1, two a byte, the first in the low half), rows `q_stride` bytes apart. A last
group may be short. scale: ceil(columns / 32) bytes a row without gaps, or with `tiles` in cuBLAS's tiles of
128 rows x 4 groups, where the padding gets 0. `round_up` picks the rule for the scale (block e8m0_scale).

Algorithm: a thread keeps a share of a group in registers, neighbouring threads hold neighbouring shares:

    row     |  group 0: 32 elements          |  group 1
    share   |  thread 0      |  thread 1     |  thread 2 …          of 16, 8 or 32
    gX ─128-bit loads→ rX ─ max |x| ─ butterfly over the group's lanes → scale → codes ─ one store → gQ

With tiles, threads go down 8 rows after every 4 groups, for the scales' sake (block scale_patch). fp4 is
rounded by fp32 additions before sm_100. A NaN in a group makes its scale 255, infinity makes it 254 and
saturates; fp8 codes keep NaN, fp4 ones make it +6.

Units: strides in elements and bytes. Traffic: rows · columns · (bytes of an element + bits / 8 + 1 / 32).
Source of the technique: OCP Microscaling Formats 1.0; NVIDIA's MXFP8 recipe; thread-per-share quantisers.
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
    Int32,
    Int64,
    Numeric,
    Uint8,
    Uint16,
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
# -- block share_absmax e146f7b5f3e0
KINDS = {BFloat16: "bf16x2", Float16: "f16x2", Float32: "f32"}


def larger_by(kind: str):
    """The operation on words: of each element the one of larger magnitude, NaN if one is."""
    code = "max.NaN.xorsign.abs." + kind + " {$w0}, {$r0}, {$r1};"

    def larger(a, b):
        return cute.arch.inline_ptx(code, write_only_types=[Int32], read_only_args=[a, b])

    return larger


@cute.jit
def share_absmax(rX: cute.Tensor, live, lanes: cutlass.Constexpr):
    """Largest |x| in fp32 over `rX` (whole words) of `lanes` neighbouring lanes, in all of them. Lanes that
    are not `live` count as zero."""
    element, rWords = rX.element_type, cute.recast_tensor(rX, Int32)
    larger = larger_by(KINDS[element])
    words = [rWords[k] for k in range(cute.size(rWords))]
    while cutlass.const_expr(len(words) > 1):
        words = [larger(*words[k : k + 2]) for k in range(0, len(words), 2)]
    most = words[0] if live else Int32(0)
    most = lane_reduce(most, larger, lanes)
    if cutlass.const_expr(element.width == 16):
        most = larger(most, most >> 16)
    if cutlass.const_expr(element is Float16):
        most = Float32(Uint16(most & 0x7FFF).bitcast(Float16))
    else:
        most = (most << (32 - element.width) & 0x7FFFFFFF).bitcast(Float32)
    return most


# -- end of share_absmax
# -- block e8m0_scale da3b5f027029
# By bits of an element: its largest number, the exponent of that.
E8M0_ELEMENTS = {8: (448.0, 8), 4: (6.0, 2)}
UE8M0 = """{
.reg .b16 h;
cvt.rp.satfinite.ue8m0x2.f32 h, 0f00000000, {$r0};
cvt.u32.u16 {$w0}, h;
}"""


@cute.jit
def e8m0_of(most, bits: cutlass.Constexpr, up: cutlass.Constexpr, hardware: cutlass.Constexpr):
    """The code (Int32) for a group whose largest magnitude is `most`, not negative; `hardware`: sm_100."""
    largest, exponent = E8M0_ELEMENTS[bits]
    code = Int32(0)
    if cutlass.const_expr(up and hardware):
        code = cute.arch.inline_ptx(UE8M0, write_only_types=[Int32], read_only_args=[most * (1.0 / largest)])
    else:
        if cutlass.const_expr(up):
            word = (most * (1.0 / largest)).bitcast(Int32)
            code = (word + 0x7FFFFF) >> 23
            if word <= 0x400000:  # 2^-127, below which exponents of fp32 end
                code = Int32(0)
        else:
            word = most.bitcast(Int32)
            code = cutlass.max((word >> 23) - exponent, 0)
        if word == 0x7F800000:
            code = Int32(254)
        if word > 0x7F800000:
            code = Int32(255)
    return code


@cute.jit
def e8m0_inverse(code):
    """1 / scale, exact: 2^(127 - code). Of NaN's code 2^-127."""
    return cutlass.max((254 - code) << 23, 0x400000).bitcast(Float32)


# -- end of e8m0_scale
# -- block fp8_convert ad48d1054ef4
E4M3_MAX = 448.0


def to_e4m3(values):
    """fp32 values as e4m3, saturating."""
    return values.to(Float8E4M3FN)


def from_e4m3(codes):
    """e4m3 codes as fp32."""
    return codes.to(Float32)


# -- end of fp8_convert
# -- block e2m1_convert e2bce90a5737
# Both sides by magnitude, with the product of the signs; a NaN counts as the other side.
LESSER = "min.xorsign.abs.f32 {$w0}, {$r0}, 0f40C00000;"  # of y and 6
GREATER = "max.xorsign.abs.f32 {$w0}, {$r0}, 0f3F800000;"  # of y and 1
E2M1X8 = """{
.reg .b8 a, b, c, d;
cvt.rn.satfinite.e2m1x2.f32 a, {$r1}, {$r0};
cvt.rn.satfinite.e2m1x2.f32 b, {$r3}, {$r2};
cvt.rn.satfinite.e2m1x2.f32 c, {$r5}, {$r4};
cvt.rn.satfinite.e2m1x2.f32 d, {$r7}, {$r6};
mov.b32 {$w0}, {a, b, c, d};
}"""


@cute.jit
def to_e2m1x8(values, factor, hardware: cutlass.Constexpr):
    """The word of codes of `values[k] * factor`, k from 0 to 7; fp32. `hardware`: sm_100 or later."""
    word = Uint32(0)
    products = [values[k] * factor for k in range(8)]
    if cutlass.const_expr(hardware):
        word = cute.arch.inline_ptx(E2M1X8, write_only_types=[Uint32], read_only_args=products)
    else:
        for k in cutlass.range_constexpr(8):
            near = cute.arch.inline_ptx(LESSER, write_only_types=[Float32], read_only_args=[products[7 - k]])
            size = cute.arch.inline_ptx(GREATER, write_only_types=[Float32], read_only_args=[near])
            power = (size.bitcast(Int32) & Int32(-0x800000)).bitcast(Float32)
            round_ = (power * 4194305.0 + near).bitcast(Uint32)
            word = word << 4 | round_ * Uint32(0x10000041) >> 28
    return word


# -- end of e2m1_convert
# -- block scale_place e7b514462a43
def padded(count, whole: int, tiles):
    """`count` rounded up to a multiple of `whole` where the layout is that of tiles."""
    return (count + whole - 1) // whole * whole if tiles else count


@cute.jit
def scale_place(row, group, groups: cutlass.Constexpr, tiles: cutlass.Constexpr):
    """The place (Int64) of a scale; `groups` of a row, padded."""
    place = Int64(row) * groups + group
    if cutlass.const_expr(tiles):
        tile = Int64(row // 128) * (groups // 4) + group // 4
        place = tile * 512 + (row % 32 * 16 + row % 128 // 32 * 4 + group % 4)
    return place


# -- end of scale_place
# -- block scale_patch d45dd4645292
def scale_patch(unit, parts: int, wide: int, tall: int):
    """(row, share of it) for a unit (Uint32); `parts`: shares of a row, `wide`: shares of 4 groups."""
    if tall == 1:
        return Int32(unit // parts), Int32(unit % parts)
    patch, across = unit // (wide * tall), parts // wide
    row, part = patch // across * tall + unit // wide % tall, patch % across * wide + unit % wide
    return Int32(row), Int32(part)


# -- end of scale_patch
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts

GROUP = 32
# Plans: elements of a thread, threads of a block, rows of a patch. Decode: shares of one access, for many
# threads; prefill: half a group, a whole one of 16-bit elements from MANY rows on.
DECODE, PREFILL, WHOLE, TALL, MANY = (8, 64, 1), (16, 128), (32, 128), 8, 128


@cute.kernel
def mx_quantize_kernel(
    mX: cute.Tensor,
    mQ: cute.Tensor,
    mS: cute.Tensor,
    scale_rows: Int32,
    groups: cutlass.Constexpr,
    bits: cutlass.Constexpr,
    round_up: cutlass.Constexpr,
    tiles: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    widths: cutlass.Constexpr,
    hardware: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (share, threads, tall), (width, q_width) = plan, widths
    element, rows, columns, lanes = mX.element_type, mX.shape[0], mX.shape[1], GROUP // share
    unit = Uint32(block) * Uint32(threads) + Uint32(thread)
    row, part = scale_patch(unit, groups * lanes, 4 * lanes, tall)
    live = row < rows and part * share < columns
    at = (row if live else Int32(0), part if live else Int32(0))  # shares that do not exist read the first

    copy, tile = row_tiles(element, share, width, 1)
    tXgX = copy.get_slice(0).partition_S(cute.local_tile(mX, tile, at))
    tXrX = cute.make_fragment_like(tXgX)
    rX = cute.make_tensor(tXrX.iterator, cute.make_layout(share))
    if cutlass.const_expr(columns % share == 0):
        cute.copy(copy, tXgX, tXrX)
    else:
        cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, part))
        rX.fill(0.0)
        cute.copy(copy, tXgX, tXrX, pred=in_bounds(copy.get_slice(0).partition_S(cX), columns))

    code = e8m0_of(share_absmax(rX, live, lanes), bits, round_up, hardware)
    if live:
        x, factor = rX.load().to(Float32), e8m0_inverse(code)
        size = share * bits // 8
        copy_q, tile_q = row_tiles(Uint8, size, q_width, 1)
        tQgQ = copy_q.get_slice(0).partition_D(cute.local_tile(mQ, tile_q, at))
        tQrQ = cute.make_fragment_like(tQgQ)
        rQ = cute.make_tensor(tQrQ.iterator, cute.make_layout(size))
        if cutlass.const_expr(bits == 8):
            cute.recast_tensor(rQ, Float8E4M3FN).store(to_e4m3(x * factor))
        else:
            rWord = cute.recast_tensor(rQ, Uint32)
            for k in cutlass.range_constexpr(share // 8):
                rWord[k] = to_e2m1x8([x[8 * k + j] for j in range(8)], factor, hardware)
        if cutlass.const_expr(columns % share == 0):
            cute.copy(copy_q, tQrQ, tQgQ)
        else:
            cQ = cute.local_tile(cute.make_identity_tensor((1, mQ.shape[1])), tile_q, (0, part))
            cute.copy(copy_q, tQrQ, tQgQ, pred=in_bounds(copy_q.get_slice(0).partition_S(cQ), mQ.shape[1]))
    if part % lanes == 0 and row < scale_rows:
        mS[scale_place(row, part // lanes, groups, tiles)] = Uint8(code)


@cute.jit
def mx_quantize_launch(
    pQ: cute.Pointer,
    pS: cute.Pointer,
    pX: cute.Pointer,
    rows: Int32,
    x_stride: Int64,
    q_stride: Int64,
    columns: cutlass.Constexpr,
    bits: cutlass.Constexpr,
    round_up: cutlass.Constexpr,
    tiles: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    widths: cutlass.Constexpr,
    hardware: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    (share, threads, _), (width, q_width) = plan, widths
    mX = row_view(pX, rows, columns, x_stride, width)
    mQ = row_view(pQ, rows, (columns * bits + 7) // 8, q_stride, q_width)
    groups, scale_rows = padded((columns + GROUP - 1) // GROUP, 4, tiles), padded(rows, 128, tiles)
    mS = cute.make_tensor(pS, cute.make_layout(Int64(scale_rows) * groups))
    units = Int64(scale_rows) * (groups * GROUP // share)
    mx_quantize_kernel(mX, mQ, mS, scale_rows, groups, bits, round_up, tiles, plan, widths, hardware).launch(
        grid=((units + threads - 1) // threads, 1, 1), block=(threads, 1, 1), stream=stream
    )


def plan_of(rows: int, columns: int, bits: int, tiles: int, multiprocessors: int):
    """Small shares while no multiprocessor has two warps. `bits` of an element."""
    if rows * columns <= multiprocessors * 32 * DECODE[0]:
        return DECODE
    return (*(WHOLE if bits == 16 and rows >= MANY else PREFILL), TALL if tiles else 1)


@functools.cache
def _compiled(dtype, columns, bits, round_up, tiles, plan, width, q_width, capability):
    codes, scale, x = [
        device_pointer(0, *t) for t in ((Uint8, q_width), (Uint8, 1), (ELEMENTS[dtype], width))
    ]
    return cute.compile(
        mx_quantize_launch, codes, scale, x, Int32(0), Int64(0), Int64(0), columns, bits, bool(round_up),
        bool(tiles), plan, (width, q_width), capability >= 100, make_fake_stream(),
    )  # fmt: skip


def compile_mx_quantize(
    dtype, rows, columns, bits, round_up, tiles, width=0, q_width=0, plan=None, device=NO_DEVICE
):
    """The compiled launcher for these facts. Widths of 0 are the widest that `columns` allows, for x in
    elements and for q in bytes; `plan` is (elements of a thread: 8, 16 or 32; threads of a block; rows of a
    patch, 1 where scales are not in tiles)."""
    multiprocessors, capability = device
    plan = plan or plan_of(rows, columns, ELEMENTS[dtype].width, tiles, multiprocessors)
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    q_width = q_width or vector_width(8, (columns * bits + 7) // 8, plan[0] * bits // 8)
    return _compiled(dtype, columns, bits, round_up, tiles, plan, width, q_width, capability)


def mx_quantize(
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    x: torch.Tensor | int,
    rows: int,
    columns: int,
    x_stride: int,
    q_stride: int,
    bits: int,
    round_up: int,
    tiles: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Quantise `rows` rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0 or columns == 0:
        return
    kind, device = ELEMENTS[dtype], device_facts()
    plan = plan_of(rows, columns, kind.width, tiles, device[0])
    width = vector_width(kind.width, columns, x_stride, address_of(x) * 8 // kind.width)
    q_width = vector_width(8, (columns * bits + 7) // 8, plan[0] * bits // 8, q_stride, address_of(q))
    compile_mx_quantize(dtype, rows, columns, bits, round_up, tiles, width, q_width, plan, device)(
        *(device_pointer(*t) for t in ((q, Uint8, q_width), (scale, Uint8, 1), (x, kind, width))),
        Int32(rows), Int64(x_stride), Int64(q_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
