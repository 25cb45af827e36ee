"""`python -P -m verify DIR...`: verify target folders where the translator is not installed."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, cast

from verify import space
from verify.algorithm import in_lines as table
from verify.certificate import CertificateError
from verify.check.output import Outputs, UsageError
from verify.compile import ARCHES
from verify.counts import in_lines
from verify.exits import (
    BUG,
    EXIT_BUG,
    EXIT_DONE,
    EXIT_ENVIRONMENT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_UNREAD,
    EXIT_USAGE,
    LACKING,
    NO_GPU,
)
from verify.options import DEVICES, mutate_of, score_of, with_values
from verify.replay import Replay, replay, tell
from verify.run import Options, verify_targets
from verify.spec_file import SpecError
from verify.summary import row_of
from verify.terminal import Shown, reasons, show_table, worth_a_line
from verify.verdict import STAGES, Failure, Remark, Report, StageName, StageResult, Status, Verdict

# What this machine could not run is no failure; what it ran and did not like is.
_GOOD = frozenset({Status.PASSED, Status.COMPILED, Status.NOT_RUN})


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one JSON document too where --json is asked for."""

    asked_json = False

    def error(self, message: str) -> NoReturn:
        if self.asked_json:
            print(Failure.of(EXIT_USAGE, message).model_dump_json())
        super().error(message)


def _parser() -> _Parser:
    p = _Parser(prog="verify", description="Check ports against their CUDA originals.")
    p.add_argument("dirs", nargs="*", type=Path, metavar="DIR", help="target folder, or a folder of targets")
    p.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="do again what this verdict.json says was done, and say what differs; DIR is then its target",
    )
    p.add_argument(
        "--stages", default=",".join(STAGES), help="comma-separated, with what they need: %(default)s"
    )
    p.add_argument("--case", action="append", default=[], metavar="NAME", help="only this case (repeatable)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--arch", default="", choices=["", *ARCHES], help="the GPU's own, or sm_90a without one")
    p.add_argument(
        "--device",
        default="auto",
        choices=DEVICES,
        help="where values are compared; auto: a GPU if there is one, otherwise the emulator",
    )
    p.add_argument("--timeout", type=float, default=120.0, help="seconds per compile and per run")
    p.add_argument(
        "--jobs", type=int, default=1, help="targets, or mutants of one, at a time (timing is never shared)"
    )
    p.add_argument("--record", action="store_true", help="write baselines/<device>.json")
    p.add_argument(
        "--mutate",
        default="",
        metavar="[N]",
        help="judge N changed ports too (alone: those that are missed easily, and some more), or all",
    )
    p.add_argument("--min-score", default="", metavar="X", help="fail where a smaller share is turned away")
    p.add_argument("--algorithm", action="store_true", help="show how the two sides' code compares")
    p.add_argument("--junit", type=Path, metavar="FILE", help="write the results as JUnit XML")
    p.add_argument("--sarif", type=Path, metavar="FILE", help="write the findings as SARIF 2.1.0")
    p.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return p


def find_targets(dirs: list[Path]) -> list[Path]:
    """Each folder that has a spec.toml, itself or one level down; a folder with neither stands for itself."""
    found: list[Path] = []
    for d in dirs:
        inner = sorted(s.parent for s in d.glob("*/spec.toml")) if not (d / "spec.toml").exists() else []
        found += inner or [d]
    return list(dict.fromkeys(found))


def exit_code(verdicts: list[Verdict], options: Options | None = None) -> int:
    """The highest that applies: 4 for a bug, 3 where the environment lacks what was asked for, 1 where a
    check failed or a score is too low."""
    options = options or Options()
    lacking = LACKING | {NO_GPU} if options.device == "gpu" else LACKING
    stages = [s.code for v in verdicts for s in v.stages]
    codes = [
        EXIT_BUG if BUG in stages else EXIT_DONE,
        EXIT_ENVIRONMENT if lacking.intersection(stages) else EXIT_DONE,
        EXIT_FAILED if any(v.status not in _GOOD for v in verdicts) else EXIT_DONE,
        EXIT_FAILED if list(_too_low(verdicts, options.min_score)) else EXIT_DONE,
    ]
    return max(codes)


