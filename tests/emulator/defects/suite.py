"""The defect suite: pairs of small kernels, one with a defect and one without, read from pairs.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ARCH = "sm_90a"
MARKER = "// DEFECT"
TWINS = ("bad", "good")


@dataclass(frozen=True, slots=True)
class Buffer:
    """`initial` is None where nothing is written before the launch."""

    name: str
    dtype: np.dtype[Any]
    count: int
    initial: np.ndarray[Any, Any] | None


@dataclass(frozen=True, slots=True)
class Twin:
    """One kernel of a pair and its launch; `dynamic` is in bytes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic: int


@dataclass(frozen=True, slots=True)
class Pair:
    """`codes` are alternatives, each of which must be found; `also` may come with them."""

    name: str
    file: str
    what: str
    bad: Twin
    good: Twin
    args: tuple[str, ...]
    buffers: Mapping[str, Buffer]
    codes: tuple[frozenset[str], ...]
    also: frozenset[str]
    values: Mapping[str, str] = field(default_factory=dict)

    def allowed(self) -> frozenset[str]:
        return self.also.union(*self.codes)

    def expected(self, results: Mapping[str, np.ndarray[Any, Any]]) -> list[tuple[str, Any, Any]]:
        """(what, found, wanted) for each row of `values`; `results` are the buffers after the good twin."""
        fills = {b.name: b.initial for b in self.buffers.values() if b.initial is not None}
        return [
            (of, np.asarray(_value(of, results)), np.asarray(_value(wanted, fills)))
            for of, wanted in self.values.items()
        ]


def _value(expression: str, names: Mapping[str, Any]) -> Any:
    return eval(expression, {"np": np, **names})


def _buffer(name: str, row: Mapping[str, Any]) -> Buffer:
    dtype = np.dtype(row["dtype"])
    if unknown := row.keys() - {"dtype", "count", "fill"}:
        raise ValueError(f"buffer {name}: {unknown}")
    initial = None
    if "fill" in row:
        initial = np.resize(np.asarray(_value(row["fill"], {})), row["count"]).astype(dtype)
    return Buffer(name, dtype, row["count"], initial)


def _three(size: list[int]) -> tuple[int, int, int]:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


def _twin(row: Mapping[str, Any], which: str) -> Twin:
    launch = {"kernel": f"{row['name']}_{which}", "grid": [1], "dynamic": 0, **row, **row.get(which, {})}
    return Twin(launch["kernel"], _three(launch["grid"]), _three(launch["block"]), launch["dynamic"])


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """Every row of the table."""
    rows = tomllib.loads((HERE / "pairs.toml").read_text(encoding="utf-8"))["pair"]
    return tuple(
        Pair(
            row["name"],
            row["file"],
            row["class"],
            _twin(row, "bad"),
            _twin(row, "good"),
            tuple(row["args"]),
            {name: _buffer(name, b) for name, b in row["buffers"].items()},
            tuple(frozenset(c.split("|")) for c in row["codes"]),
            frozenset(row.get("also", ())),
            row["values"],
        )
        for row in rows
    )


@functools.cache
def compiled(file: str) -> str:
    """PTX of one source file with line numbers, by NVRTC. ImportError where there is none."""
    from cuda.bindings import nvrtc

    _, program = nvrtc.nvrtcCreateProgram((HERE / file).read_bytes(), file.encode(), 0, [], [])
    options = [f"--gpu-architecture={ARCH}".encode(), b"--std=c++17", b"--generate-line-info"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytearray(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = bytearray(size)
    nvrtc.nvrtcGetPTX(program, text)
    return bytes(text).rstrip(b"\0").decode()


def marked_lines(file: str, kernel: str) -> frozenset[int]:
    """Lines of the kernel that bear the marker, counted from 1."""
    found: set[int] = set()
    inside = ""
    for number, line in enumerate((HERE / file).read_text(encoding="utf-8").splitlines(), 1):
        if head := re.search(r"__global__ void (\w+)", line):
            inside = head[1]
        if MARKER in line and inside == kernel:
            found.add(number)
    return frozenset(found)


def kernel_text(ptx: str, kernel: str) -> str:
    """The PTX of one entry, from its name to its last line."""
    found = re.search(rf"\.entry {kernel}\(.*?^\}}", ptx, re.DOTALL | re.MULTILINE)
    if found is None:
        raise KeyError(kernel)
    return found[0]


def lines_of(kernel_ptx: str) -> frozenset[int]:
    """Source lines that the instructions come from; for what was inlined, also where it was called."""
    places = re.findall(r"\.loc\s+\d+ (\d+) \d+(?:,.*?inlined_at \d+ (\d+) \d+)?", kernel_ptx)
    return frozenset(int(n) for place in places for n in place if n)
