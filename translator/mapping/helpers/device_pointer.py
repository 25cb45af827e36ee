"""A caller's buffer as a kernel argument."""

from typing import Any

from cutlass import AddressSpace, Numeric, Pointer
from cutlass.cute.runtime import make_ptr


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A torch tensor's (or a raw address's) device memory as a pointer to `kind`."""
    address = x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))
