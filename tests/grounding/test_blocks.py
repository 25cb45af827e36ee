"""Blocks of the corpus by function name, and `cuteport api`."""

from __future__ import annotations

import ast
import json

import pytest

from corpus.inline import inlined
from translator.cli.main import run
from translator.diag.diagnostic import Sink
from translator.documents import schema_of
from translator.grounding import api as api_module
from translator.grounding.api import Api
from translator.grounding.blocks import corpus_blocks


def test_a_block_is_found_by_its_name_and_its_functions() -> None:
    entry = corpus_blocks().lookup("lane_reduce")
    assert entry is not None and entry.block == "lane_reduce"
    assert entry.signature.startswith("(value, operation: cutlass.Constexpr, lanes")
    assert entry.summary.startswith("The result over each group of `lanes`")
    assert corpus_blocks().lookup("no_such_block") is None
    assert corpus_blocks().nearest("reduce_lane")[0] == "lane_reduce"


@pytest.mark.parametrize("name", corpus_blocks().names)
def test_what_is_read_of_a_block_stands_alone(name: str) -> None:
    text = corpus_blocks().read(name)
    assert text is not None
    ast.parse(text)
    places = [p.name for p in inlined(text)]
    assert places[-1] == name and len(places) == len(set(places))
    for entry in corpus_blocks().entries():
        if entry.block == name:
            assert f"def {entry.name}(" in text or f"class {entry.name}" in text


def without_dsl(sink: Sink | None = None) -> Api | None:
    if sink is not None:
        sink.report("CP5205", reason="none here")
    return None


def test_without_a_dsl_blocks_are_still_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api_module, "load_api", without_dsl)
    assert run(["api", "lane_reduce"]) == 0
    assert capsys.readouterr().out.startswith("lane_reduce(value, ")
    assert run(["api", "cute.copy"]) == 3
    assert "CP5205" in capsys.readouterr().err
    assert run(["api", "cute.copy", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["version"], told["names"][0]["what"]) == (3, None, "unknown")
    assert told["problems"] == ["CP5205: the names of CuTe DSL can't be read: none here"]


@pytest.mark.dsl
def test_names_are_printed_and_unknown_ones_have_their_nearest(
    api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api_module, "load_api", lambda sink=None: api)
    assert run(["api", "cute.make_layout", "Float32"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("cute.make_layout(shape: ") and "\n\ncutlass.Float32(" in out
    assert run(["api", "cute.shuffle_sync", "cute.copy"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("no cute.shuffle_sync; nearest: cute.arch.shuffle_sync")
    assert shown.out.startswith("cute.copy(")
    assert run(["api", "cute.arch.exp", "cute.shuffle_sync", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    known, unknown = told["names"]
    assert (known["kind"], known["what"], unknown["what"]) == ("function", "dsl", "unknown")
    assert "cute.math.exp" in known["deprecated"]
    assert unknown["nearest"][0] == "cute.arch.shuffle_sync"
    assert set(told) == set(json.loads(schema_of("api"))["properties"])
