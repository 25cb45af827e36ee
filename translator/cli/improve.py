"""`cuteport lift DIR…` and `cuteport tune DIR…`: a model makes verified ports faster, `verify` decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import (
    Arch,
    BaseUrl,
    Candidates,
    Device,
    Jobs,
    Json,
    Model,
    Money,
    Seconds,
    Tokens,
    Turns,
)

Targets = Annotated[
    list[Path], typer.Argument(metavar="DIR", help="Folders of verified ports, with spec.toml and original/.")
]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="DIR", help="Where the faster ports go, by default out/."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace folders that are there already.")]


def lift(
    dirs: Targets,
    out: Out = None,
    model: Model = None,
    base_url: BaseUrl = None,
    turns: Turns = None,
    tokens: Tokens = None,
    money: Money = None,
    seconds: Seconds = None,
    candidates: Candidates = None,
    jobs: Jobs = None,
    arch: Arch = None,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Have a model rewrite faithful ports with tiles and vector copies; kept is what passes and is faster."""
    return _improve("lift", dirs, as_json, locals())


def tune(
    dirs: Targets,
    out: Out = None,
    model: Model = None,
    base_url: BaseUrl = None,
    turns: Turns = None,
    tokens: Tokens = None,
    money: Money = None,
    seconds: Seconds = None,
    candidates: Candidates = None,
    jobs: Jobs = None,
    arch: Arch = None,
    device: Device = None,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Have a model search variants of verified ports within a budget; kept is the fastest that passes."""
    return _improve("tune", dirs, as_json, locals())


_FLAGS = (
    "out",
    "model",
    "base_url",
    "turns",
    "tokens",
    "money",
    "seconds",
    "candidates",
    "jobs",
    "arch",
    "device",
)


def _improve(mode: str, dirs: list[Path], as_json: bool, given: dict[str, object]) -> int:
    from translator.batch.improve import improve
    from translator.settings import load
    from translator.terminal import Progress, show_ledger

    settings = load({name: given[name] for name in _FLAGS} | {"force": given["force"] or None})
    progress = Progress()
    done = improve("lift" if mode == "lift" else "tune", dirs, settings, progress)
    progress.clear()
    if as_json:
        from translator.batch.run_documents import RunDocument
        from translator.documents import to_json

        typer.echo(to_json(RunDocument.of(done)))
    else:
        show_ledger(done)
    return done.exit_code
