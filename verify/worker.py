"""The child process: alone in running ports, originals, the DSL, torch and CUDA, each imported lazily.

Jobs come as JSON lines on stdin, after one with the token that each event must carry; events go to the pipe
whose number is the first argument. The second is the parent's process id, the third says how to confine.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verify import confine
from verify.confine import Held, enclose, limit_memory
from verify.emulator import cc
from verify.jobs import MESSAGE, Emit, JobError, describe, load_module
from verify.levels import compiling_at
from verify.space import from_full_disk
from verify.specialise import BindError, specialisations


def warm(job: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Import the DSL, so that its cost and its failures are not the first port's."""
    start = time.monotonic()
    try:
        import cutlass
        import cutlass.cute
    except BaseException as e:
        raise JobError("CP9001", describe(e)[0]) from e
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401  every port imports it
    gc.freeze()  # what is loaded now stays; collecting after each port then looks at that port only
    return {"seconds": time.monotonic() - start, "dsl": getattr(cutlass, "__version__", "")}


def compile_port(job: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """Compile one port for the architecture in CUTE_DSL_ARCH; artifacts go to files `ptx` and `cubin`."""
    path, entry = Path(job["module"]), job["entry"]
    name = f"_port_{job['id']}"
    module = load_module(path, name)
    try:
        build = getattr(module, f"compile_{entry}", None)
        if not callable(build):
            raise JobError("CP6004", f"port.py has no function compile_{entry}")
        start = time.monotonic()
        try:
            with compiling_at(job.get("level")):
                compiled = build(*specialisations(build, [job["known"]])[0])
        except BindError as e:
            raise JobError("CP6004", str(e)) from e
        except BaseException as e:
            message, line = describe(e, path)
            raise JobError("CP6102", message, line) from e
        seconds = time.monotonic() - start
        artifacts = getattr(compiled, "artifacts", None)
        ptx, cubin = getattr(artifacts, "PTX", None), getattr(artifacts, "CUBIN", None)
        if not ptx or not cubin:
            raise JobError(
                "CP6105", f"compile_{entry} returned {type(compiled).__name__} without PTX and CUBIN"
            )
        out = Path(job["out"])
        (out / "ptx").write_bytes(ptx.encode() if isinstance(ptx, str) else bytes(ptx))
        (out / "cubin").write_bytes(bytes(cubin))
        return {"seconds": seconds}
    finally:
        sys.modules.pop(name, None)
        del module
        gc.collect()
        _sweep(os.environ.get("CUTE_DSL_DUMP_DIR"))


def _sweep(folder: str | None) -> None:
    """Empty the DSL's dump folder: it grows by several files per compiled kernel."""
    for f in Path(folder).iterdir() if folder and Path(folder).is_dir() else ():
        if f.is_file():
            f.unlink(missing_ok=True)


_Handler = Callable[[dict[str, Any], Emit], dict[str, Any]]
_HANDLERS: dict[str, _Handler] = {
    "warm": warm,
    "compile": compile_port,
}


def _handler(name: str) -> _Handler:
    if name not in _HANDLERS:
        from verify import bench_jobs, census_jobs, device_jobs  # load numpy; a compile child does without

        _HANDLERS.update(device_jobs.HANDLERS)
        _HANDLERS.update(bench_jobs.HANDLERS)
        _HANDLERS.update(census_jobs.HANDLERS)
    if name not in _HANDLERS:
        from verify import doubt_jobs, emulated_jobs, measure_jobs
        from verify.check import trace_jobs

        _HANDLERS.update(emulated_jobs.HANDLERS)
        _HANDLERS.update(measure_jobs.HANDLERS)
        _HANDLERS.update(doubt_jobs.HANDLERS)
        _HANDLERS.update(trace_jobs.HANDLERS)
    return _HANDLERS[name]


def _confine(pipe: int, asked: Mapping[str, Any]) -> Held:
    """Give up what foreign code must not have; returns in the process that does the work."""
    confine.limits()
    held = enclose(int(sys.argv[2]), (pipe, 0), asked["writable"], asked["level"])
    held["memory"] = limit_memory(asked["memory"]) if asked["memory"] else "open"
    return held


def main(limits: Callable[[], None] | None = None, handlers: Mapping[str, _Handler] | None = None) -> None:
    """Serve jobs until stdin closes; `handlers` are those of further jobs. `limits` stands in for the
    confinement where something else than the parent started this process."""
    _HANDLERS.update(handlers or {})
    given = int(sys.argv[1])
    asked = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    held: Held = {}
    if limits is None:
        held = _confine(given, asked)
    else:
        limits()
    pipe = os.fdopen(os.dup(given), "w", encoding="utf-8")
    os.set_inheritable(pipe.fileno(), False)
    os.close(given)
    sys.dont_write_bytecode = True
    jobs = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    token = json.loads(next(jobs))["token"] if asked.get("token") else ""
    del sys.argv[1:]

    def emit(event: dict[str, Any]) -> None:
        pipe.write(json.dumps({**event, "token": token}) + "\n")
        pipe.flush()

    if held:
        emit({"event": "confined", **held})
    cc.waiting = lambda: emit({"event": "compiling"})  # the limit of a run is none on its compiler
    for line in jobs:
        job = json.loads(line)
        done: dict[str, Any] = {"event": "done", "ok": True}
        try:
            done.update(_handler(job["do"])(job, emit))
        except JobError as e:
            done.update(ok=False, code=e.code, message=e.message[:MESSAGE], line=e.line)
            done["full"] = from_full_disk(e)
        except BaseException as e:
            done.update(ok=False, code=None, message=describe(e)[0], trace=traceback.format_exc()[-MESSAGE:])
            done["full"] = from_full_disk(e)
        emit(done)


if __name__ == "__main__":
    main()
