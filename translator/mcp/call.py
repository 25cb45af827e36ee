"""One call of a tool: a process of its own, timed, ended with all that it started; its JSON document."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from translator.mcp.folder import RunFolder, readable, writable
from translator.mcp.roots import RefusedError, Roots
from verify.confine import kill_below
from verify.report.visible import visible

MOST = 8_000_000  # bytes of a document
ANSWER, MESSAGES = "answer.json", "messages.txt"
_LONGEST_WORDS = 200  # characters of a message
_OFTEN, _SELDOM = 0.02, 0.25  # seconds between looks
_TOLD = 2.0  # seconds between words on progress

Tell = Callable[[float, str], Awaitable[None]]  # seconds so far, and what is being done


@dataclass(frozen=True, slots=True)
class Answer:
    """The document that the command printed, its exit code, and the call's folder."""

    document: dict[str, Any]
    exit_code: int
    folder: Path


@dataclass(frozen=True, slots=True)
class Bench:
    """Where tools work: what may be read, what is written, whether the kernel confines them to it. Where it
    does not, code of targets runs only if they are `trusted`."""

    roots: Roots
    folder: RunFolder
    confined: bool
    trusted: bool = False

    async def run(self, tool: str, words: list[str], call: Path, seconds: float, tell: Tell) -> Answer:
        """The answer of `cuteport WORDS… --json` in the folder `call`.

        RefusedError CP5506 when it took longer than `seconds`, CP5507 for a document too large, CP5509 where
        there is none. Whatever happens, cancellation too, no process is left.
        """
        with (call / ANSWER).open("wb") as out, (call / MESSAGES).open("wb") as messages:
            process = subprocess.Popen(
                self._command(words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=messages,
                cwd=call,
                env=self.folder.environment(self.roots, call),
                start_new_session=True,
            )
        try:
            await self._ended(process, tool, call, seconds, tell)
        finally:
            _end(process)
            shutil.rmtree(call / "tmp", ignore_errors=True)
        return Answer(_document(tool, call, process.returncode), process.returncode, call)

    def _command(self, words: list[str]) -> list[str]:
        policy = {
            "parent": os.getpid(),
            "read": readable(self.roots),
            "write": writable(self.folder),
            "confine": self.confined,
        }
        at = words.index("--") if "--" in words else len(words)
        asked = [*words[:at], "--json", *words[at:]]
        return [sys.executable, "-P", "-m", "translator.mcp.child", json.dumps(policy), *asked]

    async def _ended(
        self, process: subprocess.Popen[bytes], tool: str, call: Path, seconds: float, tell: Tell
    ) -> None:
        start = told = time.monotonic()
        pause = _OFTEN
        while process.poll() is None:
            now = time.monotonic()
            if now - start > seconds:
                raise RefusedError("CP5506", "refused", tool=tool, seconds=f"{seconds:g}")
            if now - told >= _TOLD:
                told = now
                await tell(now - start, _last_words(call / MESSAGES))
            await anyio.sleep(pause)
            pause = min(_SELDOM, pause * 1.3)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all below it, whatever group or session they are in; nothing where it has ended."""
    if process.poll() is None:
        kill_below(process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_words(messages: Path) -> str:
    """The last line of what a tool says while it works, as text that can be shown."""
    with messages.open("rb") as stream:
        stream.seek(max(0, messages.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").replace("\r", "\n").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return visible(said)[:_LONGEST_WORDS]


def _document(tool: str, call: Path, code: int) -> dict[str, Any]:
    file = call / ANSWER
    if (size := file.stat().st_size) > MOST:
        sizes = {"size": f"{size / 1e6:.1f} MB", "most": f"{MOST / 1e6:.0f} MB"}
        raise RefusedError("CP5507", "refused", tool=tool, path=str(file), **sizes)
    try:
        made = json.loads(file.read_bytes())
        if not isinstance(made, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError):
        how = (
            f"its process was ended by signal {-code}" if code < 0 else f"its process ended with code {code}"
        )
        raise RefusedError("CP5509", "bug", tool=tool, reason=f"{how}; {call / MESSAGES}") from None
    return made
