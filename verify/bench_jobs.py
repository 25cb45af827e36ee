"""The worker's jobs that time: both sides of a case by three clocks, and the device's ceilings. Child side
only."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from verify import device_jobs
from verify.buffers import Ran
from verify.ceiling_kernels import measure_ceilings
from verify.device import Bytes, DeviceError
from verify.hostclock import launches, timed, wake_nvrtc
from verify.jobs import Emit, JobError, describe, load_module
from verify.original import BuildError, NoCompilerError, OriginalKernel, build
from verify.portcall import bind, known_when_compiled
from verify.resolve import Resolved
from verify.rotation import Sets
from verify.spec import Spec
from verify.spec_file import load_spec
from verify.specialise import BindError, specialisations
from verify.timing import SIDES, Enqueue, Timer


def bench(job: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Time original and port on one case. Returns the samples and the outputs of one timed launch of each
    side, `spread` of the original; with `first`, the times of each side's first call too."""
    held = device_jobs.HELD
    spec, resolved, inputs = device_jobs.case_of(held.spec, job)
    device, kernel = held.device, held.original
    assert kernel is not None and held.buffers is not None
    held.buffers.clear()
    l2 = device.attribute("L2_CACHE_SIZE")
    try:
        symbols = {name: at for name, (at, _) in kernel.symbols.items()}
        sets = Sets(device, spec, resolved, inputs, l2, symbols)
        timer = Timer(device, sets, l2)
        try:
            first = first_calls(job, spec, resolved, sets) if job.get("first") else {}
            sides = {
                "port": port_calls(held.entry, spec, resolved, sets),
                "original": original_calls(kernel, resolved, sets),
            }
            raw, found = timer.measure(sides, job.get("spread", 1))
            emit({"event": "measured"})
            launch = {name: asdict(one) for name, one in launches(device, sets, sides).items()}
            outputs = {
                side: [_kept(one, job, f"{side}{i}") for i, one in enumerate(found[side])] for side in SIDES
            }
            for side in SIDES:
                outputs[f"last_{side}"] = [_kept(_after_all(sets, sides[side], side), job, f"last_{side}")]
        finally:
            timer.close()
            sets.close()
    except BindError as e:
        raise JobError("CP7021", str(e)) from e
    except DeviceError as e:
        raise JobError("CP9104", str(e)) from e
    result = {"raw": asdict(raw), "launch": launch, "first": first, "l2": l2}
    (Path(job["out"]) / "raw.json").write_text(json.dumps(result), encoding="utf-8")
    return {**result, "outputs": outputs}


def _after_all(sets: Sets, call: Enqueue, side: str) -> dict[str, Bytes]:
    """Outputs of one more call: the launch clock's calls are no replays, and may have been idle ones."""
    sets.restore()
    sets.poison()
    sets.device.synchronize()
    call(0)
    sets.device.synchronize()
    return sets.outputs(0, side == "original")


def _kept(outputs: dict[str, Bytes], job: dict[str, Any], name: str) -> dict[str, str]:
    out = Path(job["out"]) / name
    out.mkdir()
    files: dict[str, str] = device_jobs.report(Ran(outputs=outputs), out)["outputs"]
    return files


def port_calls(entry: Callable[..., Any], spec: Spec, resolved: Resolved, sets: Sets) -> Enqueue:
    """Calls of a port, one for each set, bound beforehand."""
    calls = [bind(entry, spec, resolved, at, sets.device.stream) for at in sets.addresses]
    return lambda i: calls[i]()


def original_calls(kernel: OriginalKernel, resolved: Resolved, sets: Sets) -> Enqueue:
    """Launches of the original, one for each set, parameters laid out beforehand."""
    kernel.prepare(resolved)
    blocks = [kernel.arguments(resolved, at) for at in sets.addresses]
    return lambda i: kernel.enqueue(resolved, blocks[i], sets.device.stream)


def first_calls(job: dict[str, Any], spec: Spec, resolved: Resolved, sets: Sets) -> dict[str, Any]:
    """Load and first launch of the original, build and first launch of the port, in microseconds; the context
    and the DSL are there already. The port is another import of its module; its first launch loads it."""
    return {
        "original": _first_of_original(job, spec, resolved, sets),
        "port": _first_of_port(job, spec, resolved, sets),
    }


def _first_of_original(job: dict[str, Any], spec: Spec, resolved: Resolved, sets: Sets) -> dict[str, float]:
    device = sets.device
    cubin = Path(job["cubin"]).read_bytes()
    kernel, load_us = timed(lambda: OriginalKernel(device, cubin, job["names"], spec))
    kernel.prepare(resolved)
    for name, (at, _) in kernel.symbols.items():
        if name in sets.pristine:
            device.copy(at, sets.pristine[name], sets.sizes[name])
    block = kernel.arguments(resolved, sets.addresses[0])

    def launch() -> None:
        kernel.enqueue(resolved, block, device.stream)
        device.synchronize()

    device.synchronize()
    _, launch_us = timed(launch)
    device.call("cuModuleUnload", kernel.module)
    sets.restore()
    return {"load_us": load_us, "launch_us": launch_us}


def _first_of_port(job: dict[str, Any], spec: Spec, resolved: Resolved, sets: Sets) -> dict[str, float]:
    device = sets.device
    path = Path(job["module"])
    module = load_module(path, f"_first_{spec.port.entry}")
    entry = getattr(module, spec.port.entry)
    make = getattr(module, f"compile_{spec.port.entry}", None)
    call = bind(entry, spec, resolved, sets.addresses[0], device.stream)

    def launch() -> None:
        call()
        device.synchronize()

    device.synchronize()
    try:
        found = {}
        if make is not None:
            (given,) = specialisations(make, [known_when_compiled(spec, resolved)])
            found["build_us"] = timed(partial(make, *given))[1]
        _, found["launch_us"] = timed(launch)
    except DeviceError:
        raise
    except BaseException as e:
        message, line = describe(e, path)
        raise JobError("CP7003", message, line) from e
    sets.restore()
    return found


def first_build(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """How long the original takes to build, in microseconds. NVRTC is loaded before: that is once per
    process, as the DSL's import is, and belongs to no kernel's first call."""
    spec = load_spec(Path(job["target"]))
    wake_nvrtc()
    try:
        return {"build_us": timed(lambda: build(Path(job["target"]), spec, job["arch"]))[1]}
    except (BuildError, NoCompilerError) as e:
        raise JobError("CP9104", str(e)) from e


def ceilings(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """What the device reaches at most; with `matrix`, in matrix products too."""
    try:
        return {"ceilings": measure_ceilings(device_jobs.HELD.device, matrix=bool(job.get("matrix")))}
    except DeviceError as e:
        raise JobError("CP9104", str(e)) from e


HANDLERS = {"bench": bench, "first_build": first_build, "ceilings": ceilings}
