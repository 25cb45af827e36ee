"""`verify --replay verdict.json`: do again what a verdict claims, and say what differs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from verify.certificate import CertificateError, read_certificate
from verify.facts import CompileFacts, Strict
from verify.options import DeviceChoice, Options
from verify.run import hashes, load_specs, verify_targets
from verify.spec_file import SpecError
from verify.verdict import Verdict

_FILES = ("spec", "original", "port", "reference")
_TIGHT = 1e-9  # relative; the emulator's errors are the same numbers, up to how they are summed


class Change(Strict):
    """`kind` files: what was verified is not what is here. result: it came out otherwise. versions: other
    software or hardware. compiled: other PTX or resources. times: only told."""

    kind: Literal["files", "result", "versions", "compiled", "times"]
    what: str
    claimed: str
    found: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}: {self.claimed} -> {self.found}"


class Replay(Strict):
    """What `verify --replay --json` prints. `same` is true where the files are those of the claim and the
    result is the same."""

    certificate: str
    target: str
    same: bool
    changes: list[Change] = Field(default_factory=list)
    claimed: Verdict
    found: Verdict
    exit_code: int


def replay(path: Path, where: Path | None, options: Options) -> Replay:
    """Run what the verdict in `path` says was run. `where` is the target's folder, else it is looked for.
    Device and jobs of `options` hold where they are given. CertificateError, SpecError."""
    claimed = read_certificate(path)
    target = where if where is not None else _find(path, claimed)
    if not (target / "spec.toml").is_file():
        raise CertificateError(f"{target} is no target folder: it has no spec.toml")
    (found,) = verify_targets([target], asked_again(claimed, options))
    changes = list(compare(claimed, found))
    same = not any(c.kind in ("files", "result") for c in changes)
    return Replay(
        certificate=str(path),
        target=str(target),
        same=same,
        changes=changes,
        claimed=claimed,
        found=found,
        exit_code=0 if same else 1,
    )


def asked_again(claimed: Verdict, options: Options) -> Options:
    """The options of the run that a verdict tells of. What a GPU showed is shown in the emulator where there
    is none; the other way round would be another claim."""
    asked = claimed.asked
    assert asked is not None
    device: DeviceChoice = options.device
    if device == "auto" and asked.device == "emulator":
        device = "emulator"
    return replace(
        options,
        stages=tuple(asked.stages),
        cases=tuple(asked.cases),
        seed=claimed.seed,
        arch=asked.arch,
        device=device,
        mutate=asked.mutate,
        record=False,
        write=False,
    )


def _find(path: Path, claimed: Verdict) -> Path:
    """The target's folder: beside the file, where the verdict says, or any target here with the same port."""
    for folder in (path.parent, Path(claimed.target)):
        if (folder / "spec.toml").is_file():
            return folder
    here = sorted(s.parent for pattern in ("*/spec.toml", "*/*/spec.toml") for s in Path().glob(pattern))
    for folder in here:
        try:
            (spec,) = load_specs([folder]).values()
        except SpecError:
            continue
        own = hashes(folder, spec)
        if all(own.get(k) == claimed.hashes.get(k) for k in ("port", "original")):
            return folder
    raise CertificateError(
        f"{path}: no folder here has the port and the original that it tells of; name the target's folder"
    )


def compare(claimed: Verdict, found: Verdict) -> Iterator[Change]:
    """What differs between two verdicts, gravest first."""
    for name in _FILES:
        before, now = claimed.hashes.get(name, "absent"), found.hashes.get(name, "absent")
        if before != now:
            yield Change(kind="files", what=name, claimed=before[:12], found=now[:12])
    if claimed.status is not found.status:
        words = [f"{v.status} ({v.proven})" for v in (claimed, found)]
        yield Change(kind="result", what="status", claimed=words[0], found=words[1])
    yield from _values(claimed, found)
    yield from _compiled(claimed, found)
    yield from _versions(claimed, found)
    yield from _times(claimed, found)


