"""`cuteport analyze PATH…`."""

from __future__ import annotations

from typing import Annotated

import typer

from translator.cli.options import (
    CompileCommands,
    Define,
    Include,
    Instantiate,
    Jobs,
    Json,
    Kernel,
    Paths,
    Std,
)


def analyze(
    paths: Paths,
    kernel: Kernel = None,
    include: Include = None,
    define: Define = None,
    std: Std = None,
    compile_commands: CompileCommands = None,
    instantiate: Instantiate = None,
    jobs: Jobs = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="One row per kernel, as CSV.")] = False,
    as_json: Json = False,
) -> int:
    """Say what porting PATH… would take, kernel by kernel; writes nothing."""
    from translator.batch.preflight import analyze as run
    from translator.settings import load
    from translator.terminal import Progress, show_analysis, tell_limits

    settings = load(
        {
            "kernels": kernel,
            "include": include,
            "define": define,
            "std": std,
            "compile_commands": compile_commands,
            "instantiate": instantiate,
            "jobs": jobs,
        }
    )
    progress = Progress()
    report = run(paths, settings, progress)
    progress.clear()
    tell_limits(report.report)
    if as_json:
        from translator.documents import AnalyzeDocument, to_json

        typer.echo(to_json(AnalyzeDocument.of(report)))
    elif as_csv:
        typer.echo(report.csv(), nl=False)
    else:
        show_analysis(report)
    return report.exit_code
