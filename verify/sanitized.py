"""Running the sanitize stage: workers under compute-sanitizer, and the emulator, as far as there are any."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.codes import CODES
from verify.facts import FindingFacts, ToolFacts
from verify.findings import Noted, SideName, gravest, read_findings
from verify.inputs import generate
from verify.isolate import ChildDiedError, ChildTimeoutError
from verify.notes import is_note
from verify.options import Options
from verify.plan import too_large
from verify.resolve import Resolved, resolve
from verify.sanitize import Checked, chosen_cases, findings_of, judge
from verify.sanitizer import MOST_REPORTS, TOOLS, Tool, Watcher, find_sanitizer, version_of
from verify.sanitizer_reports import Told, read_reports
from verify.sides import Inputs, Side, SideError
from verify.slots import Pool
from verify.spec import Case, Spec
from verify.verdict import StageResult, Status
from verify.where import emulator_gap

if TYPE_CHECKING:
    from verify.emulated import Slot, Slots

_SIDES: tuple[SideName, ...] = ("original", "port")
_LOAD_SECONDS = 240.0  # imports under a tool; cold file systems are slow
_TARGETS_PER_WORKER = 32  # what a port compiled stays in its worker's memory
_ORDERS = 3  # orders of the threads in the emulator: forward, reverse, a random one


@dataclass(frozen=True, slots=True)
class Subject:
    """A target with its built original: `folder` holds `cubin.lines` and `ptx.lines`, `names` are those of
    original.Built."""

    target: Path
    spec: Spec
    options: Options
    folder: Path
    names: Mapping[str, str]

    def load(self, side: SideName) -> dict[str, Any]:
        """What a worker loads for a side, under compute-sanitizer."""
        place = {"do": f"load_checked_{side}", "target": str(self.target.resolve())}
        if side == "port":
            return {**place, "module": self.module}
        return {**place, "cubin": str(self.folder / "cubin.lines"), "names": dict(self.names)}

    @property
    def module(self) -> str:
        return str((self.target / self.spec.port.module).resolve())


class SilentError(Exception):
    """A tool gave no result; the text says why. `slow`: it had too little time."""

    def __init__(self, why: str, slow: bool = False) -> None:
        super().__init__(why)
        self.slow = slow


_Run = Callable[[Case, Resolved, Inputs], list[FindingFacts]]


def _through(cases: Sequence[Case], subject: Subject, facts: ToolFacts, run: _Run) -> Checked:
    """The cases in order, up to the first that shows a fault: more of them would say the same. After smaller
    cases, a typical one that takes too long is left out."""
    start = time.monotonic()
    noted, done, why, slow = Noted(), list[str](), "", dict[str, str]()
    for case in cases:
        resolved = resolve(subject.spec, case)
        with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
            inputs = Inputs(generate(subject.spec, resolved, subject.options.seed, "spec"), Path(folder))
            try:
                found = run(case, resolved, inputs)
            except SilentError as e:
                if e.slow and done and case.role == "typical":
                    slow[case.name] = str(e)
                else:
                    why = f"case {case.name}: {e}"
                break
        done.append(case.name)
        noted.add(found)
        if gravest(found) is not None:
            break
    told = {"cases": done, "findings": len(noted.all), "why": why}
    seconds = round(time.monotonic() - start, 3)
    return Checked(facts.model_copy(update={**told, "seconds": seconds}), noted.all, slow)


class _Checker:
    """A worker under one tool, started when first needed."""

    def __init__(self, path: str, tool: Tool, arch: str, timeout: float) -> None:
        self._path = path
        self.tool = tool
        self._arch = arch
        self._timeout = timeout
        self._watcher: Watcher | None = None
        self._reports = 0  # of the worker
        self._loaded = False  # the side at work

    def side(self, side: SideName, subject: Subject, cases: Sequence[Case]) -> Checked:
        """What the tool says of one side."""
        facts = ToolFacts(name=self.tool, side=side, version=version_of(self._path))
        self._loaded = False

        def run(case: Case, resolved: Resolved, inputs: Inputs) -> list[FindingFacts]:
            if not self._loaded:
                self._ask(subject.load(side), _LOAD_SECONDS)
                self._loaded = self._watcher is not None
            job = {"do": f"check_{side}", "case": case.name, "inputs": inputs.files()}
            told = self._ask({**job, "module": subject.module}, self._timeout)
            return findings_of(told, facts, case.name, resolved)

        return _through(cases, subject, facts, run)

    def _open(self) -> Watcher:
        if self._watcher is None:
            self._watcher = Watcher(self._path, self.tool, self._arch, self._timeout)
            self._reports = 0
        return self._watcher

    def _ask(self, job: Mapping[str, Any], timeout: float) -> list[Told]:
        """Run a job; what the tool told while it ran. SilentError where it did not run and the tool says
        nothing of the kernel."""
        watcher = self._open()
        failure, slow = "", False
        try:
            reply = watcher.ask(job, timeout)
            if not reply["ok"]:
                failure = f"{reply.get('code') or ''} {reply['message'].splitlines()[0][:300]}".strip()
        except ChildTimeoutError:
            failure, slow = f"no answer within {timeout:.0f} s", True
        except ChildDiedError as e:
            failure = f"{e.how}; last output: {e.log.strip()[-300:] or '(none)'}"
        reports = read_reports(watcher.told())
        self._reports += sum(t.count for t in reports.told)
        if failure or reports.trouble or self._reports > MOST_REPORTS:
            self.close()  # a fault leaves nothing to work with, and at its limit the tool is mute
        if (failure or reports.trouble) and all(is_note(t.code) for t in reports.told):
            said = [t.message for t in reports.told]
            why = "; ".join([*[failure] * bool(failure), *reports.trouble, *said])
            raise SilentError(why[:600], slow and not said)
        return reports.told

    def close(self) -> None:
        """End the worker; the next job starts another."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None
        self._loaded = False


