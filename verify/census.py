"""What a port that passed puts on its stream: kernels of its own, and nothing else (CP7041)."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Sequence
from pathlib import Path

from verify.heldout import case_named
from verify.inputs import generate
from verify.plan import Run
from verify.resolve import resolve
from verify.sides import ChildSide, Inputs, SideError
from verify.spec import Spec
from verify.verdict import StageResult, Status

_PREFIX = "kernel_cutlass_"  # how the DSL names a kernel: then the function's own name follows


def not_own(names: Sequence[str], source: str) -> list[str]:
    """Those names that the DSL gives to no function of the source."""
    functions = {n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}
    return [n for n in names if not any(n.startswith(_PREFIX + f) for f in functions)]


def with_own_launches(
    target: Path, spec: Spec, runs: Sequence[Run], port: ChildSide, parity: StageResult, timeout: float
) -> StageResult:
    """The parity stage after one call of the port was captured: rejected where that launches kernels that are
    not the port's, launches none, or does anything else on the stream."""
    facts = parity.parity
    if parity.status is not Status.PASSED or facts is None:
        return parity
    done = {(r.case, r.seed, r.values, r.shifted) for r in facts.runs if r.counted}
    run = next(r for r in runs if (r.case.name, r.seed, r.values, r.shifted) in done)
    why = _stray(target, spec, run, port, timeout)
    if not why:
        return parity
    wrong = {"status": Status.LAUNCH_ERROR, "code": "CP7041", "message": f"{run}: {why}"}
    return parity.model_copy(update=wrong)


def _stray(target: Path, spec: Spec, run: Run, port: ChildSide, timeout: float) -> str:
    resolved = resolve(spec, case_named(spec, run.case.name))
    with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
        inputs = Inputs(generate(spec, resolved, run.seed, run.values), Path(folder))
        job = {"do": "census", "case": run.case.name, "inputs": inputs.files(), "module": port.load["module"]}
        try:
            _ = port.child
            reply = port.ask(job, timeout)
        except SideError as e:
            return e.message
    kernels, others = reply["kernels"], reply["others"]
    source = (target / spec.port.module).read_text(encoding="utf-8")
    if not kernels:
        return "nothing was launched on the stream that was given"
    if foreign := not_own(kernels, source):
        return f"launches {', '.join(foreign)}, which is no kernel of the port"
    return f"besides its kernels it does: {', '.join(others)}" if others else ""
