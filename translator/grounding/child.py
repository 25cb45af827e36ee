"""Asks the installed CuTe DSL for its names, in a child process, and keeps the answer on disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

DISTRIBUTION = "nvidia-cutlass-dsl"
FORMAT = 1
SECONDS = 300.0
_ROOT = Path(__file__).resolve().parents[2]
_READERS = tuple(_ROOT / "verify" / f"dsl_{part}.py" for part in ("api", "objects", "signature"))
_MODULE = "verify.dsl_api"


class NoDslError(Exception):
    """There are no names to be had; the message says why."""


def folder() -> Path:
    """Where answers are kept: below XDG_CACHE_HOME, by default ~/.cache."""
    held = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(held) if held and Path(held).is_absolute() else Path.home() / ".cache"
    return base / "cuteport" / "dsl-api"


def read(seconds: float = SECONDS, cache: Path | None = None, renew: bool = False) -> dict[str, Any]:
    """The document of `verify.dsl_api`, from `cache` (by default `folder()`) where it holds this DSL's.

    NoDslError where no DSL is installed, or where it doesn't answer within `seconds`.
    """
    try:
        place = (cache or folder()) / f"{_key()}.json"
    except RuntimeError:  # no home: nothing is kept
        place = None
    if place is not None and not renew and (kept := _kept(place)) is not None:
        return kept
    text = _asked(seconds)
    made = _document(text)
    if made is None:
        raise NoDslError("the process that reads the DSL printed no document")
    if place is not None:
        _keep(place, text)
    return made


def _key() -> str:
    """What the answer depends on: the DSL and its place, this Python, the architecture, the reader itself."""
    try:
        installed = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise NoDslError(f"{DISTRIBUTION} is not installed in this Python") from None
    parts = [
        installed.version,
        str(installed.locate_file("")),
        platform.python_implementation() + platform.python_version(),
        os.environ.get("CUTE_DSL_ARCH", ""),
        *(hashlib.sha256(path.read_bytes()).hexdigest() for path in _READERS),
    ]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return f"{installed.version}-{digest}"


def _kept(place: Path) -> dict[str, Any] | None:
    try:
        return _document(place.read_bytes())
    except OSError:
        return None


def _document(text: bytes) -> dict[str, Any] | None:
    """None for what is no document of this format. Its objects are not looked through: only this program
    writes them, and two megabytes are read at every start."""
    try:
        made = json.loads(text)
    except ValueError:
        return None
    good = isinstance(made, dict) and made.get("format") == FORMAT
    if not good or not isinstance(made.get("objects"), list) or not isinstance(made.get("modules"), dict):
        return None
    kept: dict[str, Any] = made
    return kept


def _keep(place: Path, text: bytes) -> None:
    """Under a name of this process's own first: readers see a whole document or none. What can't be written
    is not kept."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            Path(temporary).replace(place)
        except OSError:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise


def _asked(seconds: float) -> bytes:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (env.get("PYTHONPATH", ""), str(_ROOT)) if p)
    # The DSL leaves dumps where it is told to, and reads these at its import.
    for name in ("CUTE_DSL_KEEP", "CUTE_DSL_DUMP_DIR"):
        env.pop(name, None)
    with _scratch() as place:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**env, "TMPDIR": place},
            cwd=place,
        )
        try:
            out, err = child.communicate(timeout=seconds)
        except BaseException as e:  # an interruption too leaves no process behind
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if isinstance(e, subprocess.TimeoutExpired):
                raise NoDslError(f"the DSL could not be read within {seconds:g} s") from None
            raise
    if child.returncode:
        last = (err.decode("utf-8", "replace").strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        raise NoDslError(f"the DSL can't be imported: {last[:300]}")
    return out


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="cuteport-dsl-", ignore_cleanup_errors=True) as place:
        yield place
