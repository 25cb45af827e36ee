"""Sides of a comparison that run in this process, on the fake driver."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fake_driver import FakeDriver

from verify import bench_jobs, device_jobs
from verify.jobs import JobError
from verify.sides import Inputs, SideError, SideRan, read_outputs


class InProcessSide:
    """Like sides.ChildSide, without the child."""

    def __init__(self, driver: FakeDriver, run: str, load: dict[str, Any]) -> None:
        self.driver = driver
        self.job = run
        self.load = load
        self.held = device_jobs.Bench()
        self.restarts = 0

    def ask(self, job: dict[str, Any], _timeout: float = 0) -> dict[str, Any]:
        device_jobs.HELD = self.held
        try:
            handlers = {**device_jobs.HANDLERS, **bench_jobs.HANDLERS}
            return handlers[job["do"]](job, lambda _: None)
        except JobError as e:
            raise SideError("refused", e.code, e.message, e.line) from e

    @property
    def child(self) -> InProcessSide:
        if self.held.spec is None:
            self.ask(self.load)
        return self

    scratch = property(lambda self: self._scratch())

    def _scratch(self) -> str:
        return tempfile.mkdtemp()

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        with tempfile.TemporaryDirectory() as out:
            job = {
                "do": self.job,
                "case": case,
                "inputs": inputs.files(),
                "repeat": repeat,
                "out": out,
                "module": self.load.get("module", ""),
            }
            reply = self.child.ask(job)
            return SideRan(read_outputs(reply["outputs"], Path(out)), reply["overrun"], reply["changed"])

    def restart(self) -> None:
        self.restarts += 1
        self.held = device_jobs.Bench()


def floats(address: int, count: int) -> np.ndarray:
    """Host memory as float32, writable."""
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def saxpy_kernel(_grid: Any, _block: Any, values: list[bytes]) -> None:
    """The fake original: parameters as bytes, like the driver sees them."""
    n = int.from_bytes(values[0], "little", signed=True)
    a = np.frombuffer(values[1], np.float32)[0]
    x, y = (floats(int.from_bytes(v, "little"), n) for v in values[2:])
    with np.errstate(invalid="ignore"):
        y[:] = a * x + y


def off_by(share: float) -> Callable[[Any, Any, list[bytes]], None]:
    """The kernel with a relative error."""

    def kernel(grid: Any, block: Any, values: list[bytes]) -> None:
        saxpy_kernel(grid, block, values)
        y = floats(int.from_bytes(values[3], "little"), int.from_bytes(values[0], "little", signed=True))
        y[:] = y * np.float32(1 + share)

    return kernel


def original_side(driver: FakeDriver, target: Path, symbol: str = "k") -> InProcessSide:
    cubin = target / "fake.cubin"
    cubin.write_bytes(b"x")
    load = {"do": "load_original", "target": str(target), "cubin": str(cubin), "names": {"saxpy": symbol}}
    return InProcessSide(driver, "run_original", load)


def port_side(driver: FakeDriver, target: Path) -> InProcessSide:
    load = {"do": "load_port", "target": str(target), "module": str(target / "port.py")}
    return InProcessSide(driver, "run_port", load)
