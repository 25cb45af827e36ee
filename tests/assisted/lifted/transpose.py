"""CuTe DSL port of `transpose`: out[c, r] = in[r, c], fp32.

Shapes: `in_` is (rows, columns) and `out` (columns, rows), both contiguous.

Algorithm: a block turns one tile of TILE x TILE round in shared memory, so that both sides are walked by
neighbouring threads:

    gI (TILE, TILE) -vector loads along columns-> rX -> sX (odd stride) -> rO -vector stores along rows-> gO

Loads and stores have each their own width, up to 128 bits, as address and row length allow; both are compile-time
constants. Beyond an edge the last row or vector is loaded again, and nothing is stored.

Traffic: 2 * rows * columns * 4 bytes.
"""

# CUDA: transpose_naive.cu:4-8

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

THREADS = 256  # of a block
TILE = 64  # rows and columns of a block
STRIDE = TILE + 1  # between rows of the tile in shared memory: rows and columns both spread over the banks
OWN = TILE * TILE // THREADS  # elements of a thread


@cute.kernel
def transpose_kernel(
    mI: cute.Tensor,
    mO: cute.Tensor,
    rows: Int32,
    columns: Int32,
    load: cutlass.Constexpr,
    store: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block_c, block_r, _ = cute.arch.block_idx()
    sX = cute.make_tensor(
        cute.arch.alloc_smem(Float32, TILE * STRIDE, 16), cute.make_layout((TILE, TILE), stride=(STRIDE, 1))
    )
    rX = cute.make_rmem_tensor(cute.make_layout((load, OWN // load)), Float32)
    rO = cute.make_rmem_tensor(cute.make_layout((store, OWN // store)), Float32)

    across = TILE // load  # vectors of a row of the tile
    r, v = thread // across, thread % across
    for k in cutlass.range_constexpr(OWN // load):
        row = cutlass.min(block_r * TILE + (r + k * (THREADS // across)), rows - 1)
        vector = cutlass.min(block_c * across + v, columns // load - 1)
        cute.autovec_copy(cute.local_tile(mI, (1, load), (row, vector))[0, None], rX[None, k])
    for k in cutlass.range_constexpr(OWN // load):
        for i in cutlass.range_constexpr(load):
            sX[r + k * (THREADS // across), v * load + i] = rX[i, k]
    cute.arch.sync_threads()

    down = TILE // store  # vectors of a column of the tile
    c, w = thread // down, thread % down
    for k in cutlass.range_constexpr(OWN // store):
        for i in cutlass.range_constexpr(store):
            rO[i, k] = sX[w * store + i, c + k * (THREADS // down)]
    for k in cutlass.range_constexpr(OWN // store):
        column = block_c * TILE + (c + k * (THREADS // down))
        vector = block_r * down + w
        if column < columns and vector < rows // store:
            cute.autovec_copy(rO[None, k], cute.local_tile(mO, (1, store), (column, vector))[0, None])


@cute.jit
def transpose_launch(
    pI: cute.Pointer,
    pO: cute.Pointer,
    rows: Int32,
    columns: Int32,
    load: cutlass.Constexpr,
    store: cutlass.Constexpr,
    stream: cuda.CUstream,
):
    mI = row_view(pI, rows, columns, Int64(columns), load)
    mO = row_view(pO, columns, rows, Int64(rows), store)
    transpose_kernel(mI, mO, rows, columns, load, store).launch(
        grid=((columns + (TILE - 1)) // TILE, (rows + (TILE - 1)) // TILE, 1), block=(THREADS, 1, 1), stream=stream
    )


@functools.cache
def compile_transpose(load: int = 4, store: int = 4):
    """The compiled launcher for loads of `load` and stores of `store` elements."""
    return cute.compile(
        transpose_launch,
        device_pointer(0, Float32, load),
        device_pointer(0, Float32, store),
        Int32(0),
        Int32(0),
        load,
        store,
        make_fake_stream(),
    )


def transpose(
    in_: torch.Tensor | int,
    out: torch.Tensor | int,
    rows: int,
    columns: int,
    *,
    stream: int | None = None,
) -> None:
    """Port of the CUDA kernel `transpose` (transpose_naive.cu:4).

    Pointers are CUDA tensors or device addresses; `stream` defaults to torch's current stream.
    """
    if rows <= 0 or columns <= 0:
        return
    if stream is None:
        stream = torch.cuda.current_stream().cuda_stream
    load = vector_width(32, columns, address_of(in_) // 4)
    store = vector_width(32, rows, address_of(out) // 4)
    compile_transpose(load, store)(
        device_pointer(in_, Float32, load),
        device_pointer(out, Float32, store),
        Int32(rows),
        Int32(columns),
        cuda.CUstream(stream),
    )
