"""C's integer remainder, which has the sign of the dividend, for constants too."""

from cutlass import Int32, Numeric
from cutlass._mlir.dialects import arith


def irem(a: Numeric, b: Numeric) -> Numeric:
    """a % b as in C, with the sign of a; both of one integer type."""
    kind = type(a) if isinstance(a, Numeric) else type(b) if isinstance(b, Numeric) else Int32
    a, b = kind(a), kind(b)
    if isinstance(a.value, int) and isinstance(b.value, int) and b.value != 0:
        rest = abs(a.value) % abs(b.value)
        return kind(rest if a.value >= 0 else -rest)
    remainder = arith.remsi if kind.signed else arith.remui
    return kind(remainder(a.ir_value(), b.ir_value()))
