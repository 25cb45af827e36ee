"""C++'s std::max, which differs from CUDA's max in what it does with NaN."""

import cutlass
from cutlass import Numeric


def std_max(a: Numeric, b: Numeric) -> Numeric:
    """a < b ? b : a"""
    return type(a)(cutlass.select_(a < b, b, a))
