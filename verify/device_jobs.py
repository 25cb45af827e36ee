"""The worker's jobs that need a GPU: run a case on either side. Child side only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verify.buffers import Buffers, Ran, run_once
from verify.cubin import machine_code
from verify.device import Bytes, CudaDevice, DeviceError
from verify.emulator.ptx.module import PtxError
from verify.heldout import called_plainly, case_named
from verify.inputs import decode, lanes, view
from verify.jobs import Emit, JobError, describe, load_module
from verify.levels import compile_at
from verify.original import BuildError, NoCompilerError, OriginalKernel, build
from verify.plain_call import MakeTensor, left_out, on_gpu, tensors
from verify.portcall import bind
from verify.resolve import Resolved, resolve
from verify.spec import Spec
from verify.spec_file import load_spec
from verify.specialise import BindError, specialisations

_HEALTH_BYTES = 1 << 16


class Bench:
    """What one child holds between jobs: the device, the buffers, one original and one port."""

    def __init__(self) -> None:
        self._device: CudaDevice | None = None
        self.buffers: Buffers | None = None
        self.original: OriginalKernel | None = None
        self.entry: Any = None
        self.spec: Spec | None = None

    @property
    def device(self) -> CudaDevice:
        if self._device is None:
            try:
                self._device = CudaDevice()
            except Exception as e:  # whatever a missing or broken driver raises
                raise JobError("CP9002", describe(e)[0]) from e
            self.buffers = Buffers(self._device)
        return self._device

    def use(self, device: CudaDevice) -> None:
        """Work with this device from now on."""
        self._device, self.buffers = device, Buffers(device)


HELD = Bench()


def probe(_job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    return {"gpu": HELD.device.describe()}


def health(_job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Fill and read back a little memory. JobError CP9004 where that does not work."""
    try:
        at = HELD.device.alloc(_HEALTH_BYTES)
        HELD.device.fill(at, 0x5A, _HEALTH_BYTES)
        HELD.device.synchronize()
        if not (HELD.device.download(at, _HEALTH_BYTES) == 0x5A).all():
            raise JobError("CP9004", "memory does not hold what was written")
    except DeviceError as e:
        raise JobError("CP9004", str(e)) from e
    return {}


def build_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Build the original for `arch`; `cubin` and `ptx` go to the folder `out`. Needs no GPU. With `lines`,
    code that says the source's lines goes to `ptx.lines` and `cubin.lines`; `level` is that of the machine
    code."""
    target, out = Path(job["target"]), Path(job["out"])
    spec = load_spec(target).with_original(job.get("original", {}))
    try:
        built = build(target, spec, job["arch"], level=job.get("level"))
        if job.get("lines"):
            lined = build(target, spec, job["arch"], lines=True, level=job.get("level"))
            (out / "ptx.lines").write_text(lined.ptx, encoding="utf-8")
            (out / "cubin.lines").write_bytes(lined.cubin)
    except BuildError as e:
        raise JobError("CP7001", str(e)) from e
    except NoCompilerError as e:
        raise JobError("CP9003", str(e)) from e
    (out / "cubin").write_bytes(built.cubin)
    (out / "ptx").write_text(built.ptx, encoding="utf-8")
    told = ("names", "builder", "seconds", "tried", "options", "dropped")
    return {name: getattr(built, name) for name in told}


def load_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Load the built original onto the device."""
    HELD.spec = load_spec(Path(job["target"]))
    cubin = Path(job["cubin"]).read_bytes()
    try:
        HELD.original = OriginalKernel(HELD.device, cubin, job["names"], HELD.spec)
    except DeviceError as e:
        raise JobError("CP7001", str(e)) from e
    return {}


def entry_of(target: Path) -> tuple[Spec, Callable[..., Any]]:
    """The spec of a target and its port's entry. JobError where the port can't be imported or has none."""
    spec = load_spec(target)
    module = load_module((target / spec.port.module).resolve(), f"_port_{spec.port.entry}")
    entry = getattr(module, spec.port.entry, None)
    if not callable(entry):
        raise JobError("CP6004", f"port.py has no function {spec.port.entry}")
    return spec, entry


def call_port(
    entry: Any,
    spec: Spec,
    resolved: Resolved,
    addresses: dict[str, int],
    stream: Any,
    path: Path,
    wrap: MakeTensor | None = None,
) -> None:
    """One call of a port; of a case that asks for it, as users call it, with tensors that `wrap` makes.
    JobError where it does not take the arguments or raises; DeviceError passes."""
    try:
        given: Mapping[str, Any] = addresses
        without: set[str] = set()
        if called_plainly(resolved.case):
            given, without = tensors(spec, resolved, addresses, wrap), left_out(entry, resolved, path)
        call = bind(entry, spec, resolved, given, stream, without)
    except BindError as e:
        raise JobError("CP7021", str(e)) from e
    except ValueError as e:
        raise JobError("CP7003", f"ValueError: {e}") from e
    try:
        call()
    except (DeviceError, PtxError):
        raise
    except BaseException as e:
        message, line = describe(e, path)
        raise JobError("CP7003", message, line) from e


