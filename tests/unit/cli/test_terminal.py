"""What people see: stages as they begin, each long sentence once, one line a check."""

from __future__ import annotations

import io
import sys

import pytest

from translator.diag.diagnostic import Span
from translator.doctor import Check, Examination
from translator.outcome import Finding, Outcome, Report, Stage
from translator.terminal import Progress, counted, show_doctor, show_port

LONG = "parity: case n=1, seed 0: 12 of 33 elements differ, first y[4]: port 1.0, original 2.0 (max abs 1)"


def test_counts_in_words() -> None:
    assert (counted(0, "file"), counted(1, "file"), counted(2, "file")) == ("0 files", "1 file", "2 files")


def test_elsewhere_than_on_a_terminal_each_stage_says_that_it_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress()
    progress("translated", 0, 3, "")
    progress("translated", 1, 3, "a.cu")
    progress("measured", 0, 1, "")
    progress("compiled", 0, 2, "")
    progress("compared", 0, 1, "")
    progress.clear()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "translating 3 files",
        "measuring buffers in the emulator for 1 draft",
        "compiling 2 ports",
        "comparing with the original: 1 port",
    ]


def test_on_a_terminal_one_line_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    progress = Progress()
    progress("translated", 0, 3, "")
    progress("translated", 2, 3, "a.cu")
    assert screen.getvalue() == "\rtranslating 3 files\rtranslated 2/3 a.cu"
    progress.clear()
    assert "\n" not in screen.getvalue()


def test_a_long_sentence_stands_once(capsys: pytest.CaptureFixture[str]) -> None:
    stages = (Stage("sanitize", "NOT_RUN", why="no GPU here"), Stage("bench", "NOT_RUN", why="no GPU here"))
    failed = Finding("CP7012", "error", LONG, Span("k.cu"))
    show_port(Report([Outcome("k.cu", "k", "", "WRONG_VALUES", 1, (failed,), stages, "out/k")], files=1))
    text = capsys.readouterr().out
    assert text.count(LONG) == 1
    assert "k  WRONG_VALUES  0.00 s  out/k CP7012 parity: case n=1, seed 0: 12 of 33 elements" in text
    assert text.count("no GPU here") == 1
    assert "sanitize, bench NOT_RUN: no GPU here" in text
    assert "1 kernel from 1 file in " in text


def test_details_of_a_check_are_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    examined = Examination((Check("CuTe DSL", "ok", "4.8.1, 1 known issue", more="known issue: loops"),))
    show_doctor(examined)
    short = capsys.readouterr().out.splitlines()
    assert short[0] == "ok      CuTe DSL: 4.8.1, 1 known issue"
    assert short[-1] == "--verbose shows details"
    show_doctor(examined, verbose=True)
    long = capsys.readouterr().out.splitlines()
    assert long[1] == "         known issue: loops"
    assert "--verbose shows details" not in long
