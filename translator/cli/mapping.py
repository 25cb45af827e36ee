"""`cuteport map NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import Json


def map_(
    name: Annotated[str, typer.Argument(help="A CUDA builtin, as in __shfl_xor_sync.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="The whole table, as Markdown.")] = False,
    as_json: Json = False,
) -> int:
    """Print how a CUDA builtin is written in CuTe DSL, and with what support and caveats."""
    from translator.mapping.coverage import describe, find, language, load_rules
    from translator.mapping.coverage import markdown as table_of
    from translator.mapping.coverage import nearest as like

    if not name and not markdown and not as_json:
        raise typer.BadParameter("give a name, or --markdown for the whole table", param_hint="NAME")
    rules = find(name) if name else list(load_rules())
    word = language(name)
    if as_json:
        from translator.documents import MapDocument, to_json

        typer.echo(to_json(MapDocument.of(name, rules)))
    elif not rules and word:
        typer.echo(word)
    elif not rules:
        typer.echo(f"no row for {name}; nearest: {', '.join(like(name)) or 'none'}", err=True)
    else:
        typer.echo(table_of(rules) if markdown else describe(rules))
    return 0 if rules or word else 1
