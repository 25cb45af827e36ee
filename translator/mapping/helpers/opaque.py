"""A value the optimiser can't relate to other tests of it."""

from cutlass import Int32, cute


def opaque(x: Int32) -> Int32:
    """x; without it, guards on different values of x become one chain of branches whose loads wait."""
    text = "mov.b32 {$w0}, {$r0};"
    return cute.arch.inline_ptx(text, write_only_types=[Int32], read_only_args=[x])
