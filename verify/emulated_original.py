"""The CUDA original in the emulator: original.OriginalKernel's work on host memory. Child side only."""

from __future__ import annotations

from verify.device import DeviceError
from verify.emulator.device import EmulatedDevice
from verify.emulator.launch import LaunchShape, Ran, RunOptions
from verify.emulator.opening import open_program, parameter_sizes, variable
from verify.original import argument_bytes
from verify.resolve import Resolved
from verify.spec import Spec


class EmulatedOriginal:
    """The original's PTX, ready to run. PtxError where the emulator can't run it."""

    def __init__(self, device: EmulatedDevice, ptx: str, names: dict[str, str], spec: Spec) -> None:
        self.device = device
        self.spec = spec
        self.kernel = names[spec.original.kernel]
        self.program = open_program(ptx)
        self._sizes = parameter_sizes(self.program, self.kernel)
        self.symbols: dict[str, tuple[int, int]] = {}
        for arg in spec.buffers:
            if arg.symbol:
                at, size = variable(self.program, names[f"&{arg.symbol}"])
                self.symbols[arg.name] = (at, size)
                device.admit(at, size)

    def misfit(self, resolved: Resolved, addresses: dict[str, int]) -> str:
        """How the spec's arguments differ from the kernel's parameters; empty if they fit."""
        given = [len(b) for b in argument_bytes(self.spec, resolved, addresses)]
        if given != list(self._sizes):
            return f"the kernel takes parameters of {list(self._sizes)} bytes, the spec gives {given}"
        return ""

    def shape(self, resolved: Resolved) -> LaunchShape:
        cooperative = self.spec.launch.cooperative
        return LaunchShape(resolved.grid, resolved.block, resolved.smem, cooperative=cooperative)

    def launch(self, resolved: Resolved, addresses: dict[str, int], options: RunOptions) -> Ran:
        """One launch with globals filled from their buffers before and copied back after."""
        for arg in self.spec.buffers:
            if arg.symbol:
                at, room = self.symbols[arg.name]
                size = resolved.elems[arg.name] * arg.element_bytes
                if size > room:
                    raise DeviceError(f"symbol {arg.symbol} has {room} bytes, the spec gives it {size}")
                self.device.copy(at, addresses[arg.name], size)
        ran = self.program.run(
            self.kernel,
            self.shape(resolved),
            argument_bytes(self.spec, resolved, addresses),
            self.device.memory,
            options,
        )
        for arg in self.spec.buffers:
            if arg.symbol and arg.role != "in":
                size = resolved.elems[arg.name] * arg.element_bytes
                self.device.copy(addresses[arg.name], self.symbols[arg.name][0], size)
        return ran
