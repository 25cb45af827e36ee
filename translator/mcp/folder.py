"""The run folder: all that the server and its tools write lies in it, one folder per call."""

from __future__ import annotations

import os
import site
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from translator.mcp.roots import RefusedError, Roots

_PACKAGES = Path(__file__).resolve().parents[2]
# What a tool needs of the server's environment; keys of endpoints and the like are none of its business.
_KEPT = frozenset(
    (
        *("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CC", "USER"),
        *("LOGNAME", "PYTHONHOME", "PYTHONUTF8", "OMP_NUM_THREADS", "CUTEPORT_ISOLATION", "CUTEPORT_JOBS"),
        "CUTE_DSL_ARCH",
    )
)
_KEPT_BEGINNINGS = ("LC_", "CUDA_", "NVIDIA_")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys", "/nix/store")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "shm", "dri")  # and nvidia*
_OF_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`path` is made when something is written there first: an agent's program starts servers that nobody
    asks anything. Calls of servers that share it do not meet."""

    path: Path

    def made(self) -> Path:
        """`path`, which exists from now on. OSError."""
        shared = self.path.is_relative_to(Path(tempfile.gettempdir()).resolve())
        self.path.mkdir(0o700 if shared else 0o777, parents=True, exist_ok=True)  # as mkdtemp does there
        return self.path

    def call(self, tool: str) -> Path:
        """A fresh folder for one call, as in `0007-port`. RefusedError CP0002 where none can be made."""
        try:
            return self._call(tool)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RefusedError("CP0002", "environment", path=str(self.path), reason=reason) from None

    def _call(self, tool: str) -> Path:
        self.made()
        number = sum(1 for p in self.path.iterdir() if p.name[:4].isdecimal()) + 1
        while True:
            place = self.path / f"{number:04}-{tool}"
            try:
                place.mkdir()
            except FileExistsError:
                number += 1
                continue
            (place / "tmp").mkdir()
            return place

    def environment(self, roots: Roots, call: Path) -> dict[str, str]:
        """Of a tool's process: its caches, its scratch files and its home lie in the run folder too."""
        kept = {k: v for k, v in os.environ.items() if k in _KEPT or k.startswith(_KEPT_BEGINNINGS)}
        for name in ("home", "cache"):
            (self.path / name).mkdir(exist_ok=True)
        return kept | {
            "HOME": str(self.path / "home"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "TMPDIR": str(call / "tmp"),
            "CUTEPORT_RUNS": str(call / "runs"),
            "CUTEPORT_BELOW": os.pathsep.join(roots.below),
            "PYTHONPATH": os.pathsep.join(_searched()),
            "PYTHONUSERBASE": site.getuserbase(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
        }


def _searched() -> list[str]:
    """Where the server's own modules come from, absolute: the tool's process imports the same."""
    given = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    return list(dict.fromkeys((str(_PACKAGES), *(str(Path(p).resolve()) for p in given))))


def readable(roots: Roots) -> list[str]:
    """What a tool's process may read: the folders of the user's, and what Python, the DSL and compilers need.

    The user's home is none of it, and of /etc only what the loader reads.
    """
    modules = [p for p in sys.path if os.path.isabs(p) and Path(p) != Path.cwd()]  # noqa: PTH117
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, *modules, *_searched()]
    named = [os.environ.get(n, "") for n in ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH")]
    libraries = [p for n in ("PATH", "LD_LIBRARY_PATH") for p in os.environ.get(n, "").split(os.pathsep)]
    wanted = [*own, *filter(os.path.isabs, (*named, *libraries)), *_SYSTEM, *_devices()]
    wanted += [f"/etc/{name}" for name in _OF_ETC]
    broad = {"/", str(Path.home()), "/home", "/root", "/tmp", "/etc"}
    places = [p for p in wanted if str(Path(p).resolve()) not in broad]
    return list(dict.fromkeys((*map(os.path.realpath, places), *roots.below)))


def writable(folder: RunFolder) -> list[str]:
    """What it may write: the run folder; devices, shared memory, and /proc for its namespaces."""
    return [str(folder.path), *_devices(), "/proc"]


def _devices() -> list[str]:
    return [*(f"/dev/{name}" for name in _DEVICES), *map(str, sorted(Path("/dev").glob("nvidia*")))]
