"""A target becomes an entry: each gate, closed once."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_verdicts import mutation, verdict_of, write_verdict
from small_entry import ENTRY, write_entry

from corpus.catalog import load, load_item
from corpus.entry import Proof
from corpus.problem import CorpusError
from corpus.proof import record
from translator.batch.corpus_add import Wanted, add, skeleton
from translator.cli.main import run as cuteport
from verify.spec_file import load_spec
from verify.verdict import Status

WANTED = Wanted("toys", "double", "MIT", "somebody/project at src/double.cu", "Doubles a vector")


def codes(target: Path, wanted: Wanted, root: Path) -> dict[str, str]:
    with pytest.raises(CorpusError) as told:
        add(target, wanted, load(root)[0], root)
    assert not (root / wanted.family / wanted.id).exists() or (wanted.family, wanted.id) == ("toys", "twice")
    return {p.code: p.message for p in told.value.problems}


def test_a_target_that_passes_becomes_an_entry(target: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    shown = add(target, WANTED, [], root, dry=True)
    assert not root.exists()
    assert add(target, WANTED, [], root) == shown
    assert "+++ " + str(root / "toys/double/kernel.py") in shown and '+license = "MIT"' in shown
    item = load_item(root / "toys/double")
    assert item.entry.provenance.origin == WANTED.origin
    assert 'source = "cuda.cu"' in item.text("spec.toml") and 'module = "kernel.py"' in item.text("spec.toml")
    assert item.text("kernel.py") == (target / "port.py").read_text()
    assert item.proof() is None  # what is new must be checked like any other


@pytest.mark.parametrize(
    ("tried", "ratio", "status", "code", "message"),
    [
        (None, 1.1, Status.PASSED, "CP5007", "was verified without --mutate"),
        (
            mutation(9, ("x",)),
            1.1,
            Status.PASSED,
            "CP5007",
            "0.90 of the changed kernels are turned away: line 1: x; those that change no result may stand "
            "in same.toml with the reason",
        ),
        (mutation(20, ()), 0.99, Status.PASSED, "CP5008", "0.990 of the original's speed"),
        (None, None, Status.WRONG_VALUES, "CP5006", "WRONG_VALUES: by hand"),
    ],
)
def test_gates_of_the_verdict(
    target: Path, tmp_path: Path, tried: object, ratio: float | None, status: Status, code: str, message: str
) -> None:
    write_verdict(target, verdict_of(target, tried, ratio, status))  # type: ignore[arg-type]
    assert codes(target, WANTED, tmp_path / "kernels") == {code: message}


def test_no_baseline_is_no_obstacle(target: Path, tmp_path: Path) -> None:
    write_verdict(target, verdict_of(target, mutation(20, ())))
    assert add(target, WANTED, [], tmp_path / "kernels")


def test_the_verdict_is_about_the_files_as_they_are(target: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    port = (target / "port.py").read_text()
    (target / "port.py").write_text(port + "\n")
    assert codes(target, WANTED, root) == {"CP5013": "changed since its verdict.json was written"}
    (target / "verdict.json").unlink()
    assert "no such file" in codes(target, WANTED, root)["CP5013"]


def test_licence_style_and_place(target: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    assert "is none of Apache-2.0" in codes(target, replace(WANTED, license="GPL-3.0-only"), root)["CP5010"]
    write_entry(root, entry=ENTRY, kernel="x = 1\n")
    assert codes(target, replace(WANTED, id="twice"), root)["CP5012"] == "exists already"
    other = codes(target, replace(WANTED, family="games", id="twice"), root)["CP5012"]
    assert other == "has the id twice; an id is unique over all families"
    (target / "port.py").write_text((target / "port.py").read_text().replace("Traffic: 2 n.", ""))
    write_verdict(target, verdict_of(target, mutation(20, ()), 1.1))
    with pytest.raises(CorpusError, match=re.escape(f"{target}/port.py:1: CP5003: its docstring")):
        add(target, WANTED, [], root)


def test_all_gates_are_told_at_once_of_the_target_s_files(target: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    write_entry(root)
    (target / "port.py").write_text((target / "port.py").read_text().replace("Units: elements. ", ""))
    (target / "original/device.cu").write_bytes(b"// caf\xe9\n")
    (target / "reference.py").unlink()
    wanted = Wanted("Bad Toys", "double", "GPL-3.0-only", 'a "project"', "x" * 201)
    with pytest.raises(CorpusError) as told:
        add(target, wanted, load(root)[0], root)
    assert [(p.code, p.path, p.line) for p in told.value.problems] == [
        ("CP5010", target, 0),
        ("CP5013", target, 0),
        ("CP5009", target, 0),
        ("CP5002", target, 0),
        ("CP5002", target / "original/device.cu", 0),
        ("CP5001", target, 0),
        ("CP5001", target, 0),
        ("CP5003", target / "port.py", 1),
    ]
    words = [p.message for p in told.value.problems]
    assert words[3] == "no reference.py" and "can't decode byte 0xe9" in words[4]
    assert [w.partition(":")[0] for w in words[5:7]] == ["family", "summary"]
    assert [p.name for p in root.iterdir()] == ["toys"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("def double(:\n", "no Python: "), ("# -- block one 0123456789ab\n", "block one is never")],
)
def test_a_port_that_is_no_kernel_is_told(target: Path, tmp_path: Path, text: str, told: str) -> None:
    root = tmp_path / "kernels"
    write_entry(root, kernel="def twice(:\n")  # nor is this one anything to compare with
    (target / "port.py").write_text(text)
    assert codes(target, WANTED, root)["CP5003"].startswith(told)


def test_a_target_without_a_spec_is_told_once(target: Path, tmp_path: Path) -> None:
    (target / "spec.toml").write_text("schema = \n")
    with pytest.raises(CorpusError) as told:
        add(target, WANTED, [], tmp_path)
    assert [p.code for p in told.value.problems] == ["CP5013"]


@pytest.mark.parametrize("rule", ['rule = "original"\n', "rule = 'original'  # as drafted\n"])
def test_an_entry_is_judged_by_its_reference(target: Path, tmp_path: Path, rule: str) -> None:
    drafted = target / "spec.toml"
    drafted.write_text(drafted.read_text() + f"[tolerance]\n{rule}rtol = 0.5\n")
    write_verdict(target, verdict_of(target, mutation(20, ()), 1.1))
    add(target, WANTED, [], tmp_path)
    made = load_spec(tmp_path / "toys/double")
    assert (made.tolerance.rule, made.tolerance.rtol) == (None, 0.5)
    assert load_spec(target).tolerance.rule == "original"


def test_what_a_person_says_is_kept_as_it_is(target: Path, tmp_path: Path) -> None:
    said = replace(WANTED, summary='\U0001d465 × "2"\x7f', origin="a \\ b")
    add(target, said, [], tmp_path)
    entry = load_item(tmp_path / "toys/double").entry
    assert (entry.summary, entry.provenance.origin) == (said.summary, said.origin)


def test_a_near_duplicate_is_told(target: Path, tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    write_entry(root)
    assert codes(target, WANTED, root) == {"CP5009": "1.00 of its structure is that of toys/twice"}


def test_an_empty_entry_is_made_once(tmp_path: Path) -> None:
    folder = skeleton("toys", "thrice", tmp_path)
    assert load_item(folder).entry.id == "thrice"
    with pytest.raises(CorpusError, match="CP5012"):
        skeleton("toys", "thrice", tmp_path)
    with pytest.raises(CorpusError, match="toys/thrice: CP5012: has the id thrice; an id is unique"):
        skeleton("games", "thrice", tmp_path)
    assert not (tmp_path / "games").exists()
    with pytest.raises(CorpusError, match="CP5001"):
        skeleton("Toys", "3", tmp_path)


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpus of the command line, with nothing in it."""
    root = tmp_path / "kernels"
    root.mkdir()
    monkeypatch.setattr("corpus.catalog.KERNELS", root)
    monkeypatch.setattr("corpus.catalog.load", lambda: load(root))
    return root


