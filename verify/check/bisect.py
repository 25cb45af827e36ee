"""Which version of the CuTe DSL first gave another result for a target: a binary search."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from verify.baseline import BaselineError
from verify.check.baseline import read
from verify.check.output import UsageError
from verify.check.probe import Probed
from verify.check.venvs import InstallError, available, copy_of, environment, installed, run_in
from verify.facts import Strict
from verify.verdict import Status

Aspect = Literal["verdict", "values", "resources", "launches", "ptx"]
ASPECTS: tuple[Aspect, ...] = ("verdict", "values", "resources", "launches", "ptx")
_PROBE_SECONDS = 3600.0
# Where an environment was, which is gone when its result is read.
_IN_VENV = re.compile(r"/[^\s:]*cuteport-bisect-[^/\s]+/venv/lib/[^/\s]+/site-packages/")
# That values could not be compared with a version is no fault of it.
_NO_FAULT = frozenset({Status.PASSED, Status.COMPILED})


class Tried(Strict):
    """One version. `state`: like the good end, not like it, or not installed or run (`code`, `message`)."""

    version: str
    state: Literal["good", "bad", "skipped", "end"]
    status: str = ""
    code: str | None = None
    message: str = ""
    ptx: str = ""
    resources: str = ""
    values: str = ""
    unseen: str = ""
    install_seconds: float = 0.0
    run_seconds: float = 0.0


class BisectReport(Strict):
    """What `bisect --json` prints. `aspect` is what tells good from bad: the first of verdict, values,
    resources, launches and PTX in which the ends differ, or the one asked for; absent where none differs.
    `between` are versions that could not be tried and lie between `last_good` and `first_bad`."""

    schema_version: Literal[1] = 1
    exit_code: int
    target: str
    good: str
    bad: str
    aspect: Aspect | None = None
    last_good: str | None = None
    first_bad: str | None = None
    between: list[str] = Field(default_factory=list)
    changed: list[str] = Field(default_factory=list)
    words: str
    tried: list[Tried]
    interrupted: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Search:
    """What to search. `by` "" chooses the aspect from the ends."""

    target: Path
    good: str = ""
    bad: str = ""
    by: Aspect | Literal[""] = ""
    device: str = "auto"
    arch: str = ""
    seed: int = 0
    timeout: float = 120.0


Trial = Callable[[str], "tuple[Tried, Probed | None]"]


def ends(search: Search, versions: list[str]) -> tuple[str, str]:
    """The good and the bad end. UsageError where they are not in order, or can't be told."""
    bad = search.bad or (here if (here := installed()) in versions else versions[-1])
    good = search.good or _recorded(search.target, versions, bad)
    for name, version in (("--good", good), ("--bad", bad)):
        if version not in versions:
            raise UsageError(f"{name} {version}: pip offers {', '.join(versions)}")
    if versions.index(good) >= versions.index(bad):
        raise UsageError(f"the good version ({good}) must be older than the bad one ({bad})")
    return good, bad


def _recorded(target: Path, versions: list[str], bad: str) -> str:
    """The version that a baseline of the target was recorded with, if it is older than the bad one."""
    for path in sorted((target / "baselines").glob("*.json")):
        try:
            version = read(path).versions.get("nvidia-cutlass-dsl", "")
        except BaselineError:
            continue
        if version in versions and bad in versions and versions.index(version) < versions.index(bad):
            return version
    raise UsageError("no baseline names an older version of the DSL: say which was good with --good")


def signature(probed: Probed, aspect: Aspect) -> Any:
    """What must be equal for two versions to be alike; None where it is not known of this one."""
    if aspect == "verdict":
        if probed.verdict.status in _NO_FAULT:
            return "no fault"
        failed = next((s.code for s in probed.verdict.stages if s.status is probed.verdict.status), None)
        return [str(probed.verdict.status), failed]
    if aspect == "ptx":
        return probed.code or None
    if aspect == "launches":
        return probed.launches or None
    if aspect == "resources":
        if probed.port is None:
            return None
        kernels = [k.model_dump(exclude={"name"}) for k in probed.port.kernels]
        return [kernels, probed.port.features]
    stage = probed.verdict.stage("parity")
    if stage is None or stage.parity is None or stage.status is not Status.PASSED:
        return None
    parity = stage.parity
    if parity.output_bits:
        return parity.output_bits
    steady = not parity.order_dependent
    return [[d.output, d.bitwise_equal, d.max_abs] for d in parity.outputs] if steady else None


