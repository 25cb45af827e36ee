"""The document of a report: whole, harmless, the same each time, and true to its verdicts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import report_targets as targets

from verify.facts import CompileFacts
from verify.report import page
from verify.report.collect import collect
from verify.report.render import render

VOID = {"meta", "link", "input"}


class Parsed(HTMLParser):
    """Elements with attributes, the text outside scripts, each script; tags must close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words = ""
        self.scripts: list[tuple[dict[str, str], str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "elements that are not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {k: v or "" for k, v in attrs}
        self.tags.append((tag, named))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "script":
            self.scripts.append((named, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._open[-1:] != ["style"]:
            self.words += data

    @property
    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.tags if "id" in a]

    def sources(self) -> list[dict[str, Any]]:
        """What each kernel's code is made from, with lines as texts."""
        table = json.loads(next(s for a, s in self.scripts if a.get("id") == "lines"))
        texts = [row if isinstance(row, str) else row[0] for row in table]
        made = [json.loads(s) for a, s in self.scripts if a.get("class") == "source"]
        for one in made:
            for pane in one["panes"]:
                pairs = zip(pane["lines"][::2], pane["lines"][1::2], strict=True)
                pane["lines"] = [texts[n + k] for n, count in pairs for k in range(count)]
        return made


def report(*folders: Path) -> Parsed:
    return Parsed(render(collect(folders)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("targets")
    targets.passed(made / "good")
    targets.racy(made / "racy")
    targets.wrong(made / "bad")
    return made


@pytest.fixture(scope="module")
def whole(folder: Path) -> Parsed:
    return report(folder)


def test_the_document_is_well_formed(whole: Parsed) -> None:
    assert len(whole.ids) == len(set(whole.ids))
    anchors = {a["href"][1:] for t, a in whole.tags if t == "a"}
    lines = {f"{pane_id}/p{k}" for pane_id in whole.ids for k in range(1, 20)}  # made when a kernel is shown
    assert anchors <= set(whole.ids) | lines
    assert {"k-good", "k-racy", "k-bad", "summary"} <= anchors


def test_nothing_is_loaded_and_only_its_own_script_runs(whole: Parsed, folder: Path) -> None:
    for tag, attributes in whole.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} {name}"
            assert name != "style", tag
            if name in ("src", "href", "action", "srcset", "data"):
                assert value.startswith("#") or value == "data:,", value
    policy = next(a["content"] for _, a in whole.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    running = [s for a, s in whole.scripts if "type" not in a]
    assert len(running) == 2
    for script in running:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    text = render(collect([folder]))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1] and "@import" not in style[1]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in policy


@pytest.mark.parametrize(
    "told",
    [
        "add<float, 4>",  # kernel
        "what add<float, 4> proves",
        "67\u2009108\u2009864",  # elements
        "1.25e-07",
        "3.00e-07",  # against fp64
        "abs 1e-06",
        "1.250",  # ratio
        "[1.240, 1.260]",
        "109.0",  # µs
        "3970",  # GB/s
        "CUDA graph replays, 3 launches per sample, 2 sets of buffers, 536.9\u00a0MB per launch",
        "clocks.sm 1980",
        "256 × 2",  # block
        "mutation score 0.50 (1 of 2)",
        "i < n: < → <=",
        "-    if i < n:",  # its diff
        "no fp64 reference here",
        "rsqrt.approx.f32",
        "123\u2009456",  # instructions
        "4.1\u00a0kB + 0\u00a0B",  # traffic of x
        "NVRTC 13.0.88",
        "ab" * 32,
        "5" * 64,  # a hash
        "2.13.0",
        "--seed 7 --device emulator",
        "not asked for",
        "2026-11-30T00:00:00+00:00",
        "original x[11]",
    ],
)
def test_what_a_verdict_says_is_there(whole: Parsed, told: str) -> None:
    words = re.sub(r"\s+", " ", whole.words.replace("first wrong element: x[11]: original", "original x[11]"))
    assert re.sub(r"\s+", " ", told) in words


def test_both_sides_of_every_resource_are_there(whole: Parsed) -> None:
    rows = page.resources(targets.compiled(40), targets.compiled(64))
    assert page.Pair("registers per thread", "64", "40") in rows
    assert [r.name for r in rows if r.differs] == ["registers per thread", "global loads in the PTX"]
    assert page.resources(targets.compiled(40), None)[1] == page.Pair("registers per thread", "", "40")


def test_sources_and_what_is_said_of_their_lines(whole: Parsed) -> None:
    racy = next(s for s in whole.sources() if any(n[2] == "CP8011" for n in s["panes"][0]["notes"]))
    port, author = racy["panes"]
    assert port["lines"] == targets.PORT.split("\n")[:-1]
    assert author["lines"] == targets.CUDA.split("\n")[:-1]
    assert [n[:3] for n in port["notes"]] == [[10, "bad", "CP8011"], [10, "note", ""]]
    # Line 4 of the slice is line 7 of the author's file.
    assert [n[:3] for n in author["notes"]] == [[7, "bad", "CP8006"]]
    assert racy["links"] == [[8, 4], [9, 5], [10, 6], [10, 7]]
    good = next(s for s in whole.sources() if any("no run tells" in n[3] for n in s["panes"][0]["notes"]))
    assert [n[0] for n in good["panes"][0]["notes"] if n[1] == "warn"] == [9]


def test_a_finding_that_the_authors_file_does_not_hold_brings_the_slice(tmp_path: Path) -> None:
    folder = targets.racy(tmp_path / "t")
    (folder / "original/add.cu").write_text(targets.CUDA.replace("x[i] + 1.5f", "x[i] + 2.5f"))
    (source,) = report(folder).sources()
    assert [(p["key"], p["name"]) for p in source["panes"]] == [
        ("p", "port.py"),
        ("c", "add.cu"),
        ("d", "device.cu"),
    ]
    assert [n[:3] for n in source["panes"][2]["notes"]] == [[4, "bad", "CP8006"]]


def test_shared_lines_are_held_once(tmp_path: Path) -> None:
    folders = [targets.passed(tmp_path / f"t{k}") for k in range(20)]
    text = render(collect(folders))
    assert text.count("cute.kernel") == 1
    assert {tuple(p["lines"]) for s in Parsed(text).sources() for p in s["panes"]} == {
        tuple(targets.PORT.split("\n")[:-1]),
        tuple(targets.CUDA.split("\n")[:-1]),
    }


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = [targets.passed(tmp_path / "b"), targets.racy(tmp_path / "a")]
    assert render(collect(folders)) == render(collect([tmp_path]))


def test_fields_that_no_template_knows_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert page.more(targets.bench()) == []
    monkeypatch.setitem(page._WRITTEN, CompileFacts, "arch")
    assert ("ptx bytes", "2048") in page.more(targets.compiled())


EVIL = (
    '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\'"\x00\x1b[31m\x7f\u202e\u2028]]>'
)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\"><b>&'\x1b]0;x\x07\xff"))
    evil = f'"""{EVIL}"""\n# CP2103 {EVIL}\n'.encode() + b"\xff\xfe\x80 not UTF-8\n"
    targets.racy(folder, message=EVIL)
    (folder / "port.py").write_bytes(evil)
    (folder / "original/add.cu").write_bytes(b"// " + evil)
    compiled, wrong = tmp_path / "compiled", tmp_path / "wrong"
    targets.write_folder(compiled)
    targets.write(compiled, targets.verdict(compiled, EVIL, targets.Status.COMPILED, *_compiled_only()))
    named = targets.parity(outputs=[targets.parity().outputs[0].model_copy(update={"output": EVIL})])
    failed = targets.stage("parity", targets.Status.WRONG_VALUES, code="CP7012", message=EVIL, parity=named)
    targets.write_folder(wrong)
    stages = (*_compiled_only()[:2], failed)
    targets.write(wrong, targets.verdict(wrong, EVIL, targets.Status.WRONG_VALUES, *stages))

    made = report(folder, compiled, wrong)
    assert len([s for a, s in made.scripts if "type" not in a]) == 2
    assert "img" not in {t for t, _ in made.tags}
    assert "alert(1)" in made.words
    assert any(EVIL[:20] in a.get("aria-label", "") for _, a in made.tags)
    unseen = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202e\u2028\ud800-\udfff]")
    assert not unseen.search(made.words)
    assert not [v for _, a in made.tags for v in a.values() if unseen.search(v)]
    lines = made.sources()[0]["panes"][0]["lines"]
    assert lines[2] == "\\xff\\xfe\\x80 not UTF-8"
    assert "␀␛[31m␡\\u202e\\u2028]]>" in lines[0]


def _compiled_only() -> tuple[targets.StageResult, ...]:
    none = targets.stage("parity", targets.Status.NOT_RUN, code="CP9002", message=EVIL)
    return targets.stage("static"), targets.stage("compile", compile=targets.compiled()), none


@pytest.mark.parametrize(
    ("port", "lines"),
    [
        (b"x = '" + b"a" * 200_000 + b"'\n", 1),
        (b"y = 1\n" * 10_000, 10_000),
        (b"", 0),
        (b"a\r\nb\rc", 3),
        ("\ufeff# 日本\n".encode(), 1),
        ("# größe\n".encode("utf-16"), 1),
        (("s = '😀' + f'{x}'\n" * 3).encode(), 3),
    ],
    ids=["a long line", "many lines", "empty", "ends of lines", "bom", "utf-16", "beyond the BMP"],
)
def test_odd_sources(tmp_path: Path, port: bytes, lines: int) -> None:
    folder = targets.passed(tmp_path / "t")
    (folder / "port.py").write_bytes(port)
    made = report(folder)
    assert len(made.sources()[0]["panes"][0]["lines"]) == lines
    assert "port.py is not what was verified" in made.words


def test_who_proposed_a_port_is_told_and_harmless(tmp_path: Path) -> None:
    targets.passed(tmp_path / "k")
    origin = {"by": "<b>m</b>", "mode": "port", "turns": 1, "candidates": 2, "tokens": 30, "seconds": 4.0}
    (tmp_path / "k/origin.json").write_text(json.dumps(origin))
    assert "<b>m</b>, to port: 1 turn, 2 candidates, 30 tokens, 4 s" in report(tmp_path / "k").words
    (tmp_path / "k/origin.json").write_text("{")
    assert "origin.json can't be read" in report(tmp_path / "k").words
    (tmp_path / "k/origin.json").unlink()
    assert "proposed by" not in report(tmp_path / "k").words
