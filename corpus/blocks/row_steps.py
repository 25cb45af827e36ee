"""Parts of a row between global memory and a thread's registers, chunk by chunk. Traced.

Rows longer than registers hold are swept in steps of a few chunks; those of known length have one last step
that is shorter. Of most chunks it is known while tracing that they lie in the row: their accesses have no
predicate, so that no branch keeps loads from being under way together. The last chunk may be cut:

    chunks of a row     0 1 2 3 | 4 5 6 7 | 8 9 ¦        2 full steps of 4, a rest of 2, the last one cut
    certain             ───────────────────────          the first 9

A row of no more than one step is all rest: it is held.

`tXgX` is the thread's whole row, ((width, 1), 1, chunks), `tXcX` its coordinates (row_tiles), `tXrX` the
fragment of one step. Threads may be those of all blocks of a cluster: a chunk is lanes · blocks · width.
Units: columns in elements, steps and chunks by count.
Source of the technique: loop peeling: full steps without predicates, a last one with them.
"""

import cutlass
import cutlass.cute as cute


def row_steps(columns: int, span: int, share: int):
    """(chunks that certainly exist, full steps of `share` chunks, chunks of the rest, 1 … share) of a row of
    `columns` elements, where a chunk is `span` of them."""
    chunks = -(-columns // span)
    steps = (chunks - 1) // share
    return columns // span, steps, chunks - steps * share


@cute.jit
def load_chunks(
    copy,
    tXgX: cute.Tensor,
    tXcX: cute.Tensor,
    tXrX: cute.Tensor,
    first,
    columns: cutlass.Constexpr,
    certain: cutlass.Constexpr,
):
    """Chunks from `first` on into all of `tXrX`; beyond the row it stays as it was. Of the chunks the first
    `certain` exist for every thread."""
    chunks = cute.size(tXrX, mode=[2])
    for j in cutlass.range_constexpr(min(certain, chunks)):
        cute.copy(copy, tXgX[None, None, first + j], tXrX[None, None, j])
    for j in cutlass.range_constexpr(min(certain, chunks), chunks):
        if tXcX[(0, 0), 0, first + j][1] < columns:
            cute.copy(copy, tXgX[None, None, first + j], tXrX[None, None, j])


@cute.jit
def store_chunks(
    copy,
    tXrX: cute.Tensor,
    tXgX: cute.Tensor,
    tXcX: cute.Tensor,
    first,
    columns: cutlass.Constexpr,
    certain: cutlass.Constexpr,
):
    """The other way: all of `tXrX` to the chunks from `first` on that exist."""
    chunks = cute.size(tXrX, mode=[2])
    for j in cutlass.range_constexpr(min(certain, chunks)):
        cute.copy(copy, tXrX[None, None, j], tXgX[None, None, first + j])
    for j in cutlass.range_constexpr(min(certain, chunks), chunks):
        if tXcX[(0, 0), 0, first + j][1] < columns:
            cute.copy(copy, tXrX[None, None, j], tXgX[None, None, first + j])
