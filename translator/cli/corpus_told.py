"""What the commands of `cuteport corpus` share: which entries, and what can't be used told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from corpus.catalog import Item
    from corpus.problem import Problem

Names = Annotated[list[str] | None, typer.Argument(metavar="[ID]", help="Entries; all if none is named.")]


def told(work: Callable[[], int], as_json: bool = False) -> int:
    """`work`, with what can't be used told on stderr, and as a document where one is asked for."""
    from corpus.problem import CorpusError

    try:
        return work()
    except CorpusError as e:
        tell(e.problems)
        code = 2 if any(p.code in ("CP5011", "CP5012") for p in e.problems) else 1
        if as_json:
            from translator.documents import to_json
            from verify.verdict import Failure

            typer.echo(to_json(Failure.of(code, "\n".join(map(str, e.problems)))))
        return code


def tell(problems: list[Problem]) -> None:
    for p in problems:
        typer.echo(str(p), err=True)


def chosen(names: list[str] | None) -> tuple[list[Item], list[Problem]]:
    from corpus.catalog import find, load

    items, problems = load()
    if not names:
        return items, problems
    found = {item.folder: item for item in (find(n, items, problems) for n in names)}  # each once
    return list(found.values()), []
