"""A pointer that was kept in memory as an address."""

import cutlass
from cutlass import AddressSpace, Int64, Numeric, Pointer, cute


def global_pointer(address: Numeric, kind: type[Numeric]) -> Pointer:
    """The global memory at `address` as a pointer to `kind`."""
    align = max(1, kind.width // 8)
    p = cute.make_ptr(kind, Int64(address), AddressSpace.gmem, assumed_align=align)
    return cutlass.Pointer(p.llvm_ptr, dtype=kind)
