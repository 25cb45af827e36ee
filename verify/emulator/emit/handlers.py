"""Which function writes the C of an opcode that is more than arithmetic, by the tables' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from verify.emulator.emit import control, hopper, memory, sync, tensor
from verify.emulator.ops import Op
from verify.emulator.ptx.module import Instr

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting

Handler: TypeAlias = "Callable[[Emitting, Instr, Op, int], str]"

HANDLERS: Mapping[str, Handler] = {
    "ld": memory.load,
    "ldu": memory.load,
    "st": memory.store,
    "cvta": memory.cvta,
    "isspacep": memory.isspacep,
    "mapa": memory.mapa,
    "atom": memory.atom,
    "red": memory.red,
    "hint": memory.nothing,
    "bar": sync.bar,
    "shfl": sync.shfl,
    "vote": sync.vote,
    "match": sync.match,
    "redux": sync.redux,
    "activemask": sync.activemask,
    "elect": sync.elect,
    "fence": sync.fence,
    "nanosleep": sync.nanosleep,
    "bra": control.bra,
    "brx": control.brx,
    "ret": control.ret,
    "exit": control.exit_,
    "trap": control.trap,
    "nothing": control.nothing,
    "ldmatrix": tensor.ldmatrix,
    "stmatrix": tensor.stmatrix,
    "movmatrix": tensor.movmatrix,
    "mma": tensor.mma,
    "wmma_load": tensor.wmma_load,
    "wmma_store": tensor.wmma_store,
    "wmma_mma": tensor.wmma_mma,
    "cp_async": hopper.cp_async,
    "cp_async_group": hopper.cp_async_group,
    "cp_async_mbarrier": hopper.cp_async_mbarrier,
    "mbarrier": hopper.mbarrier,
    "bulk": hopper.bulk,
    "bulk_group": hopper.bulk_group,
    "bulk_reduce": hopper.bulk_reduce,
    "bulk_tensor": hopper.bulk_tensor,
    "bulk_tensor_reduce": hopper.bulk_tensor_reduce,
    "store_async": hopper.store_async,
    "wgmma": hopper.wgmma,
    "wgmma_fence": hopper.wgmma_fence,
    "wgmma_group": hopper.wgmma_group,
    "getctarank": hopper.getctarank,
}
