"""The two clocks of the host: a launch on an idle device, and the very first call. Child side only.

Both sides are called from Python: the port as its entry, the original through the driver's API.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

# Bound here, before a port is imported: what a port does to the module `time` changes nothing.
from time import perf_counter_ns
from typing import Any

from verify.device import CudaDevice
from verify.rotation import Sets
from verify.timing import SIDES, Enqueue

_ROUNDS = (4, 24)
_BUDGET_NS = 300_000_000


@dataclass(slots=True)
class LaunchRaw:
    """Microseconds per call: until it returned, and until the device was done."""

    call: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Garbage is not collected in here."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def launches(device: CudaDevice, sets: Sets, sides: Mapping[str, Enqueue]) -> dict[str, LaunchRaw]:
    """Single calls on an idle device, in the order A B B A, each on the next set of buffers."""
    found = {name: LaunchRaw() for name in SIDES}
    order, index, began = list(SIDES), 0, perf_counter_ns()
    with _no_collection():
        for done in range(_ROUNDS[1]):
            if done >= _ROUNDS[0] and perf_counter_ns() - began > _BUDGET_NS:
                break
            for name in [*order, *reversed(order)]:
                enqueue, at = sides[name], index % sets.count
                index += 1
                if sets.inout:
                    sets.restore()
                device.synchronize()
                start = perf_counter_ns()
                enqueue(at)
                called = perf_counter_ns()
                device.synchronize()
                end = perf_counter_ns()
                found[name].call.append((called - start) / 1000.0)
                found[name].done.append((end - start) / 1000.0)
            order.reverse()
    return found


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returned, and the microseconds it took."""
    with _no_collection():
        start = perf_counter_ns()
        result = work()
        return result, (perf_counter_ns() - start) / 1000.0


def wake_nvrtc() -> None:
    """Load NVRTC, where it is there."""
    with suppress(Exception):  # without it nvcc builds
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
