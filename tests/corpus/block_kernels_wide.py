"""Predicated vector copies, compiled only; `python -m tests.corpus.block_kernels_wide` tells accesses."""

from __future__ import annotations

import json
import re
from typing import Any

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32, Int64
from cutlass.cute.runtime import make_ptr

from corpus.blocks.load_if import load_if
from corpus.blocks.row_tiles import in_bounds, row_tiles
from corpus.blocks.row_view import row_view
from corpus.blocks.vector_width import vector_width

COLUMNS, LANES = 208, 8


@cute.kernel
def tiles_kernel(mX: cute.Tensor, mO: cute.Tensor, width: cutlass.Constexpr):
    """A row whose last chunk is cut, by a tiled copy with predicates."""
    thread, _, _ = cute.arch.thread_idx()
    copy, tile = row_tiles(mX.element_type, COLUMNS, width, LANES)
    mine = copy.get_slice(thread)
    gX, gO = cute.local_tile(mX, tile, (0, 0)), cute.local_tile(mO, tile, (0, 0))
    cX = cute.local_tile(cute.make_identity_tensor((1, COLUMNS)), tile, (0, 0))
    tXgX, tXgO = mine.partition_S(gX), mine.partition_D(gO)
    tXpX = in_bounds(mine.partition_S(cX), COLUMNS)
    tXrX = cute.make_fragment_like(tXgX)
    cute.copy(copy, tXgX, tXrX, pred=tXpX)
    cute.copy(copy, tXrX, tXgO, pred=tXpX)


@cute.kernel
def load_if_kernel(mX: cute.Tensor, mO: cute.Tensor, width: cutlass.Constexpr):
    """One access a thread, where it exists."""
    thread, _, _ = cute.arch.thread_idx()
    rX = load_if(cute.local_tile(mX, (1, width), (0, thread)), thread < COLUMNS // width)
    cute.autovec_copy(rX, cute.local_tile(mO, (1, width), (0, thread)))


@cute.jit
def launch(x: cute.Pointer, o: cute.Pointer, which: cutlass.Constexpr, width: cutlass.Constexpr):
    mX, mO = (row_view(p, 3, COLUMNS, Int64(COLUMNS), width) for p in (x, o))
    which(mX, mO, width).launch(grid=(1, 1, 1), block=(LANES, 1, 1))


def accesses(which: Any, kind: Any, width: int) -> list[tuple[str, int]]:
    """(load or store, bits) of every kind of access to global memory; [] where ptxas refuses the kernel."""
    bits = width * kind.width
    p = make_ptr(kind, 256, cutlass.AddressSpace.gmem, assumed_align=bits // 8)
    try:
        ptx = cute.compile(launch, p, p, which, width).artifacts.PTX
    except Exception as e:
        assert "256 bit wide load/store" in str(e), e
        return []
    found = re.findall(r"(ld|st)\.global(?:\.nc)?(?:\.v(\d))?\.b(\d+)", ptx)
    return sorted({(what, int(many or 1) * int(size)) for what, many, size in found})


def main() -> None:
    told: dict[str, Any] = {}
    for kind in (BFloat16, Float32):
        for access in (128, 256):
            width = vector_width(kind.width, COLUMNS, access=access)
            told[f"{kind.__name__} {access} tiles"] = accesses(tiles_kernel, kind, width)
            told[f"{kind.__name__} {access} load_if"] = accesses(load_if_kernel, kind, width)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
