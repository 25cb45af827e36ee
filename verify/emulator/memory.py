"""The emulator's global memory: host memory in which every buffer ends at a page that can't be touched."""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Bits of Allocation.state, as in runtime/core.h.
INIT, READ, WRITTEN = 1, 2, 4

_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


@dataclass(slots=True)
class Allocation:
    """A buffer: host address, bytes, the name that findings use. `state` holds INIT, READ (before the launch
    wrote it) and WRITTEN for each byte; launches change it."""

    base: int
    size: int
    name: str
    state: npt.NDArray[np.uint8]
    held: mmap.mmap

    @property
    def end(self) -> int:
        return self.base + self.size

    def mark(self, initialised: bool, offset: int = 0, size: int | None = None) -> None:
        """Say whether `size` bytes from `offset` (default: all) hold a value; forgets what touched them."""
        end = self.size if size is None else offset + size
        self.state[offset:end] = INIT if initialised else 0


class Memory:
    """Allocations by address. An access outside all of them is out of bounds, however near it is."""

    def __init__(self) -> None:
        self._by_base: dict[int, Allocation] = {}
        self._bases: list[int] = []  # sorted

    def __iter__(self) -> Iterator[Allocation]:
        """All allocations, by rising address."""
        return (self._by_base[b] for b in self._bases)

    def alloc(self, size: int, name: str = "", initialised: bool = True, align: int = 256) -> int:
        """Address of `size` zero bytes (0 is allowed), a multiple of `align`: a power of two up to a page.

        What lies before and after is not mapped, but for up to `align` - 1 bytes of padding behind. OSError
        where the system has no memory.
        """
        if size < 0 or align < 1 or align & (align - 1) or align > _PAGE:
            raise ValueError(f"{size} bytes aligned to {align}")
        padded = -(-max(size, 1) // align) * align
        room = -(-padded // _PAGE) * _PAGE
        held = mmap.mmap(-1, room + 2 * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        anchor = ctypes.c_char.from_buffer(held)
        start = ctypes.addressof(anchor)
        del anchor  # a map with exports can't be closed
        for guard in (start, start + _PAGE + room):
            if _libc.mprotect(guard, _PAGE, 0) != 0:
                raise OSError(ctypes.get_errno(), "mprotect refused a guard page")
        base = start + _PAGE + room - padded
        # Zeros cost nothing until they are touched: a large, sparsely used buffer stays cheap.
        state: npt.NDArray[np.uint8] = (
            np.full(size, INIT, np.uint8) if initialised else np.zeros(size, np.uint8)
        )
        self._by_base[base] = Allocation(base, size, name or f"allocation {len(self._bases)}", state, held)
        insort(self._bases, base)
        return base

    def free(self, address: int) -> None:
        """Give an allocation back. KeyError where `address` is none."""
        gone = self._by_base.pop(address)
        self._bases.remove(address)
        gone.held.close()

    def at(self, address: int) -> Allocation:
        """The allocation that starts at `address`. KeyError where none does."""
        return self._by_base[address]

    def holding(self, address: int, size: int = 1) -> Allocation | None:
        """The allocation in which `size` bytes from `address` lie, if they lie in one."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self._by_base[self._bases[place]]
        return found if address + size <= found.end else None
