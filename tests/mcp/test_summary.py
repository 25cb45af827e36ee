"""The text of an answer: what of a document is in it, and how long it may become."""

from __future__ import annotations

from typing import Any

from translator.mcp.summary import summary


def verdict(message: str, questions: list[str]) -> dict[str, Any]:
    parity = {"stage": "parity", "status": "AMBIGUOUS", "code": "CP7018", "message": message, "line": 7}
    one = {
        "status": "AMBIGUOUS",
        "proven": "nothing",
        "stages": [parity | {"parity": {"open_questions": questions}}],
    }
    return {"verdicts": [one], "remarks": []}


def test_a_verdict_s_text_has_its_questions_and_where_the_user_answers_them() -> None:
    said = summary(
        "verify", verdict("values agree", ["CP3110: how long is in?"]), ["work/gather"]
    ).splitlines()
    assert said[:3] == [
        "AMBIGUOUS: nothing",
        "  parity: AMBIGUOUS: CP7018 values agree (port.py:7)",
        "  question CP3110: how long is in?",
    ]
    assert said[3].endswith(
        '[[question]] in work/gather/spec.toml as `answer = "…"`; then call verify with work/gather'
    )


def test_long_texts_are_cut_and_say_where_the_rest_is() -> None:
    page = "# CP9999: a page\n" + "a line of it\n" * 5_000
    said = summary("explain", {"code": "CP9999", "page": page})
    assert said.startswith("CP9999: a page\na line of it\n") and len(said) < 32_100
    assert said.splitlines()[-2:] == ["a line of it", "… cut here; all of it: cuteport://explain/CP9999"]
    many = [f"CP3110: {'q' * 5_000}"] * 20
    said = summary("verify", verdict("m" * 9_000, many), ["t"])
    assert "… and 14 more" in said and len(said) < 9_000


def test_an_error_s_text_is_not_cut_where_a_command_line_is_long() -> None:
    message = "CP5501: " + "x" * 900
    assert summary("port", {"error": {"kind": "usage", "message": message}}) == message


def test_a_mapping_row_s_text_has_what_differs() -> None:
    row = {
        "cuda": "f(x)",
        "cute": "g(x)",
        "support": "partial",
        "code": "CP2001",
        "caveat": "rounds",
        "hint": "look",
    }
    assert summary("map_builtin", {"rows": [row]}) == "f(x) -> g(x) (partial); CP2001: rounds look"


def test_unseen_characters_of_a_page_are_shown() -> None:
    said = summary("explain", {"code": "CP1000", "page": "# CP1000: a\n\u202eb"})
    assert said == "CP1000: a\n\\u202eb"
