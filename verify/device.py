"""The CUDA driver through cuda-bindings: memory, streams, events, graphs. Imported in children only."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]


class DeviceError(Exception):
    """The driver refused a call, or a kernel faulted. The text names the CUDA error."""


class Device(Protocol):
    """What the harness needs of a device. Addresses are plain integers, sizes bytes.

    `guard` bytes before and after each buffer show what was written outside it. `poison` fills memory whose
    contents stand for nothing.
    """

    guard: int

    def alloc(self, size: int, name: str = "") -> int: ...
    def free(self, address: int) -> None: ...
    def upload(self, address: int, data: Bytes) -> None: ...
    def download(self, address: int, size: int) -> Bytes: ...
    def fill(self, address: int, byte: int, size: int) -> None: ...
    def poison(self, address: int, byte: int, size: int) -> None: ...
    def copy(self, to: int, source: int, size: int) -> None: ...
    def synchronize(self) -> None: ...


class CudaDevice:
    """Device 0's primary context, current on this thread, and one non-blocking stream of its own."""

    guard = 16 * 1024  # a multiple of 256 keeps a buffer's base aligned as an allocation is

    def __init__(self) -> None:
        from cuda.bindings import driver

        self.api: Any = driver
        self.call("cuInit", 0)
        self.handle = self.call("cuDeviceGet", 0)
        self.context = self.call("cuDevicePrimaryCtxRetain", self.handle)
        self.call("cuCtxSetCurrent", self.context)
        self.stream = self.call("cuStreamCreate", driver.CUstream_flags.CU_STREAM_NON_BLOCKING)

    def call(self, name: str, *args: Any) -> Any:
        """Call a driver function; its result (a tuple if several). DeviceError names function and error."""
        result = getattr(self.api, name)(*args)
        error, values = result[0], result[1:]
        if int(error) != 0:
            raise DeviceError(f"{name}: {getattr(error, 'name', error)}")
        return values[0] if len(values) == 1 else values or None

    def attribute(self, name: str) -> int:
        """A CU_DEVICE_ATTRIBUTE_… by the end of its name."""
        key = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.handle))

    def describe(self) -> dict[str, Any]:
        """The facts that environment.Gpu holds, with the compute capability as major and minor."""
        name = self.call("cuDeviceGetName", 256, self.handle)
        version = int(self.call("cuDriverGetVersion"))
        text = bytes(name).split(b"\0")[0].decode() if not isinstance(name, str) else name
        return {
            "name": text.strip(),
            "major": self.attribute("COMPUTE_CAPABILITY_MAJOR"),
            "minor": self.attribute("COMPUTE_CAPABILITY_MINOR"),
            "multiprocessors": self.attribute("MULTIPROCESSOR_COUNT"),
            "l2_bytes": self.attribute("L2_CACHE_SIZE"),
            "memory_bytes": int(self.call("cuDeviceTotalMem", self.handle)),
            "uuid": bytes(self.call("cuDeviceGetUuid", self.handle).bytes).hex(),
            "driver": f"CUDA {version // 1000}.{version % 1000 // 10}",
        }

    def free_memory(self) -> int:
        """Bytes of device memory that are free now."""
        return int(self.call("cuMemGetInfo")[0])

    def alloc(self, size: int, name: str = "") -> int:
        return int(self.call("cuMemAlloc", size))

    def free(self, address: int) -> None:
        self.call("cuMemFree", address)

    def upload(self, address: int, data: Bytes) -> None:
        if data.nbytes:
            held = np.ascontiguousarray(data)
            self.call("cuMemcpyHtoD", address, held.ctypes.data, held.nbytes)

    def download(self, address: int, size: int) -> Bytes:
        out: Bytes = np.empty(size, np.uint8)
        if size:
            self.call("cuMemcpyDtoH", out.ctypes.data, address, size)
        return out

    def fill(self, address: int, byte: int, size: int) -> None:
        if size:
            self.call("cuMemsetD8", address, byte, size)

    def poison(self, address: int, byte: int, size: int) -> None:
        self.fill(address, byte, size)

    def copy(self, to: int, source: int, size: int) -> None:
        if size:
            self.call("cuMemcpyDtoD", to, source, size)

    def synchronize(self) -> None:
        """Wait for everything on the device; a kernel's fault shows here."""
        self.call("cuCtxSynchronize")


def load_image(device: CudaDevice, image: bytes) -> Any:
    """A module from a cubin or from PTX text that ends in a zero byte."""
    held = ctypes.create_string_buffer(image, len(image))
    return device.call("cuModuleLoadData", ctypes.addressof(held))


class Arguments:
    """Kernel parameters for cuLaunchKernel, each in its own padded memory, alive as long as this object."""

    def __init__(self, values: list[bytes]) -> None:
        self.sizes = [len(v) for v in values]
        self._memory = []
        for v in values:
            room = (ctypes.c_uint64 * (len(v) // 8 + 4))()
            ctypes.memmove(room, v, len(v))
            self._memory.append(room)
        self._table = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(m) for m in self._memory])

    @property
    def address(self) -> int:
        """Address of the table of pointers."""
        return ctypes.addressof(self._table)
