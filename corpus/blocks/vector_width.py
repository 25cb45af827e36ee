"""How many elements one access moves, from what is known of extents, strides and addresses. Host code.

A load or store of 128 bits needs its address to be a multiple of 16 bytes, one of 256 bits (sm_100 only) of
32. In a matrix each row starts at a multiple of that only where the row stride is one too, so every fact has
a say:

    width = the largest power of two ≤ access / bits that divides every fact

Units: `bits` of an element, `access` in bits; facts are in elements (an address divided by its element's
bytes). Cost: none at run time, the width is a compile-time constant of the kernel.
Source of the technique: vectorised copies of CUTLASS's CuTe examples; here the facts choose, not the caller.
"""


def vector_width(bits: int, *facts: int, access: int = 128) -> int:
    """Elements of one access of at most `access` bits (256 on sm_100); 1 where nothing wider is aligned."""
    width = max(1, access // bits)
    while any(fact % width for fact in facts):
        width //= 2
    return width
