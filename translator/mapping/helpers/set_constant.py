"""cudaMemcpyToSymbol for the constant memory a port declares."""

from typing import Any

import cuda.bindings.runtime as cudart


def set_constant(compiled: Any, name: str, source: Any, size: int, stream: int) -> None:
    """Copies `size` bytes of device memory to constant `name` of a compiled port, in stream order."""
    address = source if isinstance(source, int) else source.data_ptr()
    error, symbol, _ = cudart.cudaLibraryGetGlobal(compiled.library, name.encode())
    if error == cudart.cudaError_t.cudaSuccess:
        kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToDevice
        (error,) = cudart.cudaMemcpyAsync(symbol, address, size, kind, stream)
    if error != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(f"constant {name} could not be set: {error.name}")
