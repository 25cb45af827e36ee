"""A torch tensor or a device address as a typed, aligned DSL pointer; element types by name. Host code.

    x (tensor | int) ── address ── make_ptr(kind, gmem, aligned to width elements)

The alignment is a promise to the compiler: it turns copies of `width` elements into one access.
`vector_width` says what may be promised. Units: addresses in bytes, `width` in elements.
Source of the technique: CUTLASS's examples in CuTe DSL (make_ptr, assumed alignment).
"""

from typing import Any

from cutlass import AddressSpace, BFloat16, Float16, Float32, Numeric
from cutlass.cute.runtime import make_ptr

ELEMENTS = {"bf16": BFloat16, "f16": Float16, "f32": Float32}


def address_of(x: Any) -> int:
    """The address in bytes of a CUDA tensor's first element, or a device address as it is."""
    return x if isinstance(x, int) else x.data_ptr()


def device_pointer(x: Any, kind: type[Numeric], width: int) -> Any:
    """A pointer to elements of `kind` in global memory that is aligned to `width` of them."""
    return make_ptr(kind, address_of(x), AddressSpace.gmem, assumed_align=width * kind.width // 8)
