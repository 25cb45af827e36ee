"""A check from its targets to their results: compile both sides, repeat what can have changed, compare."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from verify.baseline import BaselineError, baseline_of
from verify.check.baseline import Proof, emulator_record, find
from verify.check.compare import Now
from verify.check.folder import RunFolder
from verify.check.identity import digest, environment_versions, file_hash, harness, installed, sources
from verify.check.judge import Known, Seen, judge, missing, now_of, unusable
from verify.check.model import Outcome, TargetResult, Values
from verify.check.proof import Cache, extra_runs, key_of
from verify.check.trace import Lanes, Trace
from verify.files import write_json
from verify.isolate import end_all
from verify.options import Options
from verify.run import hashes, load_specs, verify_targets
from verify.sides import SideError
from verify.spec import Spec
from verify.spec_file import SpecError
from verify.static import check_static
from verify.verdict import Status, Verdict
from verify.where import Where

_RECORDED = frozenset(
    {Outcome.UNREADABLE, Outcome.SLOWER, Outcome.STALE, Outcome.CHANGED, Outcome.NEW, Outcome.OK}
)
_FORMAT = 1  # raised when results of earlier runs of a check come to mean something else


@dataclass(frozen=True, slots=True)
class Asked:
    """`full`: every target is run, whatever is known of it. `record`: results become baselines."""

    options: Options
    full: bool = False
    record: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is: `doing` says what with `target`, `done` of `total` targets have a result."""

    doing: Literal["compiled", "checked"]
    target: str
    done: int
    total: int


@dataclass(slots=True)
class _Work:
    """One target on its way."""

    known: Known
    base: Now
    trace: Trace | None = None
    key: str = ""
    seconds: float = 0.0


_Results = Generator[TargetResult, None, list[_Work]]  # returns what is left to do