def choose_aspect(good: Probed, bad: Probed, by: Aspect | Literal[""]) -> Aspect | None:
    """The first aspect in which the ends differ and which both know; None where there is none."""
    for aspect in (by,) if by else ASPECTS:
        one, other = signature(good, aspect), signature(bad, aspect)
        if one is not None and other is not None and one != other:
            return aspect
    return None


def bisect(
    search: Search,
    on_tried: Callable[[Tried], None] = lambda _: None,
    trial: Trial | None = None,
    versions: list[str] | None = None,
) -> BisectReport:
    """Search. UsageError for ends that can't be used, InstallError where pip can't be asked."""
    start = time.monotonic()
    versions = available() if versions is None else versions
    good, bad = ends(search, versions)
    hunt = _Hunt(search, versions[versions.index(good) : versions.index(bad) + 1], on_tried, trial)
    try:
        report = hunt.report()
    except KeyboardInterrupt:
        report = hunt.made(130, "interrupted").model_copy(update={"interrupted": True})
    return report.model_copy(update={"seconds": round(time.monotonic() - start, 1)})


class _Hunt:
    def __init__(
        self, search: Search, versions: list[str], on_tried: Callable[[Tried], None], trial: Trial | None
    ) -> None:
        self.search = search
        self.versions = versions
        self.on_tried = on_tried
        self.trial = trial or (lambda version: try_version(search, version))
        self.tried: dict[str, Tried] = {}
        self.probed: dict[str, Probed] = {}

    def report(self) -> BisectReport:
        good, bad = self.versions[0], self.versions[-1]
        for end in (good, bad):
            if self._try(end, lambda _: "end") is None:
                said = self.tried[end].message
                return self.made(3, f"{end}, an end of the search, can't be tried: {said}")
        aspect = choose_aspect(self.probed[good], self.probed[bad], self.search.by)
        if aspect is None:
            what = self.search.by or "verdict, values, resources, launches and PTX"
            return self.made(
                0, f"nothing changed from {good} to {bad}: {what} are alike, as far as they are known"
            )
        like = signature(self.probed[good], aspect)

        def state(probed: Probed) -> Literal["good", "bad"]:
            return "good" if signature(probed, aspect) == like else "bad"

        for end in (good, bad):
            self.tried[end] = self.tried[end].model_copy(update={"state": state(self.probed[end])})
        low, high = 0, len(self.versions) - 1
        while left := [v for v in self.versions[low + 1 : high] if v not in self.tried]:
            version = left[len(left) // 2]
            probed = self._try(version, state)
            if probed is None:
                continue
            if state(probed) == "good":
                low = self.versions.index(version)
            else:
                high = self.versions.index(version)
        return self._found(aspect, self.versions[low], self.versions[high], self.versions[low + 1 : high])

    def _try(self, version: str, state: Callable[[Probed], Any]) -> Probed | None:
        tried, probed = self.trial(version)
        if probed is not None:
            self.probed[version] = probed
            tried = tried.model_copy(update={"state": state(probed)})
        self.tried[version] = tried
        self.on_tried(tried)
        return probed

    def _found(self, aspect: Aspect, low: str, high: str, between: list[str]) -> BisectReport:
        words = f"{high} is the first version with another {_NOUNS[aspect]}; {low} is the last without"
        if between:
            words += f"; {', '.join(between)} between them could not be tried"
        report = self.made(0, words)
        changed = differences(self.probed[low], self.probed[high])
        found = {
            "aspect": aspect,
            "last_good": low,
            "first_bad": high,
            "between": between,
            "changed": changed,
        }
        return report.model_copy(update=found)

    def made(self, exit_code: int, words: str) -> BisectReport:
        return BisectReport(
            exit_code=exit_code,
            target=str(self.search.target),
            good=self.versions[0],
            bad=self.versions[-1],
            words=words,
            tried=[self.tried[v] for v in self.versions if v in self.tried],
        )


_NOUNS: dict[Aspect, str] = {
    "verdict": "verdict",
    "values": "result",
    "resources": "use of resources",
    "launches": "launch",
    "ptx": "PTX",
}


def differences(old: Probed, new: Probed) -> list[str]:
    """What is not the same for two versions, in words."""
    found = []
    if signature(old, "verdict") != signature(new, "verdict"):
        found.append(f"verdict {old.verdict.status} → {new.verdict.status}: {new.verdict.proven}")
    for aspect in ("values", "launches", "ptx"):
        one, other = signature(old, aspect), signature(new, aspect)
        if one is not None and other is not None and one != other:
            found.append(
                {"values": "output values", "launches": "launches", "ptx": "PTX"}[aspect] + " changed"
            )
    if old.port is not None and new.port is not None:
        found += [
            f"{name} {before} → {after}"
            for name, before, after in _numbers(old, new)
            if before != after
        ]  # fmt: skip
    return found


def _numbers(old: Probed, new: Probed) -> list[tuple[str, Any, Any]]:
    assert old.port is not None and new.port is not None
    rows: list[tuple[str, Any, Any]] = []
    for was, is_ in zip(old.port.kernels, new.port.kernels, strict=False):
        rows.append(("registers", was.registers, is_.registers))
        rows.append(("bytes spilled", was.spill_bytes, is_.spill_bytes))
        rows.append(("bytes of shared memory", was.static_shared_bytes, is_.static_shared_bytes))
    for name in sorted({*old.port.features, *new.port.features}):
        before, after = old.port.features.get(name, 0), new.port.features.get(name, 0)
        rows.append((name.replace("_", " "), before, after))
    return rows


def try_version(search: Search, version: str) -> tuple[Tried, Probed | None]:
    """Install a version into an environment of its own and probe the target there; nothing of it stays."""
    start = time.monotonic()
    try:
        with environment(version) as python, tempfile.TemporaryDirectory(prefix="cuteport-probe-") as held:
            install_seconds = round(time.monotonic() - start, 1)
            started = time.monotonic()
            probed, message = _probe(search, python, Path(held))
            run_seconds = round(time.monotonic() - started, 1)
    except InstallError as e:
        return Tried(version=version, state="skipped", code="CP9211", message=str(e)), None
    if probed is None:
        tried = Tried(version=version, state="skipped", code="CP7099", message=message)
    else:
        tried = _tried(version, probed)
    times = {"install_seconds": install_seconds, "run_seconds": run_seconds}
    return tried.model_copy(update=times), probed


def _probe(search: Search, python: Path, held: Path) -> tuple[Probed | None, str]:
    out = held / "probed.json"
    target = copy_of(search.target, held)
    arguments = ["-m", "verify.check.probe", str(target), "--out", str(out), "--device", search.device]
    arguments += ["--arch", search.arch, "--seed", str(search.seed), "--timeout", str(search.timeout)]
    code, _, err = run_in(python, arguments, _PROBE_SECONDS)
    try:
        return Probed.model_validate_json(out.read_bytes()), ""
    except (OSError, ValidationError):
        return None, f"the target could not be probed (exit code {code}): {err.strip()[-400:]}"


def _tried(version: str, probed: Probed) -> Tried:
    verdict = probed.verdict
    failed = next((s for s in verdict.stages if s.status is verdict.status and s.code), None)
    kernels = probed.port.kernels if probed.port is not None else []
    resources = [f"{k.registers} registers, {k.spill_bytes} bytes spilled" for k in kernels]
    values = signature(probed, "values")
    return Tried(
        version=version,
        state="end",
        status=str(verdict.status),
        code=failed.code if failed else None,
        message=_IN_VENV.sub("", failed.message if failed else verdict.proven),
        ptx=probed.code[:12],
        resources="; ".join(resources),
        values=(values["port"] if isinstance(values, dict) else "compared") if values is not None else "",
        unseen=probed.unseen if probed.port is not None else "",
    )
