"""`cuteport report`: what it prints, writes and ends with; and what `cuteport verify` shows on a terminal."""

from __future__ import annotations

import html
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from translator.cli.main import run

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ROOT / "targets"


def target(folder: Path, name: str = "cuteport__saxpy") -> Path:
    return Path(shutil.copytree(TARGETS / name, folder / name))


def test_a_report_on_targets(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target(tmp_path)
    target(tmp_path, "cuteport__reduce_sum")
    out = tmp_path / "r.html"
    assert run(["report", str(tmp_path), "-o", str(out)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [
        ["PASSED", "cuteport__reduce_sum"],
        ["PASSED", "cuteport__saxpy"],
    ]
    assert lines[-2] == "2 kernels: 2 PASSED"
    assert lines[-1].startswith(f"report: {out} (")
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    verdict = json.loads((TARGETS / "cuteport__saxpy/verdict.json").read_text())
    assert html.escape(verdict["proven"]).replace("&#x27;", "&#39;") in text
    assert all(value in text for value in verdict["hashes"].values())


def test_the_default_place_and_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = target(tmp_path)
    (folder / "verdict.json").write_text('{"schema_version": 1')
    assert run(["report", "cuteport__saxpy", "--json"]) == 1
    made = json.loads(capfd.readouterr().out)
    assert (made["exit_code"], made["out"], made["bytes"]) == (
        1,
        "report.html",
        Path("report.html").stat().st_size,
    )
    (kernel,) = made["kernels"]
    assert kernel["status"] == "UNREADABLE"
    assert kernel["problems"][0].startswith("CP9502: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gone"], 2, "gone: no such file or folder"),
        (["empty"], 2, "empty: no target in it"),
        (["cuteport__saxpy", "-o", "mine.txt"], 2, "mine.txt is there and no report"),
        (["cuteport__saxpy", "-o", "empty"], 2, "empty is a folder"),
        (["cuteport__saxpy", "-o", "gone/r.html"], 2, "there is no folder gone"),
        (["cuteport__saxpy", "-o", "/dev/full"], 3, "/dev/full can't be written: No space left on device"),
        ([], 2, "Missing argument"),
    ],
)
def test_bad_input(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    target(tmp_path)
    Path("empty").mkdir()
    Path("mine.txt").write_text("mine\n")
    assert run(["report", *arguments]) == code
    assert said in capfd.readouterr().err
    assert run(["report", *arguments, "--json"]) == code
    assert said in json.loads(capfd.readouterr().out)["error"]["message"]
    assert Path("mine.txt").read_text() == "mine\n"
    assert not Path("report.html").exists()


def on_a_terminal(arguments: list[str], cwd: Path) -> str:
    """What a command writes where stdout and stderr are a terminal of 100 columns."""
    main, side = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm-256color"}
    command = [sys.executable, "-P", "-m", "translator.cli.main", *arguments]
    child = subprocess.Popen(command, cwd=cwd, env=env, stdin=side, stdout=side, stderr=side)
    os.close(side)
    said = b""
    while select.select([main], [], [], 120)[0]:
        try:
            got = os.read(main, 1 << 16)
        except OSError:  # how Linux tells that the other side is closed
            break
        said += got
        if not got:
            break
    os.close(main)
    child.wait(timeout=60)
    return said.decode()


def test_a_terminal_gets_a_bar_and_colours(tmp_path: Path) -> None:
    (target(tmp_path) / "verdict.json").unlink()  # it would be kept, and told of
    said = on_a_terminal(["verify", "cuteport__saxpy", "--stages", "static"], tmp_path)
    assert "5/5" in said  # all stages have a result
    assert "cuteport__saxpy: bench: NOT_RUN" in said  # the latest, beside the bar
    table = [
        line for line in said.replace("\r", "").split("\n") if "cuteport__saxpy" in line and "━" not in line
    ]
    assert table[-1].startswith("\x1b[")
    assert "NOT_RUN  cuteport__saxpy" in table[-1]
    assert "compile NOT_RUN: not asked for (1 target)" in said
    assert "cuteport__saxpy: compile: NOT_RUN not asked for\r" not in said  # told once, below