def added(target: Path, name: str, *more: str) -> int:
    said = ["--license", "MIT", "--origin", "a project", "--summary", "Doubles a vector"]
    return cuteport(["corpus", "add", str(target), "--as", name, *said, *more])


def test_what_is_yet_to_do_is_said(target: Path, kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert added(target, "toys/double", "--dry-run") == 0
    assert capsys.readouterr().err == ""
    assert added(target, "toys/double") == 0
    said, entry = capsys.readouterr().err.splitlines(), kernels / "toys/double"
    assert said[:2] == ["to be said by a person:", f'{entry}/entry.toml:5: idioms = ["TODO"]']
    assert said[-2:] == [f"{entry}/notes.md:9: - TODO", "not proven until: cuteport corpus check double"]
    assert len(said) == 7

    assert cuteport(["corpus", "new", "toys/thrice"]) == 0
    got = capsys.readouterr()
    assert got.out == f"{kernels}/toys/thrice\n"
    steps = [
        f"fill in its files, as {kernels.parent}/STYLE.md says",
        "cuteport corpus inline thrice",
        "cuteport corpus check thrice --device emulator",
    ]
    assert got.err.splitlines() == [f"next: {s}" for s in steps]


def test_a_proven_entry_of_the_family_is_a_model(kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_entry(kernels)
    other = kernels / "arts/thrice"
    shutil.copytree(folder, other)
    (other / "entry.toml").write_text(ENTRY.replace('"toys"', '"arts"').replace('"twice"', '"thrice"'))
    for place in (folder, other):
        item = load_item(place)
        names, now = [v.name for v in item.entry.variant], item.hashes()
        made = Proof(date="2026-11-30", device="x", status="PASSED", variants=names, mutation=1, hashes=now)
        record(item, made)
    for name, model in (("toys/four", folder), ("crafts/five", other)):
        assert cuteport(["corpus", "new", name]) == 0
        assert f"next: a spec to go by: {model}/spec.toml" in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("name", ["nameless", "Bad Name/x", "toys/", "toys/a/b", "../toys", "toys/x\n"])
def test_names_that_can_not_be_are_wrong_usage(
    target: Path, kernels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert cuteport(["corpus", "new", name]) == 2 == added(target, name)
    assert capsys.readouterr().err.count("is not FAMILY/ID, each a lower-case word") == 2
    assert list(kernels.iterdir()) == []


def test_a_target_that_is_not_there_is_wrong_usage(
    tmp_path: Path, kernels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert added(tmp_path / "gone", "toys/double") == 2
    assert "gone is no folder" in capsys.readouterr().err
