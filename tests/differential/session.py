"""The parent: hands jobs to children, restarts one that died, collects what became of each kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """`status`: equal, differs, refused, error (the DSL refused the port), crashed, unbuilt (g++ refused)."""

    status: str
    detail: str = ""


def judge(jobs: Sequence[dict[str, Any]]) -> dict[tuple[str, str], Outcome]:
    """(source, kernel) → outcome. A job is `source` and, if wanted:

    `n`, `seeds`, `args`, `grid`, `block` of the runs (`memory.arguments` says more), `only` kernel names,
    `ptx` to compile the port for a GPU too and `instructions` that must be in it (kernel → pattern),
    `expect` values of the original (kernel → parameter → values), `broken` (kernel → mistakes) and `flags`
    for g++.
    """
    with tempfile.TemporaryDirectory() as dump:
        return _judge(jobs, dump)


def _judge(jobs: Sequence[dict[str, Any]], dump: str) -> dict[tuple[str, str], Outcome]:
    found: dict[tuple[str, str], Outcome] = {}
    waiting = [dict(job) for job in jobs]
    while waiting:
        env = dict(os.environ, CUTE_DSL_NO_CACHE="1", CUTE_DSL_ARCH="sm_90a", CUTE_DSL_KEEP="ptx")
        env["CUTE_DSL_DUMP_DIR"] = dump
        text = "".join(json.dumps(job) + "\n" for job in waiting)
        command = [sys.executable, "-m", "tests.differential.runner"]
        child = subprocess.run(
            command, input=text, capture_output=True, text=True, cwd=ROOT, env=env, check=False
        )
        running = ""
        for line in child.stdout.splitlines():
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            source = waiting[0]["source"]
            if said["status"] == "done":
                waiting.pop(0)
            elif said["status"] == "started":
                running = said["kernel"]
            else:
                running = ""
                found[source, said["kernel"]] = Outcome(said["status"], said["detail"])
        if waiting:
            job = waiting[0]
            if not running and not child.stdout:
                raise RuntimeError(child.stderr[-3000:])
            if not running:
                found[job["source"], "*"] = Outcome("crashed", child.stderr[-2000:])
                waiting.pop(0)
                continue
            why = "ran too long" if child.returncode == -14 else f"ended with {child.returncode}"
            found[job["source"], running] = Outcome("crashed", f"{why}: {child.stderr[-1000:]}")
            job["done"] = [k for s, k in found if s == job["source"]]
    return found
