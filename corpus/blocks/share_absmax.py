"""The largest magnitude of a group whose elements lie in the registers of a few lanes. Traced.

    rX of a lane, two 16-bit elements a word ─ tree ─ butterfly over the lanes ─ halves ─→ |x| as fp32

`max.NaN.xorsign.abs` compares magnitudes, of both halves of a word at once: half an instruction an element,
and none to clear signs. The sign it leaves is of no use and is cut at the end. A NaN wins.
Units: those of x. Needs sm_86.
Source of the technique: the PTX manual, max with .xorsign.abs.
"""

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float16, Float32, Int32, Uint16

from corpus.blocks.lane_reduce import lane_reduce

KINDS = {BFloat16: "bf16x2", Float16: "f16x2", Float32: "f32"}


def larger_by(kind: str):
    """The operation on words: of each element the one of larger magnitude, NaN if one is."""
    code = "max.NaN.xorsign.abs." + kind + " {$w0}, {$r0}, {$r1};"

    def larger(a, b):
        return cute.arch.inline_ptx(code, write_only_types=[Int32], read_only_args=[a, b])

    return larger


@cute.jit
def share_absmax(rX: cute.Tensor, live, lanes: cutlass.Constexpr):
    """Largest |x| in fp32 over `rX` (whole words) of `lanes` neighbouring lanes, in all of them. Lanes that
    are not `live` count as zero."""
    element, rWords = rX.element_type, cute.recast_tensor(rX, Int32)
    larger = larger_by(KINDS[element])
    words = [rWords[k] for k in range(cute.size(rWords))]
    while cutlass.const_expr(len(words) > 1):
        words = [larger(*words[k : k + 2]) for k in range(0, len(words), 2)]
    most = words[0] if live else Int32(0)
    most = lane_reduce(most, larger, lanes)
    if cutlass.const_expr(element.width == 16):
        most = larger(most, most >> 16)
    if cutlass.const_expr(element is Float16):
        most = Float32(Uint16(most & 0x7FFF).bitcast(Float16))
    else:
        most = (most << (32 - element.width) & 0x7FFFFFFF).bitcast(Float32)
    return most
