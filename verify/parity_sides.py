"""The two sides of one run: what each left, and what ends the stage before values are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from verify.facts import RunFacts
from verify.findings import Noted, SideName, gravest, read_findings, status_of_finding
from verify.heldout import own_launch
from verify.judge import Outputs, judge, output_lanes, same_bits, unwritten
from verify.notes import in_words
from verify.plan import REPEATS, Device, Repeats, Run
from verify.sides import Inputs, Side, SideError, SideRan
from verify.spec import Spec
from verify.statuses import SUSPECT, status_of
from verify.telling import Telling
from verify.unordered import CountError, MisfitError, Order
from verify.verdict import Status
from verify.worst import Worst

# Results that vary: the original's, the port's.
UNSTEADY: dict[Device, tuple[str, str]] = {"gpu": ("CP7016", "CP7015"), "emulator": ("CP8051", "CP8051")}


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


class Skipped(Exception):  # noqa: N818  a run that proves nothing, and why
    pass


@dataclass(slots=True)
class State:
    """What accumulates over the runs."""

    order_dependent: bool
    device: Device
    explain: bool
    runs: list[RunFacts] = field(default_factory=list)
    noted: Noted = field(default_factory=Noted)
    worst: Worst = field(default_factory=Worst)
    free: dict[str, str] = field(default_factory=dict)  # how outputs of free order are compared
    restored: set[str] = field(default_factory=set)  # scratch memory that the original leaves as it was
    left: dict[str, str] = field(default_factory=dict)  # what the port leaves otherwise, and the first run
    telling: Telling = field(default_factory=Telling)
    dropped: dict[str, str] = field(default_factory=dict)
    deterministic: bool = True
    launched: int = 0

    @property
    def repeats(self) -> Repeats:
        return REPEATS[self.device]


def run_original(
    spec: Spec, run: Run, original: Side, inputs: Inputs, state: State, atomics: bool, order: Order
) -> list[Outputs]:
    """Outputs of the original's repeats, in the order of the first. Skipped where the values are outside its
    domain, or where the emulator takes too long for a large case."""
    try:
        ran = [original.run(run.case.name, inputs, r) for r in range(state.repeats.original)]
        look("original", ran, run, state)
        clean(ran, "CP7008", "CP7010", run)
        outputs = [order.begin(ran[0].outputs)]
        outputs += [order.original(r.outputs, k) for k, r in enumerate(ran[1:], 1)]
        for arg, lane in output_lanes(spec):
            skip = unwritten(arg, lane, outputs)
            if state.order_dependent or same_bits(outputs[0], outputs[1], arg, lane, skip):
                continue
            if not atomics:
                words = f"{run}: {lane.name} differs between two runs"
                raise Verdicted(UNSTEADY[state.device][0], words, status=Status.ORIGINAL_SUSPECT)
            state.order_dependent = True  # the order of its atomics shows in the results
        more = range(state.repeats.original, state.repeats.spread[run.case.role])
        for repeat in more if state.order_dependent else ():
            ran = [original.run(run.case.name, inputs, repeat)]
            look("original", ran, run, state)
            clean(ran, "CP7008", "CP7010", run)
            outputs.append(order.original(ran[0].outputs, repeat))
    except CountError as e:
        raise Verdicted("CP7028", f"{run}: {e}") from e
    except MisfitError as e:
        words = f"{run}: another run of the original: {e}"
        raise Verdicted(UNSTEADY[state.device][0], words, status=Status.ORIGINAL_SUSPECT) from e
    except SideError as e:
        finding = Verdicted(e.code, f"{run}: {e.message}", None)
        if e.how != "refused" or e.code in SUSPECT:
            original.restart()
        if e.how == "timeout" and state.device == "emulator":
            raise Skipped(f"too large for the emulator: {e.message}") from e
        if run.own or e.code not in SUSPECT:
            raise finding from e
        drop(run, state, f"the original itself fails there: {e.message[:200]}")
    except Verdicted as e:
        if run.own:
            raise
        drop(run, state, f"the original itself misbehaves there: {e.message[:200]}")
    return outputs


def same_under_its_own_launch(
    spec: Spec, run: Run, original: Side, inputs: Inputs, state: State, order: Order, wanted: list[Outputs]
) -> None:
    """Skipped where the launch that is tried changes what the original computes: then it is no launch of
    this kernel."""
    plain = own_launch(run.case)
    if not plain:
        return
    why = "the original gives other values with this launch"
    try:
        own = [order.original(original.run(plain, inputs, 0).outputs, 0), *wanted[1:]]
    except (SideError, MisfitError) as e:
        if isinstance(e, SideError):
            original.restart()
        raise Skipped(f"skipped: {why}") from e
    for arg, lane in output_lanes(spec):
        if judge(arg, lane, wanted[:1], own, spec.tolerance, None, state.order_dependent).code is not None:
            raise Skipped(f"skipped: {why}")


def drop(run: Run, state: State, why: str) -> NoReturn:
    """Leave these values out from now on."""
    state.dropped[run.asks] = why
    raise Skipped(f"skipped: {why}")


def run_port(run: Run, port: Side, inputs: Inputs, state: State, repeat: int, order: Order) -> Outputs:
    try:
        ran = port.run(run.case.name, inputs, repeat)
    except SideError as e:
        if run.asks != run.kind and e.code == "CP7003" and e.message.startswith("ValueError"):
            port.restart()
            raise Skipped(f"skipped: the port refuses it: {e.message.splitlines()[0][:200]}") from e
        raise Verdicted(e.code, f"{run}: {e.message}", e.line) from e
    if ran.foreign:
        words = f"{', '.join(ran.foreign)} changed, but no kernel of the port wrote there"
        raise Verdicted("CP7041", f"{run}: {words} ({len(ran.launches)} launches)")
    if ran.strayed:
        raise Verdicted("CP7041", f"{run}: {ran.strayed[0]} ran on another stream than was given")
    look("port", [ran], run, state)
    clean([ran], "CP7007", "CP7009", run)
    try:
        return order.port(ran.outputs, repeat)
    except (MisfitError, CountError) as e:
        raise Verdicted("CP7012", f"{run}: {e}") from e


def look(side: SideName, ran: Sequence[SideRan], run: Run, state: State) -> None:
    """Note what the emulator saw; what no kernel may do ends the stage, whatever the values are."""
    found = [f for r in ran for f in read_findings(side, run.case.name, r.findings)]
    grave = gravest(found)
    if grave is None or side == "port" or run.own:
        state.noted.add(found)
    if grave is not None:
        line = grave.line if side == "port" and grave.file.endswith(".py") and grave.line else None
        raise Verdicted(grave.code, f"{run}, {side}: {in_words(grave)}", line, status_of_finding(grave))


def clean(ran: Sequence[SideRan], overrun: str, changed: str, run: Run) -> None:
    for r in ran:
        if r.overrun:
            raise Verdicted(overrun, f"{run}: outside {', '.join(r.overrun)}")
        if r.changed:
            raise Verdicted(changed, f"{run}: {', '.join(r.changed)}")
