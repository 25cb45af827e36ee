"""What a report is made of: folders in every state, each told as such, and none costing another its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import report_targets as targets

from verify.certificate import sealed
from verify.files import write_json
from verify.report.collect import NothingToReportError, collect
from verify.report.command import NoReportError, make
from verify.report.render import rows_of, totals
from verify.verdict import Report, Verdict


def told(path: Path) -> dict[str, list[str]]:
    return {e.name: [p.code for p in e.problems] for e in collect([path])}


def test_targets_are_found_however_they_are_named(tmp_path: Path) -> None:
    one = targets.passed(tmp_path / "run/2/one")
    two = targets.racy(tmp_path / "run/two")
    (tmp_path / "run/notes").mkdir()
    assert [e.folder for e in collect([tmp_path / "run"])] == [one, two]
    assert [e.name for e in collect([one, one / "verdict.json", tmp_path / "run"])] == ["one", "two"]
    both = [Verdict.model_validate_json((f / "verdict.json").read_bytes()) for f in (two, one)]
    printed = tmp_path / "printed.json"
    printed.write_text(Report(exit_code=1, verdicts=both).model_dump_json(exclude_none=True))
    assert [(e.name, e.port is not None) for e in collect([printed])] == [("two", True), ("one", True)]


def test_a_path_without_targets_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToReportError, match=r"empty: no target in it\n.*gone: no such file or folder"):
        collect([targets.passed(tmp_path / "t"), tmp_path / "empty", tmp_path / "gone"])


def test_each_kind_of_damage_is_told_and_costs_the_others_nothing(tmp_path: Path) -> None:
    names = [
        "cut",
        "binary",
        "future",
        "odd",
        "deep",
        "contradiction",
        "none",
        "noport",
        "nomap",
        "edited",
        "linked",
    ]
    folders = {n: targets.passed(tmp_path / n) for n in [*names, "whole"]}
    whole = (folders["whole"] / "verdict.json").read_text()
    (folders["cut"] / "verdict.json").write_text(whole[: len(whole) // 2])
    (folders["binary"] / "verdict.json").write_bytes(bytes(range(256)))
    (folders["future"] / "verdict.json").write_text(json.dumps({**json.loads(whole), "schema_version": 2}))
    (folders["odd"] / "verdict.json").write_text("[1, 2]")
    (folders["deep"] / "verdict.json").write_text("[" * 100_000)
    (folders["contradiction"] / "verdict.json").write_text(whole.replace('"PASSED"', '"WRONG_VALUES"', 1))
    (folders["none"] / "verdict.json").unlink()
    (folders["noport"] / "port.py").unlink()
    (folders["nomap"] / "line_map.json").write_text('{"lines": [["a", 2]]}')
    (folders["edited"] / "port.py").write_text("x = 1\n")
    (tmp_path / "secret").write_text("outside\n")
    (folders["linked"] / "port.py").unlink()
    (folders["linked"] / "port.py").symlink_to(tmp_path / "secret")
    assert told(tmp_path) == {
        "binary": ["CP9502"],
        "contradiction": ["CP9502"],
        "cut": ["CP9502"],
        "deep": ["CP9502"],
        "edited": ["CP9504"],
        "future": ["CP9502"],
        "linked": ["CP9503"],
        "nomap": ["CP9503"],
        "none": ["CP9501"],
        "noport": ["CP9503"],
        "odd": ["CP9502"],
        "whole": [],
    }
    messages = {e.name: [p.message for p in e.problems] for e in collect([tmp_path])}
    assert messages["future"] == ["verdict.json: schema 2 is not known, only 1"]
    assert messages["contradiction"] == ["verdict.json: Value error, no stage ended with WRONG_VALUES"]
    made = make([tmp_path], tmp_path / "report.html")
    assert made.exit_code == 1
    assert (tmp_path / "report.html").read_text().count("what add&lt;float, 4&gt; proves") == 5
    statuses = {r.name: r.status for _, r in made.rows}
    assert {n for n, s in statuses.items() if s == "UNREADABLE"} == {
        "binary", "contradiction", "cut", "deep", "future", "odd",
    }  # fmt: skip
    assert statuses["none"] == "NOT_RUN"
    assert statuses["whole"] == "PASSED"


def test_a_seal_that_does_not_fit_is_told(tmp_path: Path) -> None:
    folder = targets.passed(tmp_path / "t")
    plain = Verdict.model_validate_json((folder / "verdict.json").read_bytes())
    write_json(folder / "verdict.json", sealed(plain).model_dump(mode="json", exclude_none=True))
    assert told(tmp_path) == {"t": []}
    text = (folder / "verdict.json").read_text()
    (folder / "verdict.json").write_text(text.replace('"seed": 7', '"seed": 8'))
    assert told(tmp_path) == {"t": ["CP9505"]}


def test_a_seal_is_looked_at_wherever_the_verdict_comes_from(tmp_path: Path) -> None:
    folder = targets.passed(tmp_path / "t")
    plain = Verdict.model_validate_json((folder / "verdict.json").read_bytes())
    kept, printed = tmp_path / "kept.json", tmp_path / "printed.json"
    write_json(kept, sealed(plain).model_dump(mode="json", exclude_none=True))
    made = Report(exit_code=0, verdicts=[sealed(plain)])
    printed.write_text(made.model_dump_json(exclude_none=True, indent=1))
    for path in (kept, printed):
        assert told(path) == {"t": []}
        path.write_text(path.read_text().replace('"seed": 7', '"seed": 8'))
        assert told(path) == {"t": ["CP9505"]}
    shutil.rmtree(folder)
    assert told(kept) == {"t": ["CP9505", "CP9503"]}


@pytest.mark.parametrize("name", ["spec.toml", "reference.py"])
def test_what_is_not_shown_is_compared_too(tmp_path: Path, name: str) -> None:
    folder = targets.passed(tmp_path / "t")
    with (folder / name).open("a") as f:
        f.write("# other\n")
    (entry,) = collect([folder])
    assert [str(p.message) for p in entry.problems] == [f"{name} is not what was verified: it changed since"]


def test_the_overview_marks_what_no_longer_holds(tmp_path: Path) -> None:
    for name in ("stale", "whole"):
        targets.passed(tmp_path / name)
    targets.wrong(tmp_path / "wrong")
    for name in ("stale", "wrong"):
        (tmp_path / name / "port.py").write_text("x = 1\n")
    made = make([tmp_path], tmp_path / "report.html")
    assert {r.name: r.code for _, r in made.rows} == {
        "stale": "CP9504",
        "whole": "",
        "wrong": "CP7012 CP9504",
    }
    overview = (tmp_path / "report.html").read_text().partition("</tbody>")[0]
    assert overview.count(">CP9504</code>") == 2 and overview.count(">CP7012</code>") == 1


def test_an_own_report_is_no_input(tmp_path: Path) -> None:
    folder = targets.passed(tmp_path / "t")
    out = tmp_path / "report.html"
    make([folder], out)
    before = out.read_bytes()
    for paths in ([out], [folder, out]):
        with pytest.raises(NothingToReportError, match=r"report\.html: a report, which holds no verdicts"):
            make(paths, out)
    assert out.read_bytes() == before
    (folder / "verdict.json").write_text("")
    with pytest.raises(NoReportError, match="is what the report is about"):
        make([folder / "verdict.json"], folder / "verdict.json")


def test_what_verdicts_say_is_no_failure_of_the_report(tmp_path: Path) -> None:
    targets.wrong(tmp_path / "t/wrong")
    targets.write_folder(tmp_path / "t/never")
    assert make([tmp_path / "t"], tmp_path / "r.html").exit_code == 0


def test_one_line_says_it_all(tmp_path: Path) -> None:
    targets.passed(tmp_path / "b")
    targets.passed(tmp_path / "c")
    targets.wrong(tmp_path / "d")
    rows = [r for _, r in rows_of(collect([tmp_path]))]
    assert [r.name for r in rows] == ["d", "b", "c"]  # what needs a look first
    assert totals(rows) == "3 kernels, 6 counted runs"
    assert (rows[0].code, rows[0].error_words, rows[1].error_words) == (
        "CP7012",
        "4.5 (1e+09 ulp)",
        "1.2e-07 (2 ulp)",
    )


def test_names_that_look_alike_have_places_of_their_own(tmp_path: Path) -> None:
    for name in ("a/k", "b/k", "c/K", "d/k.2", "e/日本", "f/  "):
        targets.passed(tmp_path / name)
    anchors = [e.anchor for e in collect([tmp_path])]
    assert anchors == ["k-k", "k-k.2", "k-K.3", "k-k-2", "k-kernel", "k-kernel.2"]


def test_what_is_no_report_is_left_alone(tmp_path: Path) -> None:
    folder = targets.passed(tmp_path / "t")
    kept = tmp_path / "notes.txt"
    kept.write_text("mine\n")
    for out in (kept, tmp_path, tmp_path / "gone/report.html"):
        with pytest.raises(NoReportError):
            make([folder], out)
    assert kept.read_text() == "mine\n"
    out = tmp_path / "report.html"
    first = make([folder], out).size
    targets.passed(tmp_path / "u")
    assert make([folder, tmp_path / "u"], out).size == out.stat().st_size > first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.txt", "report.html", "t", "u"]
    assert make([folder], Path("/dev/null")).exit_code == 0
    assert not Path("/dev/null").is_file()
