"""Kernels around single blocks, for the emulator; `python -m tests.corpus.block_kernels` runs them.

A process of its own, since what catches launches must be in place before the DSL is imported.
"""

from __future__ import annotations

import json
import operator
from typing import Any

from verify import emulated_jobs as emulation

emulation.HELD.session = emulation._catch_launches("sm_90a")

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import BFloat16, Float16, Float32, Float64, Int32, Int64
from cutlass.cute.runtime import make_ptr

from corpus.blocks.lane_reduce import lane_reduce
from corpus.blocks.row_moments import row_moments
from corpus.blocks.row_reduce import row_reduce
from corpus.blocks.row_tiles import in_bounds, row_tiles
from corpus.blocks.row_view import row_view
from corpus.blocks.zero_outside import zero_outside

GMEM = cutlass.AddressSpace.gmem


@cute.kernel
def lanes_kernel(mX: cute.Tensor, mO: cute.Tensor, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    mO[thread] = lane_reduce(mX[thread], operation, lanes)


@cute.jit
def lanes_launch(x: cute.Pointer, o: cute.Pointer, operation: cutlass.Constexpr, lanes: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(64)) for p in (x, o))
    lanes_kernel(mX, mO, operation, lanes).launch(grid=(1, 1, 1), block=(64, 1, 1))


@cute.kernel
def rows_kernel(mX: cute.Tensor, mO: cute.Tensor, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sSum = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    sMost = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    total = row_reduce(mX[thread], operator.add, lanes, sSum)
    mO[thread] = total + 1000000.0 * row_reduce(mX[thread], cute.arch.fmax, lanes, sMost)


@cute.jit
def rows_launch(x: cute.Pointer, o: cute.Pointer, lanes: cutlass.Constexpr, threads: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout(threads)) for p in (x, o))
    rows_kernel(mX, mO, lanes).launch(grid=(1, 1, 1), block=(threads, 1, 1))


@cute.kernel
def copy_kernel(
    mX: cute.Tensor, mO: cute.Tensor, mSeen: cute.Tensor, width: cutlass.Constexpr, lanes: cutlass.Constexpr
):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    copy, tile = row_tiles(mX.element_type, mX.shape[1], width, lanes)
    mine = copy.get_slice(thread)
    gX, gO = cute.local_tile(mX, tile, (row, 0)), cute.local_tile(mO, tile, (row, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, mX.shape[1])), tile, (0, 0))
    tXgX, tXgO = mine.partition_S(gX), mine.partition_D(gO)
    tXpX = in_bounds(mine.partition_S(cX), mX.shape[1])
    tXrX = cute.make_fragment_like(tXgX)
    tXrX.fill(7.0)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    cute.copy(copy, tXrX, tXgO, pred=tXpX)
    zero_outside(tXrX, tXpX)
    mSeen[row, thread] = tXrX.load().to(Float32).reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def copy_launch(
    x: cute.Pointer, o: cute.Pointer, seen: cute.Pointer, rows: Int32, stride: Int64,
    columns: cutlass.Constexpr, width: cutlass.Constexpr, lanes: cutlass.Constexpr,
):  # fmt: skip
    mX, mO = (row_view(p, rows, columns, stride, width) for p in (x, o))
    mSeen = row_view(seen, rows, lanes, Int64(lanes), 1)
    copy_kernel(mX, mO, mSeen, width, lanes).launch(grid=(rows, 1, 1), block=(lanes, 1, 1))