class Check:
    """One check. `results` yields each target's result when it is known; closing it ends the children."""

    def __init__(
        self,
        asked: Asked,
        where: Where,
        folder: RunFolder,
        notify: Callable[[Progress], None] = lambda _: None,
        cache: Cache | None = None,
    ) -> None:
        self.asked = asked
        self.where = where
        self.folder = folder
        self.notify = notify
        self.cache = cache or Cache()
        self.versions = environment_versions(where.gpu.driver if where.gpu else "")
        self._done = self._total = 0
        self._proofs: dict[str, Proof] = {}  # of this run

    def results(self, targets: Sequence[Path]) -> Generator[TargetResult, None, None]:
        """Results in order of completion; each is kept in the folder before it is yielded."""
        self._total = len(targets)
        self.cache.prune()
        work: list[_Work] = []
        for target in targets:
            found = self._prepare(target)
            if isinstance(found, TargetResult):
                yield self._finish(target, found)
            else:
                work.append(found)
        if self.where.gpu is None:
            work = yield from self._traced(work)
        while work:
            work = yield from self._run(work)

    def _prepare(self, target: Path) -> _Work | TargetResult:
        """What is to be done for a target, or its result where nothing can or need be."""
        if not target.is_dir():
            return missing(target, f"{target}: no such folder")
        try:
            spec = load_specs([target], self.asked.options.cases)[target]
        except SpecError as e:
            if not (target / "spec.toml").exists():
                return missing(target, f"{target}: no spec.toml")
            return unusable(target, e.problems)
        known = self._known(target, spec)
        stored = self.folder.stored(target)
        if stored is not None and stored.inputs == known.inputs:
            return stored.model_copy(update={"resumed": True})
        found = hashes(target, spec)
        if self.where.gpu is None:
            found["harness"] = harness()
        return _Work(known, Now(found, self.versions, seed=self.asked.options.seed))

    def _known(self, target: Path, spec: Spec) -> Known:
        gpu = self.where.gpu
        recorded, damage = None, ""
        try:
            place, recorded = find(target, gpu)
        except BaselineError as e:
            damage = str(e)
            place = target / "baselines" / f"{gpu.slug if gpu else 'emulator'}.json"
        options = self.asked.options
        inputs = digest(
            {
                "format": _FORMAT,
                "sources": sources(target, spec),
                "baselines": {p.name: file_hash(p) for p in sorted((target / "baselines").glob("*.json"))},
                "harness": harness(),
                "installed": dict(installed()),
                "device": str(gpu) if gpu else [self.where.emulator, self.where.why],
                "asked": [self.where.arch, options.cases, options.seed, options.stages, self.asked.full],
            }
        )
        return Known(target, spec, inputs, place, recorded, damage)

    def _traced(self, work: list[_Work]) -> _Results:
        """Compile all targets; yields results of those that need no running, returns the others."""
        left: list[_Work] = []
        options = self.asked.options
        lanes = Lanes(self.where.arch, options.timeout)

        def one(w: _Work) -> None:
            start = time.monotonic()
            spec, target = w.known.spec, w.known.target
            try:
                if check_static(target, spec.port.module, spec.port.entry).status is Status.PASSED:
                    extra = extra_runs(target, spec, options)
                    with lanes.one() as lane:
                        w.trace = lane.trace(target, spec, [run.case.name for run in extra])
                    w.key = key_of(target, spec, w.trace, options, extra)
            except (SideError, OSError):
                w.trace = None  # verifying it says what is wrong
            w.seconds = time.monotonic() - start

        with closing(lanes), ThreadPoolExecutor(max(1, options.jobs)) as pool:
            waiting = {pool.submit(one, w): w for w in work}
            try:
                for future in as_completed(waiting):
                    future.result()
                    w = waiting[future]
                    result = self._known_values(w)
                    if result is None:
                        left.append(w)
                        self._tell("compiled", w.known.target)
                    else:
                        yield self._finish(w.known.target, result, w)
            except BaseException:
                for future in waiting:
                    future.cancel()
                end_all()  # threads wait for their children; without them they end at once
                raise
        return sorted(left, key=lambda w: str(w.known.target))

    def _known_values(self, w: _Work) -> TargetResult | None:
        """The result of a target whose values need no running; None for the others."""
        if w.trace is None:
            return None
        now = self._now(w)
        if not self.where.runs:
            words = w.trace.unseen or self.where.why
            return judge(w.known, Seen(now, _none(self.where.why), None, w.seconds, words))
        if self.asked.full or not w.key:
            return None
        recorded = w.known.recorded.proof if w.known.recorded is not None else None
        if recorded is not None and recorded.key == w.key:
            assert w.known.recorded is not None
            proof = recorded.model_copy(update={"parity": w.known.recorded.parity})
            words = "unchanged since the baseline: values not run again"
            return self._reused(w, now, proof, Values(how="baseline", words=words))
        if (cached := self.cache.get(w.key)) is not None:
            return self._reused(w, now, cached, Values(how="cache", words="same inputs, verified before"))
        return None

    def _reused(self, w: _Work, now: Now, proof: Proof, values: Values) -> TargetResult:
        values = values.model_copy(update={"source": proof.target, "verified": proof.verified, "key": w.key})
        return judge(w.known, Seen(replace(now, proof=proof), values, None, w.seconds))

    def _now(self, w: _Work) -> Now:
        if w.trace is None:
            return w.base
        return replace(
            w.base,
            versions=self._versions(w.trace),
            sides={"port": w.trace.port, "original": w.trace.original},
            codes={"port": w.trace.port_code, "original": w.trace.original_code},
        )

    def _versions(self, trace: Trace) -> dict[str, str]:
        """With what built the original, which may not be what is installed."""
        return {**self.versions, "original's compiler": trace.builder} if trace.builder else self.versions

    def _run(self, work: list[_Work]) -> _Results:
        """Verify targets, of those with one key the first alone; yields results, returns what is left."""
        groups: dict[str, list[_Work]] = {}
        for w in work:
            same = w.key if w.key and not self.asked.full else str(w.known.target)
            groups.setdefault(same, []).append(w)
        first = {str(g[0].known.target): g for g in groups.values()}
        left: list[_Work] = []
        options = replace(self.asked.options, write=False, record=False)
        specs = {g[0].known.target: g[0].known.spec for g in groups.values()}
        for verdict in verify_targets(list(specs), options, read=specs):
            w, *others = first[verdict.target]
            yield self._finish(w.known.target, self._verified(w, verdict), w)
            proof = self._proofs.get(w.key)
            for other in others:
                if proof is None:  # it did not pass: each answers for itself
                    left.append(other)
                    continue
                values = Values(how="this run", words="same inputs as a target of this run")
                yield self._finish(
                    other.known.target, self._reused(other, self._now(other), proof, values), other
                )
        return left

    def _verified(self, w: _Work, verdict: Verdict) -> TargetResult:
        target = w.known.target
        parity = verdict.stage("parity")
        facts = parity.parity if parity is not None else None
        proof = None
        if verdict.status is Status.PASSED and facts is not None:
            proof = Proof.of(w.key, verdict.created, str(target), facts)
            if w.key and facts.device == "emulator":
                self._proofs[w.key] = proof
                self.cache.put(proof)
        seconds = w.seconds + sum(s.seconds for s in verdict.stages)
        now = now_of(verdict, self._now(w), proof)
        if facts is None or parity is None or parity.status is Status.NOT_RUN:
            values = _none(parity.message if parity is not None else "not asked for")
        else:
            runs = len(facts.runs)
            device = "on the GPU" if facts.device == "gpu" else "in the emulator"
            words = f"{runs} run{'' if runs == 1 else 's'} {device}"
            values = Values(how="run", words=words, verified=verdict.created, key=w.key)
        return judge(w.known, Seen(now, values, verdict, seconds, verdict.proven))

    def _finish(self, target: Path, result: TargetResult, w: _Work | None = None) -> TargetResult:
        """Record if asked, keep, tell."""
        if not target.is_dir() and result.outcome is not Outcome.MISSING:
            result = missing(target, f"{target}: the folder went away while it was checked")
        if w is not None and self.asked.record and _may_record(w, result):
            result = self._record(w, result)
        self.folder.save(target, result)
        self._done += 1
        self._tell("checked", target)
        return result

    def _record(self, w: _Work, result: TargetResult) -> TargetResult:
        known, gpu = w.known, self.where.gpu
        try:
            known.place.parent.mkdir(exist_ok=True)
            if gpu is not None:
                assert result.verdict is not None
                record = baseline_of(result.verdict, gpu)
                write_json(known.place, record.model_dump(mode="json", exclude_none=True))
            else:
                assert w.trace is not None
                write_json(known.place, self._emulated(w, w.trace, result))
        except OSError as e:
            message = f"{known.place} can't be written: {e.strerror or e}"
            return result.model_copy(update={"code": "CP9208", "message": message})
        inputs = self._known(known.target, known.spec).inputs
        return result.model_copy(update={"recorded": True, "inputs": inputs})

    def _emulated(self, w: _Work, trace: Trace, result: TargetResult) -> Mapping[str, object]:
        proof = self._proofs.get(w.key) or self.cache.get(w.key)
        if result.values.how == "baseline" and w.known.recorded is not None and w.known.recorded.proof:
            parity = w.known.recorded.parity
            proof = w.known.recorded.proof.model_copy(update={"parity": parity})
        if result.verdict is not None:
            parity_stage = result.verdict.stage("parity")
            assert parity_stage is not None and parity_stage.parity is not None
            proof = Proof.of(w.key, result.verdict.created, str(w.known.target), parity_stage.parity)
        assert proof is not None
        return emulator_record(
            w.known.spec.original.kernel,
            datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            dict(w.base.hashes),
            self._versions(trace),
            self.asked.options.seed,
            {"port": (trace.port, trace.port_code), "original": (trace.original, trace.original_code)},
            proof.model_copy(update={"target": w.known.target.name}),
        )

    def _tell(self, doing: Literal["compiled", "checked"], target: Path) -> None:
        self.notify(Progress(doing, str(target), self._done, self._total))


def _none(why: str) -> Values:
    return Values(how="none", words=f"not compared: {why or 'not asked for'}")


def _may_record(w: _Work, result: TargetResult) -> bool:
    """Only what passed is recorded, and only where the record would say something else."""
    if result.outcome not in _RECORDED or result.values.how == "none":
        return False
    if result.verdict is not None and result.verdict.status is not Status.PASSED:
        return False
    if result.verdict is None and w.trace is None:
        return False
    old = w.known.recorded
    same_proof = old is not None and (old.proof.key if old.proof else "") == w.key
    return result.outcome is not Outcome.OK or bool(result.versions) or not same_proof or bool(result.changes)
