"""`cuteport runs …`: what runs with a model asked, cost and came to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import BaseUrl, Candidates, Jobs, Json, Money, Seconds, Tokens, Turns

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Runs with a model: list, resume, compare, costs as CSV.",
)
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or its name under runs/.")]


@app.callback()
def _root() -> None:
    pass


@app.command("list")
def list_(as_json: Json = False) -> int:
    """The runs with a model, oldest first: kernels, tokens, money, seconds."""
    from translator.batch.run_file import list_runs
    from translator.settings import load
    from translator.terminal import show_runs

    found, problems = list_runs(load().runs)
    for problem in problems:
        typer.echo(f"warning: {problem}", err=True)
    if as_json:
        from translator.batch.run_documents import RunsDocument
        from translator.documents import to_json

        typer.echo(to_json(RunsDocument(runs=found, problems=problems)))
    else:
        show_runs(found)
    return 1 if problems else 0


@app.command("resume")
def resume(
    run: Run,
    base_url: BaseUrl = None,
    turns: Turns = None,
    tokens: Tokens = None,
    money: Money = None,
    seconds: Seconds = None,
    candidates: Candidates = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> int:
    """Go on with the kernels of a run that did not pass, after what its transcripts hold already."""
    from translator.batch.improve import resume as go_on
    from translator.settings import load
    from translator.terminal import Progress, show_ledger

    given = {
        "base_url": base_url,  # never the run's: who wrote run.json would choose where the key is sent
        "turns": turns,
        "tokens": tokens,
        "money": money,
        "seconds": seconds,
        "candidates": candidates,
        "jobs": jobs,
    }
    progress = Progress()
    done = go_on(run, load(given), {k for k, v in given.items() if v is not None}, progress)
    progress.clear()
    if as_json:
        from translator.batch.run_documents import RunDocument
        from translator.documents import to_json

        typer.echo(to_json(RunDocument.of(done)))
    else:
        show_ledger(done)
    return done.exit_code


@app.command("replay")
def replay(run: Run, jobs: Jobs = None, as_json: Json = False) -> int:
    """Judge anew what a run's models said, from its transcripts: no endpoint. Writes a new run folder."""
    from translator.batch.improve import replay as again
    from translator.settings import load
    from translator.terminal import Progress, show_ledger

    progress = Progress()
    done = again(run, load({"jobs": jobs}), progress)
    progress.clear()
    if as_json:
        from translator.batch.run_documents import RunDocument
        from translator.documents import to_json

        typer.echo(to_json(RunDocument.of(done)))
    else:
        show_ledger(done)
    return done.exit_code


@app.command("compare")
def compare(old: Run, new: Run, as_json: Json = False) -> int:
    """Two runs side by side, kernel by kernel. 1 where a kernel that passed in OLD does not in NEW."""
    from translator.batch.compare import compared
    from translator.settings import load
    from translator.terminal import show_comparison

    found = compared(old, new, load().runs)
    if as_json:
        from translator.documents import to_json

        typer.echo(to_json(found))
    else:
        show_comparison(found)
    return found.exit_code


@app.command("csv")
def csv(run: Run, as_json: Json = False) -> int:
    """The ledger of a run as CSV, one line a kernel; with --json as the document of the run."""
    from translator.batch.run_file import folder_of, read_run
    from translator.loop.ledger import as_csv
    from translator.settings import load

    held = read_run(folder_of(run, load().runs))
    if as_json:
        from translator.batch.run_documents import RunDocument
        from translator.documents import to_json

        # 0: what a kernel came to is what was asked for here, not a failure of the asking
        typer.echo(to_json(RunDocument(exit_code=0, folder=held.folder, entries=held.entries)))
    else:
        typer.echo(as_csv(held.entries), nl=False)
    return 0
