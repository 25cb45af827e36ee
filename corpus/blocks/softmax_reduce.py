"""Sums of exponentials beside their maximum: pairs (most, total = Σ e^(x - most)), made in one read. Traced.

    (a, s) and (b, t)  ─→  most = max(a, b),  total = s · e^(a - most) + t · e^(b - most)

Over lanes the maximum is made first, then each lane scales its sum once: fewer exponentials than a pair by
pair butterfly, and one barrier in place of the two of a maximum and then a sum. Over warps and over the
blocks of a cluster likewise, through shared memory (row_reduce, cluster_reduce).

e^x is 2^(x · log2 e), approximate (ex2.approx.ftz, 2 ulp); what is below 2^-126 is zero. What does not count
is -∞. Equal maxima scale by one, so that parts that are all -∞ add nothing (-∞ - -∞ is no number). NaN or +∞
in a row makes its total NaN; a row of only -∞ has most = -∞, total = 0.
Units: `most` in those of x, `total` in shares of e^most.
Source of the technique: Milakov and Gimelshein, Online normalizer calculation for softmax (2018).
"""

import operator

import cutlass
import cutlass.cute as cute
from cutlass import Float32

from corpus.blocks.cluster_reduce import cluster_share
from corpus.blocks.lane_reduce import lane_reduce

LOG2_E = 1.4426950408889634


@cute.jit
def lowered(most, top):
    """e^(most - top), by which a sum beside `most` is multiplied to stand beside `top`; 1 where equal."""
    scale = cute.math.exp2((most - top) * LOG2_E, fastmath=True)
    return cutlass.select_(most == top, Float32(1.0), scale)


@cute.jit
def softmax_more(x, most, total):
    """The pair with the values `x` (fp32, a thread's vector) taken in."""
    top = cute.arch.fmax(most, x.reduce(cute.ReductionOp.MAX, -Float32.inf, 0))
    base = cutlass.select_(top == -Float32.inf, Float32(0.0), top)
    more = cute.math.exp2((x - base) * LOG2_E, fastmath=True).reduce(cute.ReductionOp.ADD, 0.0, 0)
    return top, total * lowered(most, top) + more


@cute.jit
def softmax_lanes(most, total, lanes: cutlass.Constexpr):
    """The pair over each group of `lanes` lanes, in all of them."""
    top = lane_reduce(most, cute.arch.fmax, lanes)
    return top, lane_reduce(total * lowered(most, top), operator.add, lanes)


@cute.jit
def softmax_reduce(most, total, lanes: cutlass.Constexpr, blocks: cutlass.Constexpr, sPart, sFrom):
    """The pair over the `lanes` threads of a row in each of `blocks` blocks, in all of them. `sPart` (2,
    warps) and `sFrom` (2, blocks), fp32, are used above 32 lanes and one block."""
    most, total = softmax_lanes(most, total, min(lanes, 32))
    if cutlass.const_expr(lanes > 32):
        warps = lanes // 32
        thread, _, _ = cute.arch.thread_idx()
        warp, lane = thread // 32, thread % 32
        if lane == 0:
            sPart[0, warp], sPart[1, warp] = most, total
        cute.arch.sync_threads()
        mine = warp // warps * warps + lane % warps
        most, total = softmax_lanes(sPart[0, mine], sPart[1, mine], warps)
    if cutlass.const_expr(blocks > 1):
        sMost, sTotal = sFrom[0, None], sFrom[1, None]
        cluster_share((most, total), blocks, (sMost, sTotal))
        rank = cute.arch.lane_idx() % blocks
        most, total = softmax_lanes(sMost[rank], sTotal[rank], blocks)
    return most, total
