"""Reductions over the blocks of a cluster through distributed shared memory. Traced; sm_90 and later.

Each block writes its value to its own place in the shared memory of every block. After one barrier of the
cluster all read what lies in their own:

    block 0   v0 ──┐                         sFrom of each block    0  1  2  3
    block 1   v1 ──┼── st.shared::cluster ──→                       v0 v1 v2 v3 ── lane_reduce ──→ in all
    block 2   v2 ──┤
    block 3   v3 ──┘

Nobody reads another block's memory, so that a block may end when it likes. A write must not come before its
target has begun: `cluster_begin`, the first thing in a kernel, says that this block has, and costs nothing
where loads are under way until `cluster_share` waits for the others'. Address and store are one piece of PTX,
which the compiler must take for a write to `sFrom`.
Units: those of the values; places are numbers of blocks in the cluster.
Source of the technique: distributed shared memory, in CUDA's programming guide; quack's cluster reductions.
"""

import cutlass
import cutlass.cute as cute

from corpus.blocks.lane_reduce import lane_reduce


@cute.jit
def cluster_begin(blocks: cutlass.Constexpr):
    """Tells the cluster that this block runs: by all threads, once before each `cluster_share`."""
    if cutlass.const_expr(blocks > 1):
        cute.arch.cluster_arrive_relaxed()


@cute.jit
def cluster_share(values, blocks: cutlass.Constexpr, sFroms):
    """Each of `values`, equal in all threads of a block, to entry `rank` of its tensor in `sFroms` in all
    blocks. Values have 32 or 64 bits; each tensor has `blocks` entries and is used once."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.cluster_wait()
    if thread < blocks:
        for value, sFrom in zip(values, sFroms, strict=True):
            at = (sFrom.iterator + cute.arch.block_idx_in_cluster()).toint()
            cute.arch.inline_ptx(
                "{ .reg .b32 far; mapa.shared::cluster.u32 far, {$r0}, {$r1};"
                f" st.shared::cluster.b{value.width} [far], {{$r2}}; }}",
                read_only_args=[at, thread, value],
            )
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def cluster_reduce(value, operation: cutlass.Constexpr, blocks: cutlass.Constexpr, sFrom):
    """The result over `blocks` blocks (a power of two up to 8), in all their threads, of a value that is
    equal in all threads of a block. After `cluster_begin`; `sFrom` is used once."""
    if cutlass.const_expr(blocks > 1):
        cluster_share((value,), blocks, (sFrom,))
        value = lane_reduce(sFrom[cute.arch.lane_idx() % blocks], operation, blocks)
    return value
