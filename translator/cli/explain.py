"""`cuteport explain CODE`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import Json


def explain(
    code: Annotated[
        str, typer.Argument(help="A diagnostic code, as in CP2103; left out, all are listed.", metavar="CODE")
    ] = "",
    as_json: Json = False,
) -> None:
    """Print the page of a diagnostic code."""
    from translator.explain import page, summary

    text = page(code) if code else summary()
    if text is None:
        raise typer.BadParameter(f"no code {code!r}; `cuteport explain` lists them", param_hint="CODE")
    if as_json:
        from translator.documents import ExplainDocument, to_json

        typer.echo(to_json(ExplainDocument.of(code, text)))
    else:
        typer.echo(text.rstrip("\n"))
