"""C's integer division, which truncates; the DSL's `//` floors and its `/` is a float division."""

from cutlass import Int32, Numeric
from cutlass._mlir.dialects import arith


def idiv(a: Numeric, b: Numeric) -> Numeric:
    """a / b as in C, rounded towards zero; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        quotient = abs(a.value) // abs(b.value)
        return kind(quotient if (a.value < 0) == (b.value < 0) else -quotient)
    divide = arith.divsi if kind.signed else arith.divui
    return kind(divide(a.ir_value(), b.ir_value()))
