"""Pointer → matrix: a tensor of rows from an address, extents and a stride. Host code of a launch, traced.

    (rows, columns) : (stride, 1)      stride ≥ columns, a multiple of `width`; a vector is one row

Strides are 64-bit: row · stride passes 2^31 in tensors that people have. `width` (elements) is promised to
divide the stride, so that each row starts as aligned as the first one and copies stay vectorised.
Source of the technique: CuTe's layouts; 64-bit strides as in CUTLASS.
"""

import cutlass.cute as cute


def row_view(pointer, rows, columns: int, stride, width: int):
    """Rows of `columns` elements, `stride` elements (Int64) apart."""
    layout = cute.make_layout((rows, columns), stride=(cute.assume(stride, divby=width), 1))
    return cute.make_tensor(pointer, layout)
