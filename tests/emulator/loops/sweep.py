"""Runs the generated loops on a GPU at each optimisation level of both compilers; writes one JSON.

    python3 tests/emulator/loops/sweep.py build/loops OUT.json

For a machine with a GPU, nvcc, the CuTe DSL and cuda-bindings; uses nothing else of this project, and what
`python -m tests.emulator.loops.generate` wrote. A level changes the step from PTX to machine code alone: the
JSON holds the PTX's hash per level, and the PTX lies beside it.
"""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import json
import os
import platform
import re
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata, util
from multiprocessing import get_context
from pathlib import Path
from typing import Any

LEVELS = (3, 2, 1, 0)
ARCH = "sm_90a"
_LAUNCH_SECONDS = 10.0  # a kernel takes microseconds; one whose loop lost its end takes for ever
_EXAMPLES = 3


def compile_cuda(folder: Path, unit: str, out: Path) -> dict[str, Any]:
    """One PTX, then machine code at each level."""
    root = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    tool = {t: shutil.which(t, path=f"{root}/bin:{os.environ['PATH']}") or t for t in ("nvcc", "ptxas")}
    ptx = out / f"cuda-{unit}.ptx"
    _call(tool["nvcc"], f"-arch={ARCH}", "-ptx", "-o", str(ptx), str(folder / f"{unit}.cu"))
    for level in LEVELS:
        cubin = str(out / f"cuda-{unit}-{level}.cubin")
        _call(tool["ptxas"], f"-arch={ARCH}", f"-O{level}", "-o", cubin, str(ptx))
    return {"entries": _entries(ptx.read_text()), "ptx": {str(v): _sha(ptx.read_bytes()) for v in LEVELS}}


