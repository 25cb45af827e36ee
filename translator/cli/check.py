"""`cuteport check [DIR…]`: have upgrades broken or slowed any of the targets?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Arch, Device, GitHub, Jobs, Json, Junit, Sarif, numbers


def check(
    dirs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", help="Target folders, or folders of them; by default targets/."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Compare all values again, also where nothing changed.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Accept what passed: write baselines/<device>.json.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last check; results that still hold are kept.")
    ] = False,
    changed_since: Annotated[
        str,
        typer.Option("--changed-since", metavar="REV", help="Only targets that git says were touched since."),
    ] = "",
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="OUTCOMES",
            help="Comma-separated, or none; by default broken,unreadable,missing,slower,unproven.",
        ),
    ] = None,
    no_bench: Annotated[
        bool, typer.Option("--no-bench", help="Leave out times and sanitizers, where there is a GPU.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the inputs.")] = 0,
    arch: Arch = None,
    device: Device = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Per compile, and per run of a case.")
    ] = 120.0,
    jobs: Jobs = None,
    junit: Junit = None,
    sarif: Sarif = None,
    github: GitHub = None,
    as_json: Json = False,
) -> int:
    """Verify targets again and compare with their baselines: what broke, slowed down or changed."""
    from translator.check_view import CheckView
    from translator.settings import load
    from verify.check.changed import SHARED
    from verify.check.command import Request, outcomes_of, run_check
    from verify.check.model import FAIL_ON
    from verify.check.output import Outputs, UsageError
    from verify.options import DEVICES, Options
    from verify.verdict import STAGES

    settings = load({"arch": arch, "device": device, "jobs": jobs, "fail_on": fail_on})
    chosen = next(d for d in DEVICES if d == settings.device)
    numbers(seed, timeout)
    try:
        outputs = Outputs.of(junit, sarif, github)
        request = Request(
            dirs=tuple(dirs or ()) or (() if resume else tuple(map(Path, settings.targets))),
            options=Options(
                stages=("parity",) if no_bench else STAGES,
                seed=seed,
                arch=settings.arch,
                timeout=timeout,
                jobs=settings.workers,
                device=chosen,
            ),
            full=full,
            record=record,
            resume=resume,
            since=changed_since,
            shared=(*SHARED, *settings.shared),
            fail_on=outcomes_of(settings.fail_on) if settings.fail_on else FAIL_ON,
            runs=settings.runs,
        )
        view = CheckView(quiet=as_json)
        report = run_check(request, view.result, view.progress, view.warn)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
    report = outputs.write(report)
    if as_json:
        from translator.documents import to_json

        typer.echo(to_json(report))
    else:
        view.show(report)
    return report.exit_code
