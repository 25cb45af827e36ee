"""What compute-sanitizer says of kernels with known defects: the fixtures of the parser's tests.

    python3 -m tests.gpu.sanitizer_outputs OUT

On a machine with a GPU and compute-sanitizer. OUT gets one file per tool and group of kernels; each report
stands under a line that names the kernel. The places of files and the numbers of processes are taken out.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tests.emulator.defects.suite import ARCH, HERE, Pair, Twin, pairs
from verify import worker
from verify.isolate import ChildDiedError, ChildTimeoutError
from verify.sanitize_worker import _under_tool
from verify.sanitizer import TOOLS, Tool, Watcher, find_sanitizer, version_of

_ENTRY = ("-P", "-m", "tests.gpu.sanitizer_outputs")
# What no process comes back from, or only by the tool's leave: one process each, where the tool may tell.
_ALONE: Mapping[Tool, tuple[str, ...]] = {
    "memcheck": ("assert", "trap"),
    "synccheck": (
        "crossed",
        "missing_warp",
        "named_count",
        "absent_lanes",
        "split_shuffle",
        "in_branch",
        "trip_count",
    ),
}
_NEVER = frozenset({"flag", "acquire", "grid_barrier", "zero_step", "lock"})  # loops without an end
_OPEN_SECONDS, _RUN_SECONDS = 60.0, 6.0


def main() -> int:
    """Run the suite under each tool; write what was said."""
    out, path = Path(sys.argv[1]), find_sanitizer()
    if path is None:
        print("no compute-sanitizer", file=sys.stderr)
        return 3
    out.mkdir(parents=True, exist_ok=True)
    print(f"compute-sanitizer {version_of(path)}")
    lone = _NEVER.union(*_ALONE.values())
    named = {p.name: p for p in pairs()}
    work = [(tool, "plain", [p for p in pairs() if p.name not in lone]) for tool in TOOLS]
    work += [(tool, name, [named[name]]) for tool, names in _ALONE.items() for name in names]

    def one(row: tuple[Tool, str, list[Pair]]) -> str:
        tool, name, group = row
        start = time.monotonic()
        (out / f"{tool}_{name}.txt").write_text(_run(path, tool, group), encoding="utf-8")
        return f"{tool} {name}: {time.monotonic() - start:.1f} s"

    with ThreadPoolExecutor(8) as pool:
        for line in pool.map(one, work):
            print(line, flush=True)
    return 0


def _run(path: str, tool: Tool, group: list[Pair]) -> str:
    """What one process says of a group of kernels."""
    lines: list[str] = []
    watcher = Watcher(path, tool, ARCH, _RUN_SECONDS, _ENTRY)
    try:
        start = time.monotonic()
        watcher.ask({"do": "open_device"}, _OPEN_SECONDS)
        opened = time.monotonic() - start
        for pair in group:
            for which, twin in (("bad", pair.bad), ("good", pair.good)):
                before = time.monotonic()
                note = ""
                try:
                    reply = watcher.ask({"do": "launch_defect", "name": pair.name, "twin": which})
                    note = "" if reply["ok"] else f" {reply['message'][:200]}"
                except ChildTimeoutError:
                    note = " timeout"
                except ChildDiedError as e:
                    note = f" died: {e.how}: {e.log.strip()[-300:]}"
                took = time.monotonic() - before
                lines.append(f"#### {twin.kernel} ({took:.2f} s){note}\n{watcher.told()}")
                if note.startswith((" timeout", " died")):
                    return _plain("\n".join(lines))
        lines.append(f"#### open took {opened:.2f} s")
    except (ChildDiedError, ChildTimeoutError) as e:
        lines.append(f"#### died while opening: {e} {getattr(e, 'log', '')[-2000:]}")
    finally:
        watcher.child._process.stdin.close()  # let it come to its own end
        with contextlib.suppress(subprocess.TimeoutExpired):
            watcher.child._process.wait(timeout=15)
        lines.append(f"#### at the end\n{watcher.told()}\n#### printed\n{watcher.child.log()}")
        watcher.close()
    return _plain("\n".join(lines))


def _plain(text: str) -> str:
    return re.sub(r"/[\w./+-]*/(?=[\w-]+\.(?:cu|py|so))", "", text)


# ---- in the child

_LOADED: dict[str, Any] = {}


def _module(device: Any, file: str) -> Any:
    from cuda.bindings import nvrtc

    from verify.device import load_image

    if file not in _LOADED:
        source = HERE / file
        _, program = nvrtc.nvrtcCreateProgram(source.read_bytes(), str(source).encode(), 0, [], [])
        options = [f"--gpu-architecture={ARCH}".encode(), b"--std=c++17", b"--generate-line-info"]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        assert int(status) == 0, status
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        cubin = bytearray(size)
        nvrtc.nvrtcGetCUBIN(program, cubin)
        _LOADED[file] = load_image(device, bytes(cubin))
    return _LOADED[file]


def launch_defect(job: dict[str, Any], _emit: Any) -> dict[str, Any]:
    """Launch one kernel of the suite."""
    from verify.device import Arguments
    from verify.device_jobs import HELD

    device = HELD.device
    pair = next(p for p in pairs() if p.name == job["name"])
    twin: Twin = getattr(pair, job["twin"])
    function = device.call("cuModuleGetFunction", _module(device, pair.file), twin.kernel.encode())
    at: dict[str, int] = {}
    for b in pair.buffers.values():
        at[b.name] = device.alloc(b.count * b.dtype.itemsize)
        if b.initial is not None:
            device.upload(at[b.name], np.frombuffer(b.initial.tobytes(), np.uint8))
    values = [at[a].to_bytes(8, "little") if a in at else int(a[4:]).to_bytes(4, "little") for a in pair.args]
    arguments = Arguments(values)
    device.synchronize()
    device.call(
        "cuLaunchKernel", function, *twin.grid, *twin.block, twin.dynamic, device.stream, arguments.address, 0
    )
    device.synchronize()
    for address in at.values():
        device.free(address)
    return {}


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        from verify import sanitize_jobs

        worker.main(_under_tool, {**sanitize_jobs.HANDLERS, "launch_defect": launch_defect})
    else:
        sys.exit(main())
