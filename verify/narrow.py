"""A port that is right on the values tried may still compute in a narrower type than the original does: other
values would show it."""

from __future__ import annotations

from verify.facts import CompileFacts
from verify.floats import RANK
from verify.inputs import lanes
from verify.pinned import ended
from verify.spec import Spec
from verify.verdict import StageResult, Status

_DTYPES = {"f8e4m3": "e4m3", "f8e5m2": "e5m2"}


def narrower(original: CompileFacts, port: CompileFacts, spec: Spec) -> list[str]:
    """Types that the port rounds to although neither original nor spec has them, or a narrower one."""
    dtypes = {lane.dtype.name for arg in spec.buffers for lane in lanes(arg)}
    known = [RANK[t] for t in (*original.floats, *(_DTYPES.get(d, d) for d in dtypes)) if t in RANK]
    least = max(known, default=0)
    return [t for t in port.narrowings if RANK[t] > least]


def judged(stages: list[StageResult], spec: Spec) -> list[StageResult]:
    """The stages, parity rejected where the port computes in a narrower type and no float64 reference says
    how well it does: against the original alone, chosen inputs can hide it."""
    got = {s.stage: s for s in stages}
    parity, compiled = got.get("parity"), got.get("compile")
    if parity is None or parity.status is not Status.PASSED or parity.parity is None:
        return stages
    original = parity.parity.original
    if original is None or compiled is None or compiled.compile is None or "fp64" in parity.parity.rule:
        return stages
    found = narrower(original, compiled.compile, spec)
    if not found:
        return stages
    has = ", ".join(original.floats) or "no floats"
    words = f"values agree, but the port rounds to {', '.join(found)}; the original has {has}"
    wrong = {"status": Status.WRONG_DTYPE, "code": "CP7042", "message": words}
    return ended(stages, parity.model_copy(update=wrong))
