"""A check without compilers: traces and verdicts come from what each target's port.py says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from saxpy_target import write_target

from verify.check import engine
from verify.check.command import Request, run_check
from verify.check.model import CheckReport
from verify.check.trace import Trace
from verify.counts import CountFacts, SideCounts
from verify.environment import describe
from verify.facts import BenchFacts, CompileFacts, Difference, KernelResources, ParityFacts, RunFacts
from verify.options import Options
from verify.run import hashes
from verify.sides import SideError
from verify.spec import Spec
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status, Verdict, conclude
from verify.where import Where


def compiled(text: str, registers: int = 20, **more: Any) -> CompileFacts:
    """Facts of a build whose PTX is `text`."""
    return CompileFacts(
        arch="sm_90a",
        compile_seconds=0.1,
        ptx_bytes=len(text),
        ptx_sha256=sha256(text.encode()).hexdigest(),
        cubin_bytes=1,
        cubin_sha256="c",
        kernels=[KernelResources(name="k", registers=registers, **more)],
        features={"fma": 1},
    )


def says(port: Path, key: str, default: str) -> str:
    """What a port.py of these tests says in a comment `# key: value`."""
    found = re.search(rf"^# {key}: (.*)$", port.read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else default


def passed(target: Path, status: Status = Status.PASSED) -> Verdict:
    """A verdict from the emulator, with what port.py says of its values."""
    port = target / "port.py"
    name = str(target)
    run = RunFacts(case="typical", seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=True)
    off = float(says(port, "off", "0"))
    us = float(says(port, "us", "0"))  # a time: then it ran on a GPU
    outputs = [
        Difference(output="y", dtype="f32", rule="original", elements=9, max_abs=off, bitwise_equal=not off)
    ]
    one = SideCounts(instructions=int(says(port, "instructions", "100")), classes={})
    facts = ParityFacts(
        device="gpu" if us else "emulator",
        runs=[run],
        outputs=outputs,
        rule="original",
        deterministic=True,
        order_dependent=False,
        port_repeats=2,
        original=compiled("original"),
        counts=CountFacts(case="typical", original=one, port=one),
        output_bits={"original": "o", "port": says(port, "bits", "p")},
    )
    good = status is Status.PASSED
    stages = [
        StageResult(stage="static", target=name, status=Status.PASSED),
        StageResult(stage="compile", target=name, status=Status.PASSED, compile=facts_of(port)),
        StageResult(
            stage="parity",
            target=name,
            status=status,
            code=None if good else "CP7012",
            message="" if good else "y differs",
            line=None if good else 7,
            seconds=2.0,
            parity=facts,
        ),
    ]
    if us:
        timed = bench(us, says(port, "old", "220"))
        stages.append(StageResult(stage="bench", target=name, status=Status.PASSED, bench=timed))
    found, proven = conclude(stages)
    return Verdict(
        target=name,
        kernel="saxpy",
        status=found,
        proven=proven,
        stages=stages,
        hashes=hashes(target, load_spec(target)),
        environment=describe(None),
        created="2026-01-01T00:00:00",
    )


def gone(target: Path) -> Verdict:
    """What verify says of a folder that is no more."""
    static = StageResult(
        stage="static", target=str(target), status=Status.REJECTED_STATIC, code="CP6002", message="no port.py"
    )
    return Verdict(
        target=str(target), kernel="", status=Status.REJECTED_STATIC, proven="static: CP6002", stages=[static]
    )


def bench(port: float, original: float | str, spread: float = 0.005, case: str = "large") -> BenchFacts:
    """Times of both sides, in microseconds."""

    def timing(us: float) -> dict[str, Any]:
        return {"median_us": us, "p10_us": us * (1 - spread), "p90_us": us * (1 + spread), "samples": 120}

    ratio = float(original) / port
    return BenchFacts.model_validate(
        {
            "case": case, "grid": (1, 1, 1), "block": (1, 1, 1), "rating": "SAME", "ratio": ratio,
            "ratio_low": ratio * 0.998, "ratio_high": ratio * 1.002, "port": timing(port),
            "original": timing(float(original)), "method": "", "launches_per_sample": 1, "buffer_sets": 1,
            "bytes_per_launch": 1,
        }
    )  # fmt: skip


def facts_of(port: Path) -> CompileFacts:
    return compiled(says(port, "ptx", "port"), int(says(port, "registers", "20")))


class FakeLane:
    def trace(self, target: Path, spec: Spec, cases: Sequence[str] = ()) -> Trace:
        port = target / "port.py"
        if code := says(port, "refused", ""):
            raise SideError("refused", code, "no")
        text = says(port, "ptx", "port")
        code = says(port, "code", text)
        unseen = says(port, "unseen", "")
        launches = {"typical": says(port, "launch", code)}
        return Trace(facts_of(port), compiled("original"), code, "original", launches, unseen=unseen)


class FakeLanes:
    def __init__(self, *_: object) -> None: ...

    @contextmanager
    def one(self) -> Iterator[FakeLane]:
        yield FakeLane()

    def close(self) -> None: ...


class World:
    """Targets in a folder, and which of them were run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.targets = folder / "targets"
        self.ran: list[str] = []
        self.warned: list[str] = []
        self.before: Callable[[Path], None] = lambda _: None
        self.where = Where("sm_90a", emulator=True, why="no GPU")
        monkeypatch.setattr(engine, "Lanes", FakeLanes)
        monkeypatch.setattr(engine, "verify_targets", self._verify)
        monkeypatch.setattr("verify.check.command.choose", lambda _: self.where)

    def _verify(
        self, targets: Sequence[Path], options: Options, read: Mapping[Path, Spec] | None = None
    ) -> Iterator[Verdict]:
        assert read is not None and not options.write and not options.record
        for target in targets:
            self.ran.append(target.name)
            self.before(target)
            if not target.exists():
                yield gone(target)
                continue
            yield passed(target, Status(says(target / "port.py", "status", "PASSED")))

    def target(self, name: str, port: str = "") -> Path:
        """A target whose port.py ends with the given comments."""
        place = write_target(self.targets / name)
        self.edit(name, port)
        return place

    def edit(self, name: str, port: str) -> None:
        path = self.targets / name / "port.py"
        text = path.read_text(encoding="utf-8").partition("\n# --\n")[0]
        path.write_text(text + "\n# --\n" + "".join(f"# {line}\n" for line in port.split("; ") if line))

    def check(self, *dirs: Path, **asked: Any) -> CheckReport:
        self.ran.clear()
        request = Request(dirs or (self.targets,), runs=self.folder / "runs", **asked)
        return run_check(request, warn=lambda text: self.warned.append(text))


def outcomes(report: CheckReport) -> dict[str, str]:
    """Outcome by the target's name."""
    return {Path(r.target).name: r.outcome.value for r in report.targets}


def how(report: CheckReport) -> dict[str, str]:
    """Where the word on the values comes from, by the target's name."""
    return {Path(r.target).name: r.values.how for r in report.targets}
