"""`cuteport doctor`: what this machine has, and what each missing piece costs the user.

Looks only: nothing is installed or changed. What may crash or hang (a driver, a parser, a compiler)
is tried in a child process with a limit.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from translator.batch.fanout import Lost, run
from translator.outcome import EXIT_DONE, EXIT_ENVIRONMENT

if TYPE_CHECKING:
    from verify.canary import Canary

Verdict = Literal["ok", "warning", "missing", "not run"]

_LIMIT = 120.0  # seconds for one check


@dataclass(frozen=True, slots=True)
class Check:
    """One line, and `more` for those who ask; `costs` says what the user goes without, `needed` that the main
    job can't run without it."""

    name: str
    verdict: Verdict
    detail: str
    costs: str = ""
    needed: bool = False
    more: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    checks: tuple[Check, ...]

    @property
    def can_port(self) -> bool:
        """True where a kernel can be ported and compiled here."""
        return not any(c.needed and c.verdict == "missing" for c in self.checks)

    @property
    def can_prove(self) -> bool:
        """True where ports can also be compared and timed: a GPU, and what builds the original."""
        ok = {c.name for c in self.checks if c.verdict != "missing"}
        return self.can_port and {"GPU", "CUDA bindings", "torch"} <= ok and bool({"NVRTC", "nvcc"} & ok)

    @property
    def can_compare(self) -> bool:
        """True where ports can at least be compared with the original: on a GPU or in the emulator."""
        emulator = any(c.name == "emulator" and c.verdict == "ok" for c in self.checks)
        return self.can_prove or (self.can_port and emulator)

    @property
    def exit_code(self) -> int:
        return EXIT_DONE if self.can_port else EXIT_ENVIRONMENT


def examine() -> Examination:
    """All checks, in the order of the table below."""
    found = run(range(len(_CHECKS)), _check, jobs=2, timeout=_LIMIT, memory=None)
    checks: list[Check] = []
    for k, result in enumerate(found):
        if isinstance(result, Lost):
            name, _, costs, needed = _CHECKS[k]
            last = result.text.strip().splitlines()[-1] if result.text.strip() else result.why
            checks.append(Check(name, "missing", f"the check failed: {last}", costs, needed))
        else:
            checks.append(result)
    return Examination(tuple(checks))


def _check(index: int) -> Check:
    name, look, costs, needed = _CHECKS[index]
    verdict, found = look()
    detail, _, more = found.partition("\n")
    return Check(name, verdict, detail, costs if verdict == "missing" else "", needed, more)


Found = tuple[Verdict, str]
"""The verdict, and a line of words; further lines are the details."""


def _python() -> Found:
    here = f"{sys.version.split()[0]} at {sys.executable}"
    if sys.implementation.name != "cpython":
        return "missing", f"{here}; CPython is needed"
    return "ok", here


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _parts(version: str) -> tuple[int, ...]:
    """`4.8.1.dev0` → (4, 8, 1): the leading numeric parts, for comparing."""
    found: list[int] = []
    for word in version.split("+")[0].split("."):
        if not word.isdigit():
            break
        found.append(int(word))
    return tuple(found)


def judge_dsl(version: str) -> Found:
    """What the table of known versions says about `version`."""
    table = tomllib.loads(files("translator").joinpath("dsl_versions.toml").read_text(encoding="utf-8"))

    def said(kind: str) -> list[str]:
        rows = [r for r in table.get(kind, ()) if version in r.get("match", ()) or _is_below(version, r)]
        return [f"{r['why']} ({r['ref']})" for r in rows]

    if bad := said("bad"):
        return "missing", f"{version} is known bad: {'; '.join(bad)}"
    if _parts(version) < _parts(table["oldest"]):
        return "missing", f"{version}; {table['oldest']} or newer is needed"
    cautions = said("caution")
    issues = f", {len(cautions)} known issue{'s' * (len(cautions) > 1)}" if cautions else ""
    more = "".join(f"\nknown issue: {c}" for c in cautions)
    if version in table["tested"]:
        return "ok", version + issues + more
    return "warning", f"{version}{issues}; tested are {', '.join(table['tested'])}{more}"


def _is_below(version: str, row: dict[str, str]) -> bool:
    return "below" in row and _parts(version) < _parts(row["below"])


def _dsl() -> Found:
    version = _version("nvidia-cutlass-dsl")
    if not version:
        return "missing", "nvidia-cutlass-dsl is not installed"
    libraries = [
        f"{name.rsplit('-', 1)[1]} {v}"
        for name in ("nvidia-cutlass-dsl-libs-cu12", "nvidia-cutlass-dsl-libs-cu13")
        if (v := _version(name))
    ]
    verdict, detail = judge_dsl(version)
    if libraries and any(not lib.endswith(f" {version}") for lib in libraries):
        first, _, more = detail.partition("\n")
        return "warning", f"{first}; its libraries are of another version: {', '.join(libraries)}\n{more}"
    return verdict, detail + (f"\nlibraries: {', '.join(libraries)}" if libraries else "")


def _torch() -> Found:
    version = _version("torch")
    if not version:
        return "missing", "torch is not installed"
    if version.endswith("+cpu"):
        return ("warning" if _gpus()[0] else "ok"), f"{version}: a CPU build"
    return "ok", version


