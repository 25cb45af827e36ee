"""Launches of host code through compile_cache; `python -m tests.corpus.compile_cache_run WHAT FOLDER`.

A function without a kernel runs where there is no GPU, after it was loaded from disk too.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float32, Int32
from cutlass.cute.runtime import make_fake_stream, make_ptr

from corpus.blocks import compile_cache
from corpus.blocks.compile_cache import FOUND, compiled_once, key_of

ARCH = "sm_90a"
ADDED = 1


@cute.jit
def host_launch(p: cute.Pointer, n: Int32, factor: cutlass.Constexpr):
    p[0] = n * factor + ADDED


@cute.jit
def wrong_launch(p: cute.Pointer, n: Int32, factor: cutlass.Constexpr):
    p[0] = n.no_such_thing


@cute.kernel
def gpu_kernel(p: cute.Pointer, factor: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    p[thread] = thread * factor


@cute.jit
def gpu_launch(p: cute.Pointer, n: Int32, factor: cutlass.Constexpr):
    gpu_kernel(p, factor).launch(grid=(n, 1, 1), block=(64, 1, 1))


def pointer(x: Any = 256, kind: Any = Int32, align: int = 4, space: Any = None) -> Any:
    """To a numpy array, or to some address."""
    at = x if isinstance(x, int) else x.ctypes.data
    return make_ptr(kind, at, space or cutlass.AddressSpace.generic, assumed_align=align)


def value(factor: int, folder: Any, n: int = 5) -> int:
    """What the launch through the cache gives: n * factor + 1."""
    x = np.zeros(4, np.int32)
    compiled_once(host_launch, (pointer(x), Int32(0), factor), ARCH, folder=folder)(pointer(x), Int32(n))
    return int(x[0])


def forget() -> dict[str, int]:
    """What was counted; memory is empty after it, as in a new process."""
    told = dict(FOUND)
    FOUND.clear()
    compile_cache._KEPT.clear()
    return told


def cold(folder: str) -> Any:
    """Eight threads ask for one launch; then another is asked for twice; and all keys."""
    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.append(value(7, folder))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    threaded = dict(FOUND)
    return [got, threaded, [value(9, folder), value(9, folder)], forget(), keys()]


def warm(folder: str) -> Any:
    """What other processes stored is loaded, unless it is damaged or others may write there."""
    told: dict[str, Any] = {"loaded": [value(7, folder), value(9, folder), forget()]}
    for path in Path(folder).glob("*.o"):
        content = path.read_bytes()
        path.write_bytes(
            content[: len(content) // 2]
            if path.name < sorted(Path(folder).glob("*.o"))[-1].name
            else content[:100] + b"x" + content[101:]
        )
    told["damaged"] = [value(7, folder), value(9, folder), forget()]
    told["mended"] = [value(7, folder), value(9, folder), forget()]
    Path(folder).chmod(0o777)
    told["open"] = [value(7, folder), forget()]
    Path(folder).chmod(0o700)
    file = Path(folder) / "file"
    file.write_text("")
    told["no folder"] = [value(7, file), value(7, file), forget()]
    told["none"] = [value(7, None), value(7, None), forget()]
    for _ in range(2):
        try:
            compiled_once(wrong_launch, (pointer(), Int32(0), 1), ARCH, folder=folder)
        except Exception as e:
            told.setdefault("wrong", []).append(type(e).__name__ != "KeyError")
    told["wrong"].append(forget())
    told["left"] = [p.name for p in Path(folder).iterdir() if p.suffix != ".o"]
    return told


def keys() -> Any:
    """Keys of what differs in one thing each, and what has none."""
    base: tuple[Any, ...] = (pointer(), Int32(0), 7)
    gmem = cutlass.AddressSpace.gmem
    told = {
        "base": key_of(host_launch, base, ARCH),
        "again": key_of(host_launch, (pointer(64), Int32(3), 7), ARCH),
        "kind": key_of(host_launch, (pointer(kind=Float32), *base[1:]), ARCH),
        "align": key_of(host_launch, (pointer(align=16), *base[1:]), ARCH),
        "space": key_of(host_launch, (pointer(space=gmem), *base[1:]), ARCH),
        "number": key_of(host_launch, (base[0], Float32(0), 7), ARCH),
        "stream": key_of(host_launch, (base[0], make_fake_stream(), 7), ARCH),
        "arch": key_of(host_launch, base, "sm_100a"),
        "options": key_of(host_launch, base, ARCH, "--opt-level 1"),
        "function": key_of(gpu_launch, base, ARCH),
    }
    constants = (8, 7.0, "7", True, (7,), (7, 8), None, Int32, Int32(7), Float32(7), cute.arch.fmax, forget)
    told |= {f"constant {k}": key_of(host_launch, (*base[:2], c), ARCH) for k, c in enumerate(constants)}
    for refused in (lambda: 0, [7], object(), np.add, threading.Lock):
        try:
            key_of(host_launch, (*base[:2], refused), ARCH)
        except TypeError as e:
            told.setdefault("refused", []).append("can't be part of a key" in str(e))
    try:
        key_of(host_launch, (np.zeros(2), *base[1:]), ARCH)
    except TypeError as e:
        told["refused"].append("pass pointers" in str(e))
    globals()["ADDED"] = 2
    told["global"] = key_of(host_launch, base, ARCH)
    globals()["ADDED"] = 1
    os.environ["CUTE_DSL_LINEINFO"] = "1"
    told["switch"] = key_of(host_launch, base, ARCH)
    del os.environ["CUTE_DSL_LINEINFO"]
    return told


def speed(folder: str) -> Any:
    """Processor seconds for a launch: compiled, and stored, loaded, from memory. The least of 15."""
    asked = (pointer(space=cutlass.AddressSpace.gmem), Int32(0), 7)
    least: dict[str, float] = {}

    def timed(name: str, place: Any) -> None:
        start = time.process_time()
        compiled_once(gpu_launch, asked, ARCH, folder=place)
        least[name] = min(least.get(name, 1e9), time.process_time() - start)

    for k in range(16):
        timed("compiled", None)
        compile_cache._KEPT.clear()
        timed("stored", f"{folder}/{k}")
        compile_cache._KEPT.clear()
        timed("loaded", f"{folder}/{k}")
        timed("memory", None)
        compile_cache._KEPT.clear()
        if not k:
            least.clear()  # the first of a process pays for much else
    return [least, dict(FOUND)]


def main(what: str, *rest: str) -> None:
    print(json.dumps({"cold": cold, "warm": warm, "speed": speed}[what](*rest)))


if __name__ == "__main__":
    main(*sys.argv[1:])
