"""`--json` means exactly one JSON document, whatever goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import verify.__main__ as verify_main
from translator.cli.main import app, run
from translator.documents import Failure

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "gone"],
        ["verify"],
        ["verify", "gone", "--stages", "nonsense"],
        ["verify", "gone", "--arch", "sm_1"],
        ["verify", "gone", "--device", "tpu"],
        ["explain", "CP9999"],
        ["schema", "nonsense"],
        ["port"],
        ["port", "k.cu", "--no-such"],
        ["port", "k.cu", "--arch", "sm_1"],
        ["analyze", "--jobs", "many", "k.cu"],
        ["nonsense"],
    ],
)
def test_wrong_usage_is_a_document(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*arguments, "--json"]) == 2
    captured = capfd.readouterr()
    failure = Failure.model_validate_json(captured.out)
    assert (failure.exit_code, failure.error.kind) == (2, "usage")
    assert failure.error.message
    assert captured.err
    assert run(arguments) == 2
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [(OSError(5, "no"), 3, "environment"), (RuntimeError("odd"), 4, "bug"), (KeyboardInterrupt(), 130, "")],
)
def test_failures_of_verify_are_documents(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: BaseException,
    code: int,
    kind: str,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verify_main, "verify_targets", fails)
    assert run(["verify", ".", "--json"]) == code
    document = json.loads(capfd.readouterr().out)
    assert document["exit_code"] == code
    assert document.get("error", {}).get("kind", "") == kind


def test_a_bug_in_a_command_is_a_document(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails() -> None:
        raise RuntimeError("odd")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("translator.doctor.examine", fails)
    assert run(["doctor", "--json"]) == 4
    failure = Failure.model_validate_json(capfd.readouterr().out)
    assert (failure.error.kind, failure.error.message) == ("bug", "RuntimeError: odd")


def test_an_interruption_is_a_document(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("translator.doctor.examine", fails)
    assert run(["doctor", "--json"]) == 130
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert (document["exit_code"], document["error"]["kind"]) == (130, "interrupted")
    assert "interrupted" in captured.err


def test_verify_alone_says_it_too(tmp_path: Path) -> None:
    for arguments in (["--json"], ["gone", "--json"], ["gone", "--json", "--stages", "x"]):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "verify", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 2
        assert Failure.model_validate_json(done.stdout).exit_code == 2


def test_verify_helps_like_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--help"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith("Usage: cuteport verify [OPTIONS]")
    parser = verify_main._parser()
    options = {o for action in parser._actions for o in action.option_strings if o.startswith("--")}
    assert options <= set(shown.replace(",", " ").split())


def test_every_command_takes_json() -> None:
    def without(command: Any, name: str) -> Iterator[str]:
        if below := getattr(command, "commands", None):
            for one in below:
                yield from without(below[one], f"{name} {one}")
        elif not any("--json" in p.opts for p in command.params):
            yield name

    assert list(without(typer.main.get_command(app), "cuteport")) == ["cuteport mcp"]  # which is a server
