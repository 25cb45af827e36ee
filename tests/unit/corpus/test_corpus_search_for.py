"""`corpus search --for`: exit codes, documents, and what people read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_entry import write_entry

from corpus.catalog import Item, load_item
from translator.batch.corpus_documents import SearchForDocument
from translator.cli.main import run as cuteport

TWIN = "__global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] = rsqrtf(x[i]); }\n"
ASKED = """__global__ void mine(float* v) { v[threadIdx.x] = 1.0f / sqrtf(v[threadIdx.x]); }
__global__ void other(float* v) { float* p = new float[2]; v[0] = rsqrtf(p[1]); }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = write_entry(tmp_path / "kernels", cuda=TWIN)
    monkeypatch.setattr("corpus.catalog.load", lambda: ([load_item(folder)], []))
    monkeypatch.setattr(Item, "proof", lambda self, device=None: object())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(ASKED)
    return "k.cu"


def test_each_kernel_gets_its_entries_with_reasons(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cuteport(["corpus", "search", "--for", source]) == 0
    out = capfd.readouterr().out
    assert out.splitlines()[:2] == ["k.cu: mine", "  toys/twice: Doubles a vector"]
    assert "both scale by a reciprocal square root" in out
    assert "k.cu: other" in out and "score" not in out


def test_explain_tells_facts_and_the_parts_of_a_score(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cuteport(["corpus", "search", "--for", source, "-k", "other", "--explain"]) == 0
    out = capfd.readouterr().out
    assert "facts from its text, as the frontend refuses it: CP1117" in out
    assert "idioms: reciprocal root" in out and "sync: none" in out
    assert "score 0." in out and "facts 0.85" in out and "mine" not in out


def test_the_document_holds_facts_parts_and_reasons(source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cuteport(["corpus", "search", "--for", source, "--json"]) == 0
    document = SearchForDocument.model_validate_json(capfd.readouterr().out)
    assert [(k.kernel, k.origin, k.refused_by) for k in document.kernels] == [
        ("mine", "model", []),
        ("other", "text", ["CP1117"]),
    ]
    [hit] = document.kernels[0].hits
    assert (hit.id, hit.parts["facts"]) == ("twice", 1.0) and hit.score > 0.5
    assert document.exit_code == 0 and document.problems == []


@pytest.mark.parametrize(
    ("more", "exit_code", "code"),
    [
        (["--for", "missing.cu"], 2, "CP1001"),
        (["--for", "empty.cu"], 1, "CP1004"),
        (["--for", "host.cu"], 1, "CP1005"),
        (["--for", "k.cu", "-k", "nobody"], 2, "CP1015"),
    ],
)
def test_bad_files_are_the_frontends_errors(
    source: str, capfd: pytest.CaptureFixture[str], more: list[str], exit_code: int, code: str
) -> None:
    Path("empty.cu").write_text("")
    Path("host.cu").write_text("int x;\n")
    assert cuteport(["corpus", "search", *more]) == exit_code
    said = capfd.readouterr()
    assert code in said.err and said.out == ""
    assert cuteport(["corpus", "search", *more, "--json"]) == exit_code
    document = json.loads(capfd.readouterr().out)
    assert (document["exit_code"], [p["code"] for p in document["problems"]]) == (exit_code, [code])


@pytest.mark.parametrize(
    "wrong",
    [[], ["word", "--for", "k.cu"], ["word", "-k", "mine"], ["word", "--explain"], ["word", "--most", "0"]],
)
def test_words_and_a_file_do_not_mix(
    source: str, capfd: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    assert cuteport(["corpus", "search", *wrong]) == 2
    assert capfd.readouterr().out == ""


def test_an_embeddings_endpoint_that_fails_is_a_note(
    source: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("cuteport.toml").write_text('embedding_model = "any"\nbase_url = "http://127.0.0.1:1/v1"\n')
    assert cuteport(["corpus", "search", "--for", source, "-k", "mine"]) == 0
    said = capfd.readouterr()
    assert "CP5101: entries were ranked without embeddings: " in said.err
    assert "toys/twice" in said.out


def test_nothing_proven_is_told(
    source: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Item, "proof", lambda self, device=None: None)
    assert cuteport(["corpus", "search", "--for", source, "-k", "mine"]) == 0
    assert "nothing proven fits" in capfd.readouterr().err