class Checkers:
    """All tools, side by side, for one target after the other: importing the DSL under a tool takes seconds.
    One target at a time; close it."""

    def __init__(self, path: str, arch: str, timeout: float) -> None:
        self._tools = [_Checker(path, tool, arch, timeout) for tool in TOOLS]
        self._served = 0

    def check(self, subject: Subject, cases: Sequence[Case]) -> list[Checked]:
        """What each tool says of each side of one target."""
        self._served += 1
        if self._served % _TARGETS_PER_WORKER == 0:
            self.close()
        with ThreadPoolExecutor(len(self._tools)) as pool:
            rows = list(pool.map(lambda tool: [tool.side(s, subject, cases) for s in _SIDES], self._tools))
        return [c for row in rows for c in row]

    def close(self) -> None:
        for tool in self._tools:
            tool.close()


def by_emulator(subject: Subject, cases: Sequence[Case], slot: Slot) -> list[Checked]:
    """What the emulator says of each side: races in global memory too, and reads of what nothing wrote in any
    memory."""
    place = str(subject.target.resolve())
    ptx = str(subject.folder / "ptx.lines")
    slot.original.reload({"target": place, "ptx": ptx, "names": dict(subject.names)})
    slot.port.reload({"target": place, "module": subject.module, "arch": slot.arch})
    children: dict[SideName, Side] = {"original": slot.original, "port": slot.port}
    return [
        _through(cases, subject, ToolFacts(name="emulator", side=side), _emulated(side, children[side]))
        for side in _SIDES
    ]


def _emulated(side: SideName, child: Side) -> _Run:
    def run(case: Case, _resolved: Resolved, inputs: Inputs) -> list[FindingFacts]:
        found: list[FindingFacts] = []
        try:
            for order in range(_ORDERS):
                found += read_findings(side, case.name, child.run(case.name, inputs, order).findings)
        except SideError as e:
            if e.how != "refused":
                child.restart()
            words = e.message.splitlines()[0][:300] if e.message else e.how
            raise SilentError(f"{e.code} {words}", e.how == "timeout") from e
        return found

    return run


class Sanitizing:
    """What this machine has for the stage on a GPU: compute-sanitizer, the emulator's `slots`, both, or
    neither. May be used from several threads; close it."""

    def __init__(self, arch: str, timeout: float, slots: Slots | None) -> None:
        self._path = path = find_sanitizer()
        self._slots = slots
        self._checkers = Pool(lambda: Checkers(path or "", arch, timeout))

    def serve(self, subject: Subject) -> StageResult:
        """The stage for one target whose values are right."""
        if self._path is None and self._slots is None:
            return StageResult(
                stage="sanitize",
                target=str(subject.target),
                status=Status.NOT_RUN,
                code="CP9011",
                message=f"{CODES['CP9011']}: {emulator_gap()[1]}",
            )
        start = time.monotonic()
        cases, left_out = chosen_cases(subject.spec, subject.options.cases)
        checked: list[Checked] = []
        if self._path is not None:
            with self._checkers.one() as checkers:
                checked += checkers.check(subject, cases)
        if self._slots is not None:
            large = {c.name: too_large(resolve(subject.spec, c), "emulator") for c in cases}
            with self._slots.one() as slot:
                checked += by_emulator(subject, [c for c in cases if not large[c.name]], slot)
            if self._path is None:
                left_out |= {name: why for name, why in large.items() if why}
        return judge(subject.target, checked, left_out, time.monotonic() - start)

    def close(self) -> None:
        self._checkers.close()
