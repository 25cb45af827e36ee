"""The parity stage: port against original, case by case, stopping at the first difference."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from verify import questions
from verify.culprit import in_words as culprits
from verify.culprit import writer
from verify.facts import CompileFacts, ParityFacts, RunFacts
from verify.findings import Noted, SideName, gravest, in_words, read_findings, status_of_finding
from verify.inputs import Lane, generate, view
from verify.judge import Judged, Outputs, fooled_by, judge, output_lanes, same_bits, unwritten
from verify.plan import REPEATS, Device, Repeats, Run, too_large
from verify.resolve import Resolved, resolve
from verify.sides import Inputs, Side, SideError, SideRan
from verify.spec import Spec
from verify.spec_args import BufferArg
from verify.statuses import SUSPECT, status_of
from verify.verdict import StageResult, Status
from verify.worst import Worst

# Above this many elements in one case reference.py is left out: float64 copies of everything take minutes.
_REFERENCE_ELEMENTS = 1 << 25
_UNREFERENCED = frozenset({"special", "tiny"})  # values that float64 treats otherwise
# Results that vary: the original's, the port's.
_UNSTEADY: dict[Device, tuple[str, str]] = {"gpu": ("CP7016", "CP7015"), "emulator": ("CP8051", "CP8051")}
Reference = Callable[[str, Inputs], dict[str, npt.NDArray[np.float64]]]


class Verdicted(Exception):  # noqa: N818  it ends the stage with a finding, it is no error of ours
    """The stage is decided: `code` and words; `status` where it is not the code's own."""

    def __init__(
        self, code: str, message: str, line: int | None = None, status: Status | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.status = status or status_of(code)


class _Skipped(Exception):  # noqa: N818  a run that proves nothing, and why
    pass


@dataclass(slots=True)
class _State:
    """What accumulates over the runs."""

    order_dependent: bool
    device: Device
    explain: bool
    runs: list[RunFacts] = field(default_factory=list)
    noted: Noted = field(default_factory=Noted)
    worst: Worst = field(default_factory=Worst)
    told: set[str] = field(default_factory=set)  # outputs that some run can tell from null answers
    fooled: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    deterministic: bool = True
    launched: int = 0

    @property
    def repeats(self) -> Repeats:
        return REPEATS[self.device]


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
    state = _State(spec.tolerance.order_dependent or bool(atomics.get("float_atomics")), device, explain)
    code: str | None = None
    message, line, status = "", None, Status.PASSED
    try:
        for run in runs:
            _one(spec, run, original, port, reference, state, bool(atomics.get("atomics")))
        _conclude(target, spec, state)
    except Verdicted as v:
        code, message, line, status = v.code, v.message, v.line, v.status
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
        findings=state.noted.all,
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
    state: _State,
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
    if run.kind in state.dropped:
        record(False, f"skipped: {state.dropped[run.kind]}")
        return
    with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
        inputs = Inputs(generate(spec, resolved, run.seed, run.values), Path(folder), run.shifted)
        try:
            wanted = _original(spec, run, original, inputs, state, atomics)
        except _Skipped as e:
            record(False, str(e))
            return
        state.launched += 1
        got = [_port(run, port, inputs, state, repeat) for repeat in range(state.repeats.port[run.case.role])]
        expected: dict[str, npt.NDArray[np.float64]] = {}
        fits = sum(resolved.elems.values()) <= _REFERENCE_ELEMENTS
        if reference is not None and run.values not in _UNREFERENCED and fits:
            expected = _expected(spec, run, reference, inputs, wanted)
        _never_launched(spec, run, inputs, got, wanted)
        told = True
        for arg, lane in output_lanes(spec):
            found = judge(
                arg, lane, got, wanted, spec.tolerance, expected.get(lane.name), state.order_dependent
            )
            state.worst.note(found)
            if found.code is not None:
                record(False, found.message)
                whose = _whose(run, resolved, inputs, arg, found, original, port, state)
                raise Verdicted(found.code, f"{run}: {found.message}{whose}")
            _repeats(state, run, arg, lane, got, wanted, record)
            told &= _tells(spec, state, arg, lane, inputs, wanted[0])
    if not any(len(wanted[0][arg.name]) for arg, _ in output_lanes(spec)):
        record(False, "no output has elements")
        return
    notes = [] if told else ["a null answer would pass here"]
    if reference is not None and not expected:
        notes.append("no fp64 reference here" + ("" if fits else ": too large"))
    record(told, "; ".join(notes))


def _whose(
    run: Run,
    resolved: Resolved,
    inputs: Inputs,
    arg: BufferArg,
    found: Judged,
    original: Side,
    port: Side,
    state: _State,
) -> str:
    """Which threads computed the first wrong element, in words; "" where that is not asked for or known."""
    if state.device != "emulator" or not state.explain:
        return ""
    sides = [writer(s, run.case.name, inputs, resolved, arg, found) for s in (port, original)]
    state.worst.blame(found.lane.name, *sides)
    return culprits(*sides)


def _original(
    spec: Spec, run: Run, original: Side, inputs: Inputs, state: _State, atomics: bool
) -> list[Outputs]:
    """Outputs of the original's repeats. _Skipped where the values are outside its domain, or where the
    emulator takes too long for a large case."""
    try:
        ran = [original.run(run.case.name, inputs, r) for r in range(state.repeats.original)]
        _look("original", ran, run, state)
        _clean(ran, "CP7008", "CP7010", run)
        outputs: list[Outputs] = [r.outputs for r in ran]
        for arg, lane in output_lanes(spec):
            skip = unwritten(arg, lane, outputs)
            if state.order_dependent or same_bits(outputs[0], outputs[1], arg, lane, skip):
                continue
            if not atomics:
                words = f"{run}: {lane.name} differs between two runs"
                raise Verdicted(_UNSTEADY[state.device][0], words, status=Status.ORIGINAL_SUSPECT)
            state.order_dependent = True  # the order of its atomics shows in the results
        more = range(state.repeats.original, state.repeats.spread[run.case.role])
        for repeat in more if state.order_dependent else ():
            ran = [original.run(run.case.name, inputs, repeat)]
            _look("original", ran, run, state)
            _clean(ran, "CP7008", "CP7010", run)
            outputs.append(ran[0].outputs)
    except SideError as e:
        finding = Verdicted(e.code, f"{run}: {e.message}", None)
        if e.how != "refused" or e.code in SUSPECT:
            original.restart()
        if e.how == "timeout" and state.device == "emulator":
            raise _Skipped(f"too large for the emulator: {e.message}") from e
        if run.own or e.code not in SUSPECT:
            raise finding from e
        _drop(run, state, f"the original itself fails there: {e.message[:200]}")
    except Verdicted as e:
        if run.own:
            raise
        _drop(run, state, f"the original itself misbehaves there: {e.message[:200]}")
    return outputs


def _drop(run: Run, state: _State, why: str) -> NoReturn:
    """Leave these values out from now on."""
    state.dropped[run.kind] = why
    raise _Skipped(f"skipped: {why}")


def _port(run: Run, port: Side, inputs: Inputs, state: _State, repeat: int) -> Outputs:
    try:
        ran = port.run(run.case.name, inputs, repeat)
    except SideError as e:
        raise Verdicted(e.code, f"{run}: {e.message}", e.line) from e
    if ran.foreign:
        words = f"{', '.join(ran.foreign)} changed, but no kernel of the port wrote there"
        raise Verdicted("CP7041", f"{run}: {words} ({len(ran.launches)} launches)")
    if ran.strayed:
        raise Verdicted("CP7041", f"{run}: {ran.strayed[0]} ran on another stream than was given")
    _look("port", [ran], run, state)
    _clean([ran], "CP7007", "CP7009", run)
    return ran.outputs


def _look(side: SideName, ran: Sequence[SideRan], run: Run, state: _State) -> None:
    """Note what the emulator saw; what no kernel may do ends the stage, whatever the values are."""
    found = [f for r in ran for f in read_findings(side, run.case.name, r.findings)]
    grave = gravest(found)
    if grave is None or side == "port" or run.own:
        state.noted.add(found)
    if grave is not None:
        line = grave.line if side == "port" and grave.file.endswith(".py") and grave.line else None
        raise Verdicted(grave.code, f"{run}, {side}: {in_words(grave)}", line, status_of_finding(grave))


def _clean(ran: Sequence[SideRan], overrun: str, changed: str, run: Run) -> None:
    for r in ran:
        if r.overrun:
            raise Verdicted(overrun, f"{run}: outside {', '.join(r.overrun)}")
        if r.changed:
            raise Verdicted(changed, f"{run}: {', '.join(r.changed)}")


def _expected(
    spec: Spec, run: Run, reference: Reference, inputs: Inputs, wanted: list[Outputs]
) -> dict[str, npt.NDArray[np.float64]]:
    try:
        found = reference(run.case.name, inputs)
    except SideError as e:
        raise Verdicted("CP7019", f"{run}: {e.message}") from e
    for arg, lane in output_lanes(spec):
        count = len(wanted[0][arg.name]) // lane.stride
        if lane.name in found and len(found[lane.name]) != count:
            raise Verdicted("CP7019", f"{run}: {lane.name} has {len(found[lane.name])} elements, not {count}")
    return found


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
    state: _State,
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
        raise Verdicted(_UNSTEADY[state.device][1], words)


def _tells(spec: Spec, state: _State, arg: BufferArg, lane: Lane, inputs: Inputs, original: Outputs) -> bool:
    """Whether this run tells the output from null answers; the constant comes from the first run's output."""
    values = view(original[arg.name], lane)
    if not len(values):
        return True  # nothing to tell
    constant = state.constants.setdefault(lane.name, values[0].copy())
    fooled = fooled_by(arg, lane, spec, inputs.data, original, constant, spec.tolerance)
    if fooled:
        state.fooled.setdefault(lane.name, fooled)
        return False
    state.told.add(lane.name)
    return True


def _conclude(target: str, spec: Spec, state: _State) -> None:
    """What forbids PASSED although no value differed."""
    if not state.launched:
        raise Verdicted("CP7022", "no case of those asked for was launched")
    if not any(output_lanes(spec)):
        raise Verdicted("CP7017", "the spec lists no output: nothing was compared")
    blind = [lane.name for _, lane in output_lanes(spec) if lane.name not in state.told]
    if blind:
        why = "; ".join(f"{n}: {state.fooled.get(n, 'never more than 0 elements')} passes" for n in blind)
        raise Verdicted("CP7017", why)
    if not any(r.counted for r in state.runs):
        raise Verdicted("CP7017", "in each run some output is blind")
    if spec.open_questions:
        raise Verdicted("CP7018", f"values agree, but {questions.told(Path(target), spec)}")
