"""One server, asked everything at once by the official client: values, refusals, and what must not happen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from tests.mcp.session import HOSTILE, REFUSED, ROOT, SECRET, TWICE, Served, room, serve, tree
from translator.cli.main import run
from translator.mcp.skill import texts
from translator.mcp.tools import tools

RMS = "rms_shared_tree.cu"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "explain": ("explain", {"code": "cp2103"}),
    "map": ("map_builtin", {"name": "__shfl_xor_sync"}),
    "words": ("corpus_search", {"words": "rms norm"}),
    "like": ("corpus_search", {"path": RMS}),
    "show": ("corpus_show", {"id": "norm/rms_norm"}),
    "show_none": ("corpus_show", {"id": "--help"}),
    "analyze": ("analyze", {"paths": ["twice.cu", "refused.cu", "large.cu", "junk.cu", "circle"]}),
    "port": ("port", {"paths": ["orders.cu"], "verify": False}),
    "hostile": ("port", {"paths": ["refused.cu", *HOSTILE], "verify": False, "tasks": True}),
    "asks": ("port", {"paths": ["alone.cu"], "verify": False}),
    "no_template": ("port", {"paths": ["twice.cu"], "verify": False, "instantiate": ["nosuch<float>"]}),
    "outside": ("port", {"paths": ["../out/secret.cu"]}),
    "outside_none": ("port", {"paths": ["../out/nothing.cu"]}),
    "folder": ("analyze", {"paths": ["."]}),
    "absolute": ("analyze", {"paths": ["/etc/passwd"]}),
    "by_link": ("analyze", {"paths": ["source_link.cu"]}),
    "pipe": ("analyze", {"paths": ["pipe.cu"]}),
    "loop": ("analyze", {"paths": ["loop"]}),
    "none": ("analyze", {"paths": ["nothing.cu"]}),
    "folder_outside": ("analyze", {"paths": ["twice.cu"], "includes": ["../out"]}),
    "link_in_target": ("verify", {"target": "target"}),
    "no_target": ("bench", {"target": "circle"}),
    "flag_as_name": ("analyze", {"paths": ["twice.cu"], "kernels": ["--out=x"]}),
    "unknown_argument": ("port", {"paths": ["twice.cu"], "force": True}),
    "wrong_type": ("port", {"paths": "twice.cu"}),
    "nul": ("analyze", {"paths": ["a\0b"]}),
    "surrogate": ("corpus_show", {"id": "x" * 300}),
    "both": ("corpus_search", {}),
    "no_such_tool": ("rm", {"path": "/"}),
}
TRAVERSAL = "cuteport://run/../../etc/passwd"
URIS = (
    "cuteport://style",
    "cuteport://map",
    "cuteport://skill/SKILL.md",
    "cuteport://skill/verdicts.md",
    "cuteport://skill/by-hand.md",
    "cuteport://explain",
    "cuteport://explain/CP5503",
    "cuteport://corpus/norm/rms_norm",
    "cuteport://schema/port",
    TRAVERSAL,
    "cuteport://skill/../server.py",
    "cuteport://run/../out/secret.h",
    "cuteport://explain/../../codes",
    "file:///etc/passwd",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    place = room(tmp_path_factory.mktemp("room"))
    (place / "in/alone.cu").write_text(TWICE.partition("void launch")[0].replace("twice", "alone"))
    (place / "in" / RMS).write_bytes((ROOT / "tests/retrieval/queries" / RMS).read_bytes())
    parts = ("in", "out", "home")
    before = [tree(place / p) for p in parts]
    made = serve(place, CALLS, URIS)
    assert [tree(place / p) for p in parts] == before  # nothing was written but below run/
    assert sorted(p.name for p in place.iterdir()) == ["home", "in", "out", "run"]
    return made


def by_command(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    run([*arguments, "--json"])
    return json.loads(capfd.readouterr().out)


def test_every_tool_is_listed_and_takes_nothing_unknown(served: Served) -> None:
    assert [t.name for t in served.tools] == list(tools())
    for tool in served.tools:
        assert tool.input_schema["additionalProperties"] is False, tool.name
        assert f"cuteport://schema/{tools()[tool.name].document}" in (tool.description or "")
    assert "run" in served.instructions and str(served.room / "in") in served.instructions


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("explain", ["explain", "CP2103"]),
        ("map", ["map", "__shfl_xor_sync"]),
        ("words", ["corpus", "search", "rms norm"]),
        ("show", ["corpus", "show", "norm/rms_norm"]),
    ],
)
def test_a_document_is_the_command_s(
    served: Served, capfd: pytest.CaptureFixture[str], name: str, command: list[str]
) -> None:
    assert served.document(name) == by_command(capfd, *command)
    assert served.answers[name].is_error is False


def test_the_text_alone_says_what_matters(served: Served) -> None:
    """Some programs hand a model the text of an answer and not its document."""
    page = served.document("explain")["page"]
    assert served.said("explain").startswith(page.removeprefix("# ").strip() + "\nfolder: ")
    assert "cute.arch.shuffle_sync_bfly({var}, {laneMask})" in served.said("map")
    assert served.said("words").startswith("norm/")
    like = served.said("like").splitlines()
    assert like[0].startswith("rmsnorm_fp32: norm/rms_norm, ")
    reasons = served.document("like")["kernels"][0]["hits"][0]["reasons"]
    assert like[1].startswith("  norm/rms_norm: ") and reasons[0] in like[1]
    shown, document = served.said("show"), served.document("show")
    assert shown.splitlines()[0].startswith("norm/rms_norm: RMS norm of rows")
    assert document["kernel"].strip() in shown and document["notes"].strip() in shown
    assert "cuteport://corpus/norm/rms_norm" in shown


def test_a_refusal_s_text_has_its_reason_its_line_and_what_it_is_of(served: Served) -> None:
    said = served.said("hostile").splitlines()
    at = next(k for k, line in enumerate(said) if line.startswith("owns: REFUSED | "))
    assert said[at + 1] == "  CP1117 device-side memory allocation: malloc (refused.cu:1)"
    said = served.said("no_template").splitlines()
    assert said[:2] == [
        "twice.cu: REFUSED",
        "  CP1012 --instantiate nosuch<float>: no kernel template has this name",
    ]


def test_open_questions_are_in_the_text_with_how_they_are_answered(served: Served) -> None:
    (kernel,) = served.document("asks")["kernels"]
    grid = "the grid of alone (not seen) doesn't follow from its arguments; taken as (n + 255) / 256 x 1 x 1"
    assert [(q["code"], q["text"]) for q in kernel["questions"]] == [
        ("CP3101", "no launch of alone seen; blocks of 256 x 1 x 1 threads assumed"),
        ("CP3102", grid),
    ]
    spec = Path(kernel["out"], "spec.toml")
    said = served.said("asks").splitlines()
    for k, q in enumerate(kernel["questions"], 1):
        assert said[k] == f"  question {q['code']} (spec.toml:{q['line']}): {q['text']}"
        assert spec.read_text().splitlines()[q["line"] - 1] == "[[question]]"
    assert f'[[question]] in {spec} as `answer = "…"`' in said[3] and "CP7018" in said[3]
    assert served.document("port")["kernels"][0]["questions"] == []
    assert "[[question]]" not in served.said("port")


def test_a_file_finds_what_it_can_be_ported_after(served: Served) -> None:
    (kernel,) = served.document("like")["kernels"]
    assert (kernel["hits"][0]["family"], kernel["hits"][0]["id"]) == ("norm", "rms_norm")


def test_analyze_says_what_porting_takes(served: Served) -> None:
    document = served.document("analyze")
    kernels = {(Path(k["source"]).parts[-2:], k["kernel"]): k["effort"] for k in document["kernels"]}
    assert kernels == {
        (("circle", "k.cu"), "twice"): "automatic",
        (("in", "refused.cu"), "owns"): "redesign",
        (("in", "twice.cu"), "twice"): "automatic",
    }
    assert document["summary"]["refusals"] == {"CP1117": 1}
    assert served.answers["analyze"].is_error is False  # a file that can't be read is what was asked for


def test_a_port_lies_in_the_run_folder_and_is_the_command_s(
    served: Served, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Comments that give orders are comments."""
    (kernel,) = served.document("port")["kernels"]
    out = Path(kernel["out"])
    assert (kernel["kernel"], kernel["status"]) == ("twice", "NOT_RUN")
    assert out.is_relative_to(served.room / "run")
    source = str(served.room / "in/orders.cu")
    by_command(capfd, "port", "--no-verify", "-o", str(tmp_path / "o"), source)
    for name in ("port.py", "spec.toml", "original/device.cu"):
        assert (out / name).read_bytes() == (tmp_path / "o/twice" / name).read_bytes(), name
    assert not Path("/tmp/pwned").exists()


