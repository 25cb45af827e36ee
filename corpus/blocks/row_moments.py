"""The mean of a row and the squares around it, in one exchange between its threads. Traced.

`lanes` threads, a power of two from 1 to 1024, hold a row's accesses of `width` elements in turn, as
row_tiles deals them. Each sums its own elements and their squares around its own mean; then neighbours merge,
so that nothing cancels and the row waits for one exchange where a mean before its squares would take two:

    thread        n, m, s        elements, their mean, Σ (x - m)²
    two of them   d = m' - m     m + d · n'/(n + n')        s + s' + d² · n · n'/(n + n')
    rows of over 32 lanes: warps first, then one barrier and as many steps as the row has warps

    sMean, sSquares     (warps of the block,)     row r owns entries r · warps … (r + 1) · warps - 1

How many elements a group of lanes holds follows from its place, so that weights are ready before the loads
are, and are constants where lanes divide the row. Lanes agree to the last bits, not in them.
Units: those of x and of x². Both arrays have an fp32 element a warp. All threads of the block must arrive.
Source of the technique: Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm, 1979.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float32

from corpus.blocks.zero_outside import zero_outside


def elements_of(first, count: int, shape: tuple[int, int, int]):
    """Elements of `count` neighbouring lanes from `first`, as a float; shape is (columns, width, lanes)."""
    columns, width, lanes = shape
    whole, rest = divmod(columns, width * lanes)
    if rest == 0:
        return float(whole * width * count)
    beyond = cute.arch.fmax(Float32(rest) - Float32(first * width), Float32(0.0))
    return cute.arch.fmin(beyond, Float32(width * count)) + float(whole * width * count)


def part_of(own, other=0.0):
    """1 / (own + other), and of no elements anything."""
    if isinstance(own, float):
        return 1.0 / (own + other)
    return cute.arch.rcp_approx(cute.arch.fmax(own + other, Float32(1.0)))


@cute.jit
def merge_moments(
    mean, squares, lane, group: cutlass.Constexpr, lanes: cutlass.Constexpr, shape: cutlass.Constexpr
):
    """Merge over `lanes` lanes, each of which stands for `group` lanes of the row; `lane` counts those."""
    for k in cutlass.range_constexpr(lanes.bit_length() - 1):
        step = 1 << k
        first = lane // step * step
        own = elements_of(first * group, step * group, shape)
        other = elements_of((first ^ step) * group, step * group, shape)
        weight = other * part_of(own, other)
        distance = cute.arch.shuffle_sync_bfly(mean, step) - mean
        squares = squares + cute.arch.shuffle_sync_bfly(squares, step) + distance * distance * (own * weight)
        mean = mean + distance * weight
    return mean, squares


@cute.jit
def row_moments(tXrX: cute.Tensor, tXpX: cute.Tensor, shape: cutlass.Constexpr, sMean, sSquares):
    """(mean, Σ (x - mean)²), fp32, in all threads of a row. tXrX: a thread's elements, zeros outside; tXpX:
    row_tiles.in_bounds; shape is (columns, width, lanes). Up to 32 lanes the arrays are not used."""
    lanes = shape[2]
    thread, _, _ = cute.arch.thread_idx()
    x, own = tXrX.load().to(Float32), elements_of(thread % lanes, 1, shape)
    mean = x.reduce(cute.ReductionOp.ADD, 0.0, 0) * part_of(own)
    tXrC = cute.make_fragment_like(tXrX, Float32)
    tXrC.store(x - mean)
    zero_outside(tXrC, tXpX)
    centred = tXrC.load()
    squares = (centred * centred).reduce(cute.ReductionOp.ADD, 0.0, 0)
    mean, squares = merge_moments(mean, squares, thread % lanes, 1, min(lanes, 32), shape)
    if cutlass.const_expr(lanes > 32):
        warps, warp, lane = lanes // 32, thread // 32, thread % 32
        if lane == 0:
            sMean[warp], sSquares[warp] = mean, squares
        cute.arch.sync_threads()
        place = lane % warps
        mean, squares = sMean[warp // warps * warps + place], sSquares[warp // warps * warps + place]
        mean, squares = merge_moments(mean, squares, place, 32, warps, shape)
    return mean, squares