def _gpus() -> tuple[list[str], str]:
    """The GPUs the driver lists, as text, and why there are none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [], "no NVIDIA driver (libcuda.so.1)"
    if driver.cuInit(0) != 0:
        return [], "the NVIDIA driver can't be initialised"
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    cuda = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    found: list[str] = []
    for k in range(count.value):
        name = ctypes.create_string_buffer(128)
        major, minor = ctypes.c_int(), ctypes.c_int()
        driver.cuDeviceGetName(name, len(name), k)
        driver.cuDeviceGetAttribute(ctypes.byref(major), 75, k)  # COMPUTE_CAPABILITY_MAJOR
        driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, k)  # COMPUTE_CAPABILITY_MINOR
        found.append(
            f"{name.value.decode(errors='replace')} (sm_{major.value}{minor.value}, driver for {cuda})"
        )
    return found, "" if found else "the driver lists no device"


def _gpu() -> Found:
    found, why = _gpus()
    return ("ok", "; ".join(found)) if found else ("missing", why)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout


def _nvcc() -> Found:
    homes = [os.environ.get(n, "") for n in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = os.pathsep.join([os.environ.get("PATH", ""), *(f"{h}/bin" for h in homes if h)])
    path = shutil.which("nvcc", path=folders)
    if not path:
        return "missing", "not found on PATH, in CUDA_HOME or /usr/local/cuda"
    said = _output(path, "--version")
    build = next((line for line in said.splitlines() if line.startswith("Cuda compilation")), "")
    return "ok", f"{path} {build.rpartition(',')[2].strip()}"


def _nvrtc() -> Found:
    for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return "ok", name
    for entry in sys.path:
        for path in sorted(Path(entry).glob("nvidia/*/lib/libnvrtc.so.1[0-9]")):
            return "ok", str(path)
    return "missing", "libnvrtc is neither on the library path nor in an installed nvidia package"


def _bindings() -> Found:
    core, bindings = _version("cuda-core"), _version("cuda-bindings")
    if not core:
        return "missing", "cuda-core is not installed" + (
            f" (cuda-bindings {bindings} is)" if bindings else ""
        )
    return "ok", f"cuda-core {core}, cuda-bindings {bindings or 'absent'}"


def _compiler() -> Found:
    for name in (os.environ.get("CC", ""), "gcc", "cc", "clang"):
        path = shutil.which(name) if name else None
        if path:
            said = _output(path, "--version")
            return "ok", f"{path}: {said.splitlines()[0] if said else 'no version'}"
    return "missing", "no gcc, cc or clang on PATH"


def _emulator() -> Found:
    """Whether values can be compared without a GPU, by the verifier's own look at the machine."""
    from verify.canary import check_emulator
    from verify.where import emulator_gap

    code, gap = emulator_gap()
    if gap:
        return "missing", f"{code} {gap}"
    check_emulator()
    return "ok", "ports and originals can run on this CPU; two known kernels give the right values"


def _original_canary() -> Found:
    from verify.canary import ORIGINAL

    return _machine_code(ORIGINAL)


def _port_canary() -> Found:
    from verify.canary import PORT

    return _machine_code(PORT)


def _machine_code(canary: Canary) -> Found:
    """Whether the installed assembler gets a kernel right that some got wrong."""
    from verify.canary import CanaryError, check_machine_code
    from verify.environment import find_gpu
    from verify.sides import SideError

    gpu, why = find_gpu()
    if gpu is None:
        return "not run", why
    try:
        right, words = check_machine_code(canary, gpu.arch)
    except (CanaryError, SideError) as error:
        return "warning", f"{canary.name}: {str(error).splitlines()[0]}"
    return ("ok" if right else "warning"), f"{canary.name}: {words}"


def _reading() -> Found:
    from translator.selftest import read_canary

    return _self_test(read_canary)


def _compiling() -> Found:
    from translator.selftest import compile_canary

    return _self_test(compile_canary)


def _self_test(test: Callable[[], str]) -> Found:
    """Self tests raise on failure; the first line of what they raise is the detail."""
    try:
        return "ok", test()
    except Exception as error:
        return "missing", (str(error).strip() or type(error).__name__).splitlines()[0]


_TORCH = "ports can't be called with tensors, nor compared: install the torch build for your GPU"
_NVCC = "the original is built with NVRTC alone, if that is there, and read without the toolkit's headers"
_NVRTC = (
    "the original is built with nvcc; without that too it can't be built, so nothing is compared: "
    "pip install 'cuteport[emulator]'"
)
_NO_GPU = "values are compared in the emulator only, and nothing is timed"
_NO_BINDINGS = "a GPU can't be used: pip install 'cuteport[gpu]'"
_NO_EMULATOR = "without a GPU, ports are compiled but not compared with the original"
_NO_COMPILER = "the emulator can't run, and tests that compare with a C compiler's arithmetic are skipped"
_CHECKS: tuple[tuple[str, Callable[[], Found], str, bool], ...] = (
    ("Python", _python, "nothing runs", True),
    ("CuTe DSL", _dsl, "ports can't be compiled: pip install nvidia-cutlass-dsl==4.8.1", True),
    ("reading CUDA", _reading, "no kernel can be read: pip install libclang==18.1.1", True),
    ("compiling a port", _compiling, "ports are written but not compiled", True),
    ("torch", _torch, _TORCH, False),
    ("GPU", _gpu, _NO_GPU, False),
    ("CUDA bindings", _bindings, _NO_BINDINGS, False),
    ("NVRTC", _nvrtc, _NVRTC, False),
    ("nvcc", _nvcc, _NVCC, False),
    ("C compiler", _compiler, _NO_COMPILER, False),
    ("emulator", _emulator, _NO_EMULATOR, False),
    ("originals' machine code", _original_canary, "", False),
    ("ports' machine code", _port_canary, "", False),
)
