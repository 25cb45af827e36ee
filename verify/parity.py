"""The parity stage: port against original, case by case, stopping at the first difference."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from verify import questions
from verify.culprit import in_words as culprits
from verify.culprit import writer
from verify.facts import CompileFacts, ParityFacts, RunFacts
from verify.inputs import Lane, generate
from verify.judge import Judged, Outputs, judge, output_lanes, same_bits, unwritten
from verify.notes import marked
from verify.parity_sides import (
    UNSTEADY,
    Skipped,
    State,
    Verdicted,
    run_original,
    run_port,
    same_under_its_own_launch,
)
from verify.plan import Device, Run, too_large
from verify.resolve import Resolved, resolve
from verify.right_values import Doubles, Reference, fits, right_values
from verify.sides import Inputs, Side, SideError
from verify.spec import Spec
from verify.spec_args import BufferArg
from verify.statuses import status_of
from verify.telling import odd_ones_move, whole_ones_vary
from verify.unordered import Order, free_lanes
from verify.verdict import StageResult, Status

_UNREFERENCED = frozenset({"special", "tiny"})  # values that float64 treats otherwise


def run_parity(
    target: str,
    spec: Spec,
    runs: Sequence[Run],
    original: Side,
    port: Side,
    reference: Reference | None = None,
    built: CompileFacts | None = None,
    builder: str = "",
    device: Device = "gpu",
    explain: bool = True,
) -> StageResult:
    """Compare port and original over `runs`. Every failure has its code; PASSED needs counted runs. With
    `explain` a wrong element is traced to the threads that wrote it, where the device can tell."""
    start = time.monotonic()
    # Float atomics add in any order: the original's own results may vary.
    atomics = built.features if built else {}
    state = State(spec.tolerance.order_dependent or bool(atomics.get("float_atomics")), device, explain)
    state.free = dict(free_lanes(spec))
    state.restored = {a.name for a in spec.buffers if a.role == "scratch" and not a.poisoned}
    code: str | None = None
    message, line, status = "", None, Status.PASSED
    try:
        for run in runs:
            _one(spec, run, original, port, reference, state, bool(atomics.get("atomics")))
        _conclude(target, spec, state)
    except Verdicted as v:
        told = _with_what_was_assumed(v, Path(target), spec)
        code, message, line, status = told.code, told.message, told.line, told.status
    facts = ParityFacts(
        device=device,
        runs=state.runs,
        outputs=state.worst.outputs,
        rule=" + ".join(sorted(state.worst.rules)) or "none",
        deterministic=state.deterministic,
        order_dependent=state.order_dependent,
        port_repeats=max(state.repeats.port.values()),
        original=built,
        original_builder=builder,
        open_questions=[f"{q.code}: {q.text}" for q in spec.open_questions],
        findings=marked(state.noted.all),
        not_compared=[a.name for a in spec.buffers if a.role == "scratch"],
    )
    return StageResult(
        stage="parity",
        target=target,
        status=status,
        code=code,
        message=message,
        line=line,
        seconds=round(time.monotonic() - start, 3),
        parity=facts,
    )


def _with_what_was_assumed(v: Verdicted, target: Path, spec: Spec) -> Verdicted:
    """The finding beside the open question that may be its cause. An original is not blamed for sizes or
    values that were assumed."""
    blamed = (Status.ORIGINAL_SUSPECT, Status.WRONG_VALUES)
    if v.status not in blamed or all(q.code in questions.SEEN for q in spec.open_questions):
        return v
    asked = questions.told(target, spec)
    if v.status is Status.WRONG_VALUES:
        return Verdicted(v.code, f"{v.message}; {asked}", v.line, v.status)
    words = f"with what was assumed the original itself fails ({v.code} {v.message}); {asked}"
    return Verdicted("CP7018", words, v.line, Status.AMBIGUOUS)


def not_compared(target: Path, e: SideError) -> StageResult:
    """The stage where it ended before a comparison could begin."""
    status = Status.NOT_RUN if e.code == "CP9003" else status_of(e.code)
    return StageResult(stage="parity", target=str(target), status=status, code=e.code, message=e.message)


def _one(
    spec: Spec,
    run: Run,
    original: Side,
    port: Side,
    reference: Reference | None,
    state: State,
    atomics: bool,
) -> None:
    resolved = resolve(spec, run.case)

    def record(counted: bool, note: str) -> None:
        state.runs.append(
            RunFacts(
                case=run.case.name,
                seed=run.seed,
                values=run.values,
                shifted=run.shifted,
                grid=resolved.grid,
                block=resolved.block,
                counted=counted,
                note=note,
            )
        )

    if not resolved.launchable:
        record(False, "a grid side is 0: the original's own launch does nothing")
        return
    if why := too_large(resolved, state.device):
        record(False, why)
        return
    if run.asks in state.dropped:
        record(False, f"skipped: {state.dropped[run.asks]}")
        return
    with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
        inputs = Inputs(generate(spec, resolved, run.seed, run.values), Path(folder), run.shifted)
        order = Order(spec, resolved)
        try:
            wanted = run_original(spec, run, original, inputs, state, atomics, order)
            same_under_its_own_launch(spec, run, original, inputs, state, order, wanted)
            repeats = range(state.repeats.port[run.case.role])
            got = [run_port(run, port, inputs, state, repeat, order) for repeat in repeats]
        except Skipped as e:
            record(False, str(e))
            return
        state.launched += 1
        expected: dict[str, Doubles] = {}
        small = fits(spec, resolved)
        if reference is not None and run.values not in _UNREFERENCED and small:
            try:
                right = right_values(spec, run.case.name, reference, inputs, wanted[0])
            except SideError as e:
                raise Verdicted("CP7019", f"{run}: {e.message}") from e
            expected = order.reference(right)
        _never_launched(spec, run, inputs, got, wanted)
        _scratch(spec, run, inputs, got, wanted, state)
        for arg, lane in output_lanes(spec):
            found = judge(
                arg, lane, got, wanted, spec.tolerance, expected.get(lane.name), state.order_dependent
            )
            state.worst.note(found, state.free.get(lane.name, ""))
            if found.code is not None:
                record(False, found.message)
                if found.code == "CP7013" and state.order_dependent and odd_ones_move(arg, lane, wanted):
                    words = f"NaN and infinities of {lane.name} stand elsewhere in each run of the original"
                    raise Verdicted("CP7029", f"{run}: {words}")
                if (
                    found.code == "CP7012"
                    and state.order_dependent
                    and whole_ones_vary(arg, lane, got, wanted)
                ):
                    words = f"{found.message}, but the original's differ there too from run to run"
                    raise Verdicted("CP7029", f"{run}: {words}")
                whose = _whose(run, resolved, inputs, arg, found, original, port, state)
                raise Verdicted(found.code, f"{run}: {found.message}{whose}")
            _repeats(state, run, arg, lane, got, wanted, record)
        why = state.telling.look(spec, inputs.data, wanted, order, state.order_dependent)
    if not any(len(wanted[0][arg.name]) for arg, _ in output_lanes(spec)):
        record(False, "no output has elements")
        return
    notes = [why] if why else []
    if reference is not None and not expected:
        notes.append("no fp64 reference here" + ("" if small else ": too large"))
    record(not why, "; ".join(notes))


def _whose(
    run: Run,
    resolved: Resolved,
    inputs: Inputs,
    arg: BufferArg,
    found: Judged,
    original: Side,
    port: Side,
    state: State,
) -> str:
    """Which threads computed the first wrong element, in words; "" where that is not asked for or known."""
    if state.device != "emulator" or not state.explain or arg.order == "free":
        return ""  # of free order, the port's element lies elsewhere
    sides = [writer(s, run.case.name, inputs, resolved, arg, found) for s in (port, original)]
    state.worst.blame(found.lane.name, *sides)
    return culprits(*sides)


def _scratch(
    spec: Spec, run: Run, inputs: Inputs, got: list[Outputs], wanted: list[Outputs], state: State
) -> None:
    """Note which scratch memory each side leaves as it was: the next launch may count on it."""
    for arg in spec.buffers:
        if arg.role != "scratch" or arg.poisoned:
            continue
        before = inputs.data[arg.name]
        if not all(np.array_equal(o[arg.name], before) for o in wanted):
            state.restored.discard(arg.name)
        if not all(np.array_equal(o[arg.name], before) for o in got):
            state.left.setdefault(arg.name, str(run))


def _never_launched(spec: Spec, run: Run, inputs: Inputs, got: list[Outputs], wanted: list[Outputs]) -> None:
    """The port left every output as it was although the original did not."""

    def idle(outputs: list[Outputs]) -> bool:
        for arg, lane in output_lanes(spec):
            if arg.role == "out":
                if not unwritten(arg, lane, outputs[:2]).all():
                    return False
            elif not np.array_equal(outputs[0][arg.name], inputs.data[arg.name]):
                return False
        return True

    if idle(got) and not idle(wanted):
        raise Verdicted("CP7011", f"{run}: all outputs are as they were before the call")


def _repeats(
    state: State,
    run: Run,
    arg: BufferArg,
    lane: Lane,
    got: list[Outputs],
    wanted: list[Outputs],
    record: Callable[[bool, str], None],
) -> None:
    skip = unwritten(arg, lane, wanted)
    if all(same_bits(got[0], other, arg, lane, skip) for other in got[1:]):
        return
    state.deterministic = False
    if not state.order_dependent:
        record(False, f"{lane.name} changes from run to run")
        words = f"{run}: {lane.name} differs between {len(got)} runs on one input"
        raise Verdicted(UNSTEADY[state.device][1], words)


def _conclude(target: str, spec: Spec, state: State) -> None:
    """What forbids PASSED although no value differed."""
    if not state.launched:
        more = f", and {len(state.runs) - 1} more" if len(state.runs) > 1 else ""
        why = f": {state.runs[0].case}: {state.runs[0].note}{more}" if state.runs else ""
        raise Verdicted("CP7022", f"no case of those asked for was launched{why}")
    if not any(output_lanes(spec)):
        raise Verdicted("CP7017", "the spec lists no output: nothing was compared")
    if blind := state.telling.blind(spec):
        raise Verdicted(*blind)
    if not any(r.counted for r in state.runs):
        raise Verdicted("CP7017", "in each run some output is blind")
    for name, where in state.left.items():
        if name in state.restored:
            raise Verdicted("CP7030", f"{where}: {name} is left as it was by the original, not by the port")
    if spec.open_questions:
        raise Verdicted("CP7018", f"values agree, but {questions.told(Path(target), spec)}")
