"""Parity and bench of one target on the GPU: which children are started, and in what order."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.bench import run_bench
from verify.cubin import facts
from verify.environment import Gpu
from verify.options import Options
from verify.parity import Reference, run_parity, status_of
from verify.plan import plan
from verify.sides import ORIGINAL, PORT, ChildSide, Inputs, SideError
from verify.spec import Spec
from verify.verdict import CompileFacts, StageResult, Status

_BUILD_SECONDS = 400.0


class Quiet:
    """Lets several parities run together, and a bench only while nothing else uses the GPU."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._benching = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the GPU together with others."""
        with self._condition:
            # A waiting bench goes first, or a stream of parities would starve it.
            self._condition.wait_for(lambda: not self._benching and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the GPU alone."""
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(lambda: not self._benching and not self._sharing)
            self._waiting -= 1
            self._benching = True
        try:
            yield
        finally:
            with self._condition:
                self._benching = False
                self._condition.notify_all()


def on_gpu(target: Path, spec: Spec, gpu: Gpu, options: Options, quiet: Quiet) -> list[StageResult]:
    """The parity stage, then the bench stage if it passed. The original is built first."""
    module = str((target / spec.port.module).resolve())
    place = str(target.resolve())
    with (
        tempfile.TemporaryDirectory(prefix="cuteport-build-") as folder,
        closing(ChildSide(PORT, {"target": place, "module": module}, gpu.arch, options.timeout)) as port,
    ):
        try:
            with closing(ChildSide(ORIGINAL, {}, gpu.arch, options.timeout)) as builder:
                built = build_original(builder, place, gpu.arch, Path(folder))
        except SideError as e:
            missing = e.code == "CP9003"
            status = Status.NOT_RUN if missing else status_of(e.code)
            return [
                StageResult(stage="parity", target=str(target), status=status, code=e.code, message=e.message)
            ]
        cubin = Path(folder) / "cubin"
        load = {"target": place, "cubin": str(cubin), "names": built.names}
        with quiet.shared():
            parity = _parity(target, spec, load, port, gpu, options, built)
        if parity.status is not Status.PASSED or not options.wants("bench"):
            return [parity]
        assert parity.parity is not None
        with quiet.alone():
            bench = run_bench(
                str(target),
                spec,
                options.cases,
                options.seed,
                port,
                cubin,
                built.names,
                parity.parity.order_dependent,
            )
        return [parity, bench]


@dataclass(frozen=True, slots=True)
class BuiltOriginal:
    """`names` as in original.Built; `words` say what built it."""

    names: dict[str, str]
    facts: CompileFacts
    words: str


def build_original(
    child: ChildSide,
    place: str,
    arch: str,
    folder: Path,
    *,
    lines: bool = False,
    original: Mapping[str, str] | None = None,
) -> BuiltOriginal:
    """Build the original in `child`; cubin and PTX go to `folder`. SideError where it does not build.

    `original` replaces keys of the spec's [original]: another source, another kernel.
    """
    job = {"do": "build_original", "target": place, "arch": arch, "out": str(folder), "lines": lines}
    job["original"] = dict(original or {})
    reply = child.once(job, _BUILD_SECONDS)
    ptx, cubin = (folder / "ptx").read_text(encoding="utf-8"), (folder / "cubin").read_bytes()
    words = "; ".join([reply["builder"], *(f"not by {t.splitlines()[0][:200]}" for t in reply["tried"])])
    return BuiltOriginal(reply["names"], facts(arch, reply["seconds"], ptx, cubin), words)


def _parity(
    target: Path,
    spec: Spec,
    load: dict[str, Any],
    port: ChildSide,
    gpu: Gpu,
    options: Options,
    built: BuiltOriginal,
) -> StageResult:
    runs = plan(spec, options.cases, options.seed)
    with (
        closing(ChildSide(ORIGINAL, load, gpu.arch, options.timeout)) as original,
        closing(ChildSide(ORIGINAL, {}, gpu.arch, options.timeout)) as numbers,
    ):
        reference = reference_in(numbers, target, options) if has_reference(target, spec) else None
        return run_parity(str(target), spec, runs, original, port, reference, built.facts, built.words)


def has_reference(target: Path, spec: Spec) -> bool:
    """True where reference.py is asked."""
    return spec.tolerance.rule != "original" and (target / "reference.py").exists()


def reference_in(child: ChildSide, target: Path, options: Options) -> Reference:
    """reference.py, run in `child`."""

    def run(case: str, inputs: Inputs) -> dict[str, npt.NDArray[np.float64]]:
        with tempfile.TemporaryDirectory(prefix="cuteport-ref-") as out:
            job = {
                "do": "run_reference",
                "target": str(target.resolve()),
                "case": case,
                "inputs": inputs.files(),
                "out": out,
            }
            reply = child.once(job, options.timeout)
            return {n: np.fromfile(p, np.float64) for n, p in reply["outputs"].items()}

    return run
