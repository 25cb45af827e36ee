"""`cuteport doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import Json


def doctor(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Details of each check too.")] = False,
    as_json: Json = False,
) -> int:
    """Check what this machine has, and what each missing piece costs."""
    from translator.doctor import examine

    report = examine()
    if as_json:
        from translator.documents import DoctorDocument, to_json

        typer.echo(to_json(DoctorDocument.of(report)))
    else:
        from translator.terminal import show_doctor

        show_doctor(report, verbose)
    return report.exit_code
