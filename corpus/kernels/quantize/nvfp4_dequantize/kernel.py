"""Numbers from NVFP4: out[r, c] = e2m1(q[r, c]) · (e4m3(scale[r, c / 16]) · factor).

Shapes: q is `rows` rows of `columns` codes, two a byte, the first in the low half, rows `q_stride` bytes
apart; out as many numbers (bf16, fp16, fp32), rows `out_stride` elements apart. scale: an e4m3 for each group
of 16, the last of which may be short: ceil(columns / 16) bytes a row without gaps, or with `tiles` in
cuBLAS's tiles of 128 rows x 4 groups. factor is one fp32 in device memory, 1 / g of nvfp4_quantize.

Algorithm: 8 codes to a thread, or 4 of fp32, so that their numbers are one access; the loads of `each` first:

    row     |  group 0                           |  group 1
    thread  |  0: codes 0 … 7  |  1: codes 8 …   |  2                |  3               …
    gQ ─32- or 16-bit loads→ words ─ fp16 by shifts ─ to fp32 ─ · (s · factor) ─ rounded ─128-bit stores→ gO

Codes become numbers exactly; the product is made in fp32 and rounded once. A NaN scale makes its group NaN.
columns is a compile-time constant; odd ones and unaligned rows get narrower accesses.

Units: strides of out in elements, of q in bytes. Traffic: rows · columns · (9 / 16 + bytes of an element).
Source of the technique: NVIDIA's description of NVFP4; fp16 from 4-bit codes by shifts, as in Marlin.
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
from cutlass._mlir.dialects import llvm
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
# -- block packed_math 069c1e7454c2
PAIRS = {Float16: "f16x2", BFloat16: "bf16x2"}
ONE = {Float16: 0x3C003C00, BFloat16: 0x3F803F80}  # 1 and -1 twice
MINUS_ONE = {Float16: 0xBC00BC00 - (1 << 32), BFloat16: 0xBF80BF80 - (1 << 32)}
MINUS_ZERO = 0x80008000 - (1 << 32)


def pure_ptx(code: str, kind, *operands):
    """One instruction without side effects; `$0` is its result of type `kind`, `$1` … are its operands."""
    letters = {Int32: "r", Float32: "f"}
    constraints = ",".join(["=" + letters[kind], *(letters[type(o)] for o in operands)])
    values = [o.ir_value() for o in operands]
    return kind(llvm.inline_asm(kind.mlir_type, values, code, constraints, has_side_effects=False))


def packed(operation: str, kind, *words):
    """`operation` on words of two numbers of type `kind`: add, sub, mul, fma (three words), max, min, max_nan
    or min_nan."""
    pair, words = PAIRS[kind], [Int32(w) for w in words]
    if operation in ("add", "sub", "mul", "fma"):
        a, b = words[:2]
        a, b, c = {
            "add": (a, Int32(ONE[kind]), b),
            "sub": (b, Int32(MINUS_ONE[kind]), a),
            "mul": (a, b, Int32(MINUS_ZERO)),
            "fma": (a, b, words[-1]),
        }[operation]
        return pure_ptx(f"fma.rn.{pair} $0, $1, $2, $3;", Int32, a, b, c)
    name, _, nan = operation.partition("_")
    return pure_ptx(f"{name}{'.NaN' if nan else ''}.{pair} $0, $1, $2;", Int32, *words)


def pack(low, high, kind, rounding: str = "rn"):
    """Two fp32 as a word; `rounding` is rn or rz."""
    code = f"cvt.{rounding}.{PAIRS[kind]}.f32 $0, $2, $1;"
    return pure_ptx(code, Int32, Float32(low), Float32(high))


def unpack(word, kind):
    """(low, high) of a word as fp32."""
    if kind is BFloat16:
        return (word << 16).bitcast(Float32), (word & -0x10000).bitcast(Float32)
    halves = [f"{{ .reg .b16 l, h; mov.b32 {{l, h}}, $1; cvt.f32.f16 $0, {h}; }}" for h in "lh"]
    return tuple(pure_ptx(code, Float32, word) for code in halves)


# -- end of packed_math
# -- block e2m1_expand 8c682df5b288
SIGNS, SIZES, POWER = 0x80008000, 0x0E000E00, 0x74007400  # the last is 2^14 twice
E2M1X8_F16 = """{
.reg .b8 a, b, c, d;
mov.b32 {a, b, c, d}, {$r0};
cvt.rn.f16x2.e2m1x2 {$w0}, a;
cvt.rn.f16x2.e2m1x2 {$w1}, b;
cvt.rn.f16x2.e2m1x2 {$w2}, c;
cvt.rn.f16x2.e2m1x2 {$w3}, d;
}"""


def from_e2m1x8(word, hardware: cutlass.Constexpr):
    """What the codes of a word (Uint32) mean, from the first on: a list of Float32. `hardware`: sm_100 or
    later."""
    if hardware:
        pairs = cute.arch.inline_ptx(E2M1X8_F16, write_only_types=[Int32] * 4, read_only_args=[word])
        return [value for pair in pairs for value in unpack(pair, Float16)]
    low, high = [], []
    for k in range(4):  # codes k and k + 4
        sizes = word << (9 - 4 * k) if k < 3 else word >> 3
        bits = (word << (12 - 4 * k)) & Uint32(SIGNS) | sizes & Uint32(SIZES)
        first, second = unpack(packed("mul", Float16, Int32(bits), Int32(POWER)), Float16)
        low.append(first)
        high.append(second)
    return low + high


# -- end of e2m1_expand
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
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
GROUP, SHARE = 16, 128  # elements of a scale; bits of a thread at a time: two stores come in half sectors
# (shares for each multiprocessor up to which it holds, threads of a block, shares of a thread)
PLANS = ((8192, 128, 1), (1 << 62, 128, 4))


@cute.jit
def load_word(mQ: cute.Tensor, row, part, size: cutlass.Constexpr, width: cutlass.Constexpr):
    """The codes of one share of `size` bytes, 2 or 4; zeros beyond the row."""
    copy, tile = row_tiles(Uint8, size, width, 1)
    mine = copy.get_slice(0)
    tQgQ = mine.partition_S(cute.local_tile(mQ, tile, (row, part)))
    tQrQ = cute.make_fragment_like(tQgQ)
    rQ = cute.make_tensor(tQrQ.iterator, cute.make_layout(size))
    if cutlass.const_expr(mQ.shape[1] % size == 0):
        cute.copy(copy, tQgQ, tQrQ)
    else:
        cQ = cute.local_tile(cute.make_identity_tensor((1, mQ.shape[1])), tile, (0, part))
        rQ.fill(0)
        cute.copy(copy, tQgQ, tQrQ, pred=in_bounds(mine.partition_S(cQ), mQ.shape[1]))
    return Uint32(cute.recast_tensor(rQ, Uint32 if cutlass.const_expr(size == 4) else Uint16)[0])


@cute.jit
def store_share(values, mO: cute.Tensor, row, part, width: cutlass.Constexpr):
    """The numbers of one share, as far as the row goes."""
    copy, tile = row_tiles(mO.element_type, SHARE // mO.element_type.width, width, 1)
    mine = copy.get_slice(0)
    tOgO = mine.partition_D(cute.local_tile(mO, tile, (row, part)))
    tOrO = cute.make_fragment_like(tOgO)
    rO = cute.make_tensor(tOrO.iterator, cute.make_layout(tile[1]))
    rO.store(values.to(mO.element_type))
    if cutlass.const_expr(mO.shape[1] % tile[1] == 0):
        cute.copy(copy, tOrO, tOgO)
    else:
        cO = cute.local_tile(cute.make_identity_tensor((1, mO.shape[1])), tile, (0, part))
        cute.copy(copy, tOrO, tOgO, pred=in_bounds(mine.partition_D(cO), mO.shape[1]))


@cute.kernel
def nvfp4_dequantize_kernel(
    mQ: cute.Tensor,
    mS: cute.Tensor,
    mF: cute.Tensor,
    mO: cute.Tensor,
    groups: cutlass.Constexpr,
    tiles: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    width: cutlass.Constexpr,
    q_width: cutlass.Constexpr,
    hardware: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (threads, each), rows, share = plan, mO.shape[0], SHARE // mO.element_type.width
    parts = -(-mO.shape[1] // share)
    first = Uint32(block) * Uint32(threads * each) + Uint32(thread)
    row = [Int32((first + j * threads) // parts) for j in range(each)]
    part = [Int32((first + j * threads) % parts) for j in range(each)]
    source = [cutlass.min(row[j], rows - 1) for j in range(each)]  # beyond the end: what the last row has
    word = [load_word(mQ, source[j], part[j], share // 2, q_width) for j in range(each)]
    scale = [mS[scale_place(source[j], part[j] // (GROUP // share), groups, tiles)] for j in range(each)]
    factor = mF[0]
    for j in cutlass.range_constexpr(each):
        if row[j] < rows:
            values = from_e2m1x8(word[j], hardware)
            rX = cute.make_rmem_tensor(cute.make_layout(share), Float32)
            for k in cutlass.range_constexpr(share):
                rX[k] = values[k]
            store_share(rX.load() * (from_e4m3(scale[j]) * factor), mO, row[j], part[j], width)


@cute.jit
def nvfp4_dequantize_launch(
    pO: cute.Pointer,
    pQ: cute.Pointer,
    pS: cute.Pointer,
    pF: cute.Pointer,
    rows: Int32,
    out_stride: Int64,
    q_stride: Int64,
    columns: cutlass.Constexpr,
    tiles: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    width: cutlass.Constexpr,
    q_width: cutlass.Constexpr,
    hardware: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mO = row_view(pO, rows, columns, out_stride, width)
    mQ = row_view(pQ, rows, (columns + 1) // 2, q_stride, q_width)
    groups, scale_rows = padded((columns + GROUP - 1) // GROUP, 4, tiles), padded(rows, 128, tiles)
    mS = cute.make_tensor(pS, cute.make_layout(Int64(scale_rows) * groups))
    mF = cute.make_tensor(pF, cute.make_layout(1))
    shares, span = Int64(rows) * -(-columns // (SHARE // mO.element_type.width)), plan[0] * plan[1]
    nvfp4_dequantize_kernel(mQ, mS, mF, mO, groups, tiles, plan, width, q_width, hardware).launch(
        grid=((shares + span - 1) // span, 1, 1), block=(plan[0], 1, 1), stream=stream
    )


def plan_of(rows: int, columns: int, bits: int, multiprocessors: int) -> tuple[int, int]:
    """(threads of a block, shares of a thread); `bits` of an element."""
    shares = rows * -(-columns // (SHARE // bits))
    return min(row for row in PLANS if shares <= row[0] * multiprocessors)[1:]


def pointers(out, q, scale, factor, kind, width, q_width):
    """The launcher's pointers, of tensors or addresses."""
    typed = ((out, kind, width), (q, Uint8, q_width), (scale, Float8E4M3FN, 1), (factor, Float32, 1))
    return [device_pointer(*t) for t in typed]


