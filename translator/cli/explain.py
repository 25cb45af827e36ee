"""`cuteport explain CODE`."""

from __future__ import annotations

import typer


def explain(
    code: str = typer.Argument(help="A diagnostic code, as in CP2103.", metavar="CODE"),
    as_json: bool = typer.Option(False, "--json", help="One JSON document on stdout."),
) -> None:
    """Print the page of a diagnostic code."""
    from translator.diag.explain import known_codes, page

    text = page(code)
    if text is None:
        raise typer.BadParameter(f"no code {code!r}; known: {', '.join(known_codes())}", param_hint="CODE")
    if as_json:
        from translator.documents import ExplainDocument, to_json

        typer.echo(to_json(ExplainDocument.of(code, text)))
    else:
        typer.echo(text.rstrip("\n"))
