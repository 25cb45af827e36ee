"""CUDA's __match_all_sync with its predicate, which the DSL's match_sync drops."""

from cutlass import Int32, Int64, Numeric, Uint32
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm, nvvm


def match_all(mask: Uint32, value: Numeric) -> tuple[Uint32, Int32]:
    """(mask if all its lanes hold one value else 0, 1 or 0)"""
    bits = value.bitcast(Int32 if value.width == 32 else Int64)
    both = nvvm.match_sync(Int32(mask).ir_value(), bits.ir_value(), nvvm.MatchSyncKind.all)
    same = llvm.extractvalue(ir.IntegerType.get_signless(1), both, [1])
    return Uint32(llvm.extractvalue(Int32.mlir_type, both, [0])), Int32(same)
