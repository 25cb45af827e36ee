"""Sort what a thread holds in registers, largest first, by a network of exchanges. Traced.

An exchange puts the larger of two numbers first: a maximum and a minimum, no branch, and no index that is
known at run time only. Batcher's odd-even merge sort says which pairs; those of a step are independent:

    4 numbers    (0,1) (2,3) | (0,2) (1,3) | (1,2)      5 exchanges; 8 numbers take 19, 16 take 63

Any count, any type that has an order. Equal numbers may change places.
Units: those of the values.
Source of the technique: Batcher, Sorting networks and their applications (1968).
"""

import cutlass.cute as cute


def exchanges(count: int) -> list[tuple[int, int]]:
    """The pairs in order, the larger number to go to the first of each. Host code."""
    pairs, merged = [], 1
    while merged < count:
        apart = merged
        while apart:
            for start in range(apart % merged, count - apart, 2 * apart):
                for a in range(start, min(start + apart, count - apart)):
                    if a // (2 * merged) == (a + apart) // (2 * merged):
                        pairs.append((a, a + apart))
            apart //= 2
        merged *= 2
    return pairs


@cute.jit
def sort_registers(rX: cute.Tensor):
    """Sort a fragment in place, largest first."""
    for a, b in exchanges(cute.size(rX)):
        first, second = rX[a], rX[b]
        rX[a], rX[b] = max(first, second), min(first, second)