@functools.cache
def _compiled(dtype, columns, tiles, plan, width, q_width, capability):
    return cute.compile(
        nvfp4_dequantize_launch, *pointers(0, 0, 0, 0, ELEMENTS[dtype], width, q_width), Int32(0), Int64(0),
        Int64(0), columns, bool(tiles), plan, width, q_width, capability >= 100, make_fake_stream(),
    )  # fmt: skip


def compile_nvfp4_dequantize(dtype, rows, columns, tiles, width=0, q_width=0, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts. Widths of 0 are the widest that `columns` allows, for out in
    elements and for q in bytes; `plan` is (threads of a block, shares of a thread)."""
    multiprocessors, capability = device
    plan = plan or plan_of(rows, columns, ELEMENTS[dtype].width, multiprocessors)
    width = width or vector_width(ELEMENTS[dtype].width, columns)
    q_width = q_width or vector_width(8, (columns + 1) // 2, SHARE // ELEMENTS[dtype].width // 2)
    return _compiled(dtype, columns, tiles, plan, width, q_width, capability)


def nvfp4_dequantize(
    out: torch.Tensor | int,
    q: torch.Tensor | int,
    scale: torch.Tensor | int,
    factor: torch.Tensor | int,
    rows: int,
    columns: int,
    out_stride: int,
    q_stride: int,
    tiles: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Numbers of `rows` rows. Tensors or device addresses; `stream` defaults to torch's current one."""
    if rows == 0 or columns == 0:
        return
    kind, device = ELEMENTS[dtype], device_facts()
    width = vector_width(kind.width, columns, out_stride, address_of(out) * 8 // kind.width)
    q_width = vector_width(8, (columns + 1) // 2, SHARE // kind.width // 2, q_stride, address_of(q))
    compile_nvfp4_dequantize(dtype, rows, columns, tiles, width, q_width, device=device)(
        *pointers(out, q, scale, factor, kind, width, q_width), Int32(rows), Int64(out_stride),
        Int64(q_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
