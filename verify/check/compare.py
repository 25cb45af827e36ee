"""What changed since a baseline, fact by fact, and which outcome that makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from verify.check.baseline import Agreement, Bench, Proof, Recorded, Resources
from verify.check.model import Change, VersionChange
from verify.counts import CountFacts
from verify.facts import BenchFacts, CompileFacts
from verify.rating import DIFFERENT

SideName = Literal["original", "port"]
_SIDES: tuple[SideName, ...] = ("original", "port")
_BUILDER = "original's compiler"  # not in baselines of a GPU
_SOURCES = ("spec", "original", "port", "reference")
# A port is slower where its times lie beyond the baseline's, and by more than this; where the original lost
# as much, by more than machines of one model differ among themselves.
SLOWER_BY, MACHINE_BY = DIFFERENT - 1, 0.05
_OTHER_INPUTS = ", with other held-out inputs"


@dataclass(frozen=True, slots=True)
class Now:
    """What this run knows of a target. `codes` are hashes of PTX without comments; `varies`: outputs depend
    on the order of atomics, so errors change from run to run. `seed` None: not known."""

    hashes: Mapping[str, str]
    versions: Mapping[str, str]
    sides: Mapping[SideName, CompileFacts] = field(default_factory=dict)
    codes: Mapping[SideName, str] = field(default_factory=dict)
    proof: Proof | None = None
    bench: BenchFacts | None = None
    varies: bool = False
    seed: int | None = None

    @property
    def arch(self) -> str:
        """What was compiled for, "" where nothing was."""
        return next((f.arch for f in self.sides.values()), "")


def versions(recorded: Recorded, now: Now) -> list[VersionChange]:
    """Tools whose version is another one than when the baseline was recorded, verify itself included."""
    old = {k: v for k, v in recorded.versions.items() if k != "platform"}
    if recorded.driver:
        old["driver"] = recorded.driver
    new = dict(now.versions)
    if _BUILDER not in old:
        new.pop(_BUILDER, None)
    if "harness" in recorded.hashes:
        old["cuteport harness"] = recorded.hashes["harness"][:12]
        new["cuteport harness"] = now.hashes.get("harness", "")[:12]
    names = sorted({*old, *new})
    return [
        VersionChange(name=n, before=old.get(n), after=new.get(n)) for n in names if old.get(n) != new.get(n)
    ]


def changes(recorded: Recorded, now: Now, *, own: bool = True) -> list[Change]:
    """Everything that is not as recorded. Of another device's record (`own` false) only PTX and resources
    can be compared."""
    found = list(_sources(recorded, now)) if own else []
    for side in _SIDES:
        old, new = recorded.resources.get(side), now.sides.get(side)
        if old is not None and new is not None:
            found += _compiled(side, old, new, now.codes.get(side, ""))
    if own and now.proof is not None:
        inputs = _same_inputs(recorded, now)
        recompiled = any(c.kind in ("ptx", "resources") and matters(c) for c in found)
        if not now.varies and (inputs or recompiled):
            found += _errors(recorded.parity, now.proof.parity, "" if inputs else _OTHER_INPUTS)
        if recorded.proof is not None:
            if inputs:
                found += _bits(recorded.proof, now.proof)
            found += _counts(recorded.proof.counts, now.proof.counts)
    if own and recorded.bench is not None and now.bench is not None:
        timed = {b.case: b for b in (now.bench, *now.bench.also)}
        for old_bench in (recorded.bench, *recorded.bench.also):
            if (same := timed.get(old_bench.case)) is not None:
                found += _times(old_bench, same)
        if recorded.bench.case != now.bench.case:
            cases = recorded.bench.case, now.bench.case
            found.append(_change("time", "case timed", "both", *cases, f"timed case {cases[0]} → {cases[1]}"))
    return found


def _sources(recorded: Recorded, now: Now) -> Iterator[Change]:
    for name in _SOURCES:
        old, new = recorded.hashes.get(name), now.hashes.get(name)
        if old != new:
            words = f"{name} changed" if old and new else f"{name} is new" if new else f"{name} is gone"
            yield _change("source", name, "both", old and old[:12], new and new[:12], words)


def _same_inputs(recorded: Recorded, now: Now) -> bool:
    """Held-out cases are drawn from the bytes of port and spec and from the seed: after an edit, though it be
    of a comment, errors and output bits are those of other inputs."""
    files = all(recorded.hashes.get(name) == now.hashes.get(name) for name in ("port", "spec"))
    return files and (recorded.seed is None or now.seed is None or recorded.seed == now.seed)


def _compiled(side: SideName, old: Resources, new: CompileFacts, code: str) -> Iterator[Change]:
    if old.ptx_sha256 != new.ptx_sha256:
        same = bool(code) and old.code_sha256 == code
        what = "comments of the PTX" if same else "PTX"
        yield _change("ptx", what, side, old.ptx_sha256[:12], new.ptx_sha256[:12], f"{side}: {what} changed")
    if len(old.kernels) != len(new.kernels):
        yield _numbers("resources", "kernels", side, len(old.kernels), len(new.kernels))
    for k, (was, is_) in enumerate(zip(old.kernels, new.kernels, strict=False)):
        which = f" of kernel {k + 1}" if len(new.kernels) > 1 else ""
        for name, unit in (
            ("registers", "registers"),
            ("spill_bytes", "bytes spilled"),
            ("frame_bytes", "bytes of stack"),
            ("static_shared_bytes", "bytes of shared memory"),
        ):
            before, after = getattr(was, name), getattr(is_, name)
            if before != after:
                yield _numbers("resources", unit + which, side, before, after)
    for name in sorted({*old.features, *new.features}):
        before, after = old.features.get(name, 0), new.features.get(name, 0)
        if before != after:
            yield _numbers("resources", name.replace("_", " "), side, before, after)


def _errors(old: Mapping[str, Agreement], new: Mapping[str, Agreement], note: str) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        was, is_ = old.get(name), new.get(name)
        if was is None or is_ is None:
            words = f"{name}: {'not compared before' if was is None else 'no longer compared'}"
            yield _change("error", name, "port", None, None, words)
        elif (was.max_abs, was.max_ulp, was.bitwise_equal) != (is_.max_abs, is_.max_ulp, is_.bitwise_equal):
            before, after = _agreement(was), _agreement(is_)
            yield _change("error", name, "port", before, after, f"{name}: error {before} → {after}{note}")


def _agreement(a: Agreement) -> str:
    return "equal bits" if a.bitwise_equal else f"max_abs {a.max_abs:.3g} ({a.max_ulp:.3g} ulp)"


def _bits(old: Proof, new: Proof) -> Iterator[Change]:
    if (old.runs, old.counted) != (new.runs, new.counted):
        before, after = (f"{p.counted} of {p.runs}" for p in (old, new))
        yield _change("bits", "counted runs", "both", before, after, f"counted runs {before} → {after}")
        return  # digests of other runs say nothing
    for side in _SIDES:
        was, is_ = old.outputs.get(side), new.outputs.get(side)
        if was and is_ and was != is_:
            words = f"{side}: output bits changed"
            yield _change("bits", "output bits", side, was[:12], is_[:12], words)


def _counts(old: CountFacts | None, new: CountFacts | None) -> Iterator[Change]:
    if old is None or new is None or old.case != new.case:
        return
    for side in _SIDES:
        was, is_ = getattr(old, side), getattr(new, side)
        rows: list[tuple[str, Any, Any]] = [
            ("instructions", was.instructions, is_.instructions),
            ("loads", sum(was.loads.values()), sum(is_.loads.values())),
            ("stores", sum(was.stores.values()), sum(is_.stores.values())),
            ("shared memory loads", was.shared_loads, is_.shared_loads),
            ("shared memory stores", was.shared_stores, is_.shared_stores),
            ("barriers", was.barriers, is_.barriers),
            ("bytes moved", was.traffic_bytes, is_.traffic_bytes),
        ]
        for what, before, after in rows:
            if before != after:
                yield _numbers(
                    "counts", f"{what} executed" if what != "bytes moved" else what, side, before, after
                )


def _times(old: Bench, new: BenchFacts) -> Iterator[Change]:
    port = new.port.median_us / old.port.median_us - 1
    beyond = new.port.p10_us > old.port.p90_us if port > 0 else new.port.p90_us < old.port.p10_us
    same_ratio = new.ratio_low <= old.ratio_high and old.ratio_low <= new.ratio_high
    if not beyond or abs(port) <= (MACHINE_BY if same_ratio else SLOWER_BY):
        return
    before, after = (f"{t.median_us:.2f} us" for t in (old.port, new.port))
    words = f"port, case {old.case}: {before} → {after} ({port:+.1%})"
    if same_ratio:
        words += "; the original by as much: driver, clocks or machine rather than the port"
        yield _change("time", "slower" if port > 0 else "faster", "both", before, after, words)
    else:
        words += f"; ratio to the original {old.ratio:.3f} → {new.ratio:.3f}"
        yield _change("time", "slower" if port > 0 else "faster", "port", before, after, words)


def slower(found: list[Change]) -> Change | None:
    """The change that makes a target SLOWER, if there is one."""
    return next((c for c in found if c.kind == "time" and c.what == "slower"), None)


def matters(change: Change) -> bool:
    """False for what changes nothing: comments in PTX."""
    return not (change.kind == "ptx" and change.what.startswith("comments"))


def _numbers(kind: Any, what: str, side: SideName, before: Any, after: Any) -> Change:
    return _change(kind, what, side, str(before), str(after), f"{side}: {what} {before} → {after}")


def _change(kind: Any, what: str, side: Any, before: str | None, after: str | None, words: str) -> Change:
    return Change(kind=kind, what=what, side=side, before=before or None, after=after or None, words=words)