def _too_low(verdicts: list[Verdict], least: float | None) -> Iterator[Remark]:
    """The targets whose changed ports were not turned away as often as asked."""
    for v in verdicts:
        parity = next((s.parity for s in v.stages if s.parity is not None), None)
        made = parity.mutation if parity is not None else None
        if least is None or made is None or (made.share is not None and made.share >= least):
            continue
        share = "there is none" if made.share is None else f"it is {made.share:.4g}"
        words = f"the mutation score is to be at least {least:g}, and {share}"
        yield Remark(target=v.target, code="CP7061", message=words)


def _progress(result: StageResult, shown: Shown) -> None:
    name = Path(result.target).name
    shown.step(f"{name}: {result.stage}: {result.status}")
    mutation = result.parity.mutation if result.parity is not None else None
    if shown.brief and mutation is None and not worth_a_line(result):
        return
    where = f" {result.code}" if result.code else ""
    why = f" {result.message.splitlines()[0][:300]}" if result.message else ""
    line = f" (port.py:{result.line})" if result.line else ""
    shown.line(f"{name}: {result.stage}: {result.status}{where}{why}{line}")
    if mutation is not None:
        shown.line(f"{name}: {mutation.words}")
        for m in mutation.mutants:
            if m.fate == "survived":
                shown.line(f"{name}: survived: port.py:{m.line}: {m.what} ({m.id})")


def _tell(verdict: Verdict, shown: Shown) -> None:
    if shown.brief:  # the table at the end says it
        return
    shown.line(f"{verdict.target}: {verdict.status}: {verdict.proven}")
    parity = verdict.stage("parity")
    if parity is not None and parity.parity is not None and parity.parity.counts is not None:
        for line in in_lines(parity.parity.counts):
            shown.line(f"  {line}")


def _tell_algorithm(verdict: Verdict, shown: Shown, whole: bool) -> None:
    """The table of both sides' code, unless nothing in it is telling and nobody asked."""
    if verdict.algorithm is None or not (lines := table(verdict.algorithm, whole=whole)):
        return
    if shown.brief:
        shown.line(f"{Path(verdict.target).name}: {verdict.algorithm.words}")
    for line in lines if whole or not shown.brief else ():
        shown.line(f"  {line}")


def _tell_bug(error: Exception) -> None:
    traceback.print_exception(error)
    print("this is a bug in verify", file=sys.stderr)


def stages_of(text: str) -> tuple[StageName, ...]:
    """The stages of a comma-separated list. ValueError names what is none."""
    stages = tuple(s.strip() for s in text.split(",") if s.strip())
    if bad := [s for s in stages if s not in STAGES]:
        raise ValueError(f"unknown stage {', '.join(bad)}; known: {', '.join(STAGES)}")
    return cast(tuple[StageName, ...], stages)


def dirs_of(dirs: list[Path], certificate: Path | None) -> list[Path]:
    """The folders of a command line. ValueError where there are too few, or too many beside --replay."""
    if certificate is None and not dirs:
        raise ValueError("name a target folder, or a verdict to --replay")
    if certificate is not None and len(dirs) > 1:
        raise ValueError("--replay takes one folder, the target's")
    return dirs


