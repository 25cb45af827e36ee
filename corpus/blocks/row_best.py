"""A thread's largest element of a row that it sweeps chunk by chunk, and its first place. Traced.

An element costs two instructions, its conversion and a maximum that hands on NaN. Only when a chunk's maximum
beats what there was is the chunk kept; which of its elements it was is looked up once, at the end:

    chunks   0: 3 1 2 0   1: 5 4 5 0   2: 5 1 0 2         top 5, kept chunk 1 → first element that is 5

Chunks come in the order of their columns, so that of equal elements the first is kept. NaN beats all else and
stays. Begin with `top` -∞, `at` the thread's first column and `rK`, a fragment of one access, filled with -∞.
Units: columns in elements, chunks of one access.
Source of the technique: a running maximum whose place is looked up afterwards; of our own making.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

from corpus.blocks.ranked import ranked


@cute.jit
def best_more(tXrX: cute.Tensor, tXcX: cute.Tensor, first, top, at, rK: cute.Tensor):
    """(top, at) with the chunks of `tXrX`, which are the row's from `first` on, taken in; `rK` is changed."""
    for j in cutlass.range_constexpr(cute.size(tXrX, mode=[2])):
        most = top
        for i in cutlass.range_constexpr(cute.size(rK)):
            most = cute.arch.fmax(most, Float32(tXrX[(i, 0), 0, j]), nan=True)
        if (most != top) & (top == top):
            top, at = most, tXcX[(0, 0), 0, first + j][1]
            for i in cutlass.range_constexpr(cute.size(rK)):
                rK[i] = tXrX[(i, 0), 0, j]
    return top, at


@cute.jit
def best_place(top, at, rK: cute.Tensor):
    """The thread's element as a number of `ranked`: the first of `rK`, from column `at` on, that is `top`."""
    found = Int32(0)
    for i in cutlass.range_constexpr(cute.size(rK) - 1, -1, -1):
        value = Float32(rK[i])
        found = cutlass.select_((value == top) | ((value != value) & (top != top)), Int32(i), found)
    return ranked(top, at + found)
