"""Inequality that is false where an operand is NaN; Python's and C's `!=` is true there."""

from cutlass import Boolean, Numeric


def ordered_ne(a: Numeric, b: Numeric) -> Boolean:
    """a < b or a > b"""
    return (a < b) | (a > b)
