"""One wide load of a CUDA vector type through the read-only path."""

from cutlass import Numeric, Pointer


def ldg_vector(p: Pointer, count: int, align: int) -> tuple[Numeric, ...]:
    """`count` scalars from p on, aligned to `align` bytes, of memory nothing writes while the kernel runs."""
    v = p.load(count=count, alignment=align, is_invariant=True)
    return tuple(v[k] for k in range(count))
