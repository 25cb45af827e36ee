"""`cuteport verify DIR…`: hands over to `verify`, which works without the translator too."""

from __future__ import annotations

import typer


def verify(context: typer.Context) -> int:
    """Check ports again from their folders alone: static, compile, parity, time (`verify --help`)."""
    from translator.runs import record_bug
    from verify.__main__ import main

    return main(context.args, on_bug=lambda error: typer.echo(record_bug(error), err=True))
