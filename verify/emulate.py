"""One CUDA kernel alone in the emulator, under several orders of its threads, with all checks."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from verify.counts import SideCounts, counts_of, one_side
from verify.exits import BUG, EXIT_BUG, EXIT_ENVIRONMENT, EXIT_FAILED, LACKING
from verify.facts import FindingFacts, Strict
from verify.files import read_bytes
from verify.findings import Noted, gravest, read_findings
from verify.inputs import generate
from verify.judge import Outputs, output_lanes, same_bits, unwritten
from verify.notes import in_words
from verify.original import BuildError, match_names
from verify.original_side import build_original
from verify.plan import too_large
from verify.resolve import Resolved, resolve
from verify.run import load_specs
from verify.sides import EMULATED_ORIGINAL, ChildSide, Inputs, SideError
from verify.spec import Case, Spec
from verify.unordered import CountError, MisfitError, Order

SCHEDULES = 3  # forward, reverse, one random order


class CaseRun(Strict):
    """One case. `order_dependent` are outputs that differ between orders of the threads; `note` says why a
    case was not run."""

    case: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    schedules: int
    seconds: float = 0.0
    order_dependent: list[str] = Field(default_factory=list)
    counts: SideCounts | None = None
    note: str = ""


class Emulated(Strict):
    """What `emulate --json` prints. `clean`: every case asked for ran, nothing but notes was found."""

    schema_version: Literal[1] = 1
    exit_code: int
    kernel: str
    source: str
    clean: bool
    cases: list[CaseRun]
    findings: list[FindingFacts] = Field(default_factory=list)
    code: str | None = None  # why nothing could be run
    message: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """`source` is PTX (.ptx) or CUDA; `target` the folder of the spec; `cases` empty means all that fit."""

    source: Path
    target: Path
    kernel: str = ""
    cases: tuple[str, ...] = ()
    seed: int = 0
    arch: str = "sm_90a"
    timeout: float = 120.0
    count: bool = False  # count instructions, accesses and traffic too


def emulate(request: Request) -> Emulated:
    """Run it. SpecError where the spec can't be used, OSError where the source can't be read."""
    spec = load_specs([request.target], request.cases)[request.target]
    if request.kernel:
        spec = spec.with_original({"kernel": request.kernel})
    chosen = [c for c in spec.case if not request.cases or c.name in request.cases]
    runs: list[CaseRun] = []
    noted = Noted()
    with (
        tempfile.TemporaryDirectory(prefix="cuteport-emulate-") as folder,
        closing(ChildSide(EMULATED_ORIGINAL, {}, request.arch, request.timeout)) as side,
    ):
        try:
            ptx, names = _ptx(request, spec, side, Path(folder))
            place, original = str(request.target.resolve()), {"kernel": spec.original.kernel}
            side.reload({"target": place, "ptx": str(ptx), "names": names, "original": original})
            for case in chosen:
                runs.append(_case(spec, case, request, side, noted))
        except SideError as e:
            return _refused(request, spec, runs, noted, e.code, e.message)
        except BuildError as e:
            return _refused(request, spec, runs, noted, "CP7104", str(e))
    ran = [r for r in runs if r.schedules]
    clean = bool(ran) and gravest(noted.all) is None and not any(r.order_dependent for r in ran)
    clean = clean and not (request.cases and len(ran) < len(chosen))
    return Emulated(
        exit_code=0 if clean else 1,
        kernel=spec.original.kernel,
        source=str(request.source),
        clean=clean,
        cases=runs,
        findings=noted.all,
    )


def _refused(
    request: Request, spec: Spec, runs: list[CaseRun], noted: Noted, code: str, message: str
) -> Emulated:
    return Emulated(
        exit_code=EXIT_ENVIRONMENT if code in LACKING else EXIT_BUG if code == BUG else EXIT_FAILED,
        kernel=spec.original.kernel,
        source=str(request.source),
        clean=False,
        cases=runs,
        findings=noted.all,
        code=code,
        message=message,
    )


def _ptx(request: Request, spec: Spec, side: ChildSide, folder: Path) -> tuple[Path, dict[str, str]]:
    """The PTX with the source's lines, and the names in it of the kernel and of each variable of the spec."""
    if request.source.suffix == ".ptx":
        text = read_bytes(request.source).decode("utf-8", "replace")
        return request.source.resolve(), match_names(text, spec)
    read_bytes(request.source)  # an unreadable file is the caller's mistake, not a compiler's message
    place = str(request.target.resolve())
    original = {"source": str(request.source.resolve()), "kernel": spec.original.kernel}
    built = build_original(side, place, request.arch, folder, lines=True, original=original)
    return folder / "ptx.lines", built.names


def _case(spec: Spec, case: Case, request: Request, side: ChildSide, noted: Noted) -> CaseRun:
    resolved: Resolved = resolve(spec, case)
    why = "" if resolved.launchable else "a grid side is 0: nothing is launched"
    if why := why or too_large(resolved, "emulator"):
        return CaseRun(case=case.name, grid=resolved.grid, block=resolved.block, schedules=0, note=why)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cuteport-in-") as folder:
        inputs = Inputs(generate(spec, resolved, request.seed, "spec"), Path(folder))
        ran = [side.run(case.name, inputs, k) for k in range(SCHEDULES)]
    for r in ran:
        noted.add(read_findings("original", case.name, r.findings))
    counts = counts_of(ran[0].opcodes, ran[0].touched) if request.count else None
    order = Order(spec, resolved)
    try:
        outputs: list[Outputs] = [order.begin(ran[0].outputs)]
        outputs += [order.original(r.outputs, k) for k, r in enumerate(ran[1:], 1)]
    except (CountError, MisfitError) as e:
        raise SideError("refused", "CP7028" if isinstance(e, CountError) else "CP8051", str(e)) from e
    differ = [
        lane.name
        for arg, lane in output_lanes(spec)
        for skip in [unwritten(arg, lane, outputs)]
        if not all(same_bits(outputs[0], o, arg, lane, skip) for o in outputs[1:])
    ]
    return CaseRun(
        case=case.name,
        grid=resolved.grid,
        block=resolved.block,
        schedules=SCHEDULES,
        seconds=round(time.monotonic() - start, 3),
        order_dependent=differ,
        counts=counts,
    )


def report(found: Emulated) -> Sequence[str]:
    """The result as lines for a terminal."""
    lines = [f"{found.kernel} of {found.source}"]
    for r in found.cases:
        grid, block = ("x".join(map(str, v)) for v in (r.grid, r.block))
        what = r.note or f"{r.schedules} orders of threads, {r.seconds:.2f} s"
        lines.append(f"  {r.case}: grid {grid}, block {block}: {what}")
        lines += [f"    {line}" for line in one_side(r.counts)] if r.counts else []
        lines += [
            f"    CP8051 {name} depends on the order in which threads run" for name in r.order_dependent
        ]
    lines += [f"  {f.code} {in_words(f)}" for f in found.findings]
    if found.code:
        lines.append(f"  {found.code} {found.message}")
    lines.append(
        "clean" if found.clean else "NOT clean" if any(r.schedules for r in found.cases) else "not run"
    )
    return lines
