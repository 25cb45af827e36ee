"""The caller's buffers on a device: guard bands around each, poison in outputs, inputs checked afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from verify.device import Bytes, Device
from verify.inputs import lanes
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg

_GUARD_BYTE = 0xC5
# Poison by repeat: an element that equals the poison of two repeats with different poison was not written.
# All-ones is NaN in every float format.
_POISON = {True: (0xFF, 0xAA), False: (0xAA, 0x55)}


def poison_byte(arg: BufferArg, repeat: int) -> int:
    """What an output buffer is filled with before this repeat."""
    return _POISON[any(lane.dtype.is_float for lane in lanes(arg))][repeat % 2]


@dataclass(slots=True)
class Ran:
    """What one launch left. `outputs` holds the bytes of all buffers that it may write to."""

    outputs: dict[str, Bytes] = field(default_factory=dict)
    overrun: list[str] = field(default_factory=list)  # buffers with a broken guard band
    changed: list[str] = field(default_factory=list)  # read-only inputs that were written


class Buffers:
    """Guarded device memory by name. A buffer of the same size keeps its address from run to run, so a port
    that caches by address meets new values at the old one."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._guard = device.guard
        self._held: dict[str, tuple[int, int, int]] = {}  # name → (allocation, size, shift)

    def place(self, name: str, size: int, shift: int = 0) -> int:
        """Address of `size` bytes under `name`, guards freshly filled. It is `shift` bytes behind a multiple
        of 256."""
        held = self._held.get(name)
        if held is None or held[1:] != (size, shift):
            self.drop(name)
            start = self.device.alloc(size + shift + 2 * self._guard, name)
            self._held[name] = held = (start, size, shift)
        for at, length in self._guards(name) if self._guard else ():
            self.device.fill(at, _GUARD_BYTE, length)
        return self.address(name)

    def _guards(self, name: str) -> tuple[tuple[int, int], tuple[int, int]]:
        """(address, bytes) of what lies before and after a buffer."""
        start, size, shift = self._held[name]
        before = self._guard + shift
        return (start, before), (start + before + size, self._guard)

    def address(self, name: str) -> int:
        start, _, shift = self._held[name]
        return start + self._guard + shift

    def intact(self, name: str) -> bool:
        """True where nothing was written before or after the buffer."""
        if not self._guard:
            return True  # such a device sees each access itself
        return all(np.all(self.device.download(*guard) == _GUARD_BYTE) for guard in self._guards(name))

    def drop(self, name: str) -> None:
        if (held := self._held.pop(name, None)) is not None:
            self.device.free(held[0])

    def clear(self) -> None:
        for name in list(self._held):
            self.drop(name)


def run_once(
    buffers: Buffers,
    spec: Spec,
    resolved: Resolved,
    inputs: Mapping[str, Bytes],
    repeat: int,
    launch: Callable[[dict[str, int]], None],
    shifted: bool = False,
) -> Ran:
    """Fill the buffers, call `launch` with their addresses by name, wait, and look at what it left.
    `shifted` addresses are aligned no better than the spec says they must be.

    DeviceError passes through: the launch was refused or the kernel faulted.
    """
    device = buffers.device
    addresses: dict[str, int] = {}
    for arg in spec.buffers:
        size = resolved.elems[arg.name] * arg.element_bytes
        shift = arg.least_align if shifted and not arg.symbol else 0
        at = addresses[arg.name] = buffers.place(arg.name, size, shift)
        if arg.poisoned:
            device.poison(at, poison_byte(arg, repeat), size)
        else:
            device.upload(at, inputs[arg.name])
    device.synchronize()
    launch(addresses)
    device.synchronize()
    ran = Ran()
    for arg in spec.buffers:
        if not buffers.intact(arg.name):
            ran.overrun.append(arg.name)
        size = resolved.elems[arg.name] * arg.element_bytes
        now = device.download(addresses[arg.name], size)
        if arg.role != "in":
            ran.outputs[arg.name] = now
        elif not np.array_equal(now, inputs[arg.name]):
            ran.changed.append(arg.name)
    return ran
