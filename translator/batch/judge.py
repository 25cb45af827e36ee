"""Hands the written folders to `verify` and takes its verdicts into the outcomes."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from translator.diag.diagnostic import Span
from translator.frontend.slice_lines import author_name, source_names
from translator.outcome import NOT_RUN, Finding, Outcome, Question, Stage
from translator.output import edited
from translator.settings import Settings

if TYPE_CHECKING:
    from verify.options import Options
    from verify.verdict import Remark, StageResult, Verdict

# Stages that did not run for want of these make the run's exit code 3; a machine without a GPU is no lack.
_LACKING = frozenset({"CP9001", "CP9005"})


def judge(outcomes: list[Outcome], settings: Settings, tell: Callable[[str, int, int, str], None]) -> None:
    """Replace each outcome that has a folder by one with what `verify` found there, as it is found."""
    from verify.run import load_specs, verify_targets
    from verify.spec_file import SpecError
    from verify.where import choose

    at: dict[str, int] = {}
    for k, outcome in enumerate(outcomes):
        task = outcome.status == "REFUSED"  # there is no port to judge
        if not outcome.out or (task and not _own_spec(outcome)):
            continue
        try:
            load_specs([Path(outcome.out)])  # apart: one that can't be used stops no other
            if not task:
                at[outcome.out] = k
        except SpecError as error:
            findings = tuple(
                Finding("CP6001", "error", p, Span(f"{outcome.out}/spec.toml")) for p in error.problems
            )
            outcomes[k] = replace(outcome, findings=outcome.findings + findings)
    options = options_of(settings)
    where = choose(options)
    compiled = passed = compared = 0

    def seen(result: StageResult) -> None:
        nonlocal compiled, passed, compared
        name = Path(result.target).name
        if result.stage == "compile":
            compiled, passed = compiled + 1, passed + (result.status == "PASSED")
            tell("compiled", compiled, len(at), name)
            if compiled == len(at) and passed and where.runs:
                tell("compared", 0, passed, "")
        elif result.stage == "parity" and result.parity is not None:
            compared += 1
            tell("compared", compared, passed, name)

    if at:
        tell("compiled", 0, len(at), "")
    for verdict in verify_targets([Path(out) for out in at], options, seen, on_kept=_kept):
        k = at[verdict.target]
        outcomes[k] = _with_verdict(outcomes[k], verdict)


def add_questions(outcomes: list[Outcome]) -> None:
    """Give each outcome the open questions of the spec in its folder, tasks too: whoever writes their port
    needs the answers as well."""
    from verify.questions import placed
    from verify.spec_file import SpecError, load_spec

    for k, outcome in enumerate(outcomes):
        if outcome.out and outcome.status != "PASSED":
            with contextlib.suppress(SpecError, OSError):  # told already, by `judge`
                found = placed(Path(outcome.out), load_spec(Path(outcome.out)))
                asked = tuple(Question(q.code, q.text, line) for line, q in found)
                outcomes[k] = replace(outcome, questions=asked)


def _own_spec(outcome: Outcome) -> bool:
    """True for a task whose spec is the user's, and of which nobody has said yet that it can't be used."""
    told = any(f.code == "CP6001" for f in outcome.findings)
    return not told and "spec.toml" in edited(Path(outcome.out))


def _kept(remark: Remark) -> None:
    print(remark, file=sys.stderr)


def options_of(settings: Settings) -> Options:
    """What `verify` is asked for."""
    from verify.options import DEVICES, Options

    device = next(d for d in DEVICES if d == settings.device)
    return Options(arch=settings.arch, timeout=settings.compile_timeout, jobs=settings.workers, device=device)


def _with_verdict(outcome: Outcome, verdict: Verdict) -> Outcome:
    stages = [
        Stage(s.stage, "OK" if s.status == "PASSED" else str(s.status), s.seconds, s.message)
        for s in verdict.stages
    ]
    failed = [
        _finding(outcome, s) for s in verdict.stages if s.code and (s.status != NOT_RUN or s.code in _LACKING)
    ]
    parity = verdict.stage("parity")
    return replace(
        outcome,
        status=str(verdict.status),
        device=parity.parity.device if parity is not None and parity.parity is not None else outcome.device,
        stages=(*outcome.stages, *stages),
        findings=(*outcome.findings, *dict.fromkeys(failed)),
        seconds=outcome.seconds + sum(s.seconds for s in verdict.stages),
    )


def _finding(outcome: Outcome, result: StageResult) -> Finding:
    """A stage's failure, at the CUDA line that does it or that the failing line of `port.py` came from."""
    from verify.blame import blame

    severity: Literal["error", "warning"] = "warning" if result.status == "AMBIGUOUS" else "error"
    message = f"{result.stage}: {result.message.strip().splitlines()[0]}" if result.message else result.stage
    if result.status == "ORIGINAL_SUSPECT":
        message = f"{blame(result.code)}; {message}"
    port = f"{outcome.out}/port.py"
    hint = f"{port}:{result.line}" if result.line else port
    span = _original_span(outcome, result) or _cuda_span(outcome, result.line)
    return Finding(result.code or "", severity, message, span, hint)


def _original_span(outcome: Outcome, result: StageResult) -> Span | None:
    """Where in the author's files the original does what ended the stage, if that is known."""
    seen = () if result.parity is None else result.parity.findings
    found = next((f for f in seen if f.side == "original" and f.code == result.code and f.line), None)
    if found is None:
        return None
    try:
        device = Path(outcome.out, "original/device.cu").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    for name in source_names(device):
        if Path(name).name == found.file:
            own = name == author_name(outcome.source)
            return Span(outcome.source if own else str(Path(outcome.source).parent / name), found.line)
    return None


def _cuda_span(outcome: Outcome, line: int | None) -> Span:
    if line:
        try:
            lines = json.loads(Path(outcome.out, "line_map.json").read_text(encoding="utf-8"))["lines"]
        except (OSError, ValueError, KeyError):
            lines = []
        before = [(cuda, path) for emitted, path, cuda in lines if emitted <= line]
        if before:
            return Span(before[-1][1], before[-1][0])
    return Span(outcome.source, outcome.line)
