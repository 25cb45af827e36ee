"""What this machine has: versions for the verdict, and whether a GPU can be used. Imports nothing heavy."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from verify import isolate
from verify.isolate import Child, ChildDiedError, ChildTimeoutError

_PACKAGES = (
    "nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-cu12", "nvidia-cutlass-dsl-libs-cu13",
    "torch", "cuda-bindings", "cuda-core", "nvidia-cuda-nvrtc", "numpy",
)  # fmt: skip
_PROBE_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """`arch` is the DSL's name of its architecture; bytes for memory and L2. `uuid` tells this one from
    others of the model; it goes into no document."""

    name: str
    arch: str
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    driver: str
    uuid: str = ""

    @property
    def slug(self) -> str:
        """The device model as a file name: `NVIDIA H200` → `h200`."""
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-").split("-")
        return (
            "-".join(w for w in words if w not in ("nvidia", "geforce", "tesla", "graphics", "device"))
            or "gpu"
        )


def arch_of(major: int, minor: int) -> str:
    """The DSL's architecture for a compute capability; from 9.0 on the one with arch-specific features."""
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


@functools.lru_cache(maxsize=1)
def find_gpu() -> tuple[Gpu | None, str]:
    """The first GPU, or None and the reason why there is none that can be used. Asked once per process."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no NVIDIA driver on this machine (libcuda.so.1 not found)"
    first = isolate.level()
    gpu, why = _asked()
    for looser in isolate.LEVELS[isolate.LEVELS.index(first) + 1 :]:
        if gpu is not None:
            break
        isolate.set_level(looser)  # CUDA may not start where children are confined further
        gpu, _ = _asked()
    if gpu is None:
        isolate.set_level(first)
    return gpu, "" if gpu is not None else why


def _asked() -> tuple[Gpu | None, str]:
    try:
        with Child() as child:
            reply = child.request({"do": "probe"}, _PROBE_SECONDS)
    except (ChildDiedError, ChildTimeoutError) as e:
        return None, f"the GPU did not answer: {e or 'timeout'}"
    if not reply["ok"]:
        return None, reply["message"]
    found = reply["gpu"]
    return Gpu(arch=arch_of(found.pop("major"), found.pop("minor")), **found), ""


@functools.lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Python and the packages that matter for a result; packages that are absent are left out. Asked once."""
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    nvcc = find_nvcc()
    if nvcc:
        m = re.search(r"release [\d.]+, V([\d.]+)", output_of([nvcc, "--version"]))
        found["nvcc"] = m.group(1) if m else "unknown"
    if driver := output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]):
        found["nvidia-driver"] = driver.splitlines()[0].strip()
    return found


def find_nvcc() -> str | None:
    """Path of nvcc: CUDA_HOME or CUDA_PATH first, then PATH, then the usual place."""
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root and os.access(f"{root}/bin/nvcc", os.X_OK):
            return f"{root}/bin/nvcc"
    return shutil.which("nvcc")


@functools.lru_cache(maxsize=1)
def find_nvrtc() -> str | None:
    """NVRTC's library, where the bindings that call it are installed too."""
    try:
        metadata.version("cuda-bindings")
    except metadata.PackageNotFoundError:
        return None
    for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    wheels = (Path(entry or ".").glob("nvidia/*/lib/libnvrtc.so.1[0-9]") for entry in sys.path)
    return next((str(p) for found in wheels for p in sorted(found)), None)


def output_of(command: list[str]) -> str:
    """What a command prints; "" where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _public(gpu: Gpu) -> dict[str, Any]:
    return {name: value for name, value in asdict(gpu).items() if name != "uuid"}


def describe(gpu: Gpu | None, ceilings: dict[str, Any] | None = None) -> dict[str, Any]:
    """The environment part of a verdict; `ceilings` is what the device reached at most in this run."""
    found = {"versions": dict(versions()), "gpu": _public(gpu) if gpu else None}
    found["isolation"] = isolate.confinement()
    return {**found, "ceilings": ceilings} if ceilings else found
