"""CUDA's __threadfence family: sequentially consistent, where the DSL's fences only acquire and release."""

from cutlass._mlir.dialects import nvvm


def threadfence(scope: str) -> None:
    """Orders all memory accesses of this thread for the threads in `scope`: cta, gpu or sys."""
    scopes = {"cta": nvvm.MemScopeKind.CTA, "gpu": nvvm.MemScopeKind.GPU, "sys": nvvm.MemScopeKind.SYS}
    nvvm.memory_barrier(scopes[scope])
