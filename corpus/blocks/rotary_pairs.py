"""Pairs of a head that rotate together: both ways they lie as one layout, and the rotation. Traced.

    halves        x0 x1 x2 … y0 y1 y2 …       (pair, x | y, vector) : (1, rotary / 2, width)
    interleaved   x0 y0 x1 y1 x2 y2 …                                 (2, 1, 2 · width)

    (x, y) ← (x · cos - y · sin, x · sin + y · cos)

A vector is `width` pairs. As halves that is two accesses of `width` elements, interleaved one of 2 · width:
`pair_width` finds how many from what is known of extents, strides and addresses. Of halves a kernel may want
fewer (`most`) than an access could hold: a pair more is two elements more for each thread to keep. A table of
angles has rows of `rotary` numbers, all cosines before all sines, which is the layout of halves whatever the
heads' is.

Units: elements; angles as cosine and sine. The rotation is in fp32 and rounds once.
Source of the technique: rotary embeddings of GPT-NeoX (halves) and GPT-J (interleaved).
"""

import cutlass.cute as cute
from cutlass import Float32

from corpus.blocks.vector_width import vector_width


def pair_width(bits: int, rotary: int, interleaved: bool, *facts: int, most: int = 8) -> tuple[int, int]:
    """(pairs of a vector, elements that are aligned together); `facts` are in elements, and `most` pairs a
    vector of halves. Host code."""
    if interleaved:
        aligned = vector_width(bits, rotary, *facts)
        return max(1, aligned // 2), aligned
    aligned = vector_width(bits, rotary // 2, *facts)
    return min(aligned, most), aligned


def pair_view(pointer, rotary: int, width: int, interleaved: bool, shape: tuple, stride: tuple):
    """(pair, x | y, vector, …) of heads whose first `rotary` elements rotate; `shape` and `stride` are those
    of all further modes."""
    pairs = (2, 1, 2 * width) if interleaved else (1, rotary // 2, width)
    layout = cute.make_layout((width, 2, rotary // (2 * width), *shape), stride=(*pairs, *stride))
    return cute.make_tensor(pointer, layout)


@cute.jit
def rotated(x, y, rC: cute.Tensor):
    """The vectors x and y of fp32 rotated by the angles `rC`, (pair, cosine | sine)."""
    cosine, sine = rC[None, 0].load().to(Float32), rC[None, 1].load().to(Float32)
    # Of a sum a compiler makes an fma, whose one product is not rounded: here x · sin, as nvcc has it.
    return x * cosine - y * sine, cute.math.fma(x, sine, y * cosine)
