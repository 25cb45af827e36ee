"""A constant the DSL must not fold: it would compute in Python's double precision."""

from cutlass import Numeric


def runtime(x: Numeric) -> Numeric:
    """x as a value of the compiled kernel, in its own type."""
    return type(x)(x.ir_value())
