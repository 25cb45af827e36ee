"""As much of the CUDA driver as loading PTX and running a kernel takes, by ctypes."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np

from tests.emulator.single.cases import Slots

_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES = 5, 6


class RefusedError(Exception):
    """The driver's compiler does not take a module; the text is its log."""


class DeviceError(Exception):
    """A call failed; the process's context is useless after a fault."""


class Gpu:
    """Device 0 of the machine."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context = c_int(), c_void_p()
        self._call("cuInit", c_uint(0))
        self._call("cuDeviceGet", byref(device), c_int(0))
        self._device = device
        self._call("cuDevicePrimaryCtxRetain", byref(context), device)
        self._call("cuCtxSetCurrent", context)

    def describe(self) -> tuple[str, int]:
        """The device's name and the driver's CUDA version (13000 for 13.0)."""
        name, version = ctypes.create_string_buffer(100), c_int()
        self._call("cuDeviceGetName", name, c_int(100), self._device)
        self._call("cuDriverGetVersion", byref(version))
        return name.value.decode(), version.value

    def load(self, ptx: str) -> c_void_p:
        """A module compiled from PTX. RefusedError where the driver's compiler does not take it."""
        module, log = c_void_p(), ctypes.create_string_buffer(4096)
        options = (c_int * 2)(_JIT_ERROR_LOG, _JIT_ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), 4096)
        image = c_char_p(ptx.encode())
        status = self._cuda.cuModuleLoadDataEx(byref(module), image, c_uint(2), options, values)
        if status:
            raise RefusedError(f"{status}: {log.value.decode(errors='replace').strip()}")
        return module

    def unload(self, module: c_void_p) -> None:
        self._call("cuModuleUnload", module)

    def launch(self, module: c_void_p, name: str, given: Slots, columns: int) -> Slots:
        """Runs `name(in, out, rows)` with one thread per row; returns rows x columns words."""
        out = np.zeros((len(given), columns), dtype=np.uint64)
        function, source, target = c_void_p(), c_uint64(), c_uint64()
        self._call("cuModuleGetFunction", byref(function), module, c_char_p(name.encode()))
        self._call("cuMemAlloc_v2", byref(source), c_size_t(given.nbytes))
        self._call("cuMemAlloc_v2", byref(target), c_size_t(out.nbytes))
        self._call("cuMemcpyHtoD_v2", source, given.ctypes.data_as(c_void_p), c_size_t(given.nbytes))
        self._call("cuMemcpyHtoD_v2", target, out.ctypes.data_as(c_void_p), c_size_t(out.nbytes))
        rows = c_uint(len(given))
        arguments = (c_void_p * 3)(*(ctypes.addressof(x) for x in (source, target, rows)))
        shape = [c_uint(x) for x in ((len(given) + 127) // 128, 1, 1, 128, 1, 1, 0)]
        self._call("cuLaunchKernel", function, *shape, None, arguments, None)
        self._call("cuCtxSynchronize")
        self._call("cuMemcpyDtoH_v2", out.ctypes.data_as(c_void_p), target, c_size_t(out.nbytes))
        self._call("cuMemFree_v2", source)
        self._call("cuMemFree_v2", target)
        return out

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise DeviceError(f"{name}: CUDA error {status}")
