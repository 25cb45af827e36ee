"""`cuteport emulate FILE --spec DIR`: a CUDA kernel alone on the CPU, with every check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Arch, Json, numbers


def emulate(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A .cu file, or PTX (.ptx).")],
    spec: Annotated[
        Path,
        typer.Option(
            "--spec", metavar="PATH", help="A spec.toml, or its folder: arguments, launch and cases."
        ),
    ],
    kernel: Annotated[
        str, typer.Option("-k", "--kernel", metavar="NAME", help="Another kernel than the spec's.")
    ] = "",
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the inputs.")] = 0,
    arch: Arch = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Per run of a case.")
    ] = 120.0,
    count: Annotated[
        bool, typer.Option("--count", help="Count instructions, accesses by width, and bytes moved.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Run a CUDA kernel without a GPU: races, accesses out of bounds, uninitialised reads, barriers."""
    from translator.batch.device_part import emulate as run
    from verify.emulate import Request, report
    from verify.space import CODE, DiskFullError, words
    from verify.spec_file import SpecError
    from verify.verdict import Failure

    numbers(seed, timeout)
    target = spec.parent if spec.name == "spec.toml" else spec
    try:
        cases = tuple(case or ())
        found = run(Request(source, target, kernel, cases, seed, arch or "sm_90a", timeout, count))
    except DiskFullError as e:
        text = f"{CODE}: {words(e)}"
        typer.echo(Failure.of(3, text).model_dump_json() if as_json else text, err=not as_json)
        return 3
    except (SpecError, OSError) as e:
        problems = e.problems if isinstance(e, SpecError) else [str(e)]
        text = "\n".join(f"CP6001: {p}" for p in problems)
        typer.echo(Failure.of(2, text).model_dump_json() if as_json else text, err=not as_json)
        return 2
    if as_json:
        typer.echo(found.model_dump_json(exclude_none=True))
    else:
        typer.echo("\n".join(report(found)))
    return found.exit_code
