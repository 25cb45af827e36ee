"""One wide store of a CUDA vector type."""

from cutlass import Array, Numeric, Pointer


def store_vector(p: Pointer, values: tuple[Numeric, ...], align: int) -> None:
    """The scalars to p and on, which is aligned to `align` bytes."""
    v = Array(p.dtype, len(values))
    for k in range(len(values)):
        v[k] = values[k]
    p.store(v[0 : len(values)], alignment=align)
