"""Product of two matrices on the tensor cores: c[row, col] = sum over i of a[row, i] · b[i, col], sums in fp32.

Shapes: a is m × k, b is k × n, c is m × n, all fp16, row-major and contiguous. Any extents and addresses are right,
even ones of whole vectors are faster.

Algorithm: a block owns a tile of c, 128 × 128 down to 32 × 32. Slabs of a and b, 32 of k, come by cp.async into one of
two stages while the other is multiplied; what is beyond an extent comes in as zeros:

    sA (stage, rows, 32 + 8)   sB (stage, 32, columns + 8)     rows are padded, so that ldmatrix meets no bank twice
    warps 2 × warps, each 16 · down rows and 16 · across columns: ldmatrix, mma.sync.m16n8k16 onto `sums`
    sums ─ fp16 → sC (rows, columns + 8), in the same memory ─ vectors → c

Units: elements. Traffic: a is read n / columns times and b m / rows times, mostly out of the L2 cache; c is written
once.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, Float16, Float32, Int32, Int64, Numeric, Uint32
from cutlass.cute.runtime import make_fake_stream, make_ptr

DEPTH = 32  # how much of k is one slab
STAGES = 2
PAD = 8  # elements at the end of a row in shared memory
PITCH = DEPTH + PAD
# (warps beside each other, fragments of 16 rows of a warp, of 16 columns), the largest tile first
PLANS = ((4, 4, 2), (2, 2, 2), (2, 1, 1))


# -- block vector_width be5e683f9251
def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width


# -- end of vector_width
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# -- block async_copy f1d672126ca1
@cute.jit
def copy_small(gX: cute.Tensor, sX: cute.Tensor, exists):
    """`copy_async` of fewer than 4 bytes: it has happened when this returns."""
    for k in cutlass.range_constexpr(cute.size(gX)):
        value = gX.element_type(0)
        if exists:
            value = gX[k]
        sX[k] = value


def copy_async(gX: cute.Tensor, sX: cute.Tensor, exists):
    """Start to copy `gX`, one access of global memory, to `sX`, the same in shared memory; zeros where
    `exists` does not hold, whatever its address is."""
    size = cute.size(gX) * gX.element_type.width // 8
    if size < 4:
        copy_small(gX, sX, exists)
    else:
        cache = "cg" if size == 16 else "ca"
        cute.arch.inline_ptx(
            f"cp.async.{cache}.shared::cta.global [{{$r0}}], [{{$r1}}], {size}, {{$r2}};",
            read_only_args=[sX.iterator, gX.iterator, Int32(exists) * size],
        )


def commit_copies():
    """What this thread copied since the last commit is one group, which may be empty."""
    cute.arch.cp_async_commit_group()


def copies_but(newest: int):
    """Wait until all groups of this thread but the `newest` ones have arrived."""
    cute.arch.cp_async_wait_group(newest)


def mbarrier_ready(mbar, arrivals):
    """Make an mbarrier of as many arrivals a phase. By one thread; then a barrier of the block."""
    cute.arch.mbarrier_init(mbar, arrivals)
    cute.arch.mbarrier_init_fence()


def copies_arrive(mbar):
    """Arrive at the mbarrier when this thread's copies so far have arrived."""
    cute.arch.cp_async_mbarrier_arrive_noinc(mbar)


def copies_expect(mbar, count):
    """Arrive at the mbarrier, whose phase then also waits for `count` bytes of bulk copies."""
    cute.arch.mbarrier_arrive_and_expect_tx(mbar, count)


