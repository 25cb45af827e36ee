"""CuTe DSL port of `product`: c = a b, fp32; every sum runs over k from the first to the last, as the original's.

Shapes: `a` is (m, k), `b` is (k, n), `c` is (m, n), all contiguous.

Algorithm: a block makes a tile of TILE x TILE from slices of DEPTH, a thread OWN x OWN of it in registers:

    gA (TILE, DEPTH) -vector loads along k-> rA -> sA (DEPTH, TILE)  \
                                                                      -> OWN + OWN numbers -> OWN x OWN sums -> gC
    gB (DEPTH, TILE) -vector loads along n-> rB -> sB (DEPTH, TILE)  /

The next slice is loaded while the last one is multiplied. Loads of a, loads of b and stores of c have each their own
width, up to 128 bits, as address and row length allow. Beyond k slices are zero and change no sum; beyond m and n the
last row or vector is loaded again, and nothing is stored.

Traffic: m * k * 4 bytes for each TILE columns, k * n * 4 for each TILE rows (mostly from the cache), m * n * 4 once.
"""

# CUDA: product_naive.cu:4-12

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

THREADS = 256  # of a block, 16 x 16
TILE = 64  # rows and columns of a block
DEPTH = 16  # of a slice
OWN = 4  # rows and columns of a thread
SHARE = TILE * DEPTH // THREADS  # elements of a slice of a, or of b, that a thread loads
STRIDE = TILE + 4  # of sA: rows stay aligned to 16 bytes, and its columns spread over the banks


@cute.jit
def load_slices(
    mA: cute.Tensor,
    mB: cute.Tensor,
    rA: cute.Tensor,
    rB: cute.Tensor,
    first,
    m: Int32,
    n: Int32,
    k: Int32,
    load_a: cutlass.Constexpr,
    load_b: cutlass.Constexpr,
):
    """This thread's part of the slices that begin at `first`, a multiple of DEPTH; zero beyond k > 0."""
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    across = DEPTH // load_a
    for j in cutlass.range_constexpr(SHARE // load_a):
        row = cutlass.min(block_m * TILE + (thread // across + j * (THREADS // across)), m - 1)
        vector = first // load_a + thread % across
        last = k // load_a - 1
        cute.autovec_copy(cute.local_tile(mA, (1, load_a), (row, cutlass.min(vector, last)))[0, None], rA[None, j])
        if vector > last:
            rA[None, j].fill(0.0)
    over = TILE // load_b
    for j in cutlass.range_constexpr(SHARE // load_b):
        depth = first + (thread // over + j * (THREADS // over))
        column = cutlass.min(block_n * over + thread % over, n // load_b - 1)
        cute.autovec_copy(cute.local_tile(mB, (1, load_b), (cutlass.min(depth, k - 1), column))[0, None], rB[None, j])
        if depth >= k:
            rB[None, j].fill(0.0)


@cute.kernel
def product_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    m: Int32,
    n: Int32,
    k: Int32,
    load_a: cutlass.Constexpr,
    load_b: cutlass.Constexpr,
    store: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    tx, ty = thread % (TILE // OWN), thread // (TILE // OWN)
    across, over = DEPTH // load_a, TILE // load_b
    sA = cute.make_tensor(
        cute.arch.alloc_smem(Float32, DEPTH * STRIDE, 16), cute.make_layout((DEPTH, TILE), stride=(STRIDE, 1))
    )
    sB = cute.make_tensor(
        cute.arch.alloc_smem(Float32, DEPTH * TILE, 16), cute.make_layout((DEPTH, TILE), stride=(TILE, 1))
    )
    rA = cute.make_rmem_tensor(cute.make_layout((load_a, SHARE // load_a)), Float32)
    rB = cute.make_rmem_tensor(cute.make_layout((load_b, SHARE // load_b)), Float32)
    rX = cute.make_rmem_tensor(cute.make_layout(OWN), Float32)
    rY = cute.make_rmem_tensor(cute.make_layout(OWN), Float32)
    rC = cute.make_rmem_tensor(cute.make_layout((store, OWN // store, OWN)), Float32)
    rC.fill(0.0)

    if k > 0:
        load_slices(mA, mB, rA, rB, Int32(0), m, n, k, load_a, load_b)
    first = Int32(0)
    while first < k:
        for j in cutlass.range_constexpr(SHARE // load_a):
            for i in cutlass.range_constexpr(load_a):
                sA[thread % across * load_a + i, thread // across + j * (THREADS // across)] = rA[i, j]
        for j in cutlass.range_constexpr(SHARE // load_b):
            place = cute.local_tile(sB, (1, load_b), (thread // over + j * (THREADS // over), thread % over))
            cute.autovec_copy(rB[None, j], place[0, None])
        cute.arch.sync_threads()
        load_slices(mA, mB, rA, rB, first + DEPTH, m, n, k, load_a, load_b)
        for depth in cutlass.range_constexpr(DEPTH):
            cute.autovec_copy(cute.local_tile(sA, (1, OWN), (depth, ty))[0, None], rX)
            cute.autovec_copy(cute.local_tile(sB, (1, OWN), (depth, tx))[0, None], rY)
            for i in cutlass.range_constexpr(OWN):
                for j in cutlass.range_constexpr(OWN):
                    rC[j % store, j // store, i] = rC[j % store, j // store, i] + rX[i] * rY[j]
        cute.arch.sync_threads()
        first = first + DEPTH

    for i in cutlass.range_constexpr(OWN):
        row = block_m * TILE + (ty * OWN + i)
        for j in cutlass.range_constexpr(OWN // store):
            vector = block_n * (TILE // store) + (tx * (OWN // store) + j)
            if row < m and vector < n // store:
                cute.autovec_copy(rC[None, j, i], cute.local_tile(mC, (1, store), (row, vector))[0, None])


@cute.jit
def product_launch(
    pA: cute.Pointer,
    pB: cute.Pointer,
    pC: cute.Pointer,
    m: Int32,
    n: Int32,
    k: Int32,
    load_a: cutlass.Constexpr,
    load_b: cutlass.Constexpr,
    store: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mA = row_view(pA, m, k, Int64(k), load_a)
    mB = row_view(pB, k, n, Int64(n), load_b)
    mC = row_view(pC, m, n, Int64(n), store)
    product_kernel(mA, mB, mC, m, n, k, load_a, load_b, store).launch(
        grid=((n + (TILE - 1)) // TILE, (m + (TILE - 1)) // TILE, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_product(load_a: int = 4, load_b: int = 4, store: int = 4):
    """The compiled launcher for these widths of access, in elements."""
    return cute.compile(
        product_launch,
        device_pointer(0, Float32, load_a),
        device_pointer(0, Float32, load_b),
        device_pointer(0, Float32, store),
        Int32(0),
        Int32(0),
        Int32(0),
        load_a,
        load_b,
        store,
        make_fake_stream(),
    )


def product(
    a: torch.Tensor | int,
    b: torch.Tensor | int,
    c: torch.Tensor | int,
    m: int,
    n: int,
    k: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `product` (product_naive.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if m <= 0 or n <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    load_a = vector_width(32, k, address_of(a) // 4)
    load_b = vector_width(32, n, address_of(b) // 4)
    store = vector_width(32, n, address_of(c) // 4)
    compile_product(load_a, load_b, store)(
        device_pointer(a, Float32, load_a),
        device_pointer(b, Float32, load_b),
        device_pointer(c, Float32, store),
        Int32(m),
        Int32(n),
        Int32(k),
        cuda.CUstream(stream),
    )