def compile_dsl(folder: Path, unit: str, dtype: str, out: Path, side: str = "dsl") -> dict[str, Any]:
    """The DSL's own compile at each level; side "while" is that of the ports with while loops."""
    dump = tempfile.mkdtemp(dir=out)
    os.environ.update(
        CUTE_DSL_ARCH=ARCH, CUTE_DSL_KEEP="ptx,cubin", CUTE_DSL_NO_CACHE="1", CUTE_DSL_DUMP_DIR=dump
    )
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_ptr

    spec = util.spec_from_file_location(unit, folder / f"{unit}{'_while' * (side == 'while')}.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[unit] = module
    spec.loader.exec_module(module)
    kind = getattr(cutlass, dtype)
    pointer = make_ptr(kind, 16, cutlass.AddressSpace.gmem, assumed_align=kind.width // 8)
    hashes, entries = {}, []
    for level in LEVELS:
        made = cute.compile(module.launch, pointer, pointer, pointer, options=f"--opt-level {level}")
        ptx = made.artifacts.PTX
        text = ptx if isinstance(ptx, str) else bytes(ptx).decode()
        (out / f"{side}-{unit}-{level}.cubin").write_bytes(bytes(made.artifacts.CUBIN))
        (out / f"{side}-{unit}.ptx").write_text(text)
        hashes[str(level)], entries = _sha(text.encode()), _entries(text)
    return {"entries": entries, "ptx": hashes}


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.stdout}")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _entries(ptx: str) -> list[str]:
    return re.findall(r"\.entry\s+([\w$]+)", ptx)


def entry_of(name: str, entries: list[str]) -> str:
    """A kernel's name in the machine code: nvcc puts its length before it, the DSL a word after it."""
    (found,) = [e for e in entries if f"{len(name)}{name}P" in e or f"{name}_kernel" in e]
    return found


def compile_all(folder: Path, held: dict[str, Any], out: Path, jobs: int) -> dict[str, dict[str, Any]]:
    """Facts of each side's compile by unit. What fails to compile ends the sweep."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        dsl = {
            side: {
                u: pool.submit(compile_dsl, folder, u, f["dtype"], out, side)
                for u, f in held["units"].items()
            }
            for side in ("dsl", "while")
        }
        cuda = {u: pool.submit(compile_cuda, folder, u, out) for u in held["units"]}
        return {
            "cuda": {u: f.result() for u, f in cuda.items()},
            **{side: {u: f.result() for u, f in made.items()} for side, made in dsl.items()},
        }


class Gpu:
    """What is needed to launch kernels of (a, b, o): the driver's calls, checked."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self.api = driver
        self.call("cuInit", 0)
        self.device = self.call("cuDeviceGet", 0)
        self.call("cuCtxSetCurrent", self.call("cuDevicePrimaryCtxRetain", self.device))

    def call(self, name: str, *args: Any) -> Any:
        error, *found = getattr(self.api, name)(*args)
        if int(error) != 0:
            raise RuntimeError(f"{name}: {error}")
        return found[0] if len(found) == 1 else found

    def upload(self, values: list[int], bits: int) -> Any:
        kind = ctypes.c_int64 if bits == 64 else ctypes.c_int32
        host = (kind * len(values))(*values)
        at = self.call("cuMemAlloc", ctypes.sizeof(host))
        self.call("cuMemcpyHtoD", at, ctypes.addressof(host), ctypes.sizeof(host))
        return at

    def download(self, at: Any, count: int, kind: Any) -> list[int]:
        host = (kind * count)()
        self.call("cuMemcpyDtoH", ctypes.addressof(host), at, ctypes.sizeof(host))
        return list(host)

    def load(self, cubin: bytes) -> Any:
        image = ctypes.create_string_buffer(cubin, len(cubin))
        return self.call("cuModuleLoadData", ctypes.addressof(image))

    def launch(self, module: Any, entry: str, threads: int, pointers: list[Any]) -> None:
        function = self.call("cuModuleGetFunction", module, entry.encode())
        values = [ctypes.c_uint64(int(p)) for p in pointers]
        table = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        stream = self.api.CUstream(0)
        self.call(
            "cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, stream, ctypes.addressof(table), 0
        )  # fmt: skip
        self.call("cuCtxSynchronize")


def run_child(plan: Path) -> None:
    """Launch all kernels of a plan, telling each start and end on stdout: a parent sees which one hangs."""
    held = json.loads(plan.read_text())
    gpu = Gpu()
    print(json.dumps({"ready": True}), flush=True)
    pointers: dict[int, list[Any]] = {}
    kinds = {"Int32": ctypes.c_int32, "Uint32": ctypes.c_uint32, "Int64": ctypes.c_int64}
    for task in held["tasks"]:
        bits, kind = task["bits"], kinds[task["dtype"]]
        if bits not in pointers:
            pointers[bits] = [gpu.upload(held[k], bits) for k in ("first", "second", "first")]
        module = gpu.load(Path(task["cubin"]).read_bytes())
        for name, entry in task["kernels"]:
            gpu.launch(module, entry, held["threads"], pointers[bits])
            values = gpu.download(pointers[bits][2], held["threads"], kind)
            print(json.dumps({"name": name, "values": values}), flush=True)


def run(held: dict[str, Any], tasks: list[dict[str, Any]], scratch: Path) -> Iterator[tuple[str, Any]]:
    """(kernel, its values, or in words why there are none) for all kernels of the tasks."""
    left = [dict(t, kernels=list(t["kernels"])) for t in tasks]
    while left:
        plan = scratch / "plan.json"
        plan.write_text(json.dumps({**{k: held[k] for k in ("threads", "first", "second")}, "tasks": left}))
        child = subprocess.Popen([sys.executable, __file__, "--child", str(plan)], stdout=subprocess.PIPE)
        ready = False
        for line in _lines(child):
            ready = True
            if "name" in line:
                yield line["name"], line["values"]
                left[0]["kernels"].pop(0)
                if not left[0]["kernels"]:
                    left.pop(0)
        if not ready:
            raise RuntimeError("no GPU can be used")
        if left:
            yield left[0]["kernels"].pop(0)[0], f"no values: exit {child.wait()}"
            if not left[0]["kernels"]:
                left.pop(0)
        child.wait()


def _lines(child: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """What a child says until it ends, or hangs and is ended."""
    assert child.stdout is not None
    patience, rest = 120.0, b""  # patience until its context is there
    pipe = child.stdout.fileno()
    while select.select([pipe], [], [], patience)[0]:
        data = os.read(pipe, 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield json.loads(line)
            patience = _LAUNCH_SECONDS
    child.kill()


def judge(loop: dict[str, Any], found: Any, held: dict[str, Any]) -> dict[str, Any]:
    """Right or wrong, with example values of wrong threads."""
    if isinstance(found, str):
        return {"right": False, "wrong_threads": held["threads"], "why": found}
    wrong = [t for t, (f, e) in enumerate(zip(found, loop["values"], strict=True)) if f != e]
    if not wrong:
        return {"right": True}
    examples = [
        {"v": held["first"][t], "w": held["second"][t], "got": found[t], "expected": loop["values"][t]}
        for t in (wrong[0], wrong[len(wrong) // 2], wrong[-1])[:_EXAMPLES]
    ]
    return {"right": False, "wrong_threads": len(wrong), "examples": examples}


def versions() -> dict[str, str]:
    """What made and ran the code."""
    found = {"python": platform.python_version()}
    for package in ("nvidia-cutlass-dsl", "cuda-bindings"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "?"
    root = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    for tool in ("nvcc", "ptxas"):
        path = shutil.which(tool, path=f"{root}/bin:{os.environ['PATH']}") or tool
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        found[tool] = next(iter(re.findall(r"V([\d.]+)", text)), "?")
    smi = shutil.which("nvidia-smi") or "true"
    asked = [smi, "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    found["gpu"], _, found["driver"] = (part.strip() for part in said.partition(","))
    return found


def main(folder: Path, out: Path) -> None:
    """Compile everything, run everything, write `out`."""
    start = time.monotonic()
    held = json.loads((folder / "loops.json").read_text())
    with tempfile.TemporaryDirectory(prefix="loops-") as scratch:
        place = Path(scratch)
        made = compile_all(folder, held, place, os.cpu_count() or 4)
        compiled = time.monotonic() - start
        print(f"compiled in {compiled:.0f} s", flush=True)
        with tarfile.open(out.with_suffix(".ptx.tar.xz"), "w:xz") as kept:
            for text in sorted(place.glob("*.ptx")):
                kept.add(text, text.name)
        loops = {loop["name"]: loop for u in held["units"].values() for loop in u["loops"]}
        results: dict[str, dict[str, dict[str, Any]]] = {n: {side: {} for side in made} for n in loops}
        for side, units in made.items():
            for level in LEVELS:
                tasks = [
                    {
                        "cubin": str(place / f"{side}-{unit}-{level}.cubin"),
                        "bits": held["units"][unit]["bits"],
                        "dtype": held["units"][unit]["dtype"],
                        "kernels": [
                            (loop["name"], entry_of(loop["name"], fact["entries"]))
                            for loop in held["units"][unit]["loops"]
                        ],
                    }
                    for unit, fact in units.items()
                ]
                for name, found in run(held, tasks, place):
                    results[name][side][str(level)] = judge(loops[name], found, held)
                wrong = sum(not r[side][str(level)]["right"] for r in results.values())
                print(f"{side} level {level}: {wrong} of {len(results)} wrong", flush=True)
    for name, loop in loops.items():
        results[name] = {**{k: v for k, v in loop.items() if k not in ("values", "name")}, **results[name]}
    document = {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "seconds": round(time.monotonic() - start, 1),
        "ptx_sha256": {side: {u: f["ptx"] for u, f in units.items()} for side, units in made.items()},
        "kernels": results,
    }
    out.write_text(json.dumps(document, indent=None, separators=(",", ":")) + "\n")
    print(f"{len(results)} kernels in {document['seconds']} s → {out}")


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        run_child(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
