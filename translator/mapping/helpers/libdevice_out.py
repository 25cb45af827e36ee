"""A device library function with a result and one more through a pointer, as a pair."""

from typing import Any

import cutlass
from cutlass import Numeric, cute


def libdevice_out(name: str, result: Any, out: Any, *args: Numeric) -> tuple[Numeric, Numeric]:
    """(result, value written to the last pointer parameter) of `name(*args, &out)`."""
    slot = cutlass.Array(out, 1)
    pointer = cutlass.Pointer[out, cutlass.AddressSpace.generic]
    call = cute.ffi(name=name, params_types=[*(type(a) for a in args), pointer], return_type=result)
    value = result(call(*args, slot.data_ptr(0)))
    return value, slot[0]
