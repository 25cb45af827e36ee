"""One wide load of a CUDA vector type."""

from cutlass import Numeric, Pointer


def load_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, which is aligned to `align` bytes."""
    v = p.load(count=count, alignment=align)
    return tuple(v[k] for k in range(count))