def check(
    dirs: list[Path],
    options: Options,
    *,
    as_json: bool = False,
    certificate: Path | None = None,
    on_bug: Callable[[Exception], None] = _tell_bug,
    shown: Shown | None = None,
    on_report: Callable[[Report], int] | None = None,
) -> int:
    """Verify the targets in `dirs`, or do again what `certificate` tells of; returns the exit code of the
    README's table.

    `as_json` prints one document on stdout, whatever happens. `on_bug` tells of an unforeseen error,
    `shown` of everything else. `on_report` writes the results to other places and says the exit code.
    """
    shown = shown or Shown()
    verdicts: list[Verdict] = []
    remarks: list[Remark] = []
    made: Replay | None = None
    failure = ""
    try:
        if certificate is not None:
            made = replay(certificate, dirs[0] if dirs else None, options)
            tell(made)
        targets = [] if made else find_targets(dirs)
        shown.begin(len(targets) * len(STAGES))
        found = verify_targets(targets, options, lambda r: _progress(r, shown), on_kept=remarks.append)
        for verdict in found:
            verdicts.append(verdict)
            _tell(verdict, shown)
            _tell_algorithm(verdict, shown, options.algorithm)
        code = made.exit_code if made else exit_code(verdicts, options)
    except CertificateError as e:
        failure = f"CP6011: {e}"
        print(failure, file=sys.stderr)
        code = EXIT_USAGE
    except SpecError as e:
        failure = "\n".join(f"CP6001: {p}" for p in e.problems)
        print(failure, file=sys.stderr)
        code = EXIT_USAGE
    except OSError as e:
        failure = f"{space.CODE}: {space.words(e)}" if space.in_scratch(e) else f"the system refused: {e}"
        code = EXIT_ENVIRONMENT
        if verdicts:  # what was found is told all the same
            told = [v.target for v in verdicts if str(e.filename).startswith(f"{v.target}/")]
            remarks.append(Remark(target="".join(told[:1]), message=failure))
            failure = ""
        else:
            print(failure, file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except Exception as e:
        failure = f"{type(e).__name__}: {e}"
        on_bug(e)
        code = EXIT_BUG
    finally:
        shown.end()
    if verdicts and not as_json:
        show_table([row_of(v) for v in verdicts], shown)
        for reason in reasons([s for v in verdicts for s in v.stages]) if shown.brief else ():
            shown.line(reason)
    remarks += _too_low(verdicts, options.min_score)
    for remark in remarks:
        shown.line(f"{Path(remark.target).name}: {remark}" if remark.code else str(remark))
    if on_report is not None and not failure and made is None:
        code = on_report(Report(exit_code=code, verdicts=verdicts, remarks=remarks))
    if as_json and failure:
        print(Failure.of(code, failure).model_dump_json())
    elif as_json and made is not None:
        print(made.model_dump_json(exclude_none=True))
    elif as_json:
        print(Report(exit_code=code, verdicts=verdicts, remarks=remarks).model_dump_json(exclude_none=True))
    return code


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code of the README's table."""
    parser = _parser()
    parser.asked_json = "--json" in (sys.argv[1:] if argv is None else argv)
    args = parser.parse_args(with_values(sys.argv[1:] if argv is None else argv))
    try:
        stages = stages_of(args.stages)
        mutate = mutate_of(args.mutate)
        min_score = score_of(args.min_score, mutate)
    except ValueError as e:
        parser.error(str(e))
    try:
        options = Options(
            stages=stages,
            cases=tuple(args.case),
            seed=args.seed,
            arch=args.arch,
            timeout=args.timeout,
            record=args.record,
            jobs=args.jobs,
            device=args.device,
            mutate=mutate,
            min_score=min_score,
            algorithm=args.algorithm,
        )
    except ValueError as e:
        parser.error(str(e))
    try:
        dirs = dirs_of(args.dirs, args.replay)
    except ValueError as e:
        parser.error(str(e))
    try:
        outputs = Outputs.of(args.junit, args.sarif)
    except UsageError as e:
        parser.error(str(e))
    try:
        code = check(
            dirs, options, as_json=args.json, certificate=args.replay, on_report=outputs.write_verdicts
        )
        sys.stdout.flush()
        return code
    except OSError as e:  # of stdout: its reader left, or its disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(e, BrokenPipeError):
            return EXIT_UNREAD
        print(f"the output can't be written: {e.strerror}", file=sys.stderr)
        return EXIT_ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
