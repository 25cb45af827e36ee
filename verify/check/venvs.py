"""Throw-away environments, each with its own version of the CuTe DSL; the rest is this environment's."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

PACKAGE = "nvidia-cutlass-dsl"
_ROOT = Path(__file__).resolve().parents[2]
# What belongs to the DSL, and what would run at start or is another tool's.
_LEFT_OUT = re.compile(r"nvidia_cutlass_dsl.*|_?cutlass([_-].*)?|.*\.pth|__pycache__|pip(-.*)?")
_INDEX_SECONDS, _VENV_SECONDS, _INSTALL_SECONDS = 120.0, 120.0, 1800.0


class InstallError(Exception):
    """A version can't be had here; the text is what pip says."""


def command(
    arguments: Sequence[str], seconds: float, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a program to its end, in a process group that ends with this call however it is left.
    (exit code, stdout, stderr); 124 where the time was up."""
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True, env=env,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end after {seconds:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    return process.returncode, out, err


def installed() -> str:
    """The DSL's version in this environment, "" where it has none."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return ""


def available() -> list[str]:
    """The versions that pip offers for this Python and platform, oldest first. InstallError."""
    code, out, err = command([*_pip(), "index", "versions", PACKAGE], _INDEX_SECONDS)
    found = re.search(r"^Available versions: (.+)$", out, re.M)
    if code != 0 or found is None:
        raise InstallError(f"pip can't list the versions of {PACKAGE}: {_last(err) or _last(out) or code}")
    return [v.strip() for v in found.group(1).split(",") if v.strip()][::-1]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is None:
        raise InstallError(f"{sys.executable} has no pip")
    return [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def _wanted(version: str) -> str:
    """The requirement, with the libraries for CUDA 13 where this environment has those."""
    try:
        metadata.version(f"{PACKAGE}-libs-cu13")
    except metadata.PackageNotFoundError:
        return f"{PACKAGE}=={version}"
    return f"{PACKAGE}[cu13]=={version}"


@contextmanager
def environment(version: str) -> Iterator[Path]:
    """The interpreter of a fresh environment with this version, which is removed at the end. InstallError."""
    with tempfile.TemporaryDirectory(prefix="cuteport-bisect-", ignore_cleanup_errors=True) as held:
        folder = Path(held) / "venv"
        code, _, err = command([sys.executable, "-m", "venv", "--without-pip", str(folder)], _VENV_SECONDS)
        if code != 0:
            raise InstallError(f"no environment could be made: {_last(err)}")
        python = folder / "bin" / "python"
        _share(folder, Path(held) / "shared")
        install = [*_pip(), "--python", str(python), "install", "--quiet", "--no-input", _wanted(version)]
        code, out, err = command(install, _INSTALL_SECONDS)
        if code != 0:
            raise InstallError(_last(err) or _last(out) or f"pip ended with {code}")
        _link_libraries(folder, Path(held) / "shared")
        yield python


def _share(folder: Path, shared: Path) -> None:
    """Let an environment see this one's packages, the DSL apart: links to them, behind its own."""
    shared.mkdir()
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path]
    for place in dict.fromkeys(p for p in places if p and p.endswith(("site-packages", "dist-packages"))):
        for entry in sorted(Path(place).iterdir()) if Path(place).is_dir() else ():
            if not _LEFT_OUT.fullmatch(entry.name) and not (shared / entry.name).exists():
                (shared / entry.name).symlink_to(entry.resolve())
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "cuteport_shared.pth").write_text(f"{shared}\n", encoding="utf-8")


def _link_libraries(folder: Path, shared: Path) -> None:
    """NVIDIA's libraries are looked for in an environment's own folder only. Linked after pip is done: it
    must take nothing of another environment for its own."""
    (site,) = (folder / "lib").glob("python*/site-packages")
    if not (shared / "nvidia").is_dir():
        return
    (site / "nvidia").mkdir(exist_ok=True)
    for entry in sorted((shared / "nvidia").iterdir()):
        if not (site / "nvidia" / entry.name).exists():
            (site / "nvidia" / entry.name).symlink_to(entry.resolve())


def run_in(python: Path, arguments: Sequence[str], seconds: float) -> tuple[int, str, str]:
    """Run a module of verify with the interpreter of an environment."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP")}
    env = {**kept, "PYTHONPATH": str(_ROOT), "PYTHONNOUSERSITE": "1"}
    return command([str(python), "-P", *arguments], seconds, env)


def copy_of(target: Path, folder: Path) -> Path:
    """A copy of a target, since other versions leave other traces. OSError."""
    place = folder / target.name
    shutil.copytree(target, place, ignore=shutil.ignore_patterns("__pycache__", "baselines"))
    return place


def _last(text: str) -> str:
    """The last line that says something, errors first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [""])[-1][:400]
