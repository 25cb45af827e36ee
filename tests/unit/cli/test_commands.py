"""The small commands: text for people, one JSON document for programs, schemas that fit what is printed."""

from __future__ import annotations

import ast
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from translator.cli.main import run
from translator.documents import NAMES, AnalyzeDocument, ExplainDocument, MapDocument, PortDocument
from verify.portcall import values_of
from verify.resolve import resolve
from verify.spec_file import load_spec

SOURCE = """\
__global__ void add(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
__global__ void odd(float* y) { y[0] = *new float; }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(SOURCE)
    return "k.cu"


def said(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    captured = capfd.readouterr()
    return captured.out or captured.err


def test_explain(capfd: pytest.CaptureFixture[str]) -> None:
    assert said(capfd, "explain", "cp0001").startswith("# CP0001")
    document = ExplainDocument.model_validate_json(said(capfd, "explain", "CP0001", "--json"))
    assert document.code == "CP0001"
    assert "no code 'CP9999'" in said(capfd, "explain", "CP9999", code=2)
    assert "CP0001  error" in said(capfd, "explain")


def test_explain_knows_the_verifiers_codes_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert "CP7012" in said(capfd, "explain", "CP7012")


def test_map(capfd: pytest.CaptureFixture[str]) -> None:
    assert "shuffle_sync_bfly" in said(capfd, "map", "__shfl_xor_sync")
    rows = MapDocument.model_validate_json(said(capfd, "map", "__shfl_xor_sync", "--json")).rows
    assert all(r.id.startswith("warp.shfl_xor") for r in rows)
    everything = MapDocument.model_validate_json(said(capfd, "map", "--json")).rows
    assert len(everything) > len(rows)
    assert "__shfl_xor_sync" in said(capfd, "map", "--markdown")
    assert "nearest" in said(capfd, "map", "__shfl_xor_sink", code=1)
    said(capfd, "map", code=2)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_json_schemas(capfd: pytest.CaptureFixture[str], name: str) -> None:
    schema = json.loads(said(capfd, "schema", name))
    assert schema["type"] == "object"
    assert schema["properties"]


def test_schema_lists_its_names(capfd: pytest.CaptureFixture[str]) -> None:
    assert said(capfd, "schema").split() == list(NAMES)
    said(capfd, "schema", "nonsense", code=2)


def test_port_document(capfd: pytest.CaptureFixture[str], source: str) -> None:
    out = said(capfd, "port", source, "--no-verify", "--json", code=1)
    document = PortDocument.model_validate_json(out)
    by_name = {k.kernel: k for k in document.kernels}
    assert by_name["add"].status == "NOT_RUN"
    assert by_name["add"].out == "out/add"
    assert [s.stage for s in by_name["add"].stages] == ["model", "passes", "emit", "spec"]
    assert by_name["odd"].status == "REFUSED"
    assert by_name["odd"].out is None
    [refusal] = [d for d in by_name["odd"].diagnostics if d.severity == "error"]
    assert (refusal.code, refusal.line) == ("CP1117", 5)
    raw: dict[str, Any] = json.loads(out)
    assert {"source", "kernel", "instantiation", "status", "diagnostics", "stages", "out", "seconds"} <= set(
        raw["kernels"][0]
    )
    assert {"code", "severity", "line", "message"} <= set(raw["kernels"][1]["diagnostics"][0])


def test_port_for_people(capfd: pytest.CaptureFixture[str], source: str) -> None:
    text = said(capfd, "port", source, "--no-verify", code=1)
    assert "  --> k.cu:5:" in text
    assert "out/add" in text
    assert "proven: 1 translated, nothing checked" in text


def test_the_same_source_gives_the_same_bytes(capfd: pytest.CaptureFixture[str], source: str) -> None:
    said(capfd, "port", source, "-o", "one", "--no-verify", "-j", "1", code=1)
    said(capfd, "port", source, "-o", "two", "--no-verify", "-j", "2", code=1)
    one, two = ({p.relative_to(d): p.read_bytes() for p in Path(d).rglob("*.*")} for d in ("one", "two"))
    assert one == two


def test_keep_stages_leaves_one_file_per_stage(capfd: pytest.CaptureFixture[str], source: str) -> None:
    said(capfd, "port", source, "-k", "add", "--no-verify", "--keep-stages")
    names = sorted(p.name for p in Path("runs").rglob("*") if p.is_file())
    assert names == ["10-model.txt", "20-lowered.txt", "30-draft.py", "40-spec.toml"]


def test_analyze_writes_nothing_and_counts(capfd: pytest.CaptureFixture[str], source: str) -> None:
    document = AnalyzeDocument.model_validate_json(said(capfd, "analyze", source, "--json"))
    by_name = {k.kernel: k for k in document.kernels}
    assert (by_name["add"].effort, by_name["add"].lines) == ("automatic", 4)
    assert by_name["odd"].effort != "automatic"
    assert document.summary.refusals == {"CP1117": 1}
    rows = list(csv.DictReader(io.StringIO(said(capfd, "analyze", source, "--csv"))))
    assert [r["kernel"] for r in rows] == ["add", "odd"]
    assert "2 kernels in 1 file," in said(capfd, "analyze", source)
    assert [p.name for p in Path().iterdir()] == ["k.cu"]


def test_a_template_without_an_instantiation_is_a_kernel(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.cu"
    file.write_text(
        "template <class T> __global__ void k(T* x) { x->f(); }\n__global__ void fine(int* x) { *x = 1; }\n",
        encoding="utf-8",
    )
    document = AnalyzeDocument.model_validate_json(said(capfd, "analyze", str(file), "--json"))
    assert [(k.kernel, k.line, k.effort) for k in document.kernels] == [
        ("k", 1, "minutes"),
        ("fine", 2, "automatic"),
    ]
    assert document.problems == []


def test_analyze_of_a_missing_path_is_usage(capfd: pytest.CaptureFixture[str], source: str) -> None:
    said(capfd, "analyze", "gone.cu", code=2)


def test_porting_a_folder_again_does_not_port_its_own_output(
    capfd: pytest.CaptureFixture[str], source: str
) -> None:
    for _ in range(2):
        document = json.loads(said(capfd, "port", ".", "-k", "add", "--no-verify", "--json"))
        assert [k["out"] for k in document["kernels"]] == ["out/add"]


def test_a_struct_of_pointers_is_drafted_as_the_port_takes_it(
    capfd: pytest.CaptureFixture[str], source: str
) -> None:
    Path("s.cu").write_text(
        "struct P { const float* in; float* out; int n; float c[2]; };\n__device__ int calls = 3;\n"
        "__global__ void k(P p) { int i = blockIdx.x * 128 + threadIdx.x;\n"
        "  if (i < p.n) p.out[i] = p.in[i] * p.c[0] + p.c[1]; if (i == 0) calls += 1; }\n"
        "void run(P p) { k<<<(p.n + 127) / 128, 128>>>(p); }\n"
    )
    said(capfd, "port", "s.cu", "--no-verify")
    spec = load_spec(Path("out/k"))
    given = values_of(spec, resolve(spec, spec.case[0]), {b.name: 64 for b in spec.buffers})
    tree = ast.parse(Path("out/k/port.py").read_text())
    [entry] = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "k"]
    assert list(given) == [a.arg for a in entry.args.args]
    assert list(given) == ["p_in", "p_out", "p_n", "p_c_0", "p_c_1", "calls"]


def test_a_parse_error_is_shown_where_it_is(capfd: pytest.CaptureFixture[str], source: str) -> None:
    Path("e.cu").write_text("__global__ void bad(float* x) {\n  x[0] = 1;\n  x[1] = undefd + 1;\n}\n")
    text = said(capfd, "port", "e.cu", "--no-verify", code=1)
    assert "bad doesn't parse: 1 error in it" in text
    assert " 3 |   x[1] = undefd + 1;\n   |          ^\n" in text


def test_too_few_template_arguments_are_named(capfd: pytest.CaptureFixture[str], source: str) -> None:
    Path("t.cu").write_text("template <typename T, int B> __global__ void red(T* x) { x[B] = 1; }\n")
    text = said(capfd, "port", "t.cu", "--no-verify", "--instantiate", "red<int>", code=2)
    assert "1 template argument given, 2 needed; missing: B" in text


def test_analyze_says_how_many_kernels_need_what(capfd: pytest.CaptureFixture[str], source: str) -> None:
    text = said(capfd, "analyze", source)
    assert "effort: 1 kernel automatic, 0 need minutes, 0 need hours, 1 needs redesign" in text


def test_earlier_output_anywhere_is_passed_by(capfd: pytest.CaptureFixture[str], source: str) -> None:
    said(capfd, "port", source, "-k", "add", "--no-verify", "-o", "elsewhere")
    assert run(["port", ".", "-k", "add", "--no-verify", "--json"]) == 0
    captured = capfd.readouterr()
    document = PortDocument.model_validate_json(captured.out)
    assert [k.source for k in document.kernels] == ["k.cu"]
    assert document.summary.skipped == ["elsewhere/add"]
    assert "skipped, as cuteport wrote them: elsewhere/add" in captured.err
    said(capfd, "port", "elsewhere/add", "-k", "add", "--no-verify", "-o", "third")
    assert Path("third/add/port.py").exists()


def test_map_says_shared_text_once_and_knows_words(capfd: pytest.CaptureFixture[str]) -> None:
    text = said(capfd, "map", "cub")
    assert text.count("instead: write the reduction") == 1
    assert "cub::BlockReduce" in text
    assert "cub::WarpScan" in text
    assert "is_volatile=True" in said(capfd, "map", "volatile")
    assert "cute.arch.thread_idx()" in said(capfd, "map", "threadIdx.x")
