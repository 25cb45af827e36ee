"""`cuteport mcp`: the tools for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    allow: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow", metavar="DIR", help="Sources may be read below it; repeatable; by default here."
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="DIR", help="All is written below it, by default runs/<time>-<id>/."),
    ] = None,
    unconfined: Annotated[
        bool,
        typer.Option(
            "--unconfined", help="Do not have the kernel confine what tools read: all targets are your own."
        ),
    ] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Limit of every tool; 0 for each tool's own.")
    ] = 0.0,
    skill: Annotated[
        Path | None,
        typer.Option("--skill", metavar="DIR", help="Write the skill for agents to DIR/cuteport, and end."),
    ] = None,
) -> int:
    """Serve the commands as tools to an agent, over the Model Context Protocol on stdin and stdout."""
    from translator.mcp.roots import RefusedError
    from translator.mcp.start import StartError, start

    if skill is not None:
        from translator.mcp.skill import write
        from translator.outcome import EXIT_DONE, EXIT_ENVIRONMENT, EXIT_FAILED

        try:
            typer.echo(str(write(skill)))
        except RefusedError as refused:
            typer.echo(f"error {refused}", err=True)
            return EXIT_ENVIRONMENT if refused.kind == "environment" else EXIT_FAILED
        return EXIT_DONE
    try:
        return start(allow or (), root, unconfined=unconfined, seconds=seconds)
    except StartError as error:
        raise typer.BadParameter(str(error)) from None