def code_of(entry: Any, job: dict[str, Any]) -> str:
    """Compile a port for what its cases say, as its first calls would, which then need not: hashes of the
    machine code. JobError CP6102 where it does not compile."""
    path = Path(job["module"])
    try:
        build = entry.__globals__[f"compile_{entry.__name__}"]
        made = [build(*given) for given in specialisations(build, job["known"])]
        return " ".join(machine_code(bytes(compiled.artifacts.CUBIN)) for compiled in made)
    except BaseException as e:
        message, line = describe(e, path)
        raise JobError("CP6102", message, line) from e


def code_of_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Compile the loaded port; see code_of."""
    return {"code": code_of(HELD.entry, job)}


def load_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Import the port; its entry compiles when it is first called, at the job's level or the spec's."""
    HELD.spec, HELD.entry = entry_of(Path(job["target"]))
    compile_at(job.get("level", HELD.spec.port.opt_level))
    return {"gpu": HELD.device.describe()["name"]}


def case_of(spec: Spec | None, job: dict[str, Any]) -> tuple[Spec, Resolved, dict[str, Bytes]]:
    """The loaded spec, its numbers for the job's case, and the inputs' bytes."""
    assert spec is not None
    inputs = {n: np.fromfile(p, np.uint8) for n, p in job["inputs"].items()}
    return spec, resolve(spec, case_named(spec, job["case"])), inputs


def report(ran: Ran, out: Path) -> dict[str, Any]:
    """Write outputs to files in `out`; what the parent is told of them."""
    files = {}
    for i, (name, data) in enumerate(ran.outputs.items()):
        data.tofile(out / f"{i}.bin")
        files[name] = str(out / f"{i}.bin")
    return {"outputs": files, "overrun": ran.overrun, "changed": ran.changed}


def run_original(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One launch of the original on the given inputs."""
    spec, resolved, inputs = case_of(HELD.spec, job)
    kernel = HELD.original
    assert kernel is not None and HELD.buffers is not None

    def launch(addresses: dict[str, int]) -> None:
        if misfit := kernel.misfit(kernel.arguments(resolved, addresses)):
            raise JobError("CP7025", misfit)
        kernel.launch(resolved, addresses)

    try:
        ran = run_once(HELD.buffers, spec, resolved, inputs, job["repeat"], launch, job.get("shifted", False))
    except DeviceError as e:
        raise JobError("CP7002", str(e)) from e
    return report(ran, Path(job["out"]))


def run_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """One call of the port on the given inputs."""
    spec, resolved, inputs = case_of(HELD.spec, job)
    device = HELD.device
    assert HELD.buffers is not None
    path = Path(job["module"])

    def launch(addresses: dict[str, int]) -> None:
        call_port(HELD.entry, spec, resolved, addresses, device.stream, path, on_gpu)

    try:
        ran = run_once(HELD.buffers, spec, resolved, inputs, job["repeat"], launch, job.get("shifted", False))
    except DeviceError as e:
        raise JobError("CP7003", str(e)) from e
    return report(ran, Path(job["out"]))


def run_reference(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """reference.py on the given inputs; each output lane goes to a float64 file."""
    target = Path(job["target"])
    HELD.spec = load_spec(target)
    spec, resolved, inputs = case_of(HELD.spec, job)
    path = (target / "reference.py").resolve()
    try:
        module = load_module(path, "_reference")
        found = module.reference(_reference_arguments(spec, resolved, inputs), dict(resolved.case.sizes))
    except JobError as e:
        raise JobError("CP7019", e.message, e.line) from e
    except BaseException as e:
        message, line = describe(e, path)
        raise JobError("CP7019", message, line) from e
    files = {}
    for i, (name, values) in enumerate(found.items()):
        np.asarray(values, np.float64).ravel().tofile(Path(job["out"]) / f"{i}.f64")
        files[name] = str(Path(job["out"]) / f"{i}.f64")
    return {"outputs": files}


def _reference_arguments(spec: Spec, resolved: Resolved, inputs: dict[str, Bytes]) -> dict[str, Any]:
    """Scalars and buffers by name, struct fields as `arg.field`; bf16 and fp8 as float64."""
    found: dict[str, Any] = dict(resolved.scalars)
    for arg in spec.buffers:
        if arg.name in inputs:
            for lane in lanes(arg):
                values = view(inputs[arg.name].copy(), lane)
                found[lane.name] = decode(values, lane.dtype) if lane.dtype.bits_only else values
    return found


HANDLERS = {
    "probe": probe,
    "health": health,
    "build_original": build_original,
    "load_original": load_original,
    "load_port": load_port,
    "code_of_port": code_of_port,
    "run_original": run_original,
    "run_port": run_port,
    "run_reference": run_reference,
}
