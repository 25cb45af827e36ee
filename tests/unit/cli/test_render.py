"""A finding as text: message, place, quoted line, caret."""

from __future__ import annotations

from pathlib import Path

from translator.diag.diagnostic import Diagnostic, Span
from translator.diag.render import render


def test_the_caret_is_under_the_place_behind_tabs(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_bytes(b"\xef\xbb\xbffirst\r\n\tcall(x);\r\n")
    text = render(Diagnostic("CP0005", Span(str(source), 2, 2, 2, 6), hint="shorter"))
    assert text.splitlines() == [
        "error CP0005: nested too deeply to be translated",
        f"  --> {source}:2:2",
        " 2 |     call(x);",
        "   |     ^^^^",
        "  = shorter",
    ]


def test_a_span_over_lines_and_a_very_long_line(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("x" * 5000 + "\n")
    quoted, carets = render(Diagnostic("CP0005", Span(str(source), 1, 2500, 9, 1))).splitlines()[2:4]
    assert len(quoted) < 200
    assert quoted[carets.index("^")] == "x"


def test_an_unreadable_source_and_no_place_are_fine(tmp_path: Path) -> None:
    gone = tmp_path / "gone.cu"
    assert render(Diagnostic("CP0005", Span(str(gone), 3, 1))).endswith(f"{gone}:3:1")
    assert render(Diagnostic("CP0005")) == "error CP0005: nested too deeply to be translated"


def test_control_characters_of_a_source_do_not_reach_the_terminal(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_bytes(b"a\x1b[31m\xff b\n")
    assert "\x1b" not in render(Diagnostic("CP0005", Span(str(source), 1, 1)))
