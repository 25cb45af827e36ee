"""A damaged run folder is told by file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from translator.batch.run_file import list_runs
from translator.cli.main import run
from translator.loop.json_file import line_of
from translator.loop.ledger import Book, Entry

RUN = {
    "started": "2026-01-01T00:00:00+00:00",
    "model": "m",
    "base_url": "",
    "turns": 1,
    "tokens": 1,
    "money": 0.0,
    "seconds": 1.0,
    "candidates": 1,
    "device": "auto",
    "arch": "",
    "asked": [],
}


def entry(name: str) -> Entry:
    return Entry(
        kernel=name, target=name, mode="lift", model="m", outcome="PASSED", attempts=1, turns=3,
        prompt_tokens=1, answer_tokens=1, seconds=1.0, candidates=1,
    )  # fmt: skip


WHOLE = Book(entries=[entry("a"), entry("b")]).model_dump_json(indent=1)
LINES = WHOLE.splitlines()
FIRST, SECOND = (n for n, line in enumerate(LINES, 1) if '"turns"' in line)
MISSING = LINES.index("  {", LINES.index("  },")) + 1  # where the second entry begins


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "runs/old"
    made.mkdir(parents=True)
    (made / "run.json").write_text(json.dumps(RUN, indent=1))
    return made


def without(number: int) -> str:
    return "\n".join(line for n, line in enumerate(LINES, 1) if n != number)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (WHOLE[: WHOLE.index('"turns"') + 3], FIRST, "no JSON"),
        ("\n".join(LINES[: SECOND - 1]), SECOND - 1, "no JSON"),
        (WHOLE.replace('"turns": 3', '"turns": "many"'), FIRST, "entries.0.turns"),
        ("\n".join([*LINES[: SECOND - 1], '   "turns": null,', *LINES[SECOND:]]), SECOND, "entries.1.turns"),
        (without(SECOND), MISSING, "entries.1.turns"),
        ('\n\n["a"]', 3, "valid dictionary"),
        ("[" * 100_000, 1, "nested too deeply"),
        ("", 1, "no JSON"),
    ],
)
def test_a_damaged_ledger_is_told_by_file_and_line(
    folder: Path, capfd: pytest.CaptureFixture[str], text: str, line: int, what: str
) -> None:
    (folder / "ledger.json").write_text(text)
    assert run(["runs", "csv", "old", "--json"]) == 2
    captured = capfd.readouterr()
    said = json.loads(captured.out)["error"]["message"]
    assert "CP5407" in said and f"runs/old/ledger.json:{line}: " in said and what in said, said
    assert said in captured.err
    assert list_runs(Path("runs"))[1] == [said]
    assert (folder / "ledger.json").read_text() == text


def test_bytes_that_are_no_text_and_files_that_are_none_are_told(folder: Path) -> None:
    (folder / "ledger.json").write_bytes(b'{\n "schema_version": 1,\n "entries": "\xff"}')
    assert "ledger.json:3: byte 37 is not UTF-8" in list_runs(Path("runs"))[1][0]
    (folder / "ledger.json").unlink()
    (folder / "ledger.json").mkdir()
    assert "runs/old/ledger.json: Is a directory" in list_runs(Path("runs"))[1][0]


def test_a_damaged_run_file_is_told_by_file_and_line(folder: Path) -> None:
    text = (folder / "run.json").read_text().replace('"turns": 1', '"turns": []')
    (folder / "run.json").write_text(text)
    line = text[: text.index('"turns"')].count("\n") + 1
    assert f"runs/old/run.json:{line}: turns: " in list_runs(Path("runs"))[1][0]


def test_the_line_of_a_place() -> None:
    text = '{"a": [1,\n {"b":\n  "x, }",\n "c": []}],\n "d" : {}}'
    assert [line_of(text, p) for p in ([], ["a"], ["a", 1], ["a", 1, "b"], ["a", 1, "c"], ["d"])] == [
        1, 1, 2, 3, 4, 5,
    ]  # fmt: skip
    assert [line_of(text, p) for p in (["a", 7], ["d", "e"], ["a", 0, "no"], ["no"])] == [1, 5, 1, 1]
