"""The worker's jobs under compute-sanitizer: one launch on memory that is just as large as the spec says.

Nothing is written to an output beforehand and nothing read from it afterwards: what the tool tells is the
kernel's own doing. Child side only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from verify.buffers import Buffers
from verify.device import CudaDevice, DeviceError
from verify.device_jobs import HELD, call_port, case_of, load_original, load_port
from verify.jobs import Emit, JobError, describe
from verify.resolve import Resolved
from verify.spec import Spec

_Launch = Callable[[Spec, Resolved, dict[str, int]], None]


class ExactDevice(CudaDevice):
    """Memory without guard bands and without poison: one allocation for each buffer, of its own size."""

    guard = 0

    def poison(self, address: int, byte: int, size: int) -> None:
        pass


def _take() -> None:
    if HELD.buffers is None:
        try:
            HELD.use(ExactDevice())
        except Exception as e:  # whatever a missing or broken driver raises, or a tool that refuses it
            raise JobError("CP9002", describe(e)[0]) from e


def open_device(_job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Take the GPU: the tool waits for that."""
    _take()
    return {}


def load_checked_original(job: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Load the built original, as load_original does."""
    _take()
    return load_original(job, emit)


def load_checked_port(job: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Import the port, as load_port does."""
    _take()
    return load_port(job, emit)


def check_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One launch of the original on the given inputs."""
    kernel = HELD.original
    assert kernel is not None

    def launch(_spec: Spec, resolved: Resolved, addresses: dict[str, int]) -> None:
        if misfit := kernel.misfit(kernel.arguments(resolved, addresses)):
            raise JobError("CP7025", misfit)
        kernel.launch(resolved, addresses)

    return _once(job, "CP7002", launch)


def check_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One call of the port on the given inputs."""
    path = Path(job["module"])

    def launch(spec: Spec, resolved: Resolved, addresses: dict[str, int]) -> None:
        call_port(HELD.entry, spec, resolved, addresses, HELD.device.stream, path)

    return _once(job, "CP7003", launch)


def _once(job: dict[str, Any], refused: str, launch: _Launch) -> dict[str, Any]:
    spec, resolved, inputs = case_of(HELD.spec, job)
    device = HELD.device
    buffers = Buffers(device)
    addresses: dict[str, int] = {}
    try:
        for arg in spec.buffers:
            size = resolved.elems[arg.name] * arg.element_bytes
            # The driver refuses to give nothing; a byte is the least that has an address.
            addresses[arg.name] = buffers.place(arg.name, max(1, size))
            if not arg.poisoned:
                device.upload(addresses[arg.name], inputs[arg.name])
        device.synchronize()
        launch(spec, resolved, addresses)
        device.synchronize()
        buffers.clear()
    except DeviceError as e:
        raise JobError(refused, str(e)) from e
    return {}


HANDLERS = {
    "open_device": open_device,
    "load_checked_original": load_checked_original,
    "load_checked_port": load_checked_port,
    "check_original": check_original,
    "check_port": check_port,
}
