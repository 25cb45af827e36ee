"""`cuteport bisect TARGET`: which version of the CuTe DSL changed a port's result?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Arch, Device, Json, numbers


def bisect(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A target folder.")],
    good: Annotated[
        str, typer.Option("--good", metavar="V", help="A version that was right; by default the baseline's.")
    ] = "",
    bad: Annotated[
        str, typer.Option("--bad", metavar="V", help="A later version that is not; by default the installed.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="verdict, values, resources, launches or ptx; by default what the ends differ in.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the inputs.")] = 0,
    arch: Arch = None,
    device: Device = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Per compile, and per run of a case.")
    ] = 120.0,
    as_json: Json = False,
) -> int:
    """Find the first version of the CuTe DSL that changed a target, in throw-away environments."""
    from translator.check_view import show_bisect, tell_tried
    from translator.settings import load
    from verify.check.bisect import ASPECTS, Search
    from verify.check.bisect import bisect as run
    from verify.check.output import UsageError
    from verify.check.venvs import InstallError
    from verify.run import load_specs
    from verify.spec_file import SpecError
    from verify.verdict import Failure

    numbers(seed, timeout)
    settings = load({"arch": arch, "device": device})
    aspect = next((a for a in ASPECTS if a == by), None)
    if by and aspect is None:
        raise typer.BadParameter(f"{by!r} is none of {', '.join(ASPECTS)}", param_hint="--by")
    search = Search(target, good, bad, aspect or "", settings.device, settings.arch, seed, timeout)
    code = 2
    try:
        load_specs([target])
        report = run(search, tell_tried)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from None
    except (SpecError, InstallError) as error:
        problems = error.problems if isinstance(error, SpecError) else [str(error)]
        code = 2 if isinstance(error, SpecError) else 3
        text = "\n".join(f"{'CP6001' if code == 2 else 'CP9211'}: {p}" for p in problems)
        typer.echo(text, err=True)
        if as_json:
            typer.echo(Failure.of(code, text).model_dump_json())
        return code
    if as_json:
        from translator.documents import to_json

        typer.echo(to_json(report))
    else:
        show_bisect(report)
    return report.exit_code
