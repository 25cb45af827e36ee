"""How long the emulator takes for the kernels of speed.cu: `python -m tests.emulator.speed [--ptx FILE]`.

Prints milliseconds of processor time of one launch, the least of several, without and with checks. `--ptx`
takes what another compiler made of speed.cu, `--only` some of the kernels.
"""

from __future__ import annotations

import argparse
import ctypes
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.emulator.defects.suite import compiled
from verify.emulator.build import Mode
from verify.emulator.launch import LaunchShape, Program, RunOptions
from verify.emulator.memory import Memory

SOURCE = Path(__file__).with_name("speed.cu")
Array = np.ndarray[Any, np.dtype[Any]]
Arguments = list[Array | int | float]


def _numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


_N, _X, _ROWS, _SQUARE = 1 << 20, _numbers(1 << 20), _numbers(64, 768), _numbers(256, 256)
_KEYS = np.random.default_rng(0).integers(0, 1 << 20, _N).astype(np.int32)
# Kernel → grid, block, arguments, the last array of which is the result; what it must be.
CASES: dict[str, tuple[LaunchShape, Arguments, Callable[[], Array]]] = {
    "saxpy": (LaunchShape((_N // 256, 1, 1), (256, 1, 1)), [_N, 2.0, _X, 3 * _X], lambda: 5 * _X),
    "softmax": (
        LaunchShape((64, 1, 1), (128, 1, 1)),
        [_ROWS, np.zeros_like(_ROWS), 768],
        lambda: _softmax(_ROWS),
    ),
    "matmul": (
        LaunchShape((16, 16, 1), (16, 16, 1)),
        [_SQUARE, _SQUARE, np.zeros_like(_SQUARE), 256],
        lambda: _SQUARE @ _SQUARE,
    ),
    "histogram": (
        LaunchShape((128, 1, 1), (256, 1, 1)),
        [_KEYS, np.zeros(256, np.int32), _N],
        lambda: np.bincount(_KEYS & 255, minlength=256),
    ),
}


def measure(program: Program, kernel: str, checks: bool) -> float:
    """Seconds of processor time of one launch. AssertionError where it has findings or a wrong result."""
    shape, arguments, wanted = CASES[kernel]
    memory, params, result = Memory(), [], None
    for a in arguments:
        if isinstance(a, np.ndarray):
            address = memory.alloc(a.nbytes)
            ctypes.memmove(address, a.ctypes.data, a.nbytes)
            params.append(struct.pack("<Q", address))
            result = address, a
        else:
            params.append(struct.pack("<f" if isinstance(a, float) else "<i", a))
    program.load(kernel, Mode(checks))
    start = time.process_time()
    ran = program.run(kernel, shape, params, memory, RunOptions(checks=checks))
    seconds = time.process_time() - start
    assert result is not None and not ran.findings and not ran.stopped, (ran.findings, ran.stopped)
    address, like = result
    left = np.frombuffer(ctypes.string_at(address, like.nbytes), like.dtype).reshape(like.shape)
    np.testing.assert_allclose(left, wanted(), rtol=1e-4, atol=1e-4)
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ptx", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(argv)
    text = options.ptx.read_text(encoding="utf-8") if options.ptx else compiled(f"../{SOURCE.name}")
    program = Program(text)
    for kernel in options.only:
        least = [
            min(measure(program, kernel, checks) for _ in range(options.rounds)) for checks in (False, True)
        ]
        print(f"{kernel:10s} {1e3 * least[0]:8.2f} ms, with checks {1e3 * least[1]:8.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
