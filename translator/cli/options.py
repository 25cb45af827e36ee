"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Paths: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="PATH", help="CUDA sources, or folders searched for them.")
]
Kernel: TypeAlias = Annotated[
    list[str] | None, typer.Option("-k", "--kernel", metavar="NAME", help="Only this kernel; repeatable.")
]
Include: TypeAlias = Annotated[
    list[str] | None, typer.Option("-I", "--include", metavar="DIR", help="Include folder; repeatable.")
]
Define: TypeAlias = Annotated[
    list[str] | None, typer.Option("-D", "--define", metavar="NAME[=VALUE]", help="Macro; repeatable.")
]
Std: TypeAlias = Annotated[str | None, typer.Option("--std", metavar="STD", help="As in c++17.")]
CompileCommands: TypeAlias = Annotated[
    Path | None,
    typer.Option("--compile-commands", metavar="FILE", help="A compile_commands.json to take flags from."),
]
Instantiate: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--instantiate", metavar="'k<float, 8>'", help="A template instantiation; repeatable."),
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option("-j", "--jobs", metavar="N", help="Processes; by default one per core.")
]
Device: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Where values are compared: auto (a GPU, otherwise the emulator), gpu or emulator.",
    ),
]
Arch: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--arch", metavar="ARCH", help="Target to compile for; by default the GPU's own, or sm_90a."
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Ask this model where the compiler refuses; the key is OPENAI_API_KEY.",
    ),
]
BaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="An OpenAI-compatible endpoint; by default OPENAI_BASE_URL, or OpenAI's own.",
    ),
]
Turns: TypeAlias = Annotated[
    int | None, typer.Option("--turns", metavar="N", help="Answers of the model, per kernel; by default 16.")
]
Tokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", help="Tokens sent and received, per kernel; by default 400000."),
]
Money: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--money", metavar="USD", help="US dollars, per kernel; needs the model's price in `prices`."
    ),
]
Seconds: TypeAlias = Annotated[
    float | None,
    typer.Option("--seconds", metavar="S", help="Time of the whole loop, per kernel; by default 1800."),
]
Candidates: TypeAlias = Annotated[
    int | None,
    typer.Option("--candidates", metavar="N", help="Attempts side by side, per kernel; by default 1."),
]
Junit: TypeAlias = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML.")
]
Sarif: TypeAlias = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0.")
]
GitHub: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--github/--no-github",
        help="Annotations for GitHub, on stderr; by default where GITHUB_ACTIONS is true.",
    ),
]


def numbers(seed: int = 0, timeout: float = 1.0, jobs: int = 1) -> None:
    """Wrong usage where one of them can't be meant."""
    from verify.options import usable

    try:
        usable(seed, timeout, jobs)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
