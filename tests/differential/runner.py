"""The child: reads jobs (JSON lines on standard input), judges each kernel, prints one JSON line per step.

A wrong port may loop for ever or crash; each kernel has a time limit whose signal ends this process, and the
parent (`session`) knows from the last line which kernel it was.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.differential import conversions, memory
from tests.differential.original import Original
from tests.differential.ported import Ported, load
from translator import emit, passes
from translator.diag.diagnostic import Sink
from translator.emit.module import Draft
from translator.frontend import build, project
from translator.model.check import problems
from translator.model.kernel import KernelModel

SECONDS = 30  # for one kernel


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def drafts(source: Path) -> Iterator[tuple[str, KernelModel | None, Draft | None, str]]:
    """(kernel name, model, port, why not) of each kernel in `source`."""
    sink = Sink()
    for reading in project.read([str(source)], project.ReadOptions(), sink):
        name = reading.instantiation or reading.name
        found = Sink()
        try:
            model = build.build_model(reading, found)
            if model is None or found.refused:
                yield name, None, None, "; ".join(str(d) for d in found.items)
                continue
            if broken := problems(model):
                raise AssertionError(f"broken model: {broken[0]}")
            lowered = passes.lower(model, found)
            draft = emit.emit(lowered, found)
        except Exception:
            yield name, None, None, "exception: " + traceback.format_exc(limit=-3)
            continue
        refused = "; ".join(str(d) for d in found.items if d.refuses)
        yield name, model, None if refused else draft, refused
    if sink.refused:
        yield "*", None, None, "; ".join(str(d) for d in sink.items)


def judge(
    job: dict[str, Any], number: int, model: KernelModel, draft: Draft, original: Original, folder: Path
) -> str:
    """Where the port's memory differs from the original's; "" if it does not.

    `broken` of the job are mistakes to put into a port: (pattern, replacement); each must be noticed.
    """
    path = folder / f"{Path(job['source']).stem}_{number}.py"
    if job.get("ptx"):
        device = path.with_name(f"device_{path.name}")
        device.write_text(draft.source)
        compiled = getattr(load(device), f"compile_{draft.entry}")((32, 1, 1))
        wanted = job.get("instructions", {}).get(model.kernel.name, "")
        if not re.search(wanted, compiled.artifacts.PTX or ""):
            return f"no {wanted} in the PTX"
    if found := compared(job, number, model, draft, original, path):
        return found
    for k, (pattern, instead) in enumerate(job.get("broken", {}).get(model.kernel.name, ())):
        text, count = re.subn(pattern, instead, draft.source, flags=re.MULTILINE)
        if not count:
            return f"nothing to break: {pattern}"
        wrong = path.with_name(f"{path.stem}_broken_{k}.py")
        with contextlib.suppress(Exception):  # refused by the DSL: noticed
            if not compared(job, number, model, replace(draft, source=text), original, wrong):
                return f"not noticed: {pattern} -> {instead}"
    return ""


def compared(
    job: dict[str, Any], number: int, model: KernelModel, draft: Draft, original: Original, path: Path
) -> str:
    """Runs both sides and compares all memory they could write."""
    ported = Ported(draft, path)
    for seed in job.get("seeds", [1]):
        args = memory.arguments(model, job.get("n", 70), seed, job.get("args", {}))
        shared = _globals(model, draft, original, number, seed)
        flat = args.flat(1)
        names = dict(zip((p.name for p in draft.params[: len(flat)]), flat, strict=True))
        grid = _sizes(draft.grid, names, (2, 1, 1)) if "grid" not in job else tuple(job["grid"])
        block = _sizes(draft.block, names, (32, 1, 1)) if "block" not in job else tuple(job["block"])
        packed = args.packed(0)
        original.launch(number, [int(v.ctypes.data) for v in packed], grid, block)
        for name, wanted in job.get("expect", {}).get(model.kernel.name, {}).items():
            got = args.buffers[name].values(0)[: len(wanted)]
            if got != wanted:
                return f"C++ {got}, expected {wanted}"
        for name, buffer in shared.items():
            place = original.address(number, name)
            ctypes.memmove(buffer.address(0), place, len(buffer.start))
        captured = [shared[_author(draft, p.name)].address(1) for p in draft.params[len(flat) :]]
        ported.launch([*flat, *captured], grid, block)
        for buffer in (*args.buffers.values(), *shared.values()):
            if found := buffer.difference():
                return found
    return ""


def _author(draft: Draft, name: str) -> str:
    return next((a for a, p in draft.renames if p == name), name)


def _globals(
    model: KernelModel, draft: Draft, original: Original, number: int, seed: int
) -> dict[str, memory.Buffer]:
    """The globals' memory; what the source leaves to the host to fill is filled at random."""
    rng = np.random.default_rng(seed + 1000)
    made: dict[str, memory.Buffer] = {}
    for g in model.globals:
        place = original.address(number, g.var.name)
        if g.init is None and g.var.storage == "constant":
            data = memory.fill(g.var.type, 1, rng)
            ctypes.memmove(place, data, len(data))
        made[g.var.name] = memory.Buffer(g.var.name, g.var.type, ctypes.string_at(place, g.var.type.size))
    return made


def _sizes(text: str, names: dict[str, Any], other: tuple[int, int, int]) -> tuple[int, ...]:
    if not text:
        return other
    made = eval(text, {"max": max, "min": min}, names)
    return (*((made,) if isinstance(made, int) else made), 1, 1)[:3]


def run(job: dict[str, Any], folder: Path) -> None:
    source = Path(job["source"])
    skip = set(job.get("done", ()))
    found = list(drafts(source))
    ready = [
        (name, model, draft) for name, model, draft, _ in found if model is not None and draft is not None
    ]
    for name, _, draft, why in found:
        if draft is None and name not in skip:
            say(kernel=name, status="refused", detail=why)
    try:
        original = Original(source, [m for _, m, _ in ready], folder, *job.get("flags", ()))
    except subprocess.CalledProcessError as e:
        say(kernel="*", status="unbuilt", detail=e.stderr[-2000:])
        return
    for number, (name, model, draft) in enumerate(ready):
        if name in skip or name not in job.get("only", (name,)):
            continue
        say(kernel=name, status="started")
        signal.alarm(SECONDS)
        noise = io.StringIO()
        try:
            with contextlib.redirect_stdout(noise):
                detail = judge(job, number, model, draft, original, folder)
            say(kernel=name, status="differs" if detail else "equal", detail=detail)
        except Exception as e:
            text = str(e) or traceback.format_exc(limit=-3)
            say(kernel=name, status="error", detail=f"{type(e).__name__}: {text[-1500:]}")
        signal.alarm(0)


def main() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    keep = os.environ.get("DIFFERENTIAL_KEEP")
    with tempfile.TemporaryDirectory() as temporary:
        conversions.provide(Path(temporary))
        for line in sys.stdin:
            job = json.loads(line)
            run(job, Path(keep or temporary))
            say(kernel="*", status="done", detail=job["source"])


if __name__ == "__main__":
    main()
