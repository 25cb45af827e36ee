"""The child that reads the DSL, and what is kept of its answer."""

from __future__ import annotations

import json
import stat
from importlib import metadata
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.grounding import child
from translator.grounding.api import load_api

DOCUMENT = {"format": 1, "version": "9", "objects": [{"k": "module", "m": {}, "n": "cute"}], "modules": {}}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Counts how often the child is asked."""
    asked: list[float] = []

    def answer(seconds: float) -> bytes:
        asked.append(seconds)
        return json.dumps(DOCUMENT).encode()

    monkeypatch.setattr(child, "_asked", answer)
    monkeypatch.setattr(child, "_key", lambda: "9-key")
    return asked


def test_it_is_asked_once_and_kept(answers: list[float], tmp_path: Path) -> None:
    first, second = load_api(cache=tmp_path / "kept"), load_api(cache=tmp_path / "kept")
    assert first is not None and second is not None
    assert (first.version, second.version, len(answers)) == ("9", "9", 1)
    assert [p.name for p in (tmp_path / "kept").iterdir()] == ["9-key.json"]
    load_api(cache=tmp_path / "kept", renew=True)
    assert len(answers) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "objects": [], "modules": 3}']
)
def test_what_is_broken_is_read_anew(text: str, answers: list[float], tmp_path: Path) -> None:
    (tmp_path / "9-key.json").write_text(text)
    assert load_api(cache=tmp_path) is not None
    assert len(answers) == 1
    assert json.loads((tmp_path / "9-key.json").read_text()) == DOCUMENT


def test_a_folder_that_can_not_be_made_keeps_nothing(answers: list[float], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load_api(cache=tmp_path / "file" / "below") is not None
    assert load_api(cache=tmp_path / "file" / "below") is not None
    assert len(answers) == 2


def test_what_is_kept_is_not_for_others_to_write(answers: list[float], tmp_path: Path) -> None:
    load_api(cache=tmp_path)
    mode = (tmp_path / "9-key.json").stat().st_mode
    assert not mode & (stat.S_IWGRP | stat.S_IWOTH)


def test_the_key_tells_what_the_answer_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_90a")
    one = child._key()
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_100a")
    assert child._key() != one


def test_no_dsl_is_said_with_its_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    sink = Sink()
    assert load_api(sink, cache=tmp_path) is None
    assert [d.code for d in sink.items] == ["CP5205"]
    assert "nvidia-cutlass-dsl is not installed" in sink.items[0].message


@pytest.mark.parametrize(
    ("module", "seconds", "words"),
    [("verify.no_such_module", 60.0, "can't be imported"), ("verify.dsl_api", 0.01, "within 0.01 s")],
)
def test_a_child_that_gives_no_answer_is_said(
    module: str, seconds: float, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(child, "_MODULE", module)
    monkeypatch.setattr(child, "_key", lambda: "9-key")
    sink = Sink()
    assert load_api(sink, seconds=seconds, cache=tmp_path) is None
    assert words in sink.items[0].message
    assert list(tmp_path.iterdir()) == []
