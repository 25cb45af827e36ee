"""`cuteport doctor`."""

from __future__ import annotations

import typer

from translator.cli.options import Json


def doctor(as_json: Json = False) -> int:
    """Check what this machine has, and what each missing piece costs."""
    from translator.doctor import examine

    report = examine()
    if as_json:
        from translator.documents import DoctorDocument, to_json

        typer.echo(to_json(DoctorDocument.of(report)))
    else:
        from translator.terminal import show_doctor

        show_doctor(report)
    return report.exit_code
