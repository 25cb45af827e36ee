"""Weighted bags of table rows: out[b, :] = scale(b) · Σ_k weights[b, k] · table[ids[b, k], :], uses counted.

    mode "sum"     scale = 1
    mode "mean"    scale = 1 / Σ weights
    mode "sqrtn"   scale = 1 / √(Σ weights²)              k < lengths[b] and 0 ≤ ids[b, k] < count in all sums

Shapes: table is `count` rows of `hidden` elements, `table_stride` apart; ids (i32 or i64) and weights (fp32)
are (bags, most); lengths is (bags,); out is `bags` rows of `hidden`, `out_stride` apart; uses (count,), i32,
gets one more for each time that a row was used. Elements are bf16, fp16 or fp32. hidden from 64 to 4,096 and
bags of 4 to 200 ids is what it is tuned for.

Algorithm: a thread has a vector of one bag, and STAGES places in shared memory that nobody else sees:

    ids[b, k]    ids[b, k+1]    ids[b, k+2]    ids[b, k+3]           ids[b, k+4]: asked for
        ↓             ↓              ↓              ↓
    │ arrived  │ under way    │ under way    │ free: row k+3 is copied there when row k has been added │
        └─→ rX → rA += weight · rX (fp32)

A ring of cp.async keeps three rows of a thread under way however long its bag is, without registers for them
and without an unrolled loop; the id of the next copy is loaded one step before. An id that is no row is
padding: nothing is read for it. The thread of a row's first vector counts its use by a reduction that nobody
waits for. Ids come from the kernel before, so that only the launch overlaps with it, and that of the next.

Units: strides in elements. Traffic: a row for each use, ids and weights once, out once, a word for each use.
Source of the technique: embedding bags of recommender models; TensorFlow's combiners; cp.async rings.
"""

import functools
from typing import Any

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass import AddressSpace, BFloat16, Float16, Float32, Int32, Int64, Numeric, Uint32, Uint64
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
# -- block row_chunks bd781ccf79e2
LEAST_LANES, MOST_LANES = 64, 256
SPREAD, FULL, LOADS = 2, 4, 4


