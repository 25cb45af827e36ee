"""A run over a folder ends as badly as its worst file: what was lost is named, and the exit code says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from translator.batch.driver import unique
from translator.batch.work import Ported
from translator.cli.main import run
from translator.diag.diagnostic import Diagnostic, Span
from translator.outcome import NOT_RUN, Finding, Outcome

GOOD = "__global__ void good(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"
LOST = {("large.cu", "CP1017"), ("broken.cu", "CP1019"), ("half.cu", "CP1019")}


@pytest.fixture(autouse=True)
def _in_a_folder_of_good_and_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    src = tmp_path / "src"
    src.mkdir()
    (src / "good.cu").write_text(GOOD)
    (src / "broken.cu").write_text("class A { int x }\n" + GOOD)
    (src / "half.cu").write_text(GOOD.replace("good", "read") + "class A { int x }\n" + GOOD)
    (src / "host.cu").write_text("int main() { return 0 }\n")
    (src / "host.h").write_text("class A { int x }\n")
    for name, text in (("large.cu", GOOD), ("table.h", "float x[] = {0};\n")):
        with (src / name).open("w") as file:
            file.write(text)
            file.truncate(52_000_000)


def document(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run([*arguments, "--json", "-j", "2"])
    made: dict[str, Any] = json.loads(capfd.readouterr().out)
    assert made["summary"]["exit_code"] == code
    return code, made


def test_port_names_what_a_folder_lost(capfd: pytest.CaptureFixture[str]) -> None:
    code, made = document(capfd, "port", "src", "--no-verify")
    assert (code, made["summary"]["statuses"]) == (1, {"NOT_RUN": 2, "REFUSED": 3})
    refused = [k for k in made["kernels"] if k["status"] == "REFUSED"]
    assert {(Path(k["source"]).name, d["code"]) for k in refused for d in k["diagnostics"]} == LOST
    assert {k["kernel"] for k in made["kernels"]} == {"good", "read", ""}


def test_port_says_so_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["port", "src", "--no-verify", "-j", "2"]) == 1
    said = capfd.readouterr()
    text = said.out + said.err
    assert (
        "CP1019: the parser lost good (line 2) of src/broken.cu to an error: broken.cu:1: expected ';'"
        in text
    )
    assert "CP1019: the parser lost good (line 3) of src/half.cu to an error: half.cu:2: expected ';'" in text
    assert "CP1017: src/large.cu has 52 MB" in text
    assert "2 kernels from 4 files" in text and "2 NOT_RUN, 3 REFUSED" in text


def test_analyze_names_what_a_folder_lost(capfd: pytest.CaptureFixture[str]) -> None:
    code, made = document(capfd, "analyze", "src")
    assert code == 1
    assert {(Path(p["path"]).name, p["code"]) for p in made["problems"]} == LOST
    assert {k["kernel"] for k in made["kernels"]} == {"good", "read"}


def test_what_one_part_lost_and_another_read_is_not_lost() -> None:
    def lost(*names: str) -> Ported:
        args = (("error", "e"), ("kernels", ", ".join(names)), ("path", "k.cu"))
        finding = Finding.of(Diagnostic("CP1019", Span("k.cu", 1), args))
        return Ported(Outcome("k.cu", "", "", "REFUSED", findings=(finding,)), lost=names)

    read = Ported(Outcome("k.cu", "k", "", NOT_RUN, line=3))
    elsewhere = Ported(Outcome("other.cu", "b", "", NOT_RUN, line=3))
    assert unique([lost("k"), read, elsewhere], 2) == [read, elsewhere]
    both = lost("k", "b")
    assert unique([both, read, elsewhere], 2) == [both, read, elsewhere]
    unnamed = lost("?")
    assert unique([unnamed, read], 2) == [unnamed, read]