def _values(claimed: Verdict, found: Verdict) -> Iterator[Change]:
    before, now = (v.stage("parity") for v in (claimed, found))
    if before is None or now is None or before.parity is None or now.parity is None:
        return
    a, b = before.parity, now.parity
    if a.device != b.device:
        yield Change(kind="versions", what="values were compared", claimed=a.device, found=b.device)
    counted = [sum(r.counted for r in p.runs) for p in (a, b)]
    if counted[0] > counted[1] and a.device == b.device:
        yield Change(kind="result", what="counted runs", claimed=str(counted[0]), found=str(counted[1]))
    if a.rule != b.rule:
        yield Change(kind="result", what="rule", claimed=a.rule, found=b.rule)
    same_place = a.device == b.device == "emulator"
    outputs = {d.output: d for d in b.outputs}
    for d in a.outputs:
        other = outputs.get(d.output)
        if other is None:
            yield Change(kind="result", what=d.output, claimed=f"max abs {d.max_abs:g}", found="not compared")
        elif same_place and abs(d.max_abs - other.max_abs) > _TIGHT * max(d.max_abs, other.max_abs):
            words = [f"max abs {x.max_abs:.9g}" for x in (d, other)]
            yield Change(kind="result", what=d.output, claimed=words[0], found=words[1])
    shares = [None if p.mutation is None else p.mutation.share for p in (a, b)]
    if shares[0] != shares[1] and same_place:
        words = ["none" if s is None else f"{s:.4f}" for s in shares]
        yield Change(kind="result", what="mutation score", claimed=words[0], found=words[1])


def _compiled(claimed: Verdict, found: Verdict) -> Iterator[Change]:
    before, now = (v.stage("compile") for v in (claimed, found))
    if before and now and before.compile and now.compile:
        yield from _build("port", before.compile, now.compile)
    first, second = (v.stage("parity") for v in (claimed, found))
    if first and second and first.parity and second.parity:
        a, b = first.parity.original, second.parity.original
        if a is not None and b is not None:
            yield from _build("original", a, b)


def _build(side: str, a: CompileFacts, b: CompileFacts) -> Iterator[Change]:
    if a.ptx_sha256 != b.ptx_sha256:
        what = f"PTX of the {side}"
        yield Change(kind="compiled", what=what, claimed=a.ptx_sha256[:12], found=b.ptx_sha256[:12])
    words = [_resources(x) for x in (a, b)]
    if words[0] != words[1]:
        yield Change(kind="compiled", what=f"resources of the {side}", claimed=words[0], found=words[1])


def _resources(facts: CompileFacts) -> str:
    return ", ".join(f"{k.registers} registers, {k.spill_bytes} bytes spilled" for k in facts.kernels)


def _versions(claimed: Verdict, found: Verdict) -> Iterator[Change]:
    before, now = (v.environment.get("versions", {}) for v in (claimed, found))
    for name in sorted({*before, *now}):
        a, b = str(before.get(name, "absent")), str(now.get(name, "absent"))
        if a != b:
            yield Change(kind="versions", what=name, claimed=a, found=b)
    gpus = [(v.environment.get("gpu") or {}).get("name", "none") for v in (claimed, found)]
    if gpus[0] != gpus[1]:
        yield Change(kind="versions", what="GPU", claimed=gpus[0], found=gpus[1])
    if claimed.hashes.get("harness") != found.hashes.get("harness"):
        a, b = (v.hashes.get("harness", "absent")[:12] for v in (claimed, found))
        yield Change(kind="versions", what="verify itself", claimed=a, found=b)


def _times(claimed: Verdict, found: Verdict) -> Iterator[Change]:
    before, now = (v.stage("bench") for v in (claimed, found))
    if before is None or before.bench is None:
        return
    words = f"{before.bench.ratio:.3f}x {before.bench.rating}"
    if now is None or now.bench is None:
        yield Change(kind="times", what="speed", claimed=words, found="not measured")
    elif (before.bench.rating, round(before.bench.ratio, 2)) != (now.bench.rating, round(now.bench.ratio, 2)):
        again = f"{now.bench.ratio:.3f}x {now.bench.rating}"
        yield Change(kind="times", what="speed", claimed=words, found=again)


def tell(made: Replay) -> None:
    """What a person reads on stderr."""
    for change in made.changes:
        print(f"  {change}", file=sys.stderr)
    words = "as claimed" if made.same else "NOT as claimed"
    print(f"{made.target}: {made.found.status}, {words}: {made.found.proven}", file=sys.stderr)
