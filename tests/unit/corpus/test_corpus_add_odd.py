"""Targets that no person made with care: what can't be promoted is told, and nothing is waited for."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from made_verdicts import mutation, verdict_of, write_verdict

from corpus.catalog import load, load_item
from corpus.problem import CorpusError
from translator.batch.corpus_add import Wanted, add
from translator.batch.corpus_specs import check_specs
from verify.certificate import sealed
from verify.spec_file import load_spec
from verify.verdict import Asked, Verdict

WANTED = Wanted("toys", "double", "MIT", "somebody/project at src/double.cu", "Doubles a vector")


def told(target: Path, wanted: Wanted = WANTED) -> list[str]:
    root = target.parent / "kernels"
    with pytest.raises(CorpusError) as found:
        add(target, wanted, load(root)[0], root)
    assert not root.exists()
    return [f"{p.path.relative_to(target)}: {p.code}: {p.message}" for p in found.value.problems]


def judged(target: Path, **changes: object) -> None:
    verdict = verdict_of(target, mutation(20, ()), 1.1).model_copy(update=changes)
    write_verdict(target, sealed(Verdict.model_validate(verdict.model_dump())))


@pytest.mark.parametrize("name", ["port.py", "original/device.cu", "reference.py", "line_map.json"])
def test_a_pipe_is_not_waited_for(target: Path, name: str) -> None:
    (target / name).unlink(missing_ok=True)
    os.mkfifo(target / name)
    assert told(target) == [f"{name}: CP5013: not a regular file"]


@pytest.mark.parametrize("name", ["/etc/hostname", "../device.cu"])
def test_what_lies_elsewhere_is_not_taken(target: Path, name: str) -> None:
    (target.parent / "device.cu").write_text("__global__ void twice(float* x, int n) {}\n")
    spec = target / "spec.toml"
    spec.write_text(spec.read_text().replace("original/device.cu", name))
    judged(target)
    assert told(target) == [f"spec.toml: CP5013: {name} lies outside of the target"]


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        '{"lines": 7}',
        '{"lines": [1]}',
        '{"lines": [[1, 2, 3]]}',
        '{"lines": [["a", "b", "c"]]}',
        "[" * 100_000,
    ],
)
def test_a_line_map_that_is_none_is_no_obstacle(target: Path, text: str) -> None:
    (target / "line_map.json").write_text(text)
    assert "| TODO | TODO |" in add(target, WANTED, [], target.parent / "kernels")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('source = "original/device.cu"', "source='original/device.cu'"),
        ('module = "port.py"', "module  =  'port.py'"),
        ('module = "port.py"\n', ""),
        (
            '[original]\nsource = "original/device.cu"\nkernel = "twice"\n',
            'original = { source = "original/device.cu", kernel = "twice" }\n',
        ),
    ],
)
def test_however_a_spec_is_written_the_entry_names_its_own_files(target: Path, old: str, new: str) -> None:
    place = target / "spec.toml"
    assert old in place.read_text()
    place.write_text(place.read_text().replace(old, new))
    judged(target)
    add(target, WANTED, [], target.parent / "kernels")
    entry = load_item(target.parent / "kernels/toys/double")
    spec = load_spec(entry.folder)
    assert (spec.original.source, spec.port.module) == ("cuda.cu", "kernel.py") and check_specs(entry) == []


def test_a_spec_that_no_entry_could_be_judged_by_is_told(target: Path) -> None:
    place = target / "spec.toml"
    place.write_text(place.read_text() + '[tolerance]\nrule = "double"\n# ${rows}\n')
    judged(target)
    assert told(target) == ["spec.toml: CP5001: variant all of entry.toml has no value for ${rows}"]
    place.write_text(place.read_text().replace("# ${rows}\n", ""))
    judged(target)
    assert told(target) == [
        "spec.toml: CP5001: tolerance.rule is 'double': reference.py would never be asked"
    ]


def test_a_verdict_of_part_of_the_cases_or_of_another_verify_is_told_as_that(target: Path) -> None:
    now = verdict_of(target).hashes
    judged(target, asked=Asked(stages=["static"], cases=["one"], device="gpu", arch="sm_90a", timeout=1.0))
    assert told(target) == [".: CP5013: its verdict.json is about the cases one alone"]
    judged(target, hashes={**now, "harness": "0" * 64})
    assert told(target) == [".: CP5013: its verdict.json was written by another version of verify"]
    judged(target, hashes={**now, "port": "0" * 64})
    assert told(target) == [".: CP5013: changed since its verdict.json was written"]


@pytest.mark.parametrize(
    ("ratios", "shown"), [((1.2, 0.9), "0.900"), ((math.nan,), "nan"), ((math.inf,), "inf")]
)
def test_every_timed_case_counts(target: Path, ratios: tuple[float, ...], shown: str) -> None:
    write_verdict(target, verdict_of(target, mutation(20, ()), ratios))
    assert told(target) == [f".: CP5008: {shown} of the original's speed"]
    write_verdict(target, verdict_of(target, mutation(20, ()), (1.2, 0.97)))
    assert add(target, WANTED, [], target.parent / "kernels", dry=True)


def test_what_is_no_text_can_not_be_said(target: Path) -> None:
    assert told(target, replace(WANTED, summary="\udcff")) == [".: CP5001: summary: no text in UTF-8"]


OWN_NOTES = (
    "# double\n\n| CUDA | CuTe DSL |\n| --- | --- |\n| `x[i] * 2` | `x + x` |\n\n## Pitfalls\n\n- None yet.\n"
)


def test_notes_that_were_written_are_the_entry_s(target: Path) -> None:
    (target / "notes.md").write_text(OWN_NOTES)
    root = target.parent / "kernels"
    add(target, WANTED, [], root)
    assert (root / "toys/double/notes.md").read_text() == OWN_NOTES


def test_a_line_map_of_another_port_pairs_no_lines(target: Path) -> None:
    source, port = (target / "original/device.cu").read_text(), (target / "port.py").read_text()
    lines = [[1, "original/device.cu", 1]]
    for known, row in ((port, f"| `{source.splitlines()[0]}` |"), (port + "#", "| TODO | TODO |")):
        mapped = {"port_sha256": hashlib.sha256(known.encode()).hexdigest(), "lines": lines}
        (target / "line_map.json").write_text(json.dumps(mapped))
        assert row in add(target, WANTED, [], target.parent / "kernels", dry=True)


def test_changes_that_change_nothing_come_with_their_reasons(target: Path) -> None:
    write_verdict(target, verdict_of(target, mutation(9, ("x",)), 1.1))
    same = target / "same.toml"
    same.write_text('"y" = "of another change"\n')
    assert any("CP5007: 0.90 of the changed kernels" in line for line in told(target))
    for text, why in (("x = 1\n", "'x': the reason is a text"), ("x = \n", "can't be read")):
        same.write_text(text)
        assert any(line.startswith(f"same.toml: CP5001: {why}") for line in told(target))
    same.write_text('"x" = "each lane writes the same"\n')
    root = target.parent / "kernels"
    add(target, WANTED, [], root)
    assert load_item(root / "toys/double").entry.same == {"x": "each lane writes the same"}
