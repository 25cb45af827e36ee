"""QK norm: RMS norm of every head of Q and K, in place, in one launch.

    q[t, h, :] ← q[t, h, :] / sqrt(mean(q[t, h, :]²) + eps) · (q_weight + weight_bias);  k with k_weight

Shapes: q is (tokens, q_heads, head), a token every `q_stride` elements, heads next to each other; k likewise.
So both may be views of one fused qkv tensor. Weights have `head` elements: 64, 128, 256 are what it is tuned
for. All of one type, bf16, fp16 or fp32; sums in fp32.

Algorithm: a group of lanes, several to a warp, owns one head of one token and keeps it in registers:

    warp (bf16, head 128)    lanes 0 … 15 head h, lanes 16 … 31 head h + 1     one 128-bit access a lane
    gX (1, head) : (stride, 1) ─→ rX ((width, 1), 1, chunks) ─ Σ x² ─ butterfly in the group ─→ gX

Occupancy hides the loads: several tokens a group were no faster. Head counts, head, eps and weight_bias are
compile-time constants.

Units: strides in elements. Traffic: each element of q and k once in and once out.
Source of the technique: per-head norms of inference engines (one warp a head), with narrower groups of lanes.
"""

import functools
import operator
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
# -- block lane_reduce 2f92a86e78c1
@cute.jit
def lane_reduce(value, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    """The result over each group of `lanes` (a power of two up to 32) lanes, in all of them."""
    for step in cutlass.range_constexpr(lanes.bit_length() - 1):
        value = operation(value, cute.arch.shuffle_sync_bfly(value, lanes >> (step + 1)))
    return value


# -- end of lane_reduce
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


@cute.kernel
def qk_norm_kernel(
    mQ: cute.Tensor,
    mK: cute.Tensor,
    mQw: cute.Tensor,
    mKw: cute.Tensor,
    head: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    eps: cutlass.Constexpr,
    weight_bias: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    element, tokens = mQ.element_type, mQ.shape[0]
    q_heads, k_heads = mQ.shape[1] // head, mK.shape[1] // head
    group = block * (warps * 32 // lanes) + thread // lanes
    token, h = group // (q_heads + k_heads), group % (q_heads + k_heads)

    tile = (1, head)
    gO, gW = cute.local_tile(mQ, tile, (token, h)), cute.local_tile(mQw, tile, (0, 0))
    if h >= q_heads:
        gO, gW = cute.local_tile(mK, tile, (token, h - q_heads)), cute.local_tile(mKw, tile, (0, 0))
    gX = gO
    if token >= tokens:
        gX = gW  # beyond the end: memory that nobody writes
    copy, whole = row_tiles(element, head, width, lanes)
    mine = copy.get_slice(thread % lanes)
    cX = cute.local_tile(cute.make_identity_tensor(tile), whole, (0, 0))
    tXgX, tXgW, tXgO = mine.partition_S(gX), mine.partition_S(gW), mine.partition_D(gO)
    tXpX = in_bounds(mine.partition_S(cX), head)

    tXrX, tXrW = cute.make_fragment_like(tXgX), cute.make_fragment_like(tXgW)
    tXrX.fill(0.0)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    cute.copy(copy, tXgW, tXrW, pred=tXpX)

    x = tXrX.load().to(Float32)
    squares = lane_reduce((x * x).reduce(cute.ReductionOp.ADD, 0.0, 0), operator.add, lanes)
    scale = cute.math.rsqrt(squares * (1.0 / head) + eps, fastmath=True)
    weight = tXrW.load().to(Float32) + weight_bias
    tXrX.store((x * scale * weight).to(element))
    if token < tokens:
        cute.copy(copy, tXrX, tXgO, pred=tXpX)


@cute.jit
def qk_norm_launch(
    pQ: cute.Pointer,
    pK: cute.Pointer,
    pQw: cute.Pointer,
    pKw: cute.Pointer,
    tokens: Int32,
    q_stride: Int64,
    k_stride: Int64,
    q_heads: cutlass.Constexpr,
    k_heads: cutlass.Constexpr,
    head: cutlass.Constexpr,
    width: cutlass.Constexpr,
    lanes: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    eps: cutlass.Constexpr,
    weight_bias: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mQ = row_view(pQ, tokens, q_heads * head, q_stride, width)
    mK = row_view(pK, tokens, k_heads * head, k_stride, width)
    mQw, mKw = [row_view(p, 1, head, Int64(head), width) for p in (pQw, pKw)]
    groups, per_block = tokens * (q_heads + k_heads), warps * 32 // lanes
    qk_norm_kernel(mQ, mK, mQw, mKw, head, width, lanes, warps, eps, weight_bias).launch(
        grid=((groups + per_block - 1) // per_block, 1, 1), block=(warps * 32, 1, 1), stream=stream
    )


@functools.cache
def _compiled(dtype, q_heads, k_heads, head, width, lanes, warps, eps, weight_bias, capability):
    pointer = device_pointer(0, ELEMENTS[dtype], width)
    return cute.compile(
        qk_norm_launch, pointer, pointer, pointer, pointer, Int32(0), Int64(0), Int64(0),
        q_heads, k_heads, head, width, lanes, warps, eps, weight_bias, make_fake_stream(),
    )  # fmt: skip


def compile_qk_norm(dtype, tokens, q_heads, k_heads, head, eps, weight_bias, width=0, device=NO_DEVICE):
    """The compiled launcher for these facts; width 0 is the widest that `head` allows."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, head)
    lanes = 1
    while lanes < 32 and lanes * width < head:
        lanes *= 2
    warps = warps_of_block(tokens * (q_heads + k_heads) * lanes // 32, multiprocessors)
    return _compiled(
        dtype, q_heads, k_heads, head, width, lanes, warps, eps, weight_bias, capability
    )  # fmt: skip


def qk_norm(
    q: torch.Tensor | int,
    k: torch.Tensor | int,
    q_weight: torch.Tensor | int,
    k_weight: torch.Tensor | int,
    eps: float,
    weight_bias: float,
    tokens: int,
    q_heads: int,
    k_heads: int,
    head: int,
    q_stride: int,
    k_stride: int,
    *,
    dtype: str,
    stream: int | None = None,
) -> None:
    """Normalise in place. Tensors or device addresses; `stream` defaults to torch's current one."""
    if tokens == 0:
        return
    kind, arguments = ELEMENTS[dtype], (q, k, q_weight, k_weight)
    starts = [address_of(t) * 8 // kind.width for t in arguments]
    width = vector_width(kind.width, head, q_stride, k_stride, *starts)
    compile_qk_norm(dtype, tokens, q_heads, k_heads, head, eps, weight_bias, width, device_facts())(
        *(device_pointer(t, kind, width) for t in arguments),
        Int32(tokens), Int64(q_stride), Int64(k_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
