"""What `corpus expand`, `inline`, `add` and `new` did, as a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_verdicts import concluded, mutation

from corpus.catalog import Item, load
from translator.batch.corpus_documents import WrittenDocument
from translator.cli.main import run as cuteport
from translator.documents import schema_of


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> WrittenDocument:
    capsys.readouterr()
    code = cuteport(["corpus", *arguments, "--json"])
    made = json.loads(capsys.readouterr().out)
    assert made["exit_code"] == code
    assert set(made) == set(json.loads(schema_of("corpus-written"))["properties"])
    return WrittenDocument.model_validate(made)


def test_expand_and_inline(item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "out"
    made = document(capsys, "expand", str(into))
    assert made.written == [str(into / "twice__f32"), str(into / "twice__f16")]
    assert document(capsys, "inline").written == []

    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})
    kernel = item.folder / "kernel.py"
    kernel.write_text(kernel.read_text().replace("FIRST = 1", "FIRST = 5"))
    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})
    made = document(capsys, "inline")
    assert (made.exit_code, made.written, made.stale) == (0, [str(kernel)], ["twice"])

    kernel.write_text("# -- block tow\n")
    made = document(capsys, "inline")
    assert [(p.code, p.line) for p in made.problems] == [("CP5004", 1)] and made.exit_code == 1


def test_new_and_add(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "kernels"
    root.mkdir()
    monkeypatch.setattr("corpus.catalog.KERNELS", root)
    monkeypatch.setattr("corpus.catalog.load", lambda: load(root))
    said = ["--as=toys/double", "--license=MIT", "--origin=a project", "--summary=Doubles a vector"]
    shown = document(capsys, "add", str(target), *said, "--dry-run")
    assert shown.written == [] and '+license = "MIT"' in shown.diff and list(root.iterdir()) == []
    added = document(capsys, "add", str(target), *said)
    assert (added.written, added.diff) == ([str(root / "toys/double")], shown.diff)
    assert added.next[-1] == "cuteport corpus check double" and "TODO" in added.next[0]

    made = document(capsys, "new", "toys/thrice")
    assert made.written == [str(root / "toys/thrice")]
    assert made.next[-1] == "cuteport corpus check thrice --device emulator"


@pytest.mark.parametrize("arguments", [["expand", "out", "gone"], ["inline", "gone"], ["new", "Toys/x"]])
def test_what_can_not_be_done_is_the_error_document(
    item: Item, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert cuteport(["corpus", *arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "usage"
