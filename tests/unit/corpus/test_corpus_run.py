"""Entries that are verified here: what is kept, and what the machine lacks."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_verdicts import compiled_only, mutation, verdict_of, write_verdict

import translator.batch.corpus_check as check
from corpus.catalog import Item, load_item
from translator.cli.main import run as cuteport
from verify.options import Options
from verify.verdict import StageResult, Status, Verdict


def test_what_is_judged_is_kept_when_the_rest_is_interrupted(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "kernels/toys/twin"
    shutil.copytree(item.folder, other)
    for name in ("entry.toml", "kernel.py", "spec.toml"):
        (other / name).write_text((other / name).read_text().replace("twice", "twin"))
    text = (other / "entry.toml").read_text()
    (other / "entry.toml").write_text(text.replace("[same]", '[beside]\ntwice = "it is slower"\n\n[same]'))
    monkeypatch.setattr("corpus.catalog.load", lambda: ([item, load_item(other)], []))

    def verify(targets: list[Path], options: Options, _: object = None) -> Iterator[Verdict]:
        for t in targets:
            if t.name == "twin__f16":
                raise KeyboardInterrupt
            yield verdict_of(t, mutation(20, ()))

    monkeypatch.setattr(check, "verify_targets", verify)
    assert cuteport(["corpus", "check"]) == 130
    assert "interrupted; what was finished is kept" in capsys.readouterr().err
    assert load_item(item.folder).proof() is not None and load_item(other).proof() is None


def test_some_entries_are_judged_at_a_time(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def verify(targets: list[Path], options: Options, _: object = None) -> Iterator[Verdict]:
        asked.append(len(targets))
        return (verdict_of(t, mutation(20, ())) for t in targets)

    monkeypatch.setattr(check, "verify_targets", verify)
    every = []
    for k in range(9):
        shutil.copytree(item.folder, tmp_path / f"more/toys{k}/twice{k}")
        place = tmp_path / f"more/toys{k}/twice{k}/entry.toml"
        place.write_text(
            item.text("entry.toml").replace('"twice"', f'"twice{k}"').replace("toys", f"toys{k}")
        )
        every.append(check.Checked(load_item(place.parent)))
    check.run(every, tmp_path / "t", Options(jobs=2), lambda _: None)
    assert asked == [8, 8, 1, 1] and all(c.proof is not None for c in every)


def test_a_machine_that_can_not_compare_values_is_no_fault_of_the_entry(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def verify(targets: list[Path], options: Options, _: object = None) -> Iterator[Verdict]:
        return (compiled_only(t) for t in targets)

    monkeypatch.setattr(check, "verify_targets", verify)
    assert cuteport(["corpus", "check", "twice", "--device", "gpu"]) == 3
    assert "CP5006: twice__f32: COMPILED: by hand" in capsys.readouterr().err
    for t in check.expand_all([item], tmp_path / "t"):
        write_verdict(t, compiled_only(t))
    assert cuteport(["corpus", "check", "twice", "--verdicts", str(tmp_path / "t")]) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_how_far_it_is(
    item: Item, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    def verify(
        targets: list[Path], options: Options, on_stage: Callable[[StageResult], None]
    ) -> Iterator[Verdict]:
        for t in targets:
            on_stage(StageResult(stage="static", target=str(t), status=Status.PASSED))
            yield verdict_of(t, mutation(20, ()))

    monkeypatch.setattr(check, "verify_targets", verify)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert cuteport(["corpus", "check", "twice", "--device", "emulator"]) == 0
    shown = re.findall(r"\r(check \S+ twice__\w+: static PASSED)", capsys.readouterr().err)
    lines = [f"check {k}/2 twice__{name}: static PASSED" for k, name in enumerate(("f32", "f16"), 1)]
    assert shown == (lines if terminal else [])
