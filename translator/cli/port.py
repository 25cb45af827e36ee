"""`cuteport port PATH…`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from translator.cli.options import (
    Arch,
    BaseUrl,
    Candidates,
    CompileCommands,
    Define,
    Device,
    Include,
    Instantiate,
    Jobs,
    Json,
    Kernel,
    Model,
    Money,
    Paths,
    Seconds,
    Std,
    Tokens,
    Turns,
)


def port(
    paths: Paths,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="Where the ports go, by default out/.")
    ] = None,
    kernel: Kernel = None,
    include: Include = None,
    define: Define = None,
    std: Std = None,
    compile_commands: CompileCommands = None,
    instantiate: Instantiate = None,
    jobs: Jobs = None,
    arch: Arch = None,
    device: Device = None,
    opt_level: Annotated[
        int | None,
        typer.Option(
            "--opt-level", metavar="0-3", help="Pin the DSL's optimisation level, where one miscompiles."
        ),
    ] = None,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Translate only; compile and compare nothing.")
    ] = False,
    tasks: Annotated[
        bool,
        typer.Option(
            "--tasks",
            help="For each refused kernel, write the folder that a port by hand needs: the original, a spec, "
            "task.json. The kernel stays REFUSED, and the exit code 1.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a port.py or spec.toml that was edited by hand.")
    ] = False,
    keep_stages: Annotated[
        bool, typer.Option("--keep-stages", help="Leave each stage's result in runs/<time>-<id>/.")
    ] = False,
    model: Model = None,
    base_url: BaseUrl = None,
    turns: Turns = None,
    tokens: Tokens = None,
    money: Money = None,
    seconds: Seconds = None,
    candidates: Candidates = None,
    as_json: Json = False,
) -> int:
    """Port the CUDA kernels of PATH… to CuTe DSL, and check the ports as far as this machine can."""
    from translator.batch.driver import port as run
    from translator.settings import load
    from translator.terminal import Progress, show_port, tell_limits

    settings = load(
        {
            "out": out,
            "kernels": kernel,
            "include": include,
            "define": define,
            "std": std,
            "compile_commands": compile_commands,
            "instantiate": instantiate,
            "jobs": jobs,
            "arch": arch,
            "opt_level": opt_level,
            "device": device,
            "verify": False if no_verify else None,
            "tasks": tasks or None,
            "force": force or None,
            "keep_stages": keep_stages or None,
            "model": model,
            "base_url": base_url,
            "turns": turns,
            "tokens": tokens,
            "money": money,
            "seconds": seconds,
            "candidates": candidates,
        }
    )
    progress = Progress()
    report = run(paths, settings, progress)
    progress.clear()
    tell_limits(report)
    if as_json:
        from translator.documents import PortDocument, to_json

        typer.echo(to_json(PortDocument.of(report)))
    else:
        show_port(report)
    return report.exit_code
