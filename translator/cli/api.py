"""`cuteport api NAME…`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import Json


def api(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="As in cute.arch.shuffle_sync_bfly, or a block's.")
    ],
    as_json: Json = False,
) -> int:
    """Print the signature and documentation of names of the installed CuTe DSL, or of building blocks."""
    from translator.diag.diagnostic import Sink
    from translator.diag.render import render
    from translator.grounding.api import load_api
    from translator.grounding.asked import answer, shown
    from translator.grounding.blocks import corpus_blocks
    from translator.outcome import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_FAILED

    sink = Sink()
    known, blocks = load_api(sink), corpus_blocks()
    told = [answer(n, known, blocks) for n in names]
    found = all(t.found for t in told)
    code = EXIT_DONE if found else EXIT_ENVIRONMENT if known is None else EXIT_FAILED
    if as_json:
        from translator.api_document import ApiDocument
        from translator.documents import to_json

        typer.echo(to_json(ApiDocument.of(code, told, known, sink.items)))
    else:
        texts = [shown(t, blocks) for t in told if t.found]
        if texts:
            typer.echo("\n\n".join(texts))
        for t in told:
            if not t.found and known is not None:
                typer.echo(shown(t, blocks), err=True)
    if not found:
        for d in sink.items:
            typer.echo(render(d), err=True)
    return code
