"""A caller's buffer as a kernel argument."""

from typing import Any

from cutlass import AddressSpace, Numeric, Pointer
from cutlass.cute.runtime import make_ptr


def device_pointer(x: Any, kind: type[Numeric]) -> Pointer:
    """A CUDA tensor's memory, a raw device address, or None for null, as a pointer to `kind`."""
    if not isinstance(x, int) and x is not None and not x.is_cuda:
        raise ValueError("the kernel needs a tensor in GPU memory")
    address = 0 if x is None else x if isinstance(x, int) else x.data_ptr()
    return make_ptr(kind, address, AddressSpace.gmem, assumed_align=max(1, kind.width // 8))
