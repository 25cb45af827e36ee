"""Doubting the machine code: what each side gave on the GPU against what its own PTX means in the emulator.

Machine code is a witness, not the law. A side whose results differ from its PTX's by more than the PTX leaves
open is run again at lower optimisation levels; where one of them agrees with the PTX, the assembler got the
others wrong.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.facts import DoubtFacts, RunFacts
from verify.findings import SideName, gravest, read_findings
from verify.inputs import Lane, decode, generate, view
from verify.judge import Outputs, bits, judge, output_lanes
from verify.levels import DEFAULT
from verify.notes import in_words
from verify.plan import Run, plan, too_large
from verify.resolve import resolve
from verify.right_values import Reference
from verify.sides import Inputs, Side, SideError, SideRan
from verify.spec import Spec
from verify.unordered import CountError, MisfitError, Order
from verify.verdict import StageResult, Status

_BOUNDARY_RUNS, _TYPICAL_RUNS = 2, 1
_CONFIRM = 3  # runs that must agree with each other before anything is blamed
_ORDERS = 4  # orders of threads in the emulator where atomics can show one


@dataclass(frozen=True, slots=True)
class Witness:
    """One side: its `machine` code, and the `meaning` of its PTX. `at` makes the machine code that of a
    level, None being the side's own; `nature` tells what the PTX of the last run leaves open (see
    doubt_jobs.open_in)."""

    name: SideName
    machine: Side
    meaning: Side
    nature: Callable[[], Mapping[str, Any]]
    at: Callable[[int | None], None]
    levels: tuple[int, ...]
    level: int | None = None  # the side's own, where it is pinned


def runs_to_doubt(spec: Spec, cases: Sequence[str], seed: int, failed: RunFacts | None = None) -> list[Run]:
    """Small runs: the run that failed, the first boundary cases, and the smallest typical one."""
    own = [
        r
        for r in plan(spec, cases, seed, "emulator")
        if r.own and _fits(spec, r) and resolve(spec, r.case).launchable
    ]
    firsts: dict[str, Run] = {}
    for run in own:
        firsts.setdefault(run.case.name, run)

    def of(role: str) -> Iterator[Run]:
        return (r for r in firsts.values() if r.case.role == role)

    typical = sorted(of("typical"), key=lambda r: resolve(spec, r.case).threads)
    chosen = [*islice(of("boundary"), _BOUNDARY_RUNS), *typical[:_TYPICAL_RUNS]]
    if failed is not None:
        again = [r for r in plan(spec, cases, seed) if str(r) == _name(failed) and _fits(spec, r)]
        chosen = [*again[:1], *(r for r in chosen if str(r) != _name(failed))]
    return chosen


def _fits(spec: Spec, run: Run) -> bool:
    return not too_large(resolve(spec, run.case), "emulator")


def _name(run: RunFacts) -> str:
    return f"case {run.case}, seed {run.seed}, values {run.kind}"


@dataclass(frozen=True, slots=True)
class _Meant:
    """What the PTX gives on one run's inputs: outputs per order of threads, and what it leaves open."""

    outputs: list[Outputs]
    exact: bool
    expected: Mapping[str, npt.NDArray[np.float64]]
    order: Order  # of the first outputs; the others are in it too


def examine(spec: Spec, runs: Sequence[Run], witness: Witness, reference: Reference | None) -> DoubtFacts:
    """Compare one side's machine code with its PTX over `runs`."""
    found = DoubtFacts(side=witness.name, level=witness.level)
    for run in runs:
        resolved = resolve(spec, run.case)
        with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
            inputs = Inputs(generate(spec, resolved, run.seed, run.values), Path(folder), run.shifted)
            meant, why, free = _mean(spec, run, witness, inputs, reference)
            if meant is None:
                return found.model_copy(update={"message": f"not compared: {why}"})
            found = found.model_copy(
                update={
                    "rule": "bits" if meant.exact and found.rule == "bits" else "tolerance",
                    "left_open": free,
                }
            )
            words, equal = _steady(spec, run, witness, inputs, meant)
            if not words:
                update = {"runs": found.runs + 1, "equal": found.equal + equal}
                found = found.model_copy(update=update)
                continue
            right = _level_that_agrees(spec, run, witness, inputs, meant)
        where = f"{run}: {words}"
        if right is None:
            return found.model_copy(update={"message": f"{where}; so at every lower level"})
        return found.model_copy(update={"message": where, "right_at": right})
    return found


def _mean(
    spec: Spec, run: Run, witness: Witness, inputs: Inputs, reference: Reference | None
) -> tuple[_Meant | None, str, list[str]]:
    """The PTX's results; or None and why they tell nothing. Besides, the opcodes that leave results open."""
    case = run.case.name
    try:
        ran = [witness.meaning.run(case, inputs, 0)]
        nature = witness.nature()
        ordered = bool(nature["atomics"]) or spec.tolerance.order_dependent
        ran += [witness.meaning.run(case, inputs, r) for r in range(1, _ORDERS if ordered else 1)]
        expected = reference(case, inputs) if reference is not None and nature["free"] else {}
    except SideError as e:
        if e.how != "refused":
            witness.meaning.restart()
        return None, f"{e.code} {e.message.splitlines()[0][:200] if e.message else e.how}", []
    if nature["place"]:
        return None, f"the kernel reads {', '.join(nature['place'])}", []
    grave = gravest(f for r in ran for f in read_findings(witness.name, case, r.findings))
    if grave is not None:
        return None, f"{grave.code} {in_words(grave)}", []
    exact = not (nature["free"] or ordered)
    order = Order(spec, resolve(spec, run.case))
    try:
        outputs = [
            order.begin(ran[0].outputs),
            *(order.original(r.outputs, k) for k, r in enumerate(ran[1:], 1)),
        ]
    except (CountError, MisfitError) as e:
        return None, str(e), []
    return _Meant(outputs, exact, order.reference(expected), order), "", list(nature["free"])


