"""C text → shared object, with the system's compiler; results are kept by content."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from verify.emulator import cc
from verify.emulator.ptx.module import PtxError

RUNTIME = Path(__file__).parent / "runtime"
# The machine's own instructions make fma and rounding one instruction instead of a call; the bits stay the
# same as long as the compiler fuses nothing by itself.
_FLAGS = (
    *("-O1", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"),
    *("-ffp-contract=off", "-fno-math-errno", "-march=native"),
)
_QUIET = ("-w",)
_RUNTIME = ("-O2",)  # over -O1: it is compiled once
_SECONDS = 600
_LEFT_SECONDS = 3600  # older than any compilation at work


@dataclass(frozen=True, slots=True)
class Mode:
    """How a kernel is compiled: with checks, with counters of basic blocks, with perturbed approximations."""

    checks: bool = True
    count: bool = False
    jitter: bool = False

    @property
    def defines(self) -> tuple[str, ...]:
        wanted = (("CHECK", self.checks), ("COUNT", self.count), ("JITTER", self.jitter))
        return tuple(f"-D{name}" for name, on in wanted if on)


@functools.lru_cache(maxsize=1)
def compiler() -> tuple[str, ...]:
    """The command of a C compiler: $CC, cc, gcc, clang, or that of the `ziglang` package. PtxError CP7106."""
    if chosen := os.environ.get("CC"):
        words = tuple(chosen.split())
        if words and shutil.which(words[0]):
            return words
        raise PtxError("CP7106", f"CC={chosen} can't be run")
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return (found,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    raise PtxError(
        "CP7106", "no C compiler: neither $CC, cc, gcc, clang nor the ziglang package (extra `zig`) was found"
    )


@functools.lru_cache(maxsize=1)
def _identity() -> str:
    """What the compiler says it is, and the processor that it compiles for."""
    asked = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=False)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    features = [line for line in lines if line.startswith(("flags", "Features"))][:1]
    return "\n".join([asked.stdout.split("\n")[0], platform.machine(), *features])


def cache_folder() -> Path:
    """Where compiled kernels are kept: $CUTEPORT_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("CUTEPORT_CACHE"):
        return Path(chosen) / "emulator"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cuteport" / "emulator"


@functools.lru_cache(maxsize=1)
def _runtime_hash() -> str:
    own = hashlib.sha256()
    for f in sorted(RUNTIME.glob("*.[ch]")):
        own.update(f.name.encode() + b"\0" + f.read_bytes())
    return own.hexdigest()


def _key(text: str, mode: Mode) -> str:
    own = hashlib.sha256()
    for part in (text, _runtime_hash(), _identity(), " ".join(compiler()), *_FLAGS, *_RUNTIME, *mode.defines):
        own.update(part.encode() + b"\0")
    return own.hexdigest()[:40]


def _run(command: Sequence[str], what: str) -> None:
    try:
        status, errors = cc.run(command, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise PtxError("CP7106", f"the C compiler can't be used: {what}: {e}") from e
    if status == 0:
        return
    said = errors.strip()[:2000] or f"{command[0]} ended with {status} and said nothing"
    lacking = status < 0 or status > 128 or not errors.strip() or "No space left" in said
    raise PtxError("CP7106" if lacking else "CP7107", f"{what}: {said}")


@contextmanager
def _making(cache: Path) -> Iterator[Path]:
    """A folder beside the results, gone at the end. PtxError CP7106 where the cache can't be written."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for left in cache.glob(".making-*"):  # by processes that were killed
            with suppress(FileNotFoundError):  # of one at work, which is done with it by now
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".making-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as e:
        raise PtxError("CP7106", f"compiled kernels can't be kept in {cache} ($CUTEPORT_CACHE): {e}") from e


def _publish(made: Path, place: Path) -> Path:
    """Give a finished file its name, and beside it its size, by which a damaged one is told; another process
    may have been faster."""
    _size_of(place).write_text(str(made.stat().st_size), encoding="ascii")
    made.replace(place)
    return place


def _size_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.size")


def _whole(place: Path) -> bool:
    """Whether a result is there as it was made."""
    try:
        return place.stat().st_size == int(_size_of(place).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False


def runtime_object(mode: Mode, cache: Path) -> Path:
    """The runtime's object file for a mode, compiled on first use."""
    place = cache / f"runtime-{_key('', mode)}.o"
    if _whole(place):
        return place
    with _making(cache) as folder:
        objects = []
        for source in sorted(RUNTIME.glob("*.c")):
            made = folder / f"{source.stem}.o"
            _run(
                [*compiler(), *_FLAGS, *_RUNTIME, *mode.defines, "-c", str(source), "-o", str(made)],
                source.name,
            )
            objects.append(str(made))
        whole = folder / "runtime.o"
        _run([*compiler(), "-nostdlib", "-r", *objects, "-o", str(whole)], "the emulator's runtime")
        return _publish(whole, place)


def shared_object(text: str, mode: Mode, cache: Path | None = None) -> Path:
    """The shared object of a kernel's C text. PtxError CP7106 where no C compiler or no room for its results
    is to be had, CP7107 where it refuses the text."""
    cache = cache or cache_folder()
    place = cache / f"{_key(text, mode)}.so"
    if _whole(place):
        return place
    runtime = runtime_object(mode, cache)
    with _making(cache) as folder:
        source = folder / "kernel.c"
        source.write_text(text, encoding="utf-8")
        made = folder / "kernel.so"
        command = [*compiler(), *_FLAGS, *_QUIET, *mode.defines, f"-I{RUNTIME}", "-shared", str(source)]
        _run([*command, str(runtime), "-o", str(made), "-lm"], "the C of the kernel")
        return _publish(made, place)