def row_chunks(vectors: int, rows: int, loads: int, multiprocessors: int) -> tuple[int, int, int]:
    """(lanes of a chunk, rows of a thread, groups of lanes in a block); `loads` is a thread's for one row."""
    threads, each = LEAST_LANES, 1
    while threads < MOST_LANES and rows * -(-vectors // threads) > SPREAD * multiprocessors:
        threads *= 2
    if 2 * vectors <= threads:
        lanes = 1 << (vectors - 1).bit_length()
        groups = threads // lanes
    else:
        chunks = -(-vectors // threads)
        lanes, groups = -(-vectors // (32 * chunks)) * 32, 1  # chunks of even length
    blocks = rows // groups * -(-vectors // lanes)
    while each * loads < LOADS and blocks >= 2 * each * FULL * multiprocessors:
        each *= 2
    return lanes, each, groups


def chunk_blocks(vectors: int, rows, lanes: int, each: int, groups: int):
    """How many blocks there are for `rows` rows (a number at run time)."""
    return (rows + each * groups - 1) // (each * groups) * -(-vectors // lanes)


def chunk_place(vectors: int, lanes: int, each: int, groups: int):
    """(vector of the row, first row) of this thread; either may lie beyond the end."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    chunks = -(-vectors // lanes)
    return block % chunks * lanes + thread % lanes, (block // chunks * groups + thread // lanes) * each


# -- end of row_chunks
# -- block device_facts 3c250a4e4197
NO_DEVICE = (132, 90)  # an H200's numbers, for compiling where there is no GPU


def device_facts() -> tuple[int, int]:
    """(multiprocessors, compute capability such as 90) of the current device."""
    if not torch.cuda.is_available():
        return NO_DEVICE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return found.multi_processor_count, 10 * found.major + found.minor


# -- end of device_facts
# -- block memory_order 050d7d89dae8
SPACES = {AddressSpace.gmem: ".global", AddressSpace.smem: ".shared::cta"}
SLEEP = 32  # ns between two looks
ATOMICS = {
    "add": cute.arch.atomic_add, "max": cute.arch.atomic_max, "min": cute.arch.atomic_min,
    "and": cute.arch.atomic_and, "or": cute.arch.atomic_or, "xor": cute.arch.atomic_xor,
    "exch": cute.arch.atomic_exch, "fmax": cute.arch.atomic_fmax, "fmin": cute.arch.atomic_fmin,
}  # fmt: skip


def load_as(pointer, kind, order: str, scope: str):
    """The value of type `kind` at `pointer`; `order` is relaxed or acquire."""
    code = f"ld.{order}.{scope}{SPACES[pointer.memspace]}.b{kind.width} {{$w0}}, [{{$r0}}];"
    return cute.arch.inline_ptx(code, write_only_types=[kind], read_only_args=[pointer])


def store_as(pointer, value, order: str, scope: str):
    """Write a typed value; `order` is relaxed or release."""
    code = f"st.{order}.{scope}{SPACES[pointer.memspace]}.b{value.width} [{{$r0}}], {{$r1}};"
    cute.arch.inline_ptx(code, read_only_args=[pointer, value])


def atomic_as(pointer, operation: str, value, order: str, scope: str):
    """`operation`, one of add, max, min, and, or, xor, exch, of memory and a typed value; what was there
    before. All four orders."""
    floats = type(value) is Float32 and operation in ("max", "min")
    return ATOMICS["f" + operation if floats else operation](pointer, value, sem=order, scope=scope)


def swap_if(pointer, expected, value, order: str, scope: str):
    """Write `value` where memory has the bits of `expected`, of one type; what was there before. All four
    orders."""
    return cute.arch.atomic_cas(pointer, cmp=expected, val=value, sem=order, scope=scope)


def reduce_as(pointer, operation: str, value, order: str, scope: str):
    """`operation`, one of add, max, min, and, or, xor, of memory and a typed value; `order` is relaxed or
    release. max and min of f32 are atomics whose result nobody takes."""
    kind = type(value)
    if kind is Float32 and operation != "add":
        atomic_as(pointer, operation, value, order, scope)
    else:
        if operation in ("and", "or", "xor"):
            kind = f"b{value.width}"
        elif operation == "add" and kind is Int64:
            kind = Uint64
        cute.arch.red(pointer, value, op=operation, dtype=kind, sem=order, scope=scope)


def fence_as(order: str, scope: str):
    """Order all accesses of this thread before it and after it; `order` is acq_rel or sc."""
    cute.arch.inline_ptx(f"fence.{order}.{scope};")


@cute.jit
def wait_for(pointer, least, scope: cutlass.Constexpr):
    """Look until memory is at least `least`, a typed integer, and acquire what was released with it; sleep in
    between, so that others have the memory to themselves. Whoever writes it must be on the GPU."""
    while load_as(pointer, type(least), "acquire", scope) < least:
        cute.arch.inline_ptx("nanosleep.u32 {$r0};", read_only_args=[Uint32(SLEEP)])


# -- end of memory_order
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
# -- block fast_math e7731c745796
def exp2(x, exact: bool):
    """2^x in fp32."""
    return cute.math.exp2(x, fastmath=not exact)


def reciprocal(x, exact: bool):
    """1/x in fp32."""
    return Float32(1.0) / x if exact else cute.arch.rcp_approx(x)


def rsqrt(x, exact: bool):
    """1/√x in fp32."""
    return Float32(1.0) / cute.math.sqrt(x) if exact else cute.math.rsqrt(x, fastmath=True)


def tanh(x, exact: bool):
    """tanh x in fp32."""
    return cute.math.tanh(x, fastmath=not exact)


# -- end of fast_math
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
# -- block dependent_launch b43ea71b23b9
@cute.jit
def wait_for_launches(early: cutlass.Constexpr):
    """Wait until the kernels before have ended and their stores are seen; where launched `early`."""
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_wait()


@cute.jit
def dependents_may_start(early: cutlass.Constexpr):
    """Let the next kernel of the stream be launched, if kernels are launched `early`."""
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_launch_dependents()


# -- end of dependent_launch
IDS = {"i32": Int32, "i64": Int64}
STAGES = 4  # a power of two, of which all but one are under way
EARLY = True  # launched while the kernel before ends


@cute.jit
def row_at(mI: cute.Tensor, bag, k, length, count):
    """The k-th row of a bag, below zero where there is none."""
    row = Int64(-1)
    if k < length:
        row = Int64(mI[bag, k])
        if row >= count:
            row = Int64(-1)
    return row


def add_scaled(rA, rX, weight):
    """rA += weight · rX in fp32."""
    if rX.element_type is not Float32 and cute.size(rX) > 1:
        rW = cute.recast_tensor(rX, Int32)
        values = [v for j in range(cute.size(rW)) for v in unpack(rW[j], rX.element_type)]
    else:
        values = [Float32(rX[j]) for j in range(cute.size(rX))]
    for j, value in enumerate(values):
        rA[j] += weight * value


def rounded(rX, rA, scale):
    """rX = rA · scale, rounded to its type."""
    if rX.element_type is not Float32 and cute.size(rX) > 1:
        rW = cute.recast_tensor(rX, Int32)
        for j in range(cute.size(rW)):
            rW[j] = pack(rA[2 * j] * scale, rA[2 * j + 1] * scale, rX.element_type)
    else:
        for j in range(cute.size(rX)):
            rX[j] = rX.element_type(rA[j] * scale)


@cute.kernel
def embedding_bag_kernel(
    mT: cute.Tensor, mI: cute.Tensor, mW: cute.Tensor, mL: cute.Tensor, mU: cute.Tensor, mO: cute.Tensor,
    width: cutlass.Constexpr, plan: cutlass.Constexpr, mode: cutlass.Constexpr,
):  # fmt: skip
    (count, hidden), kind, tile, threads = mT.shape, mT.element_type, (1, width), plan[0] * plan[2]
    thread, _, _ = cute.arch.thread_idx()
    vector, bag = chunk_place(hidden // width, *plan)
    places = cute.make_layout((STAGES, threads, width), stride=(threads * width, width, 1))
    sX = cute.make_tensor(cute.arch.alloc_smem(kind, cute.size(places), 16), places)
    wait_for_launches(EARLY)
    dependents_may_start(EARLY)
    if vector < hidden // width and bag < mO.shape[0]:
        length = mL[bag]
        for k in cutlass.range_constexpr(STAGES - 1):
            row = row_at(mI, bag, k, length, count)
            copy_async(cute.local_tile(mT, tile, (row, vector)), sX[k, thread, None], row >= 0)
            commit_copies()
        ahead = row_at(mI, bag, STAGES - 1, length, count)
        rX, rA = cute.make_rmem_tensor(tile, kind), cute.make_rmem_tensor(tile, Float32)
        rV = cute.make_tensor(rX.iterator, cute.make_layout(width))
        rA.fill(0.0)
        total, used = Float32(0.0), Int32(0)
        for k in cutlass.range(length, unroll=1):
            copies_but(STAGES - 2)
            cute.autovec_copy(sX[k % STAGES, thread, None], rV)
            gT = cute.local_tile(mT, tile, (ahead, vector))
            copy_async(gT, sX[(k + STAGES - 1) % STAGES, thread, None], ahead >= 0)
            commit_copies()
            ahead = row_at(mI, bag, k + STAGES, length, count)
            row = row_at(mI, bag, k, length, count)
            if row >= 0:
                weight = mW[bag, k]
                add_scaled(rA, rX, weight)
                total += weight * weight if cutlass.const_expr(mode == "sqrtn") else weight
                used += 1
                if vector == 0:
                    reduce_as(mU.iterator + row, "add", Int32(1), "relaxed", "gpu")
        copies_but(0)
        scale, exact = Float32(1.0), cutlass.const_expr(kind is Float32)
        if cutlass.const_expr(mode != "sum"):
            scale = reciprocal(total, exact) if cutlass.const_expr(mode == "mean") else rsqrt(total, exact)
            if used == 0:
                scale = Float32(0.0)
        rounded(rX, rA, scale)
        cute.autovec_copy(rX, cute.local_tile(mO, tile, (bag, vector)))


@cute.jit
def embedding_bag_launch(
    pO: cute.Pointer, pU: cute.Pointer, pT: cute.Pointer, pI: cute.Pointer, pW: cute.Pointer,
    pL: cute.Pointer, bags: Int32, most: Int32, count: Int32, table_stride: Int64, out_stride: Int64,
    hidden: cutlass.Constexpr, width: cutlass.Constexpr, plan: cutlass.Constexpr, mode: cutlass.Constexpr,
    stream: cuda.CUstream,
):  # fmt: skip
    mT, mO = row_view(pT, count, hidden, table_stride, width), row_view(pO, bags, hidden, out_stride, width)
    mI, mW = (row_view(p, bags, most, Int64(most), 1) for p in (pI, pW))
    mL, mU = cute.make_tensor(pL, cute.make_layout(bags)), cute.make_tensor(pU, cute.make_layout(count))
    embedding_bag_kernel(mT, mI, mW, mL, mU, mO, width, plan, mode).launch(
        grid=(chunk_blocks(hidden // width, bags, *plan), 1, 1),
        block=(plan[0] * plan[2], 1, 1),
        stream=stream,
        use_pdl=EARLY,
    )


@functools.cache
def _compiled(dtype, ids_dtype, mode, hidden, width, plan, capability):
    pT = device_pointer(0, ELEMENTS[dtype], width)
    pI, pW, pL = (device_pointer(0, kind, 1) for kind in (IDS[ids_dtype], Float32, Int32))
    return cute.compile(
        embedding_bag_launch, pT, pL, pT, pI, pW, pL, Int32(0), Int32(0), Int32(0), Int64(0), Int64(0),
        hidden, width, plan, mode, make_fake_stream(),
    )  # fmt: skip


def compile_embedding_bag(dtype, ids_dtype, mode, bags, hidden, width=0, plan=None, device=NO_DEVICE):
    """The compiled launcher for these facts. `width` is the widest that `hidden` allows and `plan` what
    `row_chunks` says for one bag a thread, where they are not given."""
    multiprocessors, capability = device
    width = width or vector_width(ELEMENTS[dtype].width, hidden)
    plan = plan or row_chunks(hidden // width, bags, LOADS, multiprocessors)
    return _compiled(dtype, ids_dtype, mode, hidden, width, plan, capability)


def embedding_bag(
    out: torch.Tensor | int,
    uses: torch.Tensor | int,
    table: torch.Tensor | int,
    ids: torch.Tensor | int,
    weights: torch.Tensor | int,
    lengths: torch.Tensor | int,
    bags: int,
    most: int,
    hidden: int,
    count: int,
    table_stride: int,
    out_stride: int,
    *,
    dtype: str,
    ids_dtype: str,
    mode: str,
    stream: int | None = None,
) -> None:
    """Combine `bags` bags. Tensors or device addresses; `stream` defaults to torch's current one."""
    if bags == 0:
        return
    kind = ELEMENTS[dtype]
    starts = [address_of(t) * 8 // kind.width for t in (out, table)]
    width = vector_width(kind.width, hidden, table_stride, out_stride, *starts)
    pO, pT = (device_pointer(t, kind, width) for t in (out, table))
    pU, pI, pW, pL = (
        device_pointer(t, k, 1)
        for t, k in ((uses, Int32), (ids, IDS[ids_dtype]), (weights, Float32), (lengths, Int32))
    )
    compile_embedding_bag(dtype, ids_dtype, mode, bags, hidden, width, device=device_facts())(
        pO, pU, pT, pI, pW, pL, Int32(bags), Int32(most), Int32(count),
        Int64(table_stride), Int64(out_stride),
        cuda.CUstream(torch.cuda.current_stream().cuda_stream if stream is None else stream),
    )  # fmt: skip