def test_a_refused_kernel_is_an_answer_and_leaves_a_task(served: Served) -> None:
    (kernel,) = [k for k in served.document("hostile")["kernels"] if k["kernel"] == "owns"]
    assert (kernel["status"], served.answers["hostile"].is_error) == ("REFUSED", False)
    assert "CP1117" in [d["code"] for d in kernel["diagnostics"]]
    assert [q["code"] for q in kernel["questions"]] == ["CP3101", "CP3108"]  # whoever ports it needs them
    task = Path(kernel["out"])
    assert task.is_relative_to(served.room / "run")
    assert REFUSED.strip() in (task / "original/refused.cu").read_text()
    assert (task / "task.json").exists() and not (task / "port.py").exists()


def test_includes_that_lead_outside_are_refused(served: Served) -> None:
    found = {Path(k["source"]).name: k for k in served.document("hostile")["kernels"]}
    refused = {n for n, k in found.items() if "CP5503" in [d["code"] for d in k["diagnostics"]]}
    # Where the kernel confines the tool, what a macro names is not opened at all; the other two are no
    # includes for this parser. Nothing of the file is in their ports: see the next test.
    assert refused - {"macro.cu"} == {"abs.cu", "up.cu", "asks.cu", "linked.cu"}
    assert {found[n]["status"] for n in ("embed.cu", "marker.cu")} == {"NOT_RUN"}


