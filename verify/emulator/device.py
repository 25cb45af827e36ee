"""Host memory as the device of a launch in the emulator. Child side only."""

from __future__ import annotations

import ctypes

import numpy as np

from verify.device import Bytes, DeviceError
from verify.emulator.memory import Allocation, Memory


class EmulatedDevice:
    """verify.device.Device over emulator memory. Every call is done when it returns.

    Buffers need no guard bands: the emulator knows their exact ranges.
    """

    guard = 0
    stream = 0

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self._variables: dict[int, int] = {}  # address → bytes, of module variables

    def admit(self, address: int, size: int) -> None:
        """Let copies reach a module's variable, which is no allocation."""
        self._variables[address] = size

    def dismiss_all(self) -> None:
        """Forget the variables of modules that are gone."""
        self._variables.clear()

    def alloc(self, size: int, name: str = "") -> int:
        try:
            return self.memory.alloc(size, name, initialised=False)
        except OSError as e:
            raise DeviceError(f"no memory for {size} bytes: {e}") from e

    def free(self, address: int) -> None:
        self.memory.free(address)

    def upload(self, address: int, data: Bytes) -> None:
        held = np.ascontiguousarray(data)
        found = self._range(address, held.nbytes)
        ctypes.memmove(address, held.ctypes.data, held.nbytes)
        if found is not None:
            found.mark(True, address - found.base, held.nbytes)

    def download(self, address: int, size: int) -> Bytes:
        self._range(address, size)
        out: Bytes = np.empty(size, np.uint8)
        ctypes.memmove(out.ctypes.data, address, size)
        return out

    def fill(self, address: int, byte: int, size: int) -> None:
        found = self._range(address, size)
        ctypes.memset(address, byte, size)
        if found is not None:
            found.mark(True, address - found.base, size)

    def poison(self, address: int, byte: int, size: int) -> None:
        """Fill with bytes that stand for nothing: reading them is a finding."""
        self.fill(address, byte, size)
        if (found := self.memory.holding(address, size)) is not None:
            found.mark(False, address - found.base, size)

    def copy(self, to: int, source: int, size: int) -> None:
        target, _ = self._range(to, size), self._range(source, size)
        ctypes.memmove(to, source, size)
        if target is not None:
            target.mark(True, to - target.base, size)

    def synchronize(self) -> None:
        """Nothing runs behind the caller's back."""

    def _range(self, address: int, size: int) -> Allocation | None:
        """The allocation that holds these bytes, None for a variable. DeviceError where neither does."""
        if (found := self.memory.holding(address, size)) is not None:
            return found
        if any(at <= address and address + size <= at + room for at, room in self._variables.items()):
            return None
        raise DeviceError(f"{size} bytes at {address:#x} lie in no allocation")
