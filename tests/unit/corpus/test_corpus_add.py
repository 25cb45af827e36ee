"""A target becomes an entry: each gate, closed once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_verdicts import mutation, verdict_of, write_verdict
from small_entry import ENTRY, KERNEL, SPEC, write_entry

from corpus.catalog import load, load_item
from corpus.problem import CorpusError
from translator.batch.corpus_add import Wanted, add, skeleton
from verify.verdict import Status

PLAIN = KERNEL.replace("# -- block one\n# -- block two\n", "")
WANTED = Wanted("toys", "double", "MIT", "somebody/project at src/double.cu", "Doubles a vector")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A target as `port` and a person leave it."""
    folder = tmp_path / "target"
    (folder / "original").mkdir(parents=True)
    spec = (
        SPEC.replace("${dtype}", "f32")
        .replace('"cuda.cu"', '"original/device.cu"')
        .replace("kernel.py", "port.py")
    )
    (folder / "spec.toml").write_text(spec)
    (folder / "port.py").write_text(PLAIN.replace("twice", "double").replace("def double", "def double"))
    (folder / "spec.toml").write_text(spec.replace('entry = "twice"', 'entry = "double"'))
    (folder / "original/device.cu").write_text("__global__ void twice(float* x, int n) {}\n")
    (folder / "reference.py").write_text('"""Doubles."""\n')
    write_verdict(folder, verdict_of(folder, mutation(20, ()), 1.1))
    return folder


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
            "0.90 of the changed kernels are turned away: line 1: x",
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
    with pytest.raises(
        CorpusError, match=re.escape(f"{root}/toys/double/kernel.py:1: CP5003: its docstring")
    ):
        add(target, WANTED, [], root)


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
