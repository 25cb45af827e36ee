"""Several copies of a case's buffers, so that launches in turn find none of their data in the L2. Child side
only."""

from __future__ import annotations

import math
from collections.abc import Mapping

from verify.buffers import poison_byte
from verify.device import Bytes, CudaDevice
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg

MOST_SETS = 256
_OVER_L2 = 2.5  # all sets together are larger than the L2 by this factor, where so many are not too many


class Sets:
    """`count` copies of all buffers. `symbols` are addresses of globals of the original, which no copy
    replaces: they are restored with the sets.

    A copy starts 256 bytes or more from the next one, as allocations do.
    """

    def __init__(
        self,
        device: CudaDevice,
        spec: Spec,
        resolved: Resolved,
        inputs: Mapping[str, Bytes],
        l2: int,
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        self.device = device
        self.spec = spec
        self.symbols = dict(symbols or {})
        self.sizes = {a.name: resolved.elems[a.name] * a.element_bytes for a in spec.buffers}
        self.bytes = sum(self.sizes.values())
        wanted = math.ceil(_OVER_L2 * l2 / max(1, self.bytes))
        room = int(device.free_memory() * 0.6) // max(1, self.bytes) - 1
        self.count = max(1, min(max(2, wanted), MOST_SETS, room))
        self.pristine = {n: self._made(n, inputs[n]) for n in inputs}
        self.addresses: list[dict[str, int]] = []
        for _ in range(self.count):
            self.addresses.append({n: device.alloc(size + 256) for n, size in self.sizes.items()})
        self.restore(everything=True)
        self.poison()
        device.synchronize()

    def _made(self, name: str, data: Bytes) -> int:
        at = self.device.alloc(self.sizes[name] + 256)
        self.device.upload(at, data)
        return at

    @property
    def inout(self) -> bool:
        """True where a second launch on one set would start from the results of the first."""
        return any(a.role != "in" and not a.poisoned for a in self.spec.buffers)

    @property
    def shared_outputs(self) -> bool:
        """True where launches of the original on several sets write the same global."""
        return any(a.role != "in" and a.name in self.symbols for a in self.spec.buffers)

    def restore(self, everything: bool = False) -> None:
        """Copy the first values back, on the device's stream: into what a launch changes, or everywhere."""
        for arg in self.spec.buffers:
            if not arg.poisoned and (everything or arg.role != "in"):
                for at in self._places(arg):
                    size = self.sizes[arg.name]
                    if size:
                        source = self.pristine[arg.name]
                        self.device.call("cuMemcpyDtoDAsync", at, source, size, self.device.stream)

    def poison(self) -> None:
        """Poison what is to be poisoned in every set, on the device's stream."""
        for arg in self.spec.buffers:
            if arg.poisoned and self.sizes[arg.name]:
                for at in self._places(arg):
                    byte, size = poison_byte(arg, 0), self.sizes[arg.name]
                    self.device.call("cuMemsetD8Async", at, byte, size, self.device.stream)

    def _places(self, arg: BufferArg) -> list[int]:
        own = [self.symbols[arg.name]] if arg.name in self.symbols else []
        return [at[arg.name] for at in self.addresses] + own

    def outputs(self, index: int, original: bool) -> dict[str, Bytes]:
        """What one set holds now; for the original its globals in the place of their copies."""
        found = {}
        for a in self.spec.buffers:
            if a.role != "in":
                own = self.symbols.get(a.name) if original else None
                at = self.addresses[index][a.name] if own is None else own
                found[a.name] = self.device.download(at, self.sizes[a.name])
        return found

    def close(self) -> None:
        for at in (*self.addresses, self.pristine):
            for address in at.values():
                self.device.free(address)
