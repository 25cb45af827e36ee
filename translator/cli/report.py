"""`cuteport report PATH…`: hands over to `verify.report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import Json


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Target folders, folders that hold some, or what verify --json printed."
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The file to write.")] = Path(
        "report.html"
    ),
    as_json: Json = False,
) -> int:
    """Write what verdicts say, with both sources, as one HTML file that needs no network."""
    from translator.live import shown
    from verify.report.collect import NothingToReportError
    from verify.report.command import NoReportError, make
    from verify.terminal import show_report

    try:
        made = make(paths, out)
    except NothingToReportError as error:
        raise typer.BadParameter(str(error), param_hint="PATH") from None
    except NoReportError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    except OSError as error:
        typer.echo(f"error: {out} can't be written: {error.strerror}", err=True)
        if as_json:
            from translator.documents import to_json
            from verify.verdict import Failure

            typer.echo(to_json(Failure.of(3, f"{out} can't be written: {error.strerror}")))
        return 3
    if as_json:
        from translator.documents import to_json

        typer.echo(to_json(made.document))
    else:
        show_report(made, shown())
    return made.exit_code