@cute.kernel
def moments_kernel(mX: cute.Tensor, mO: cute.Tensor, width: cutlass.Constexpr, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    columns = mX.shape[1]
    copy, tile = row_tiles(mX.element_type, columns, width, lanes)
    mine, row = copy.get_slice(thread % lanes), thread // lanes
    tXgX = mine.partition_S(cute.local_tile(mX, tile, (row, 0)))
    cX = cute.local_tile(cute.make_identity_tensor((1, columns)), tile, (0, 0))
    tXpX = in_bounds(mine.partition_S(cX), columns)
    tXrX = cute.make_fragment_like(tXgX)
    tXrX.fill(0.0)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    sMean = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    sSquares = cute.make_tensor(cute.arch.alloc_smem(Float32, 32, 16), cute.make_layout(32))
    mean, squares = row_moments(tXrX, tXpX, (columns, width, lanes), sMean, sSquares)
    mO[0, thread], mO[1, thread] = mean, squares


@cute.jit
def moments_launch(
    x: cute.Pointer, o: cute.Pointer,
    columns: cutlass.Constexpr, width: cutlass.Constexpr, lanes: cutlass.Constexpr, rows: cutlass.Constexpr,
):  # fmt: skip
    mX, mO = (
        row_view(x, rows, columns, Int64(columns), width),
        row_view(o, 2, rows * lanes, Int64(rows * lanes), 1),
    )
    moments_kernel(mX, mO, width, lanes).launch(grid=(1, 1, 1), block=(rows * lanes, 1, 1))


def run(launch: Any, arrays: list[tuple[Any, np.ndarray]], *facts: Any, align: int = 16) -> list[np.ndarray]:
    """Compile and launch on copies of `arrays`, (element type, data); their data afterwards. RuntimeError for
    anything that the emulator's checks tell."""
    device = emulation.HELD.device
    at = [device.alloc(data.nbytes, f"array {k}") for k, (_, data) in enumerate(arrays)]
    for a, (_, data) in zip(at, arrays, strict=True):
        device.upload(a, data.view(np.uint8).ravel())
    pointers = [make_ptr(t, a, GMEM, assumed_align=align) for a, (t, _) in zip(at, arrays, strict=True)]
    emulation.HELD.seen.clear()
    emulation.HELD.session.call(lambda: cute.compile(launch, *pointers, *facts)(*pointers, *dynamic(facts)))
    for one in emulation.HELD.seen:
        if one.findings:
            raise RuntimeError(str(one.findings))
    assert emulation.HELD.seen
    return [
        device.download(a, data.nbytes).view(data.dtype).reshape(data.shape)
        for a, (_, data) in zip(at, arrays, strict=True)
    ]


def dynamic(facts: tuple[Any, ...]) -> list[Any]:
    """What is passed again at the call: constants are compiled in."""
    return [f for f in facts if isinstance(f, cutlass.Numeric)]


def bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def main() -> None:
    told: dict[str, Any] = {"lanes": {}, "rows": {}, "copies": {}, "moments": {}}
    count = np.arange(1, 65)
    types = {
        "i32": (Int32, count.astype(np.int32)), "i64": (Int64, count.astype(np.int64) << 33),
        "f32": (Float32, count.astype(np.float32)), "f64": (Float64, count / 3.0),
        "f16": (Float16, (count % 8).astype(np.float16)), "bf16": (BFloat16, bf16(count % 4)),
    }  # fmt: skip
    for name, (kind, x) in types.items():
        for lanes in (2, 4, 8, 16, 32):
            _, out = run(lanes_launch, [(kind, x), (kind, np.zeros_like(x))], operator.add, lanes)
            wide = (out.astype(np.uint32) << 16).view(np.float32) if name == "bf16" else out
            told["lanes"][f"add {name} {lanes}"] = [float(v) for v in wide]
    for what, operation in (("fmax", cute.arch.fmax), ("fmin", cute.arch.fmin), ("mul", operator.mul)):
        x = ((np.arange(64) * 37) % 64 / 16 + 0.5).astype(np.float32)
        told["lanes"][f"{what} f32 8"] = run(
            lanes_launch, [(Float32, x), (Float32, np.zeros_like(x))], operation, 8
        )[1].tolist()
    x = ((np.arange(64) * 37) % 101).astype(np.int32)
    told["lanes"]["xor i32 16"] = run(lanes_launch, [(Int32, x), (Int32, x * 0)], operator.xor, 16)[
        1
    ].tolist()
    for lanes, threads in ((1, 32), (4, 64), (32, 128), (64, 256), (128, 256), (1024, 1024)):
        x = (np.arange(threads) % 251).astype(np.float32)
        out = run(rows_launch, [(Float32, x), (Float32, x * 0)], lanes, threads)[1]
        told["rows"][f"{lanes} {threads}"] = out.tolist()
    for rows, columns, stride, width, lanes in (
        (3, 40, 40, 8, 4),
        (2, 37, 41, 1, 8),
        (4, 12, 16, 4, 4),
        (1, 8, 8, 2, 32),
        (2, 80, 96, 16, 4),
    ):
        x = (np.arange((rows - 1) * stride + columns) % 61).astype(np.float16)
        out, seen = np.zeros_like(x), np.zeros((rows, lanes), np.float32)
        arrays = [(Float16, x), (Float16, out), (Float32, seen)]
        _, out, seen = run(
            copy_launch, arrays, Int32(rows), Int64(stride), columns, width, lanes, align=2 * width
        )
        told["copies"][f"{rows} {columns} {stride} {width} {lanes}"] = [out.tolist(), seen.tolist()]
    for columns, width, lanes, rows in (
        (40, 4, 4, 8), (37, 1, 8, 4), (3, 1, 32, 1), (64, 2, 32, 2), (260, 4, 64, 2), (257, 1, 64, 2),
        (1000, 4, 128, 2), (4096, 4, 1024, 1), (4100, 4, 1024, 1), (100, 1, 1024, 1),
    ):  # fmt: skip
        x = np.random.default_rng(columns).normal(100, 0.5, (rows, columns)).astype(np.float32)
        out = np.zeros((2, rows * lanes), np.float32)
        out = run(moments_launch, [(Float32, x), (Float32, out)], columns, width, lanes, rows)[1]
        told["moments"][f"{columns} {width} {lanes} {rows}"] = out.tolist()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
