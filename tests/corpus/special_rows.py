"""Entries of softmax and sampling on rows that are odd as a whole, in the emulator: `python -m` this module.

Prints JSON: for each entry and length of the rows what came out. A process of its own, as block_kernels is.
"""

from __future__ import annotations

import json
from typing import Any

from tests.corpus.block_kernels import emulation  # isort: split

import numpy as np

from tests.corpus.speed.timing import entry

INF, NAN = float("inf"), float("nan")
# One warp a row, one block a row, a cluster of blocks a row.
LENGTHS = (40, 1000, 4200)


def special_rows(columns: int) -> Any:
    """(8, columns) fp32: only -∞, one +∞, two NaN, zeros of both signs, -∞ but for the last, only NaN, rising
    ones, equal ones."""
    x = np.random.default_rng(columns).standard_normal((8, columns)).astype(np.float32)
    x[0] = -INF
    x[1, columns // 2] = INF
    x[2, [columns // 3, columns - 1]] = NAN
    x[3] = np.where(np.arange(columns) < 2, -0.0, 0.0)
    x[4, :-1] = -INF
    x[5] = NAN
    x[6] = np.arange(columns) / 16
    x[7] = 3.0
    return x


def on_device(data: np.ndarray) -> int:
    """The address of a copy in the emulator's memory."""
    device = emulation.HELD.device
    at = device.alloc(data.nbytes, "array")
    device.upload(at, np.ascontiguousarray(data).view(np.uint8).ravel())
    return int(at)


def told(name: str, outs: list[np.ndarray], inputs: list[np.ndarray], *facts: Any, **named: Any) -> list[Any]:
    """What entry `name` writes to `outs`; RuntimeError for anything that the emulator's checks tell."""
    at = [on_device(a) for a in (*outs, *inputs)]
    emulation.HELD.seen.clear()
    emulation.HELD.session.call(lambda: entry(name)(*at, *facts, dtype="f32", stream=0, **named))
    for one in emulation.HELD.seen:
        if one.findings:
            raise RuntimeError(str(one.findings))
    assert emulation.HELD.seen
    download = emulation.HELD.device.download
    return [download(a, o.nbytes).view(o.dtype).tolist() for a, o in zip(at, outs, strict=False)]


def main() -> None:
    found: dict[str, Any] = {}
    for columns in LENGTHS:
        x = special_rows(columns)
        rows, flat = len(x), np.zeros(x.size, np.float32)
        one, places = np.zeros(rows, np.float32), np.zeros(rows, np.int64)
        target = np.full(rows, columns // 2, np.int64)
        for log in (0, 1):
            found[f"softmax {columns} {log}"] = told(
                "softmax", [flat], [x], rows, columns, columns, columns, log
            )
        for smoothing in (0.0, 0.25):
            found[f"cross_entropy {columns} {smoothing}"] = told(
                "cross_entropy", [one, one], [x, target], smoothing, rows, columns, columns, -100,
                index_dtype="i64",
            )  # fmt: skip
        found[f"argmax {columns}"] = told("argmax", [places], [x], rows, columns, columns, index_dtype="i64")
        found[f"top_k {columns}"] = told(
            "top_k", [np.zeros(rows * 20, np.float32), np.zeros(rows * 20, np.int64)], [x],
            rows, columns, 20, columns, index_dtype="i64",
        )  # fmt: skip
        for temperature in (0.0, 0.7):
            facts = [np.full(rows, n, np.float32) for n in (temperature, 0.9, 0.5)]
            found[f"top_p_sample {columns} {temperature}"] = told(
                "top_p_sample", [places], [x, *facts], rows, columns, columns, index_dtype="i64"
            )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
