"""What compute-sanitizer says of kernels with known defects: the fixtures of the parser's tests.

    python3 -m tests.gpu.sanitizer_outputs OUT

On a machine with a GPU and compute-sanitizer. OUT gets one file per tool; the reports of a kernel
stand under a line that names it. Folders are taken out.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
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
# Where each tool should find something; of these files each kernel gets a process of its own.
_FILES: Mapping[Tool, tuple[str, ...]] = {
    "memcheck": ("bounds.cu", "alignment.cu"),
    "racecheck": ("shared_races.cu",),
    "initcheck": ("uninitialised.cu",),
    "synccheck": ("barriers.cu",),
}
_MORE: Mapping[Tool, tuple[str, ...]] = {"memcheck": ("assert", "trap"), "initcheck": ("read_past",)}
_KEPT = 2  # reports of one kind at one place
_OPEN_SECONDS, _RUN_SECONDS = 60.0, 6.0


def main() -> int:
    """Run the suite under each tool; write what was said."""
    out, path = Path(sys.argv[1]), find_sanitizer()
    if path is None:
        print("no compute-sanitizer", file=sys.stderr)
        return 3
    out.mkdir(parents=True, exist_ok=True)
    print(f"compute-sanitizer {version_of(path)}")
    work: list[tuple[Tool, str, list[tuple[Pair, str]]]] = []
    for tool in TOOLS:
        work.append((tool, "good", [(p, "good") for p in pairs()]))
        for pair in pairs():
            if pair.file in _FILES[tool] or pair.name in _MORE.get(tool, ()):
                work.append((tool, pair.name, [(pair, "bad")]))
    texts: dict[tuple[Tool, str], str] = {}

    def one(row: tuple[Tool, str, list[tuple[Pair, str]]]) -> None:
        texts[row[0], row[1]] = _run(path, row[0], row[2])

    start = time.monotonic()
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(one, work))
    for tool in TOOLS:
        text = "".join(texts[t, name] for t, name, _ in work if t == tool)
        (out / f"{tool}.txt").write_text(text, encoding="utf-8")
    print(f"{len(work)} processes, {time.monotonic() - start:.0f} s")
    return 0


def _run(path: str, tool: Tool, group: list[tuple[Pair, str]]) -> str:
    """What one process says of a group of kernels; each kernel's reports stand under a line with its name
    and what became of its launch."""
    lines: list[str] = []
    watcher = Watcher(path, tool, ARCH, _RUN_SECONDS, _ENTRY)
    try:
        watcher.ask({"do": "open_device"}, _OPEN_SECONDS)
        for pair, which in group:
            note = "ran"
            try:
                reply = watcher.ask({"do": "launch_defect", "name": pair.name, "twin": which})
                note = "ran" if reply["ok"] else reply["message"][:200]
            except ChildTimeoutError:
                note = "no end"
            except ChildDiedError as e:
                note = f"died: {e.how}: {e.log.strip()[-300:]}"
            lines.append(f"#### {pair.name}_{which}: {note}\n{_fewer(watcher.told())}")
            if note != "ran":
                break
    except (ChildDiedError, ChildTimeoutError) as e:
        lines.append(f"#### died while opening: {e} {getattr(e, 'log', '')[-2000:]}")
    finally:
        watcher.close()
    return _plain("\n".join(lines) + "\n")


def _plain(text: str) -> str:
    return re.sub(r"/[\w./+-]*/(?=[\w-]+\.(?:cu|py|so))", "", text)


def _fewer(text: str) -> str:
    """Without the reports that differ from others in threads and addresses alone."""
    kept: list[str] = []
    seen: Counter[str] = Counter()
    for report in re.split(r"(?m)^(?=={9} \S)", text):
        kind = re.sub(r"\([\d, ]+\)|0x\w+ |: \d+|Access to.*|and is.*|Address.*", "", report)
        seen[kind] += 1
        if seen[kind] <= _KEPT:
            kept.append(report)
    return "".join(kept)


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
