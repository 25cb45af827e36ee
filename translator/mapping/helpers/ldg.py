"""A load that may go through the read-only path, as nvcc does for const __restrict__ pointers."""

from cutlass import Int32, Numeric, Pointer


def ldg(p: Pointer, i: Int32 | int) -> Numeric:
    """p[i], of memory that nothing writes while the kernel runs."""
    return (p + i).load(is_invariant=True)
