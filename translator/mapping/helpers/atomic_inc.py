"""CUDA's atomicInc."""

from cutlass import Pointer, Uint32
from cutlass._mlir.dialects import nvvm


def atomic_inc(address: Pointer, val: Uint32, scope: str = "gpu") -> Uint32:
    """*address = old >= val ? 0 : old + 1, at once; the old value. `scope`: cta, gpu or sys."""
    scopes = {"cta": nvvm.MemScopeKind.CTA, "gpu": nvvm.MemScopeKind.GPU, "sys": nvvm.MemScopeKind.SYS}
    return Uint32(nvvm.atomicrmw(nvvm.AtomicOpKind.INC, address, val.ir_value(), syncscope=scopes[scope]))
