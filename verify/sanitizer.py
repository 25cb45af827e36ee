"""compute-sanitizer: where it is, how a worker is started under it, and what it has written so far."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from verify.compile import child_env
from verify.isolate import Child

Tool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
TOOLS: tuple[Tool, ...] = get_args(Tool)

_ENTRY = ("-P", "-m", "verify.sanitize_worker")
# The tool gives up on a program that touches no GPU for this long; importing the DSL comes first.
_LAUNCH_SECONDS = 300
# Reports of one process, a few hundred bytes each; then the tool is mute. Hazards come byte by byte.
_PRINTED = 20_000
MOST_REPORTS = _PRINTED // 4  # after so many a worker is not asked again
_COMMON = (
    f"--launch-timeout={_LAUNCH_SECONDS}",
    f"--print-limit={_PRINTED}",
    "--show-backtrace=no",  # of the host: Python's frames, at seconds each
    "--report-api-errors=no",  # what the bindings ask of a driver that may lack it is no fault
    "--require-cuda-init=no",
)
_OWN: Mapping[Tool, tuple[str, ...]] = {
    # Memory after each allocation that belongs to nobody: the next buffer is no place to land in.
    "memcheck": ("--padding=4096", "--destroy-on-device-error=kernel"),
    # Hazards name both threads, which the analysis of them does not.
    "racecheck": ("--racecheck-report=hazard", "--racecheck-detect-level=info", "--print-level=info"),
    "initcheck": ("--check-api-memory-access=no",),
    "synccheck": (),
}


def find_sanitizer() -> str | None:
    """Path of compute-sanitizer: CUDA_HOME or CUDA_PATH first, then PATH, then the usual place."""
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")):
        if root and os.access(f"{root}/bin/compute-sanitizer", os.X_OK):
            return f"{root}/bin/compute-sanitizer"
    usual = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (usual if os.access(usual, os.X_OK) else None)


@functools.cache
def version_of(path: str) -> str:
    """As in "2025.3.1"; "" where it does not say."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"[Vv]ersion (\d+(?:\.\d+)+)", done.stdout)
    return found[1] if found else ""


def command(path: str, tool: Tool, log: Path, entry: tuple[str, ...] = _ENTRY) -> list[str]:
    """What starts a worker under a tool, up to the arguments that Child adds."""
    return [
        path, f"--tool={tool}", *_COMMON, *_OWN[tool], f"--log-file={log}", sys.executable, *entry,
    ]  # fmt: skip


class Watcher:
    """One worker under one tool. From one thread; close it."""

    def __init__(
        self, path: str, tool: Tool, arch: str, timeout: float, entry: tuple[str, ...] = _ENTRY
    ) -> None:
        self.tool = tool
        self.timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix="cuteport-san-", ignore_cleanup_errors=True)
        place = Path(self._folder.name)
        self._log = place / "told"
        self._read = 0
        (place / "dump").mkdir()
        env = {**child_env(arch, place / "dump"), "CUTE_DSL_LINEINFO": "1"}
        try:
            self.child = Child(env, command(path, tool, self._log, entry))
        except BaseException:
            self._folder.cleanup()
            raise

    def ask(self, job: Mapping[str, Any], timeout: float | None = None) -> dict[str, Any]:
        """Run a job; its reply. ChildDiedError, ChildTimeoutError: the worker is gone."""
        return self.child.request(job, self.timeout if timeout is None else timeout)

    def told(self) -> str:
        """What the tool wrote since this was last asked."""
        try:
            with self._log.open("rb") as f:
                f.seek(self._read)
                data = f.read()
        except OSError:
            return ""
        self._read += len(data)
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        self.child.close()
        self._folder.cleanup()