# -- end of async_copy


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, a device address as it is, 0 for null."""
    return 0 if x is None else x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)


def fetch(mX, sX, stage, thread, threads, first_row, rows, first_vector, vectors):
    """Start to copy the thread's vectors of a slab, all rows of `sX[stage]`, zeros beyond `rows` and `vectors`."""
    height, across = sX.shape[1], sX.shape[2]
    for j in range(height * across // threads):
        place = thread + j * threads
        down, over = place >> (across.bit_length() - 1), place & (across - 1)
        row, vector = first_row + down, first_vector + over
        exists = (row < rows) & (vector < vectors)
        copy_async(mX[Int64(row) * Int64(vectors) + Int64(vector), None], sX[stage, down, over, None], exists)


def load4(address):
    """Four 8 × 8 matrices of shared memory, one row at the address of each lane."""
    return cute.arch.inline_ptx(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 { {$w0}, {$w1}, {$w2}, {$w3} }, [{$r0}];",
        write_only_types=[Uint32, Uint32, Uint32, Uint32],
        read_only_args=[address],
    )


def load4_transposed(address):
    """The same, each matrix transposed."""
    return cute.arch.inline_ptx(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 { {$w0}, {$w1}, {$w2}, {$w3} }, [{$r0}];",
        write_only_types=[Uint32, Uint32, Uint32, Uint32],
        read_only_args=[address],
    )


def multiply(d, at, a, b0, b1):
    """d[at .. at + 4) += a · (b0, b1), 16 × 8 sums of 16 products each."""
    r0, r1, r2, r3 = cute.arch.inline_ptx(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{ {$w0}, {$w1}, {$w2}, {$w3} }, { {$r0}, {$r1}, {$r2}, {$r3} }, { {$r4}, {$r5} }, "
        "{ {$r6}, {$r7}, {$r8}, {$r9} };",
        write_only_types=[Float32, Float32, Float32, Float32],
        read_only_args=[a[0], a[1], a[2], a[3], b0, b1, d[at], d[at + 1], d[at + 2], d[at + 3]],
    )
    d[at] = r0
    d[at + 1] = r1
    d[at + 2] = r2
    d[at + 3] = r3


@cute.kernel
def half_product_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    m: Int32,
    n: Int32,
    k: Int32,
    warps: cutlass.Constexpr,
    down: cutlass.Constexpr,
    across: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    wide_a, wide_b, wide_c = mA.shape[1], mB.shape[1], mC.shape[1]
    rows, columns, threads = 32 * down, 16 * across * warps, 64 * warps
    pitch_b = columns + PAD
    vectors_a, vectors_b, vectors_c = k // wide_a, n // wide_b, n // wide_c

    pA = cute.arch.alloc_smem(Float16, STAGES * (rows * PITCH + DEPTH * pitch_b), 16)
    pB = pA + STAGES * rows * PITCH
    sA = cute.make_tensor(
        pA, cute.make_layout((STAGES, rows, DEPTH // wide_a, wide_a), stride=(rows * PITCH, PITCH, wide_a, 1))
    )
    sB = cute.make_tensor(
        pB, cute.make_layout((STAGES, DEPTH, columns // wide_b, wide_b), stride=(DEPTH * pitch_b, pitch_b, wide_b, 1))
    )
    # The tile of c, when a and b are done with: as it is written, and as it is read
    sC = cute.make_tensor(pA, cute.make_layout((rows, columns), stride=(pitch_b, 1)))
    vC = cute.make_tensor(pA, cute.make_layout((rows, columns // wide_c, wide_c), stride=(pitch_b, wide_c, 1)))
    a_at = Int32(pA.toint())
    b_at = a_at + STAGES * rows * PITCH * 2
    sums = cutlass.Array(Float32, down * across * 8)
    rO = cute.make_rmem_tensor(wide_c, Float16)

    lane = thread & 31
    warp = thread >> 5
    own_row = (warp & 1) * (16 * down)
    own_column = (warp >> 1) * (16 * across)
    # Where the lane's row of a matrix is, in bytes, in the first stage
    a_lane = a_at + ((own_row + (lane & 15)) * PITCH + (lane >> 4) * 8) * 2
    b_lane = b_at + ((lane & 15) * pitch_b + own_column + (lane >> 4) * 8) * 2
    for i in cutlass.range_constexpr(down * across * 8):
        sums[i] = Float32(0.0)

    fetch(mA, sA, Int32(0), thread, threads, bidy * rows, m, Int32(0), vectors_a)
    fetch(mB, sB, Int32(0), thread, threads, Int32(0), k, bidx * (columns // wide_b), vectors_b)
    commit_copies()
    for t in cutlass.range((k + (DEPTH - 1)) // DEPTH, unroll=1):
        # The next slab: beyond k nothing exists, and nothing is read.
        after = (t + 1) & 1
        fetch(mA, sA, after, thread, threads, bidy * rows, m, (t + 1) * (DEPTH // wide_a), vectors_a)
        fetch(mB, sB, after, thread, threads, (t + 1) * DEPTH, k, bidx * (columns // wide_b), vectors_b)
        commit_copies()
        copies_but(1)
        cute.arch.sync_threads()
        a_stage = a_lane + (t & 1) * (rows * PITCH * 2)
        b_stage = b_lane + (t & 1) * (DEPTH * pitch_b * 2)
        for s in cutlass.range_constexpr(DEPTH // 16):
            fragments = [load4(a_stage + (f * 16 * PITCH + s * 16) * 2) for f in range(down)]
            for c in cutlass.range_constexpr(across):
                b0, b1, b2, b3 = load4_transposed(b_stage + (s * 16 * pitch_b + c * 16) * 2)
                for f in cutlass.range_constexpr(down):
                    multiply(sums, (f * across + c) * 8, fragments[f], b0, b1)
                    multiply(sums, (f * across + c) * 8 + 4, fragments[f], b2, b3)
        cute.arch.sync_threads()
    copies_but(0)
    cute.arch.sync_threads()

    for fc in cutlass.range_constexpr(down):
        for cc in cutlass.range_constexpr(across):
            for e in cutlass.range_constexpr(8):
                row = own_row + (lane >> 2) + (fc * 16 + e // 2 % 2 * 8)
                column = own_column + (lane & 3) * 2 + (cc * 16 + e // 4 * 8 + e % 2)
                sC[row, column] = Float16(sums[(fc * across + cc) * 8 + e])
    cute.arch.sync_threads()
    line = columns // wide_c
    shift = line.bit_length() - 1
    for r in cutlass.range(rows * line // threads):
        place = thread + r * threads
        in_row = place >> shift
        in_line = place & (line - 1)
        to_row = bidy * rows + in_row
        to_vector = bidx * line + in_line
        if to_row < m and to_vector < vectors_c:
            cute.autovec_copy(vC[in_row, in_line, None], rO)
            cute.autovec_copy(rO, mC[Int64(to_row) * Int64(vectors_c) + Int64(to_vector), None])


@cute.jit
def half_product_launch(
    a: cute.Pointer,
    b: cute.Pointer,
    c: cute.Pointer,
    m: Int32,
    n: Int32,
    k: Int32,
    wide_a: cutlass.Constexpr,
    wide_b: cutlass.Constexpr,
    wide_c: cutlass.Constexpr,
    warps: cutlass.Constexpr,
    down: cutlass.Constexpr,
    across: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    count_a = Int64(m) * Int64(k // wide_a)
    count_b = Int64(k) * Int64(n // wide_b)
    count_c = Int64(m) * Int64(n // wide_c)
    mA = cute.make_tensor(a, cute.make_layout((count_a, wide_a), stride=(wide_a, 1)))
    mB = cute.make_tensor(b, cute.make_layout((count_b, wide_b), stride=(wide_b, 1)))
    mC = cute.make_tensor(c, cute.make_layout((count_c, wide_c), stride=(wide_c, 1)))
    rows, columns = 32 * down, 16 * across * warps
    half_product_kernel(mA, mB, mC, m, n, k, warps, down, across).launch(
        grid=((n + columns - 1) // columns, (m + rows - 1) // rows, 1), block=(64 * warps, 1, 1), stream=stream
    )


@functools.cache
def compile_half_product(
    wide_a: int = 8, wide_b: int = 8, wide_c: int = 8, warps: int = 4, down: int = 4, across: int = 2
):
    """The compiled launcher: elements of an access of a, b and c, and a plan for the tile."""
    return cute.compile(
        half_product_launch,
        device_pointer(16, Float16, wide_a),
        device_pointer(16, Float16, wide_b),
        device_pointer(16, Float16, wide_c),
        Int32(0),
        Int32(0),
        Int32(0),
        wide_a,
        wide_b,
        wide_c,
        warps,
        down,
        across,
        make_fake_stream(),
    )


def half_product(
    a: torch.Tensor | int | None,
    b: torch.Tensor | int | None,
    c: torch.Tensor | int | None,
    m: int,
    n: int,
    k: int,
    *,
    stream: int | None = None,
) -> None:
    """c = a · b. CUDA tensors or device addresses; `stream` defaults to torch's current one."""
    if m <= 0 or n <= 0:
        return
    multiprocessors, _ = device_facts()
    plan = PLANS[-1]
    for warps, down, across in reversed(PLANS):
        if -(-m // (32 * down)) * -(-n // (16 * across * warps)) >= multiprocessors:
            plan = (warps, down, across)
    wide_a = vector_width(16, k, address_of(a) // 2)
    wide_b = vector_width(16, n, address_of(b) // 2)
    wide_c = vector_width(16, n, address_of(c) // 2)
    compile_half_product(wide_a, wide_b, wide_c, *plan)(
        device_pointer(a, Float16, wide_a),
        device_pointer(b, Float16, wide_b),
        device_pointer(c, Float16, wide_c),
        Int32(m),
        Int32(n),
        Int32(k),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )
