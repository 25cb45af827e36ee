"""Emulated global memory: exact ranges, guard pages, and the state of each byte."""

from __future__ import annotations

import ctypes
import faulthandler
import os

import numpy as np
import pytest

from verify.device import DeviceError
from verify.emulator.device import EmulatedDevice
from verify.emulator.memory import INIT, Memory


def dies(work) -> int:  # type: ignore[no-untyped-def]
    """The signal that ends a child which does this, 0 if none does."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # of pytest's own
        work()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 4096, 10_000])
def test_a_buffer_is_aligned_zero_and_followed_by_what_cannot_be_touched(size: int) -> None:
    memory = Memory()
    at = memory.alloc(size, "x")
    assert at % 256 == 0
    assert ctypes.string_at(at, size) == b"\0" * size
    ctypes.memset(at, 7, size)
    beyond = at + max(256, -(-size // 256) * 256)
    assert dies(lambda: ctypes.memset(beyond, 0, 1)) == 11
    assert dies(lambda: ctypes.memset(at, 0, size)) == 0
    memory.free(at)
    with pytest.raises(KeyError):
        memory.free(at)


def test_what_lies_where() -> None:
    memory = Memory()
    a, b = memory.alloc(100, "a"), memory.alloc(40, "b")
    assert [x.base for x in memory] == sorted([a, b])
    found = memory.holding(a + 96, 4)
    assert found is not None and found.name == "a"
    assert memory.holding(a + 96, 5) is None
    assert memory.holding(a - 1) is None
    memory.free(a)
    assert memory.holding(a) is None
    assert memory.at(b).size == 40


def test_copies_initialise_and_poison_does_not() -> None:
    device = EmulatedDevice()
    a, b = device.alloc(8, "a"), device.alloc(8, "b")
    state = device.memory.at(a).state
    assert not state.any()
    device.upload(a + 2, np.array([1, 2, 3], np.uint8))
    assert (state == INIT).tolist() == [False] * 2 + [True] * 3 + [False] * 3
    device.copy(b, a, 8)
    assert device.download(b, 8).tolist() == [0, 0, 1, 2, 3, 0, 0, 0]
    device.poison(a + 3, 0xFF, 5)
    assert device.download(a, 8).tolist() == [0, 0, 1] + [0xFF] * 5
    assert (state == INIT).tolist() == [False] * 2 + [True] + [False] * 5


def test_copies_outside_every_buffer_are_refused() -> None:
    device = EmulatedDevice()
    a = device.alloc(8)
    variable = ctypes.create_string_buffer(16)
    at = ctypes.addressof(variable)
    for work in (
        lambda: device.download(a, 9),
        lambda: device.fill(a - 1, 0, 1),
        lambda: device.copy(at, a, 8),
    ):
        with pytest.raises(DeviceError, match="lie in no allocation"):
            work()
    device.admit(at, 16)
    device.upload(a, np.arange(8, dtype=np.uint8))
    device.copy(at, a, 8)
    assert variable.raw[:8] == bytes(range(8))
