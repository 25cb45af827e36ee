"""Kernels around the blocks of microscaling formats, for the emulator: `python -m
tests.corpus.block_kernels_microscaling FILE` writes what they give into an .npz. A process of its own, as
block_kernels is, which it takes what runs kernels from.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.corpus import block_kernels

run, bf16 = block_kernels.run, block_kernels.bf16  # its import catches launches: before the DSL's

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import BFloat16, Float16, Float32, Int32, Uint8, Uint32

from corpus.blocks.e2m1_convert import to_e2m1x8
from corpus.blocks.e8m0_scale import e8m0_inverse, e8m0_of
from corpus.blocks.scale_patch import scale_patch
from corpus.blocks.scale_place import scale_place
from corpus.blocks.share_absmax import share_absmax
from tests.corpus.microscaling_oracle import SINGLES, absmax_inputs, all_halves

THREADS = 128


def view(pointer, count):
    return cute.make_tensor(pointer, cute.make_layout(count))


@cute.kernel
def e2m1_kernel(mX: cute.Tensor, mO: cute.Tensor, factor: Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    unit = block * THREADS + thread
    values = [mX[unit * 8 + k] for k in range(8)]
    mO[unit] = to_e2m1x8(values, factor, False)


@cute.jit
def e2m1_launch(x: cute.Pointer, o: cute.Pointer, factor: Float32, words: cutlass.Constexpr):
    e2m1_kernel(view(x, words * 8), view(o, words), factor).launch(
        grid=(words // THREADS, 1, 1), block=(THREADS, 1, 1)
    )


@cute.kernel
def e8m0_kernel(
    mX: cute.Tensor, mO: cute.Tensor, mI: cute.Tensor, bits: cutlass.Constexpr, up: cutlass.Constexpr
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    unit = block * THREADS + thread
    code = e8m0_of(mX[unit], bits, up, False)
    mO[unit] = code
    mI[unit] = e8m0_inverse(code)


@cute.jit
def e8m0_launch(
    x: cute.Pointer, o: cute.Pointer, i: cute.Pointer,
    count: cutlass.Constexpr, bits: cutlass.Constexpr, up: cutlass.Constexpr,
):  # fmt: skip
    e8m0_kernel(view(x, count), view(o, count), view(i, count), bits, up).launch(
        grid=(count // THREADS, 1, 1), block=(THREADS, 1, 1)
    )


@cute.kernel
def absmax_kernel(mX: cute.Tensor, mO: cute.Tensor, share: cutlass.Constexpr, lanes: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    gX = cute.local_tile(mX, (share,), (thread,))
    rX = cute.make_fragment_like(gX)
    cute.autovec_copy(gX, rX)
    mO[thread] = share_absmax(rX, thread != 3, lanes)


@cute.jit
def absmax_launch(x: cute.Pointer, o: cute.Pointer, share: cutlass.Constexpr, lanes: cutlass.Constexpr):
    absmax_kernel(view(x, 32 * share), view(o, 32), share, lanes).launch(grid=(1, 1, 1), block=(32, 1, 1))


@cute.kernel
def place_kernel(mO: cute.Tensor, groups: cutlass.Constexpr, tiles: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    if thread < groups:
        mO[scale_place(row, thread, groups, tiles)] = Uint8(row * 7 + thread * 3)


@cute.jit
def place_launch(
    o: cute.Pointer, rows: cutlass.Constexpr, groups: cutlass.Constexpr, tiles: cutlass.Constexpr
):
    place_kernel(view(o, rows * groups), groups, tiles).launch(grid=(rows, 1, 1), block=(32, 1, 1))


@cute.kernel
def patch_kernel(mRow: cute.Tensor, mPart: cute.Tensor, shape: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    unit = Uint32(block) * THREADS + Uint32(thread)
    mRow[unit], mPart[unit] = scale_patch(unit, *shape)


@cute.jit
def patch_launch(r: cute.Pointer, p: cute.Pointer, count: cutlass.Constexpr, shape: cutlass.Constexpr):
    patch_kernel(view(r, count), view(p, count), shape).launch(
        grid=(count // THREADS, 1, 1), block=(THREADS, 1, 1)
    )


def main() -> None:
    told: dict[str, np.ndarray] = {}
    for name, x in (*all_halves().items(), ("f32", SINGLES)):
        for factor in (1.0, 0.25):
            arrays = [(Float32, x), (Uint32, np.zeros(len(x) // 8, np.uint32))]
            told[f"e2m1 {name} {factor}"] = run(e2m1_launch, arrays, Float32(factor), len(x) // 8)[1]
        most = np.abs(x)
        for bits in (8, 4):
            for up in (False, True):
                arrays = [(Float32, most), (Int32, np.zeros(len(x), np.int32)), (Float32, np.zeros_like(x))]
                _, codes, inverse = run(e8m0_launch, arrays, len(x), bits, up)
                told[f"e8m0 {name} {bits} {int(up)}"] = codes
                told[f"inverse {name} {bits} {int(up)}"] = inverse
    kinds = {"f32": Float32, "f16": Float16, "bf16": BFloat16}
    for name, kind in kinds.items():
        for share, lanes in ((2, 1), (8, 4), (16, 2), (32, 1)):
            x = absmax_inputs(share)
            data = bf16(x) if name == "bf16" else x.astype(np.float16 if name == "f16" else np.float32)
            told[f"absmax {name} {share} {lanes}"] = run(
                absmax_launch, [(kind, data), (Float32, np.zeros(32, np.float32))], share, lanes
            )[1]
    for rows, groups in ((128, 4), (256, 12)):
        for tiles in (False, True):
            out = np.zeros(rows * groups, np.uint8)
            told[f"place {rows} {groups} {int(tiles)}"] = run(
                place_launch, [(Uint8, out)], rows, groups, tiles
            )[0]
    for parts, wide, tall in ((8, 4, 1), (8, 4, 8), (12, 2, 8), (16, 16, 4)):
        zeros = np.zeros(32 * parts, np.int32)
        found = run(patch_launch, [(Int32, zeros), (Int32, zeros)], len(zeros), (parts, wide, tall))
        told[f"patch {parts} {wide} {tall}"] = np.stack(found)
    np.savez(Path(sys.argv[1]), **told)


if __name__ == "__main__":
    main()
