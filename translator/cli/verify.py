"""`cuteport verify DIR…`: hands over to `verify`, which works without the translator too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Arch, Device, GitHub, Json, Junit, Sarif, numbers


def verify(
    dirs: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR", help="Target folders, or folders of targets.")
    ] = None,
    stages: Annotated[
        str,
        typer.Option("--stages", metavar="NAMES", help="Comma-separated; each brings what it stands on."),
    ] = "static,compile,parity,sanitize,bench",
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the inputs.")] = 0,
    arch: Arch = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Per compile, and per run of a case.")
    ] = 120.0,
    jobs: Annotated[
        int,
        typer.Option(
            "-j", "--jobs", metavar="N", help="Targets, or mutants of one, at a time; timing is never shared."
        ),
    ] = 1,
    device: Device = None,
    record: Annotated[bool, typer.Option("--record", help="Write baselines/<device>.json.")] = False,
    mutate: Annotated[
        str,
        typer.Option(
            "--mutate",
            metavar="[N]",
            help="Judge N changed ports too (alone: those that are missed easily, and some more), or all.",
        ),
    ] = "",
    min_score: Annotated[
        str,
        typer.Option("--min-score", metavar="X", help="Fail where a smaller share of them is turned away."),
    ] = "",
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="Do again what this verdict.json says was done, and say what differs; DIR is its target.",
        ),
    ] = None,
    algorithm: Annotated[
        bool,
        typer.Option("--algorithm", help="Show how the two sides' code compares, also where it is alike."),
    ] = False,
    junit: Junit = None,
    sarif: Sarif = None,
    github: GitHub = None,
    as_json: Json = False,
) -> int:
    """Check ports again from their folders alone: static checks, compilation, values, faults, time."""
    from translator.live import shown
    from translator.runs import record_bug
    from verify.__main__ import check, dirs_of, stages_of
    from verify.check.output import Outputs, UsageError
    from verify.compile import ARCHES
    from verify.options import DEVICES, Options, mutate_of, score_of

    try:
        wanted = stages_of(stages)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--stages") from None
    if arch and arch not in ARCHES:
        raise typer.BadParameter(f"{arch!r} is none of {', '.join(ARCHES)}", param_hint="--arch")
    chosen = next((d for d in DEVICES if d == (device or "auto")), None)
    if chosen is None:
        raise typer.BadParameter(f"{device!r} is none of {', '.join(DEVICES)}", param_hint="--device")
    try:
        mutants = mutate_of(mutate)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--mutate") from None
    try:
        least = score_of(min_score, mutants)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--min-score") from None
    numbers(seed, timeout, jobs)
    options = Options(
        stages=wanted,
        cases=tuple(case or ()),
        seed=seed,
        arch=arch or "",
        timeout=timeout,
        record=record,
        jobs=jobs,
        device=chosen,
        mutate=mutants,
        min_score=least,
        algorithm=algorithm,
    )
    try:
        folders = dirs_of(list(dirs or ()), certificate)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    try:
        outputs = Outputs.of(junit, sarif, github)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
    return check(
        folders,
        options,
        as_json=as_json,
        certificate=certificate,
        on_bug=lambda e: typer.echo(record_bug(e), err=True),
        shown=shown(),
        on_report=outputs.write_verdicts,
    )