def _attempt(side: Side, run: Run, inputs: Inputs) -> SideRan | SideError:
    try:
        return side.run(run.case.name, inputs, 0)
    except SideError as e:
        side.restart()
        return e


def _ordered(got: SideRan | SideError, meant: _Meant) -> SideRan | SideError:
    """The run in the order of what its PTX gives."""
    if isinstance(got, SideError):
        return got
    try:
        return replace(got, outputs=dict(meant.order.port(got.outputs, 0)))
    except (CountError, MisfitError) as e:
        return SideError("refused", "CP7012", str(e))


def _steady(spec: Spec, run: Run, witness: Witness, inputs: Inputs, meant: _Meant) -> tuple[str, bool]:
    """How the machine code differs from the PTX in each of several runs; "" where one of them agrees, and
    whether that one has its very bits."""
    words = ""
    for _ in range(_CONFIRM):
        got = _ordered(_attempt(witness.machine, run, inputs), meant)
        words = _difference(spec, got, meant)
        if not words:
            return "", isinstance(got, SideRan) and any(_equal(spec, got, o) for o in meant.outputs)
    return words, False


def _equal(spec: Spec, got: SideRan, meaning: Outputs) -> bool:
    lanes = output_lanes(spec)
    return all(_first_other(got.outputs[a.name], meaning[a.name], lane) is None for a, lane in lanes)


def _level_that_agrees(spec: Spec, run: Run, witness: Witness, inputs: Inputs, meant: _Meant) -> int | None:
    """The highest lower level whose machine code agrees with the PTX in each of several runs."""
    try:
        for level in witness.levels:
            witness.at(level)
            got = (_ordered(_attempt(witness.machine, run, inputs), meant) for _ in range(_CONFIRM))
            if not any(_difference(spec, g, meant) for g in got):
                return level
    except SideError:
        return None  # it does not build at that level: nothing is shown
    finally:
        witness.at(None)
    return None


def _difference(spec: Spec, got: SideRan | SideError, meant: _Meant) -> str:
    """In words what the PTX does not allow; "" for nothing."""
    if isinstance(got, SideError):
        return f"the machine code ends with {got.code} {got.message.splitlines()[0][:200]}, its PTX does not"
    if got.overrun or got.changed:
        return f"the machine code writes to {', '.join(got.overrun + got.changed)}, its PTX does not"
    for arg, lane in output_lanes(spec):
        if meant.exact:
            at = _first_other(got.outputs[arg.name], meant.outputs[0][arg.name], lane)
            if at is not None:
                machine, meaning = (str(view(o[arg.name], lane)[at]) for o in (got.outputs, meant.outputs[0]))
                return f"{lane.name}[{at}]: the machine code gives {machine}, its PTX means {meaning}"
            continue
        tries = [None, *([meant.expected[lane.name]] if lane.name in meant.expected else [])]
        judged = [
            judge(arg, lane, [got.outputs], meant.outputs, spec.tolerance, t, len(meant.outputs) > 1)
            for t in tries
        ]
        if all(j.code for j in judged):
            c = judged[0].comparison
            if c.port_value is None:
                return f"{lane.name}: {judged[0].message}".replace("the port", "the machine code")
            return (
                f"{lane.name}[{c.first_bad}]: the machine code gives {c.port_value}, its PTX means "
                f"{c.original_value} (max abs {c.max_abs:.3g}, limit {c.limit})"
            )
    return ""


def _first_other(machine: Any, meaning: Any, lane: Lane) -> int | None:
    """The first element of other bits. PTX leaves the bits of a NaN open."""
    differ = bits(machine, lane) != bits(meaning, lane)
    if lane.dtype.is_float and differ.any():
        a, b = (decode(view(o, lane), lane.dtype) for o in (machine, meaning))
        differ &= ~(np.isnan(a) & np.isnan(b))
    return int(np.argmax(differ)) if differ.any() else None


def conclude(parity: StageResult, doubts: Sequence[DoubtFacts], against_meaning: str = "") -> StageResult:
    """The parity stage after doubt. `against_meaning` says how the port compares with the PTX of a suspect
    original."""
    assert parity.parity is not None
    facts = parity.parity.model_copy(update={"doubts": list(doubts)})
    result = parity.model_copy(update={"parity": facts})
    suspects = {d.side: d for d in doubts if d.right_at is not None}
    if original := suspects.get("original"):
        words = f"{original.message}; right at {_level_words(original)}"
        words += f"; {against_meaning}" if against_meaning else ""
        if port := suspects.get("port"):
            words += f"; the port's machine code is wrong too: {_port_words(port)}"
        return result.model_copy(
            update={"status": Status.ORIGINAL_SUSPECT, "code": "CP7031", "message": words, "line": None}
        )
    if port := suspects.get("port"):
        return result.model_copy(
            update={
                "status": Status.MISCOMPILED,
                "code": "CP7032",
                "message": _port_words(port),
                "line": None,
            }
        )
    return result


def _level_words(doubt: DoubtFacts) -> str:
    if doubt.side == "original":
        return f"--ptxas-options=-O{doubt.right_at} (flags of [original])"
    return f"--opt-level {doubt.right_at} (opt_level of [port])"


def _port_words(doubt: DoubtFacts) -> str:
    asked = DEFAULT if doubt.level is None else doubt.level
    return f"{doubt.message} at --opt-level {asked}; right at {_level_words(doubt)}"
