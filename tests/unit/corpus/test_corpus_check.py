"""Verdicts become proofs, or are told as what they are."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_verdicts import concluded, mutation, verdict_of, write_verdict
from small_entry import KERNEL

import translator.batch.corpus_check as check
from corpus.catalog import Item, load_item
from corpus.inline import load_blocks
from corpus.problem import Problem
from translator.batch.corpus_documents import ShowDocument
from translator.cli.main import run as cuteport
from translator.documents import schema_of
from verify.options import Options
from verify.verdict import Status, Verdict


def test_passed_verdicts_are_recorded_with_the_least_of_all_variants(item: Item, tmp_path: Path) -> None:
    good = concluded(
        item, tmp_path / "t",
        {"tried": mutation(39, ("a",)), "ratio": 1.2, "gpu": "NVIDIA H200"},
        {"tried": mutation(40, ()), "ratio": (1.1, 0.97), "gpu": "NVIDIA H200"},
    )  # fmt: skip
    assert good.problems == [] and good.proof is not None
    proof = load_item(item.folder).proof("NVIDIA H200")
    assert proof is not None
    assert (proof.mutation, proof.ratio, proof.variants) == (0.975, 0.97, ["f32", "f16"])


@pytest.mark.parametrize(("said", "judged"), [("", ["twice__f32"]), ("mutate = true", ["twice__f16"])])
def test_changed_kernels_are_judged_in_the_first_variant_or_where_an_entry_says(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, judged: list[str]
) -> None:
    place = item.folder / "entry.toml"
    place.write_text(place.read_text().replace('name = "f16"', f'name = "f16"\n{said}'))
    asked = []

    def verify(targets: list[Path], options: Options, _: object = None) -> Iterator[Verdict]:
        asked.extend((t.name, options.mutate) for t in targets)
        return (verdict_of(t, **({"tried": mutation(39, ())} if options.mutate else {})) for t in targets)

    monkeypatch.setattr(check, "verify_targets", verify)
    checked = check.Checked(load_item(item.folder))
    check.run([checked], tmp_path / "t", Options(mutate="some"), lambda _: None)
    assert [name for name, mutate in asked if mutate == "some"] == judged and len(asked) == 2
    assert checked.proof is not None and checked.proof.mutation == 1.0


def test_two_of_one_structure_say_why_both_stay(item: Item, tmp_path: Path) -> None:
    other = tmp_path / "kernels/toys/twin"
    shutil.copytree(item.folder, other)
    for name in ("entry.toml", "kernel.py", "spec.toml"):
        (other / name).write_text((other / name).read_text().replace("twice", "twin"))
    found = check.examine([load_item(item.folder), load_item(other)])
    assert [[p.code for p in c.problems] for c in found] == [[], ["CP5009"]]
    assert found[1].problems[0].message == "1.00 of its structure is that of twice"
    told = ([[]], [["CP5009"]])
    assert [[p.code for p in c.problems] for c in check.examine([load_item(other)], [item])] == told[0]
    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})
    proven = load_item(item.folder)  # what is checked alone is no copy of what can be found
    assert [[p.code for p in c.problems] for c in check.examine([load_item(other)], [proven])] == told[1]
    found = check.examine([load_item(other), proven])
    assert [[p.code for p in c.problems] for c in found] == [["CP5009"], []]
    text = (other / "entry.toml").read_text()
    (other / "entry.toml").write_text(text.replace("[same]", '[beside]\ntwice = "it is slower"\n\n[same]'))
    assert [c.problems for c in check.examine([proven, load_item(other)])] == [[], []]


def test_changes_known_to_change_nothing_do_not_count(item: Item, tmp_path: Path) -> None:
    known = {"tried": mutation(20, ("a + b → b + a",))}
    assert (found := concluded(item, tmp_path / "t", known, known)).problems == []
    assert found.proof is not None and found.proof.mutation == 1.0
    assert found.proof.device == "emulator" and found.proof.ratio is None


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"status": Status.WRONG_VALUES}, "CP5006", "twice__f16: WRONG_VALUES: by hand"),
        (
            {"tried": mutation(8, ("a + b → b + a", "i < n → True", "x"))},
            "CP5007",
            "only 0.80 of the changed kernels are turned away: line 1: i < n → True, line 1: x",
        ),
        ({"ratio": 0.9}, "CP5008", "twice__f16: 0.900 of its CUDA twin's speed"),
    ],
)  # fmt: skip
def test_one_bad_variant_is_enough(
    item: Item, tmp_path: Path, given: dict[str, Any], code: str, message: str
) -> None:
    found = concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, given)
    assert [p.code for p in found.problems] == [code] and message in found.problems[0].message
    assert found.proof is None and load_item(item.folder).entry.verified == []


@pytest.mark.parametrize(
    ("tried", "why"),
    [
        (None, "was verified without --mutate"),
        (mutation(0, ()), "none of its changed kernels could be judged"),
    ],
)
def test_without_a_score_nothing_is_proven(item: Item, tmp_path: Path, tried: object, why: str) -> None:
    found = concluded(item, tmp_path / "t", {"tried": tried}, {"tried": mutation(20, ())})
    assert [(p.code, p.message) for p in found.problems] == [("CP5007", f"twice__f32: {why}")]
    assert found.proof is None and load_item(item.folder).entry.verified == []


def test_a_score_of_the_same_files_stands_for_verdicts_without_one(item: Item, tmp_path: Path) -> None:
    def verdicts(**given: Any) -> check.Checked:
        now = load_item(item.folder)
        return concluded(now, tmp_path / "t", given, given)

    assert verdicts(tried=mutation(39, ("a",))).problems == []
    assert verdicts(gpu="NVIDIA H200").problems == []  # the emulator's proof has the score
    assert verdicts().problems == []
    scores = {p.device: p.mutation for p in load_item(item.folder).proofs()}
    assert scores == {"emulator": 0.975, "NVIDIA H200": None}

    (item.folder / "reference.py").write_text("# newer\n")
    assert {p.code for p in verdicts(gpu="NVIDIA H200").problems} == {"CP5007"}
    assert {p.code for p in verdicts().problems} == {"CP5007"}


def test_part_of_the_changed_kernels_is_no_score_of_the_entry(item: Item, tmp_path: Path) -> None:
    place = item.folder / "entry.toml"
    place.write_text(place.read_text().replace("values = {", "mutate = true\nvalues = {"))
    both = {"tried": mutation(39, ("a",))}
    found = concluded(load_item(item.folder), tmp_path / "t", {"tried": mutation(20, ())}, {})
    assert [p.message for p in found.problems] == ["twice__f16: was verified without --mutate"]
    concluded(load_item(item.folder), tmp_path / "t", both, both)
    found = concluded(load_item(item.folder), tmp_path / "t", {"tried": mutation(20, ())}, {})
    assert found.problems == [] and found.proof is not None and found.proof.mutation == 0.975


def test_what_changes_while_it_is_judged_is_not_proven(item: Item, tmp_path: Path) -> None:
    checked = check.Checked(item)
    verdicts = [verdict_of(t) for t in check.expand_all([item], tmp_path / "t")]
    (item.folder / "reference.py").write_text("# newer\n")
    check.conclude(checked, verdicts)
    assert [p.code for p in checked.problems] == ["CP5005", "CP5005"] and checked.proof is None
    assert load_item(item.folder).entry.verified == []


def test_verdicts_made_elsewhere_are_taken_if_they_are_about_these_files(item: Item, tmp_path: Path) -> None:
    targets = list(check.expand_all([item], tmp_path / "t"))
    for t in targets:
        write_verdict(t, verdict_of(t, mutation(20, ()), gpu="NVIDIA H200"))
    check.take(found := check.examine([item]), tmp_path / "t")
    assert found[0].problems == [] and load_item(item.folder).proof("NVIDIA H200") is not None

    text = (targets[0] / "verdict.json").read_text()
    (targets[0] / "verdict.json").write_text(text.replace("by hand", "by magic"))
    (targets[1] / "verdict.json").unlink()
    check.take(found := check.examine([item]), tmp_path / "t")
    assert [p.code for p in found[0].problems] == ["CP5005", "CP5005"]
    assert "its seal does not fit" in found[0].problems[0].message
    assert "no such file" in found[0].problems[1].message

    write_verdict(targets[1], verdict_of(targets[1]))
    (targets[0] / "verdict.json").write_text(text)
    (item.folder / "cuda.cu").write_text("// newer\n")
    check.take(found := check.examine([item]), tmp_path / "t")
    assert {p.message for p in found[0].problems} == {"the verdict is about another cuda.cu"}


def test_an_entry_is_shown_as_a_document(item: Item, capsys: pytest.CaptureFixture[str]) -> None:
    assert cuteport(["corpus", "show", "twice", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    made = ShowDocument.model_validate(shown)
    assert (made.id, made.family, made.proven, list(made.variants)) == ("twice", "toys", [], ["f32", "f16"])
    assert made.notes == item.text("notes.md") and made.kernel == item.text("kernel.py")
    schema = json.loads(schema_of("corpus-show"))
    assert set(shown) == set(schema["properties"])


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_name_that_is_none_is_a_document(
    item: Item, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert cuteport(["corpus", command, "thrice", "--json"]) == 2
    assert "CP5011" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_the_command_tells_what_is_not_proven(
    item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cuteport(["corpus", "check", "--no-run"]) == 1
    got = capsys.readouterr()
    assert got.out == "twice: refused\n" and "CP5005: was never proven" in got.err
    assert cuteport(["corpus", "search", "doubles"]) == 0
    assert "nothing proven fits" in capsys.readouterr().err

    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})
    assert cuteport(["corpus", "check", "--no-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["entries"][0]["proof"]["device"] == "emulator" and document["problems"] == []
    assert cuteport(["corpus", "search", "doubles"]) == 0
    assert capsys.readouterr().out == "toys/twice: Doubles a vector (double)\n"
    assert cuteport(["corpus", "list"]) == 0
    assert "proven: emulator" in capsys.readouterr().out

    place = item.folder / "entry.toml"
    place.write_text(place.read_text().replace("mutation = 1.0", "mutation = 0.1"))
    assert cuteport(["corpus", "check", "--no-run"]) == 1
    assert "CP5007: emulator: a score of 0.1 is recorded" in capsys.readouterr().err

    (item.folder / "kernel.py").write_text(item.text("kernel.py").replace("return FIRST", "return 3"))
    assert cuteport(["corpus", "check", "--no-run"]) == 1
    assert "CP5004: block one differs" in capsys.readouterr().err
    assert cuteport(["corpus", "search", "doubles"]) == 0
    assert "nothing proven fits" in capsys.readouterr().err


def test_wrong_names_and_choices_are_wrong_usage(item: Item, capsys: pytest.CaptureFixture[str]) -> None:
    assert cuteport(["corpus", "show", "thrice"]) == 2
    assert "CP5011" in capsys.readouterr().err
    assert cuteport(["corpus", "check", "--device", "abacus"]) == 2
    assert cuteport(["corpus", "check", "--verdicts", "nowhere"]) == 2
    assert "nowhere is no folder" in capsys.readouterr().err
    for wrong in (["--device", "abacus"], ["-j", "0"], ["--verdicts", "."]):
        assert cuteport(["corpus", "check", "--no-run", *wrong]) == 2
    assert cuteport(["corpus", "show", "twice"]) == 0
    assert "| `x[i] * 2` | `x * 2` |" in capsys.readouterr().out


def test_what_is_shown_says_whether_it_is_proven(
    item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def third_line() -> str:
        assert cuteport(["corpus", "show", "twice"]) == 0
        return capsys.readouterr().out.splitlines()[2]

    assert third_line() == "proven: no, was never proven"
    place = item.folder / "entry.toml"
    place.write_text(place.read_text().replace("schema = 1\n", 'schema = 1\ndraft = "not yet tried"\n'))
    assert third_line() == "proven: no, a draft: not yet tried"
    concluded(load_item(item.folder), tmp_path / "t", {"tried": mutation(20, ())}, {})
    assert third_line() == "proven: emulator"
    place.write_text(place.read_text().replace('draft = "not yet tried"\n', ""))
    (item.folder / "reference.py").write_text("# newer\n")
    assert third_line() == "proven: no, changed since it was proven (emulator)"


def test_variants_are_written_for_other_machines(
    item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cuteport(["corpus", "expand", str(tmp_path / "out"), "twice"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [str(tmp_path / "out/twice__f32"), str(tmp_path / "out/twice__f16")]
    assert all((Path(s) / "spec.toml").is_file() for s in shown)


def test_the_command_verifies_every_variant_and_records(
    item: Item, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Options] = []

    def verify(targets: list[Path], options: Options, _: object = None) -> list[Verdict]:
        asked.append(options)
        tried = mutation(19, ("a + b → b + a",))
        return [verdict_of(t, tried, 1.5, gpu="NVIDIA H200") for t in reversed(targets)]

    monkeypatch.setattr(check, "verify_targets", verify)
    assert cuteport(["corpus", "check", "twice", "--device", "gpu"]) == 0
    assert (asked[0].device, asked[0].mutate) == ("gpu", "some")
    got = capsys.readouterr()
    score = "mutation score 1.00 without 2 changes known to change nothing (`[same]`)"
    assert f"2 variants PASSED; {score}; 1.50x of the CUDA twin's speed" in got.out
    assert got.err.count("PASSED: by hand") == 2
    assert load_item(item.folder).proof("NVIDIA H200") is not None


def test_an_entry_that_is_named_twice_is_checked_once(
    item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})
    assert cuteport(["corpus", "check", "twice", "toys/twice", "twice", "--no-run"]) == 0
    got = capsys.readouterr()
    assert got.err == "" and got.out.count("twice: ") == 1


def test_a_block_that_changed_is_put_in_by_a_command(
    item: Item, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, proven = tmp_path / "blocks/one.py", item.text("kernel.py")
    concluded(item, tmp_path / "t", {"tried": mutation(20, ())}, {})

    def inlined(first: str, arguments: tuple[str, ...] = ()) -> str:
        one.write_text(re.sub("FIRST = .*", first, one.read_text()))
        newer = load_blocks(one.parent)
        monkeypatch.setattr(check, "load_blocks", lambda: newer)
        assert cuteport(["corpus", "inline", *arguments]) == 0
        return capsys.readouterr().out

    assert inlined("FIRST = 5") == "twice: rewritten; its proof is out of date\n"
    assert "FIRST = 5" in item.text("kernel.py")
    assert inlined("FIRST = 5", ("twice",)) == ""
    assert inlined("FIRST = 1") == "twice: rewritten\n" and item.text("kernel.py") == proven


def test_a_kernel_that_never_was_proven_has_no_proof_that_is_out_of_date(
    item: Item, capsys: pytest.CaptureFixture[str]
) -> None:
    (item.folder / "kernel.py").write_text(KERNEL)
    assert cuteport(["corpus", "inline"]) == 0
    assert capsys.readouterr().out == "twice: rewritten\n"


@pytest.mark.parametrize(
    ("old", "new", "told", "rewritten"),
    [
        ("# -- block two", "# -- block tow", "CP5004: no block is called tow", True),
        ("def twice(x", "def twice(:", "CP5004: invalid syntax", False),
        ("# -- block one\n", "# -- block one 0123456789ab\n", "CP5004: block one is never closed", False),
        ("Doubles.", "Doubles.\0", "CP5004: source code string cannot contain null bytes", False),
    ],
)
def test_what_inlining_can_not_mend_is_told(
    item: Item, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str, rewritten: bool
) -> None:
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    (item.folder / "kernel.py").write_text(text)
    assert cuteport(["corpus", "inline"]) == 1
    got = capsys.readouterr()
    assert told in got.err and (got.out, item.text("kernel.py") != text) == (
        "twice: rewritten\n" if rewritten else "",
        rewritten,
    )
    assert cuteport(["corpus", "check", "--no-run"]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/x"])
def test_a_place_that_can_not_be_a_folder_is_wrong_usage(
    item: Item, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "file").write_text("")
    assert cuteport(["corpus", "expand", str(tmp_path / place), "twice"]) == 2
    assert "can't be made" in capsys.readouterr().err


def test_a_place_with_too_long_a_name_or_in_the_corpus_is_wrong_usage(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("corpus.catalog.KERNELS", tmp_path / "kernels")
    before = sorted(tmp_path.rglob("*"))
    assert cuteport(["corpus", "expand", str(tmp_path / ("x" * 300)), "twice"]) == 2
    assert "can't be made: File name too long" in capsys.readouterr().err
    for place in ("kernels", "kernels/toys", "kernels/toys/twice/new"):
        assert cuteport(["corpus", "expand", str(tmp_path / place), "twice"]) == 2
        assert "is part of the corpus" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_entry_that_can_not_be_expanded_keeps_no_other_from_it(
    item: Item, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "kernels/arts/thrice"
    shutil.copytree(item.folder, other)
    text = item.text("entry.toml").replace('"twice"', '"thrice"').replace('"toys"', '"arts"')
    (other / "entry.toml").write_text(text)
    (other / "spec.toml").write_text("schema = 1\n")
    monkeypatch.setattr("corpus.catalog.load", lambda: ([load_item(other), item], []))
    assert cuteport(["corpus", "expand", str(tmp_path / "out")]) == 1
    got = capsys.readouterr()
    assert (
        "CP5001: variant f32 of entry.toml: nothing uses dtype" in got.err
        and got.out.count("out/twice__") == 2
    )


@pytest.mark.parametrize("command", [["inline"], ["expand", "out"]])
def test_entries_that_can_not_be_used_are_told_by_commands_over_all(
    item: Item,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = Problem("CP5002", tmp_path, "no notes.md")
    monkeypatch.setattr("corpus.catalog.load", lambda: ([item], [problem]))
    assert cuteport(["corpus", *command]) == 1
    assert capsys.readouterr().err == f"{problem}\n"
    assert cuteport(["corpus", *command, "twice"]) == 0
