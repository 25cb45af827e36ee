"""Where kernels run: on a GPU, in the emulator, or nowhere and why. Imports nothing heavy."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from verify.compile import DEFAULT_ARCH
from verify.emulator.build import compiler
from verify.emulator.port.dsl import check_version
from verify.emulator.ptx.module import PtxError
from verify.environment import Gpu, find_gpu, find_nvcc, find_nvrtc
from verify.options import Options

_MACHINES = ("x86_64", "aarch64")
_NO_TIMES = "times are not measured in the emulator"


@dataclass(frozen=True, slots=True)
class Where:
    """`arch` is compiled for. Without a GPU, `code` and `why` say what is missing: the GPU for times, and for
    values too where there is no emulator either."""

    arch: str
    gpu: Gpu | None = None
    emulator: bool = False
    code: str = "CP9002"
    why: str = ""

    @property
    def runs(self) -> bool:
        """True where values can be compared."""
        return self.gpu is not None or self.emulator


def choose(options: Options) -> Where:
    """The device that these options mean on this machine. `auto` takes the GPU, then the emulator."""
    if not options.wants("parity"):
        return Where(options.arch or DEFAULT_ARCH, why="not asked for")
    gpu: Gpu | None = None
    why = _NO_TIMES
    if options.device != "emulator":
        gpu, why = find_gpu()
    arch = options.arch or (gpu.arch if gpu else DEFAULT_ARCH)
    if gpu is not None and arch != gpu.arch:
        why = f"compiled for {arch}, but the GPU here is {gpu.arch}"
        gpu = None
    if gpu is not None:
        return Where(arch, gpu)
    if options.device == "gpu":
        return Where(arch, why=why)
    code, gap = emulator_gap()
    if not gap:
        return Where(arch, emulator=True, why=why if options.device == "auto" else _NO_TIMES)
    if options.device == "emulator":
        return Where(arch, code=code, why=gap)
    return Where(arch, why=f"{why}; and no emulator: {gap}")


def emulator_gap() -> tuple[str, str]:
    """Code and words for what the emulator lacks on this machine; both empty where it can run."""
    if platform.system() != "Linux" or platform.machine() not in _MACHINES:
        return "CP7110", f"the emulator runs on Linux, x86-64 and aarch64; not on {platform.platform()}"
    try:
        check_version()
        compiler()
    except PtxError as e:
        return e.code, e.message
    if not find_nvrtc() and not find_nvcc():
        return (
            "CP9003",
            "neither NVRTC (pip install 'cuteport[emulator]') nor nvcc is there to build originals",
        )
    return "", ""
