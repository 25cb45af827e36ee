"""A paged cache of K or V: where the row of a slot lies, and a vector stored there. Host and traced.

    slot = block · block_size + offset

    tokens first  (vector of head, head), offset, block : ((width, dim), heads · dim, block_stride)
    heads first                                           ((width, block_size · dim), dim, block_stride)

A vector of a row is one number, dim / width of them to a head, whichever way the cache lies. The cache holds
rows as they are, or e4m3 codes, round(x · (1 / scale)): the reciprocal is rounded, then the product, as the
engines' quantisers do. Slots may be anything that blocks are enough for; block_stride is 64 bits wide.

Units: elements of the cache; a scale is what a code of 1 stands for.
Source of the technique: paged attention of vLLM.
"""

import cutlass
import cutlass.cute as cute
from cutlass import Float8E4M3FN, Float32, Numeric

from corpus.blocks.fp8_convert import to_e4m3


def cache_element(cache: str, element: type[Numeric]) -> type[Numeric]:
    """The type of a cache's elements, where rows are of `element`; `cache` is "same" or "e4m3"."""
    return {"same": element, "e4m3": Float8E4M3FN}[cache]


def cache_view(
    pointer, heads: int, dim: int, block_size: int, blocks, block_stride, width: int, heads_first: bool
):
    """(element, (vector of head, head), offset, block). `blocks` bounds nothing."""
    head, offset = (block_size * dim, dim) if heads_first else (dim, heads * dim)
    stride = (1, (width, head), offset, cute.assume(block_stride, divby=width))
    layout = cute.make_layout((width, (dim // width, heads), block_size, blocks), stride=stride)
    return cute.make_tensor(pointer, layout)


@cute.jit
def cache_factor(mC: cute.Tensor, scale):
    """What `store_cached` takes for this `scale`; for e4m3 alone it means something."""
    if cutlass.const_expr(mC.element_type is Float8E4M3FN):
        return 1.0 / scale
    return scale


@cute.jit
def store_cached(rX: cute.Tensor, mC: cute.Tensor, vector, slot, factor):
    """Store the vector `rX` at `slot`, which is not negative."""
    block_size = mC.shape[2]
    rC = cute.make_rmem_tensor(rX.layout, mC.element_type)
    if cutlass.const_expr(mC.element_type is Float8E4M3FN):
        rC.store(to_e4m3(rX.load().to(Float32) * factor))
    else:
        rC.store(rX.load())
    cute.autovec_copy(rC, mC[None, vector, slot % block_size, slot // block_size])
