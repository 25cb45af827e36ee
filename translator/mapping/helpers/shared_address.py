"""CUDA's __cvta_generic_to_shared."""

import cutlass
from cutlass import Pointer, Uint64


def shared_address(p: Pointer) -> Uint64:
    """Address of `p` in the shared memory window."""
    shared = cutlass.AddressSpace.smem
    inside = p if p.space == shared else p.tospace(shared)
    return Uint64(inside.toint())
