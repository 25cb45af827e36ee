"""`cuteport schema NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import Json


def schema(
    name: Annotated[str, typer.Argument(help="A document's name; left out, the names are listed.")] = "",
    as_json: Json = False,
) -> None:
    """Print the JSON schema of what a command's --json prints, or of a file that it writes."""
    from translator.documents import NAMES, schema_of

    if not name:
        import json

        typer.echo(json.dumps(list(NAMES)) if as_json else "\n".join(NAMES))
        return
    if name not in NAMES:
        raise typer.BadParameter(f"no document {name!r}; known: {', '.join(NAMES)}", param_hint="NAME")
    typer.echo(schema_of(name))
