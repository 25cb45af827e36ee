"""Memory order and scope of CUDA's __nv_atomic functions, as keywords of the DSL's."""


def ordered(order: int, scope: int) -> dict[str, str]:
    """`sem` and `scope` for __NV_ATOMIC_RELAXED … ACQ_REL and __NV_THREAD_SCOPE_BLOCK … SYSTEM."""
    orders = {0: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
    scopes = {1: "cta", 2: "cluster", 3: "gpu", 4: "sys"}
    return {"sem": orders[order], "scope": scopes[scope]}
