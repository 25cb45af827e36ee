"""Kernels around the blocks of quantisation; `python -m tests.corpus.block_kernels_quantize` runs them."""

from __future__ import annotations

import json
from typing import Any

from tests.corpus.block_kernels import run

# isort: split
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Float8E4M3FN, Float32, Int8, Int32, Numeric

from corpus.blocks.fp8_convert import from_e4m3, to_e4m3
from corpus.blocks.int8_convert import from_int8, to_int8
from corpus.blocks.row_absmax import row_absmax
from corpus.blocks.scaled_codes import CODES, codes_of, scale_of

TO = {"e4m3": to_e4m3, "saturating": lambda v: to_int8(v, True), "int8": lambda v: to_int8(v, False)}
BACK = {"e4m3": from_e4m3, "saturating": from_int8, "int8": from_int8}


@cute.kernel
def convert_kernel(mX: cute.Tensor, mQ: cute.Tensor, mBack: cute.Tensor, way: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    width = mX.shape[1]
    rX = cute.make_rmem_tensor(cute.make_layout(width), Float32)
    rQ = cute.make_rmem_tensor(cute.make_layout(width), mQ.element_type)
    for j in cutlass.range_constexpr(width):
        rX[j] = mX[thread, j]
    rQ.store(TO[way](rX.load()))
    rX.store(BACK[way](rQ.load()))
    for j in cutlass.range_constexpr(width):
        mQ[thread, j] = rQ[j]
        mBack[thread, j] = rX[j]


@cute.kernel
def number_kernel(mX: cute.Tensor, mQ: cute.Tensor, mBack: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    code = to_e4m3(mX[thread, 0])
    mQ[thread, 0] = code
    mBack[thread, 0] = from_e4m3(code)


@cute.jit
def convert_launch(
    x: cute.Pointer, q: cute.Pointer, back: cute.Pointer, way: cutlass.Constexpr, width: cutlass.Constexpr,
    count: cutlass.Constexpr,
):  # fmt: skip
    layout = cute.make_layout((count // width, width), stride=(width, 1))
    mX, mQ, mBack = (cute.make_tensor(p, layout) for p in (x, q, back))
    if cutlass.const_expr(way == "number"):
        number_kernel(mX, mQ, mBack).launch(grid=(1, 1, 1), block=(count, 1, 1))
    else:
        convert_kernel(mX, mQ, mBack, way).launch(grid=(1, 1, 1), block=(count // width, 1, 1))


@cute.kernel
def absmax_kernel(mX: cute.Tensor, mO: cute.Tensor, least: cutlass.Constexpr, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sPart = cute.make_tensor(cute.arch.alloc_smem(Int32, 32, 16), cute.make_layout(32))
    rX = cute.make_rmem_tensor(cute.make_layout(4), Float32)
    for j in cutlass.range_constexpr(4):
        rX[j] = mX[thread, j]
    mO[thread] = row_absmax(rX.load(), least, lanes, sPart)


@cute.jit
def absmax_launch(
    x: cute.Pointer, o: cute.Pointer, least: cutlass.Constexpr, lanes: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):  # fmt: skip
    mX = cute.make_tensor(x, cute.make_layout((threads, 4), stride=(4, 1)))
    mO = cute.make_tensor(o, cute.make_layout(threads))
    absmax_kernel(mX, mO, least, lanes).launch(grid=(1, 1, 1), block=(threads, 1, 1))


@cute.kernel
def codes_kernel(
    mX: cute.Tensor, mMost: cute.Tensor, mQ: cute.Tensor, mScale: cute.Tensor, kind: cutlass.Constexpr,
    saturate: cutlass.Constexpr,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    most = mMost[thread]
    rX = cute.make_rmem_tensor(cute.make_layout(4), Float32)
    rQ = cute.make_rmem_tensor(cute.make_layout(4), mQ.element_type)
    for j in cutlass.range_constexpr(4):
        rX[j] = mX[thread, j]
    rQ.store(codes_of(rX.load(), CODES[kind][1] / most, kind, saturate))
    for j in cutlass.range_constexpr(4):
        mQ[thread, j] = rQ[j]
    mScale[thread] = scale_of(most, kind)


@cute.jit
def codes_launch(
    x: cute.Pointer, most: cute.Pointer, q: cute.Pointer, scale: cute.Pointer, kind: cutlass.Constexpr,
    saturate: cutlass.Constexpr,
):  # fmt: skip
    mX, mQ = (cute.make_tensor(p, cute.make_layout((64, 4), stride=(4, 1))) for p in (x, q))
    mMost, mScale = (cute.make_tensor(p, cute.make_layout(64)) for p in (most, scale))
    codes_kernel(mX, mMost, mQ, mScale, kind, saturate).launch(grid=(1, 1, 1), block=(64, 1, 1))


def inputs() -> np.ndarray:
    """Every e4m3, the ties between neighbours and what lies beside them, integers and halves, odd values."""
    bits = np.arange(127)
    known = np.where(bits < 8, bits / 8 * 2.0**-6, (1 + bits % 8 / 8) * 2.0 ** (bits // 8 - 7.0))
    ties = (known[1:] + known[:-1]) / 2
    near = [np.nextafter(np.float32(ties), np.float32(way)) for way in (0, 1e9)]
    whole = np.arange(-140, 141) / 2
    odd = [464, 464.0001, 1e6, 3e9, np.inf, 1e-30, 1e-41, 126.5, 127.4, 128.5]
    half = np.concatenate([known, ties, *near, odd]).astype(np.float32)
    every = np.concatenate([half, -half, whole.astype(np.float32), np.float32([np.nan])])
    return np.resize(every, -(-len(every) // 16) * 16).astype(np.float32)


def rows(count: int, lanes: int) -> np.ndarray:
    """Numbers of lanes (lanes · count, 4); the largest of a row is somewhere else in each, and negative in
    every second one. Row 1 is zeros; one of the last row's is NaN where there are more than three."""
    y = (np.arange(count * lanes * 4) * 37 % 101 / 64).astype(np.float32).reshape(count, lanes * 4)
    for r in range(count):
        y[r, (r * 53 + lanes * 4 - 3) % (lanes * 4)] = (5 + r) * (-1) ** r
    if count > 1:
        y[1] = 0
    if count > 3:
        y[-1, 5] = np.nan
    return y.reshape(-1, 4)


def scaled() -> tuple[np.ndarray, np.ndarray]:
    """64 times 4 numbers and a largest magnitude for each four; some numbers are larger."""
    chance = np.random.default_rng(5)
    most = (2.0 ** chance.integers(-9, 9, 64) * chance.uniform(1, 2, 64)).astype(np.float32)
    return (most[:, None] * chance.uniform(-1.5, 1.5, (64, 4))).astype(np.float32), most


def main() -> None:
    x = inputs()
    told: dict[str, Any] = {"x": [repr(float(v)) for v in x]}
    kinds: dict[str, type[Numeric]] = {
        "e4m3": Float8E4M3FN, "saturating": Int8, "int8": Int8, "number": Float8E4M3FN,
    }  # fmt: skip
    for way, kind in kinds.items():
        given = np.clip(x, -127.0, 127.0) if way == "int8" else x
        for width in (1,) if way == "number" else (1, 2, 4, 8):
            parts = []
            for k in range(0, len(given), 512):
                part = given[k : k + 512]
                arrays = [
                    (Float32, part),
                    (kind, np.zeros(len(part), np.uint8)),
                    (Float32, np.zeros_like(part)),
                ]
                _, codes, back = run(convert_launch, arrays, way, width, len(part))
                parts.append((codes.tolist(), [repr(float(v)) for v in back]))
            told[f"{way} {width}"] = [[v for p in parts for v in p[k]] for k in range(2)]
    told["most"], told["codes"] = {}, {}
    for lanes, threads in ((4, 32), (16, 64), (32, 64), (64, 192), (224, 224), (1024, 1024)):
        y = rows(threads // lanes, lanes)
        arrays = [(Float32, y), (Float32, np.zeros(threads, np.float32))]
        told["most"][f"{lanes} {threads}"] = run(absmax_launch, arrays, 0.125, lanes, threads)[1].tolist()
    y, most = scaled()
    for kind, saturate in (("e4m3", False), ("int8", False), ("int8", True)):
        given = y if saturate else np.clip(y, -most[:, None], most[:, None])
        codes, scale = np.zeros((64, 4), np.uint8), np.zeros(64, np.float32)
        arrays = [(Float32, given), (Float32, most), (CODES[kind][0], codes), (Float32, scale)]
        out = run(codes_launch, arrays, kind, saturate)
        told["codes"][f"{kind} {saturate}"] = [out[2].tolist(), out[3].tolist()]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
