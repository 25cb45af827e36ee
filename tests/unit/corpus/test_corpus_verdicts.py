"""Verdicts that are offered for an entry: only whole ones, of each variant, prove it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from made_verdicts import concluded, mutation, verdict_of, write_verdict

import translator.batch.corpus_check as check
from corpus.catalog import Item, load_item
from verify.certificate import sealed
from verify.facts import Difference, ErrorFacts
from verify.verdict import Asked


def offered(item: Item, into: Path, *changes: dict[str, Any]) -> list[str]:
    """What is said of verdicts that are whole but for these changes; with none it is proven."""
    for k, t in enumerate(check.expand_all([item], into)):
        made = verdict_of(t, mutation(20, ()), 1.2, gpu="NVIDIA H200")
        write_verdict(t, sealed(made.model_copy(update=changes[k % len(changes)])))
    check.take(found := check.examine([item]), into)
    proven = load_item(item.folder).proof("NVIDIA H200") is not None
    assert proven is (found[0].proof is not None) is (not found[0].problems)
    return [f"{p.code}: {p.message}" for p in found[0].problems]


def test_a_verdict_is_of_the_variant_where_it_lies(item: Item, tmp_path: Path) -> None:
    into = tmp_path / "t"
    assert offered(item, into, {"target": "."}) == []
    shutil.copyfile(into / "twice__f32/verdict.json", into / "twice__f16/verdict.json")
    check.take(found := check.examine([item]), into)
    told = ("CP5005", into / "twice__f16", "the verdict is about another spec.toml")
    assert [(p.code, p.path, p.message) for p in found[0].problems] == [told]


@pytest.mark.parametrize("name", ["f16__x", "_f16"])
def test_a_variant_may_have_any_name(item: Item, tmp_path: Path, name: str) -> None:
    place = item.folder / "entry.toml"
    place.write_text(place.read_text().replace('name = "f16"', f'name = "{name}"'))
    assert offered(load_item(item.folder), tmp_path / "t", {}) == []


def test_every_variant_needs_one_verdict(item: Item, tmp_path: Path) -> None:
    one, other = check.expand_all([item], tmp_path / "t")
    for targets, told in (([one], "no verdicts"), ([one, other, other], "2 verdicts"), ([], "no verdicts")):
        checked = check.Checked(item)
        check.conclude(checked, [verdict_of(t, mutation(20, ())) for t in targets])
        assert f"twice__f16: {told}" in [p.message for p in checked.problems] and checked.proof is None


def test_part_of_the_cases_proves_no_entry(item: Item, tmp_path: Path) -> None:
    asked = Asked(stages=["static"], cases=["one"], device="gpu", arch="sm_90a", timeout=1.0)
    said = offered(item, tmp_path / "t", {}, {"asked": asked})
    assert said == ["CP5005: the verdict is about the cases one alone"]


@pytest.mark.parametrize("elements", [None, 0])
def test_a_reference_that_says_nothing_is_none(item: Item, tmp_path: Path, elements: int | None) -> None:
    def compared(n: int | None) -> dict[str, Any]:
        known = None if n is None else ErrorFacts(max_abs=0, max_rel=0, max_ulp=0, histogram=[n])
        outputs = [
            Difference(output="x", dtype="f32", rule="fp64", elements=1, original_error=known),
            Difference(output="count", dtype="i32", rule="exact", elements=1),
        ]
        stages = verdict_of(next(iter(check.expand_all([item], tmp_path / "x"))), mutation(20, ())).stages
        facts = stages[2].parity
        assert facts is not None
        made = facts.model_copy(update={"outputs": outputs})
        return {"stages": [*stages[:2], stages[2].model_copy(update={"parity": made})]}

    said = offered(item, tmp_path / "t", compared(1), compared(elements))
    assert said == ["CP5006: twice__f16: reference.py says nothing of x"]


def test_a_number_of_changed_kernels_is_no_score(item: Item, tmp_path: Path) -> None:
    def tried(available: int) -> dict[str, Any]:
        parity = verdict_of(next(iter(check.expand_all([item], tmp_path / "x"))), mutation(1, ())).stages
        facts = parity[2].parity
        assert facts is not None and facts.mutation is not None
        few = facts.mutation.model_copy(update={"available": available})
        made = parity[2].model_copy(update={"parity": facts.model_copy(update={"mutation": few})})
        asked = Asked(stages=["static"], device="emulator", arch="sm_90a", timeout=1.0, mutate=1)
        return {"stages": [*parity[:2], made], "asked": asked}

    words = "twice__f32: 1 of 30 changed kernels are too few: --mutate goes without a number"
    assert offered(item, tmp_path / "t", tried(30), {})[0] == f"CP5007: {words}"
    checked = check.Checked(item)
    verdicts = [
        verdict_of(t, mutation(20, ())).model_copy(update=tried(1))
        for t in check.expand_all([item], tmp_path)
    ]
    check.conclude(checked, verdicts)
    assert checked.problems == [] and checked.proof is not None and checked.proof.mutation == 1.0


def test_verdicts_of_several_devices_are_no_proof_of_one(item: Item, tmp_path: Path) -> None:
    found = concluded(
        item, tmp_path / "t", {"tried": mutation(20, ()), "gpu": "NVIDIA H200"}, {"gpu": "NVIDIA A100"}
    )
    told = "verdicts of several devices, NVIDIA A100, NVIDIA H200: one proof is of one device"
    assert [(p.code, p.message) for p in found.problems] == [("CP5005", told)]
    assert load_item(item.folder).entry.verified == []


@pytest.mark.parametrize("ratio", [math.nan, math.inf, -1.0])
def test_a_speed_that_is_no_number_is_none(item: Item, tmp_path: Path, ratio: float) -> None:
    found = concluded(item, tmp_path / "t", {"tried": mutation(20, ()), "ratio": ratio}, {"ratio": 1.2})
    assert [p.code for p in found.problems] == ["CP5008"] and load_item(item.folder).entry.verified == []


def test_a_ratio_of_the_same_files_stands_for_verdicts_without_times(item: Item, tmp_path: Path) -> None:
    def ratio(*given: dict[str, Any]) -> float | None:
        found = concluded(load_item(item.folder), tmp_path / "t", *given)
        assert found.problems == [] and found.proof == load_item(item.folder).proof(DEVICE)
        return found.proof and found.proof.ratio

    judged = {"tried": mutation(20, ()), "gpu": (DEVICE := "NVIDIA H200")}
    assert ratio(judged, judged) is None
    assert ratio({**judged, "ratio": 1.2}, judged) is None  # of one variant, while both are claimed
    assert ratio({**judged, "ratio": 1.2}, {**judged, "ratio": 1.3}) == 1.2
    assert ratio(judged, judged) == 1.2
    (item.folder / "reference.py").write_text("# newer\n")
    assert ratio(judged, judged) is None


def test_a_file_that_goes_while_it_is_judged_costs_its_entry_only(item: Item, tmp_path: Path) -> None:
    verdicts = [verdict_of(t, mutation(20, ())) for t in check.expand_all([item], tmp_path / "t")]
    (item.folder / "cuda.cu").unlink()
    check.conclude(checked := check.Checked(item), verdicts)
    assert [(p.code, p.message) for p in checked.problems] == [("CP5002", "no cuda.cu")]
    (item.folder / "cuda.cu").write_text("")
    (item.folder / "spec.toml").write_text("${other}")
    check.conclude(checked := check.Checked(item), verdicts)
    assert {p.code for p in checked.problems} == {"CP5001"} and checked.proof is None
