"""C++'s std::min, which differs from CUDA's min in what it does with NaN."""

import cutlass
from cutlass import Numeric


def std_min(a: Numeric, b: Numeric) -> Numeric:
    """b < a ? b : a"""
    return type(a)(cutlass.select_(b < a, b, a))
