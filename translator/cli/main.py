"""The `cuteport` command: the list of its subcommands, and how each way of ending becomes an exit code."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

import typer

from translator import __version__
from translator.cli import (
    analyze,
    api,
    bisect,
    check,
    corpus,
    doctor,
    emulate,
    explain,
    improve,
    mapping,
    mcp,
    port,
    report,
    runs,
    schema,
    spec,
    verify,
)

# What the parser raises for wrong usage; typer exports only this descendant of it.
_WRONG_USAGE: type[typer.BadParameter] = typer.BadParameter.__mro__[2]

# What writing to stdout fails with: a full disk, a quota, a limit, a reader that left.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE})

# What the system refuses of a file that was named or is to be written.
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_ENDING = 10.0  # seconds that an interrupted command may take to end: children die at once, threads in turns
_told: list[float] = []  # when it was interrupted first

app = typer.Typer(
    name="cuteport",
    help="Port CUDA C++ kernels to NVIDIA's CuTe DSL and prove the port.",
    epilog="Exit codes: 0 done and verified as far as this machine can; 1 something was refused or failed a"
    " check; 2 wrong usage, or a spec that can't be used; 3 the environment lacks something; 4 a bug in"
    " cuteport; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("port")(port.port)
app.command("analyze")(analyze.analyze)
app.command("lift")(improve.lift)
app.command("tune")(improve.tune)
app.add_typer(runs.app, name="runs")
app.command("verify")(verify.verify)
app.command("report")(report.report)
app.command("check")(check.check)
app.command("bisect")(bisect.bisect)
app.command("emulate")(emulate.emulate)
app.add_typer(spec.app, name="spec")
app.add_typer(corpus.app, name="corpus")
app.command("map")(mapping.map_)
app.command("api")(api.api)
app.command("explain")(explain.explain)
app.command("schema")(schema.schema)
app.command("doctor")(doctor.doctor)
app.command("mcp")(mcp.mcp)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"cuteport {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def main() -> NoReturn:
    """The console script. Never lets a Python traceback through."""
    signal.signal(signal.SIGTERM, _interrupted)
    # Not where it is ignored, as in the background; and a server has a handler of its own.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and sys.argv[1:2] != ["mcp"]:
        signal.signal(signal.SIGINT, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a path may be no text of the terminal's
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    if _told:  # the interpreter's own end would give the signals back their defaults, and 130 away
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _stdout_failed(error)
    sys.stderr.flush()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of `cuteport ARGUMENTS…`; everything that goes wrong is said on stderr.

    With --json it is also said in the one document on stdout.
    """
    try:
        # Not `app(…)`, which takes an interruption and a reader that left for answers of the command's own.
        command = typer.main.get_command(app)
        with command.make_context("cuteport", _spelled(arguments)) as context:
            result = command.invoke(context)
        return result if isinstance(result, int) else 0
    except typer.Exit as done:
        return done.exit_code
    except _WRONG_USAGE as error:
        error.show(sys.stderr)
        return _failed(arguments, 2, error.format_message())
    except (KeyboardInterrupt, typer.Abort) as interruption:
        on = f"; {interruption}" if str(interruption) else ""  # how a run with a model goes on
        typer.echo(f"interrupted; what was finished is kept{on}", err=True)
        return _failed(arguments, 130, "interrupted")
    except OSError as error:
        if error.filename is not None and error.errno in _UNWRITABLE | _DENIED:
            name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
            if error.errno in _DENIED:  # perhaps a file that was only to be read
                text = f"{name}: {error.strerror}"
                typer.echo(f"error: {text}", err=True)
            else:
                from translator.output import unwritten

                text = f"CP0002: {unwritten(error)}"
                typer.echo(f"error {text}", err=True)
            return _failed(arguments, 3, text)
        return _stdout_failed(error) if error.errno in _UNWRITABLE else _bug(arguments, error)
    except Exception as error:
        from translator.settings import SettingsError

        if isinstance(error, SettingsError):
            typer.echo(f"error: {error}", err=True)
            return _failed(arguments, 2, str(error))
        if (lacking := _endpoint(error)) is not None:
            typer.echo(f"error {lacking}", err=True)
            return _failed(arguments, 3, lacking)
        return _bug(arguments, error)


def _endpoint(error: Exception) -> str | None:
    """What is wrong with the endpoint that was to be asked, if that is what `error` says."""
    from translator.llm.messages import LlmError

    return f"{error.code}: {error.message}" if isinstance(error, LlmError) else None


def _spelled(arguments: list[str]) -> list[str]:
    """The parser knows no options whose value may be left out."""
    if arguments[:1] != ["verify"]:
        return arguments
    from verify.options import with_values

    return with_values(arguments)


def _bug(arguments: list[str], error: BaseException) -> int:
    from translator.runs import record_bug

    typer.echo(record_bug(error), err=True)
    return _failed(arguments, 4, f"{type(error).__name__}: {error}")


def _failed(arguments: list[str], code: int, message: str) -> int:
    if "--json" in arguments:
        from translator.documents import to_json
        from verify.verdict import Failure

        typer.echo(to_json(Failure.of(code, message)))
    return code


def _stdout_failed(error: OSError) -> int:
    """A closed pipe is the reader's choice; anything else on stdout is the machine's lack."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())  # so that the interpreter's own flush at exit is silent
    if isinstance(error, BrokenPipeError):
        return 141
    typer.echo(f"error: the output can't be written: {error.strerror}", err=True)
    return 3


def _interrupted(number: int, frame: FrameType | None) -> None:
    """The first time the command ends what it began and says how far it got; told again, it goes on so.
    One that does not come to an end is ended; its children go with it."""
    now = time.monotonic()
    if not _told:
        _told.append(now)
        raise KeyboardInterrupt
    if now - _told[0] > _ENDING:
        os._exit(130)


if __name__ == "__main__":
    main()
