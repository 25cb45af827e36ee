"""Kernels around blocks of the mixture of experts; `python -m` emulates them."""

from __future__ import annotations

import json
from typing import Any

# First of all: it puts what catches launches in place before the DSL is imported.
from tests.corpus.block_kernels import bf16, run  # isort: skip

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import BFloat16, Float16, Float32, Float64, Int32, Int64

from corpus.blocks.load_if import load_if
from corpus.blocks.sort_registers import sort_registers
from corpus.blocks.value_key import key_index, key_value, largest_key, pack_key


@cute.kernel
def load_kernel(mX: cute.Tensor, mAt: cute.Tensor, mO: cute.Tensor):
    """Each thread fetches the vector that it is told, or none."""
    thread, _, _ = cute.arch.thread_idx()
    rX = load_if(mX[None, mAt[thread]], mAt[thread] >= 0)
    mO[None, thread].store(rX.load())


@cute.jit
def load_launch(x: cute.Pointer, at: cute.Pointer, o: cute.Pointer, width: cutlass.Constexpr):
    mX, mO = (cute.make_tensor(p, cute.make_layout((width, 32))) for p in (x, o))
    load_kernel(mX, cute.make_tensor(at, cute.make_layout(32)), mO).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def sort_kernel(mX: cute.Tensor, count: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    rX = cute.make_rmem_tensor(count, mX.element_type)
    for j in cutlass.range_constexpr(count):
        rX[j] = mX[thread, j]
    sort_registers(rX)
    for j in cutlass.range_constexpr(count):
        mX[thread, j] = rX[j]


@cute.jit
def sort_launch(x: cute.Pointer, count: cutlass.Constexpr):
    mX = cute.make_tensor(x, cute.make_layout((32, count), stride=(count, 1)))
    sort_kernel(mX, count).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def key_kernel(
    mX: cute.Tensor, mAt: cute.Tensor, mValue: cute.Tensor, mIndex: cute.Tensor, lanes: cutlass.Constexpr
):
    thread, _, _ = cute.arch.thread_idx()
    kind = mX.element_type
    key = largest_key(pack_key(mX[thread], mAt[thread], kind), lanes)
    mValue[thread] = key_value(key, kind)
    mIndex[thread] = key_index(key)


@cute.jit
def key_launch(
    x: cute.Pointer, at: cute.Pointer, value: cute.Pointer, index: cute.Pointer, lanes: cutlass.Constexpr
):
    tensors = [cute.make_tensor(p, cute.make_layout(64)) for p in (x, at, value, index)]
    key_kernel(*tensors, lanes).launch(grid=(1, 1, 1), block=(64, 1, 1))


def values() -> np.ndarray:
    """64 numbers that 16 bits hold, with ties, both zeros, infinities and a NaN."""
    x = ((np.arange(64) * 29) % 23 - 17).astype(np.float32) / 4
    x[[3, 8, 40, 41]] = 0.0, -0.0, np.nan, -np.inf
    x[[32, 33, 34, 35]] = np.nan, -np.inf, np.nan, -np.inf
    x[57] = np.inf
    return x


def main() -> None:
    told: dict[str, Any] = {"loads": {}, "sorted": {}, "keys": {}}
    at = np.where(np.arange(32) % 3 == 1, -(1 << 20), (np.arange(32) * 7) % 32).astype(np.int32)
    for name, kind, carrier, scale in (
        ("f16", Float16, np.float16, 1), ("f32", Float32, np.float32, 1),
        ("i64", Int64, np.int64, (1 << 40) + 3), ("f64", Float64, np.float64, 1 / 3),
    ):  # fmt: skip
        for width in (1, 2, 4, 8):
            if width * kind.width > 128:
                continue
            x = ((np.arange(32 * width) + 1) * scale).astype(carrier)
            arrays = [(kind, x), (Int32, at), (kind, np.full_like(x, -1))]
            out = run(load_launch, arrays, width, align=width * kind.width // 8)[2]
            told["loads"][f"{name} {width}"] = [at.tolist(), out.tolist()]
    for name, kind, carrier, scale in (("i32", Int32, np.int32, 1), ("i64", Int64, np.int64, 1 << 34)):
        for count in (1, 2, 3, 8, 12, 16):
            x = ((np.arange(32 * count) * 37) % 41 - 20).astype(carrier) * scale
            told["sorted"][f"{name} {count}"] = [x.tolist(), run(sort_launch, [(kind, x)], count)[0].tolist()]
    x, at = values(), ((np.arange(64) * 5) % 64).astype(np.int32)
    for name, kind, held in (
        ("bf16", BFloat16, bf16(x)), ("f16", Float16, x.astype(np.float16)), ("f32", Float32, x),
    ):  # fmt: skip
        for lanes in (1, 4, 32):
            arrays = [(kind, held), (Int32, at), (Float32, np.zeros(64, np.float32)), (Int32, at * 0)]
            _, _, value, index = run(key_launch, arrays, lanes)
            told["keys"][f"{name} {lanes}"] = [[str(v) for v in value], index.tolist()]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