def test_nothing_secret_is_in_any_answer_or_file(served: Served) -> None:
    assert SECRET not in served.everything
    assert "root:" not in served.everything  # of /etc/passwd
    for path in (served.room / "run").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_large_and_binary_files_are_told(served: Served) -> None:
    problems = {(Path(p["path"]).name, p["code"]) for p in served.document("analyze")["problems"]}
    assert problems == {("junk.cu", "CP1003"), ("large.cu", "CP1017")}
    in_folder = {(Path(p["path"]).name, p["code"]) for p in served.document("folder")["problems"]}
    assert ("large.cu", "CP1017") in in_folder


REFUSALS = {
    "outside": "CP5502: ../out/secret.cu lies outside the folders that may be read",
    "outside_none": "CP5502: ../out/nothing.cu lies outside the folders that may be read",
    "absolute": "CP5502: /etc/passwd lies outside the folders that may be read",
    "by_link": "CP5502: source_link.cu lies outside the folders that may be read",
    "folder_outside": "CP5502: ../out lies outside the folders that may be read",
    "pipe": "CP5504: pipe.cu is neither a regular file nor a folder",
    "loop": "CP5504: loop is neither a regular file nor a folder",
    "none": "CP1001: no such file or folder: nothing.cu",
    "link_in_target": "CP5505: target can't be copied into the run folder: port.py is a link "
    "or no regular file",
    "no_target": "CP5505: circle can't be copied into the run folder: it has no spec.toml",
    "unknown_argument": "CP5501: arguments of port that can't be used: "
    "`force`: Extra inputs are not permitted",
    "wrong_type": "CP5501: arguments of port that can't be used: `paths`: Input should be a valid list",
    "both": "CP5501: arguments of corpus_search that can't be used: it takes either `words` or `path`",
    "no_such_tool": "CP5501: arguments of tools/call that can't be used: no tool of that name: rm",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_call_that_can_not_be_made_is_an_error_with_its_code(served: Served, name: str) -> None:
    assert (served.answers[name].is_error, served.said(name)) == (True, REFUSALS[name])
    assert served.document(name) == {"error": {"kind": "usage", "message": REFUSALS[name]}, "exit_code": 2}


def test_text_that_no_command_line_can_carry_is_refused(served: Served) -> None:
    assert "it holds a NUL character" in served.said("nul")
    assert "at most 200 characters" in served.said("surrogate")


def test_an_error_of_the_command_is_one_of_the_tool(served: Served) -> None:
    assert served.answers["show_none"].is_error is True
    assert "CP5011" in served.said("show_none") and served.document("show_none")["exit_code"] == 2
    assert served.answers["flag_as_name"].is_error is True  # a name, whatever it looks like
    assert "CP1015" in json.dumps(served.document("flag_as_name"))


def test_no_traceback_reaches_anyone(served: Served) -> None:
    assert "Traceback" not in served.everything and 'File "' not in served.everything
    assert list((served.room / "run").rglob("*traceback*")) == []


def test_calls_at_the_same_time_have_folders_of_their_own(served: Served) -> None:
    said = [served.said(n) for n in CALLS if "\nfolder: " in served.said(n)]
    folders = [s.rpartition("folder: ")[2] for s in said]
    assert len(set(folders)) == len(folders) > 8
    for name in CALLS:
        if "\nfolder: " in served.said(name):
            folder = Path(served.said(name).rpartition("folder: ")[2])
            assert json.loads((folder / "answer.json").read_text()) == served.document(name)
            assert not (folder / "tmp").exists()


def test_resources_are_pages_entries_tables_and_schemas(served: Served) -> None:
    assert served.texts["cuteport://explain/CP5503"].startswith("# CP5503: an include leads outside")
    entry = served.texts["cuteport://corpus/norm/rms_norm"]
    kernel = (ROOT / "corpus/kernels/norm/rms_norm/kernel.py").read_text()
    twin = (ROOT / "corpus/kernels/norm/rms_norm/cuda.cu").read_text()
    assert kernel.strip() in entry and twin.strip() in entry
    assert served.texts["cuteport://style"] == (ROOT / "corpus/STYLE.md").read_text()
    assert "__shfl_xor_sync" in served.texts["cuteport://map"]
    assert "CP5503" in served.texts["cuteport://explain"]
    assert json.loads(served.texts["cuteport://schema/port"])["title"] == "PortDocument"
    assert "cuteport://corpus/norm/rms_norm" in served.listed
    assert "cuteport://explain/{code}" in served.templates


def test_addresses_of_nothing_are_refused(served: Served) -> None:
    refused = {u for u in URIS if u not in served.texts}
    assert refused == set(URIS[URIS.index(TRAVERSAL) :])
    assert all(served.errors[u] == f"CP5511: no such resource: {u}" for u in refused)


def test_the_prompt_is_the_workflow(served: Served) -> None:
    assert served.prompt.startswith("Port the CUDA kernels in 'a.cu' to CuTe DSL.\n\n1. `cuteport analyze")
    assert "What must not be done" not in served.prompt


def test_what_the_prompt_refers_to_can_be_read(served: Served) -> None:
    """An agent that is connected has no skill folder."""
    told = [served.prompt, *(served.texts[f"cuteport://skill/{name}"] for name in texts())]
    links = [re.findall(r"\]\(([^)]+)\)", text) for text in told]
    assert links[0] == ["cuteport://skill/verdicts.md", "cuteport://skill/by-hand.md"]
    assert set().union(*links) <= set(served.texts) & set(served.listed)
    table = served.texts["cuteport://skill/verdicts.md"]
    assert table == texts()["verdicts.md"] and "| ORIGINAL_SUSPECT |" in table
