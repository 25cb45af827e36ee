"""Ranking: facts and words decide, only what is proven is found, and embeddings can fail."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import translator.retrieval.rank as rank_module
from corpus.catalog import Item, load, load_item
from translator.diag.diagnostic import Sink
from translator.retrieval.embeddings import Endpoint, embedder
from translator.retrieval.index import Index
from translator.retrieval.rank import EmbeddingError, Exemplar, Ranked, diverse, exemplars, rank
from translator.retrieval.read import Query, of_text, twin
from translator.settings import Settings

SUM = """__global__ void {name}(float* y, const float* x, int n) {{
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) s += x[blockIdx.x * n + i];
    for (int m = 16; m > 0; m >>= 1) s += __shfl_xor_sync(0xffffffff, s, m);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}}
"""
GATHER = """__global__ void {name}(float* y, const float* x, const int* ids, int n) {{
    int row = ids[blockIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[row * n + i];
}}
"""


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    """Three small entries: two sums of one structure, and a gather."""
    root = tmp_path_factory.mktemp("kernels") / "toys"
    real = next(i for i in load()[0] if i.entry.id == "rms_norm")
    made = []
    for name, text in (("sums", SUM), ("more_sums", SUM), ("rows", GATHER)):
        folder = root / name
        folder.mkdir(parents=True)
        entry = f"""schema = 1
id = "{name}"
family = "toys"
summary = "Something"
idioms = ["a"]
teaches = ["b"]
dtypes = ["f32"]
arch_min = "sm_80"
arch_tested = []
dsl = ">=4.8,<5"
blocks = []
lessons = []
[provenance]
origin = "written here"
license = "MIT"
technique = "known"
[[variant]]
name = "f32"
values = {{}}
"""
        (folder / "entry.toml").write_text(entry)
        for other in ("kernel.py", "reference.py", "notes.md"):
            (folder / other).write_text(
                real.text(other) if other == "kernel.py" and text == SUM else "x = 1\n"
            )
        (folder / "cuda.cu").write_text(text.format(name=name))
        (folder / "spec.toml").write_text(f'[original]\nkernel = "{name}"\n')
        made.append(load_item(folder))
    return made


def query(text: str, name: str = "mine") -> Query:
    found = of_text(name, text.format(name=name))
    assert found is not None
    return found


def ids(found: Sequence[Exemplar]) -> list[str]:
    return [e.item.entry.id for e in found]


def test_the_entry_that_does_the_same_comes_first_and_says_why(items: list[Item]) -> None:
    renamed = GATHER.replace("row", "from").replace("ids", "table").replace("blockDim.x", "128")
    found = exemplars(query(renamed), items, 1, proven=False)
    assert ids(found) == ["rows"]
    assert "both read rows whose index is loaded" in found[0].reasons
    sums = exemplars(query(SUM), items[1:], 1, proven=False)[0]
    assert "both sum over a warp by shuffles" in sums.reasons
    assert any(r.startswith("shares ") and "__shfl_xor_sync" in r for r in sums.reasons)


def test_only_what_is_proven_is_found(items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    assert exemplars(query(SUM), items) == []
    monkeypatch.setattr(Item, "proof", lambda self, device=None: self.entry.id == "rows" or None)
    assert ids(exemplars(query(SUM), items)) == ["rows"]


def test_the_same_each_time_whatever_the_order(items: list[Item]) -> None:
    first = exemplars(query(SUM), items, proven=False)
    assert first == exemplars(query(SUM), items[::-1], proven=False)
    assert [e.score for e in first] == sorted((e.score for e in first), reverse=True)


def test_of_one_structure_two_at_most(items: list[Item]) -> None:
    found = rank(query(SUM), Index(items))
    twice = [found[0], found[0].__class__(found[0].document, found[0].score, ()), found[1], found[2]]
    twice = [Ranked(r.document, s, ()) for r, s in zip(twice, (0.9, 0.85, 0.8, 0.7), strict=True)]
    assert [r.score for r in diverse(twice, 3)] == [0.9, 0.85, 0.7]
    far = [*twice[:3], Ranked(twice[3].document, 0.39, ())]
    assert [r.score for r in diverse(far, 3)] == [0.9, 0.85, 0.8], "another is not nearly as good"
    weak = [twice[0], Ranked(twice[3].document, 0.35, ())]
    assert [r.score for r in diverse(weak, 3)] == [0.9], "too little in common"


def test_a_twin_is_read_once_and_again_when_it_changes(
    items: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = twin(items[2])
    assert before.facts.origin == "model" and twin(items[2]) is before
    place = items[2].folder / "cuda.cu"
    old = place.read_text()
    place.write_text(old.replace("= x[row * n + i]", "= rsqrtf(x[row * n + i])"))
    assert "reciprocal root" in twin(items[2]).facts.idioms
    place.write_text(old)
    assert twin(items[2]) is before


# ---- embeddings


def test_vectors_move_the_ranking(items: list[Item]) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0], *([0.0, 1.0] if "row = ids" not in t else [2.0, 0.0] for t in texts[1:])]

    index, plain = Index(items), query(SUM)
    with_vectors = {r.document.item.entry.id: dict(r.parts) for r in rank(plain, index, embed=embed)}
    assert {k: v["embedding"] for k, v in with_vectors.items()} == {
        "sums": 0.0,
        "more_sums": 0.0,
        "rows": 1.0,
    }
    gained = {r.document.item.entry.id: r.score for r in rank(plain, index, embed=embed)}
    without = {r.document.item.entry.id: r.score for r in rank(plain, index)}
    assert gained["rows"] == pytest.approx(without["rows"] + rank_module.Weights().embedding)
    assert gained["sums"] == without["sums"]


def test_failing_embeddings_are_told_and_done_without(items: list[Item]) -> None:
    def broken(texts: Sequence[str]) -> list[list[float]]:
        raise EmbeddingError("no such model")

    def short(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]] * (len(texts) - 1)

    plain = exemplars(query(SUM), items, proven=False)
    for embed, why in ((broken, "no such model"), (short, "another number")):
        sink = Sink()
        found = exemplars(query(SUM), items, proven=False, embed=embed, sink=sink)
        assert [(d.code, d.severity) for d in sink.items] == [("CP5101", "note")]
        assert why in sink.items[0].message
        assert [(e.item, e.score) for e in found] == [(e.item, e.score) for e in plain]


class _Vectors(http.server.BaseHTTPRequestHandler):
    """Answers /v1/embeddings with the length of each text, in reverse order, or with an error."""

    asked: list[dict[str, object]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "model": body["model"], "auth": self.headers["Authorization"]})
        good = body["model"] == "good"
        rows = [
            {"object": "embedding", "index": k, "embedding": [float(len(t))]}
            for k, t in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage}
        text = json.dumps(answer if good else {"error": {"message": "no such model"}}).encode()
        self.send_response(200 if good else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-test")
    _Vectors.asked = []
    server = http.server.HTTPServer(("127.0.0.1", 0), _Vectors)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_asked_with_the_key_of_the_environment(endpoint: str) -> None:
    embed = embedder(Settings(embedding_model="good", base_url=endpoint))
    assert embed is not None and embed(["abc", "", "x" * 9000]) == [[3.0], [1.0], [8000.0]]
    assert _Vectors.asked == [{"path": "/v1/embeddings", "model": "good", "auth": "Bearer key-of-the-test"}]
    assert embedder(Settings()) is None


def test_an_endpoint_without_the_model_or_a_key_is_an_embedding_error(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EmbeddingError, match="no such model"):
        Endpoint("other", endpoint)(["abc"])
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY"):
        Endpoint("good", endpoint)(["abc"])


def test_an_empty_corpus_gives_nothing(tmp_path: Path) -> None:
    assert exemplars(query(SUM), [], proven=False) == []
