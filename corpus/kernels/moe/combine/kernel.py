"""Combine of a mixture of experts: each token's expert rows, weighted and summed back into the token's row.

    out[t, :] = Σ_k weights[t, k] · y[slots[t, k], :]  (+ residual[t, :])          slots of -1 are left out

Shapes: y has rows of `hidden` elements (1024 … 8192 is what it is tuned for), `y_stride` elements apart.
slots (tokens, top_k) i32 are rows of y, or -1 where an expert is not on this GPU; weights are f32 alike.
residual (a shared expert's output, say; not read without `add_residual`) and out have `tokens` rows,
`out_stride` elements apart. y, residual and out are bf16, fp16 or fp32; sums are fp32, in the order of k.

Algorithm: a block owns a chunk of a token's row, a thread one or four accesses of it, once for each expert:

    slots (top_k) ─→ rows s0 s1 s2 …          chunk     0 | 1 | 2 …     blocks of one token are neighbours
    gY (1, chunk) of row s_k ─128 bits→ rY[k] ─→ Σ w_k · rY[k] in fp32 ─128 bits→ gO (1, chunk)

Few tokens: all loads of a thread are under way before the first is used. Many: one row after the other, four
accesses of it at a time, and a row whose slot is -1 costs a test; registers that would wait for such rows
belong to more blocks instead. top_k, hidden and add_residual are compile-time constants.

Units: strides in elements. Traffic: a row of y for each slot that is not -1, the residual, and out.
Source of the technique: unpermute kernels of inference engines (a block a token), split over the row as well.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Boolean, Float16, Float32, Int16, Int32, Int64, Numeric
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


# (threads of a block, accesses of each row that a thread has, rows loaded together), from FULL warps of one
# access a multiprocessor
PREFILL, FULL = (32, 4, 1), 32


@cute.kernel
def combine_kernel(
    mY: cute.Tensor,
    mS: cute.Tensor,
    mW: cute.Tensor,
    mR: cute.Tensor,
    mO: cute.Tensor,
    width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    add_residual: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    (threads, each, together), element = plan, mO.element_type
    hidden, top_k, span = mO.shape[1], mS.shape[1], threads * width * each
    chunks = (hidden + span - 1) // span
    token, chunk = block // chunks, block % chunks
    copy, tile = row_tiles(element, span, width, threads)
    mine = copy.get_slice(thread)
    tXgR, tXgO = [mine.partition_D(cute.local_tile(m, tile, (token, chunk))) for m in (mR, mO)]
    inside = [Boolean(True) for _ in range(each)]
    if cutlass.const_expr(hidden % span):
        inside = [chunk * span + (j * threads + thread) * width < hidden for j in range(each)]

    rS, rW = cute.make_rmem_tensor(top_k, Int32), cute.make_rmem_tensor(top_k, Float32)
    for k in cutlass.range_constexpr(top_k):
        rS[k], rW[k] = mS[token, k], mW[token, k]
    if cutlass.const_expr(add_residual):
        residual = [load_if(tXgR[None, None, j], inside[j]) for j in range(each)]
    rSums = [cute.make_fragment_like(tXgO[None, None, 0], Float32) for _ in range(each)]
    for rSum in rSums:
        rSum.fill(0.0)
    for first in cutlass.range_constexpr(0, top_k, together):
        wave = range(first, min(first + together, top_k))
        if functools.reduce(cutlass.max, [rS[k] for k in wave]) >= 0:  # the same for all of a block
            rows = {}
            for k in wave:
                tXgY = mine.partition_S(cute.local_tile(mY, tile, (rS[k], chunk)))
                rows[k] = [load_if(tXgY[None, None, j], rS[k] >= 0 and inside[j]) for j in range(each)]
            for k in wave:
                if rS[k] >= 0:  # an infinite weight times the zero in a row's place would be a NaN
                    for rSum, rY in zip(rSums, rows[k], strict=True):
                        rSum.store(rSum.load() + rW[k] * rY.load().to(Float32))

    for j in cutlass.range_constexpr(each):
        tXrO, total = cute.make_fragment_like(tXgO[None, None, j]), rSums[j].load()
        if cutlass.const_expr(add_residual):
            total = total + residual[j].load().to(Float32)
        tXrO.store(total.to(element))
        if inside[j]:
            cute.copy(copy, tXrO, tXgO[None, None, j])


@cute.jit
def combine_launch(
    pO: cute.Pointer,
    pY: cute.Pointer,
    pS: cute.Pointer,
    pW: cute.Pointer,
    pR: cute.Pointer,
    tokens: Int32,
    y_stride: Int64,
    out_stride: Int64,
    top_k: cutlass.Constexpr,
    hidden: cutlass.Constexpr,
    width: cutlass.Constexpr,
    choice_width: cutlass.Constexpr,
    plan: cutlass.Constexpr,
    add_residual: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mY = row_view(pY, tokens * top_k, hidden, y_stride, width)
    mR, mO = [row_view(p, tokens, hidden, out_stride, width) for p in (pR, pO)]
    mS, mW = [row_view(p, tokens, top_k, Int64(top_k), choice_width) for p in (pS, pW)]
    threads, span = plan[0], plan[0] * plan[1] * width
    combine_kernel(mY, mS, mW, mR, mO, width, plan, add_residual).launch(
        grid=(tokens * ((hidden + span - 1) // span), 1, 1), block=(threads, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, top_k, hidden, width, choice_width, plan, add_residual, capability):
    pointer = device_pointer(0, ELEMENTS[dtype], width)
    slots, weights = (device_pointer(0, kind, choice_width) for kind in (Int32, Float32))
    return cute.compile(
        combine_launch, pointer, pointer, slots, weights, pointer, Int32(0), Int64(0), Int64(0),
        top_k, hidden, width, choice_width, plan, add_residual, make_fake_stream(),
    )  # fmt: skip


def compile_combine(
    dtype, tokens, top_k, hidden, add_residual, width=0, choice_width=1, plan=None, device=NO_DEVICE
):
    """The compiled launcher for these facts. `width`: elements of an access, 0 for the widest that `hidden`
    allows; `choice_width`: slots or weights of an access; `plan` is (threads of a block, accesses of each row
    that a thread has, rows loaded together), what suits the work where it is not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    if not plan:
        warps = tokens * -(-hidden // (32 * width))
        plan = (32 * warps_of_block(warps, multiprocessors), 1, top_k)
        if warps >= FULL * multiprocessors:
            plan = PREFILL
    return _compiled(dtype, top_k, hidden, width, choice_width, plan, bool(add_residual), capability)


def combine(
    out: torch.Tensor | int,
    y: torch.Tensor | int,
    slots: torch.Tensor | int,
    weights: torch.Tensor | int,
    residual: torch.Tensor | int,
    tokens: int,
    top_k: int,
    hidden: int,
    y_stride: int,
    out_stride: int,
    add_residual: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Combine the rows of `tokens` tokens. Tensors or device addresses; `residual` is any address where it is
    not added. `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, rows = ELEMENTS[dtype], (out, y, residual) if add_residual else (out, y, out)
    starts = [address_of(t) * 8 // kind.width for t in rows]
    width = vector_width(kind.width, hidden, y_stride, out_stride, *starts)
    choice_width = vector_width(32, top_k, *(address_of(t) // 4 for t in (slots, weights)))
    device = device_facts()
    compile_combine(dtype, tokens, top_k, hidden, add_residual, width, choice_width, device=device)(
        device_pointer(out, kind, width), device_pointer(y, kind, width),
        device_pointer(slots, Int32, choice_width), device_pointer(weights, Float32, choice_width),
        device_pointer(rows[2], kind, width), Int32(tokens), Int64(y_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
