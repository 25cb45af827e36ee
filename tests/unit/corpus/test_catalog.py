"""Entries: what is loaded, what is told of one that can't be, and which may be learned from."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

import pytest
from small_entry import ENTRY, SPEC, write_entry

from corpus.catalog import find, load, load_item, retrievable
from corpus.codes import CODES
from corpus.entry import Proof
from corpus.expand import expand, spec_of
from corpus.problem import CorpusError
from corpus.proof import MARKER, record, with_proof
from verify.spec_file import load_spec

PAGES = Path(__file__).resolve().parents[3] / "corpus/pages"


def test_an_entry_is_its_folder(tmp_path: Path) -> None:
    write_entry(tmp_path)
    (item,), problems = load(tmp_path)
    assert problems == []
    assert (item.entry.id, item.entry.family, [v.name for v in item.entry.variant]) == (
        "twice",
        "toys",
        ["f32", "f16"],
    )
    assert find("twice", [item]) is item and find("toys/twice", [item]) is item
    with pytest.raises(CorpusError, match=r"thrice: CP5011: no entry is called that; did you mean twice\?$"):
        find("toys/thrice", [item])
    with pytest.raises(CorpusError, match=r"CP5011: no entry is called that; there are: twice$"):
        find("something", [item])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('license = "MIT"', 'license = "GPL-3.0"', "CP5010: provenance.license: 'GPL-3.0' is none of"),
        ('id = "twice"', 'id = "other"', "CP5001: family toys, id other: the folder is toys/twice"),
        ('id = "twice"', 'id = "Twice!"', "CP5001: id"),
        ("schema = 1", "schema = 2", "CP5001: schema"),
        ("schema = 1", "schema = 1\nmore = 1", "CP5001: more"),
        ("schema = 1", "schema = ", "entry.toml:1: CP5001: not valid TOML"),
        ('lessons = ["Doubling is easy."]', 'lessons = ["a", "b", "c", "d"]', "CP5001: lessons"),
        ('dsl = ">=4.8,<5"', 'dsl = "new"', "CP5001: dsl: 'new' is no range of versions"),
        ('name = "f16"', 'name = "f32"', "CP5001: variants have the same name"),
        (
            'values = { dtype = "f16" }',
            'values = { kind = "f16" }',
            "CP5001: variants give values for different names",
        ),
    ],
)
def test_what_breaks_a_rule_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in ENTRY
    folder = write_entry(tmp_path, entry=ENTRY.replace(old, new))
    with pytest.raises(CorpusError, match=re.escape(told)):
        load_item(folder)
    assert load(tmp_path)[0] == []


def test_missing_files_are_told(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    (folder / "reference.py").unlink()
    (folder / "notes.md").unlink()
    with pytest.raises(CorpusError) as told:
        load_item(folder)
    assert [(p.code, p.message) for p in told.value.problems] == [
        ("CP5002", "no reference.py"),
        ("CP5002", "no notes.md"),
    ]


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    (folder / "kernel.py").write_bytes(b"\xff")
    items, problems = load(tmp_path)
    assert items == [] and [(p.code, p.path) for p in problems] == [("CP5002", folder / "kernel.py")]
    assert problems[0].message.startswith("can't be read: 'utf-8' codec can't decode byte 0xff")


def test_of_two_with_one_id_neither_is_taken_for_the_other(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    other = tmp_path / "games/twice"
    shutil.copytree(folder, other)
    (other / "entry.toml").write_text(ENTRY.replace('"toys"', '"games"'))
    items, problems = load(tmp_path)
    assert items == []
    assert [str(p) for p in problems] == [
        f"{a}: CP5001: {b} has the same id; an id is unique over all families"
        for a, b in ((other, folder), (folder, other))
    ]
    with pytest.raises(CorpusError, match="games/twice has the same id"):
        find("toys/twice", items, problems)
    (other / "entry.toml").unlink()
    assert [i.folder for i in load(tmp_path)[0]] == [folder]


@pytest.mark.parametrize("name", ["twice", "toys/twice"])
def test_an_entry_that_can_not_be_used_is_told_by_its_cause(tmp_path: Path, name: str) -> None:
    folder = write_entry(tmp_path, entry=ENTRY.replace("schema = 1", "schema = 2"))
    (folder / "notes.md").unlink()
    shutil.copytree(folder, tmp_path / "toys/other")
    with pytest.raises(CorpusError) as told:
        find(name, *load(tmp_path))
    assert [(p.code, p.path) for p in told.value.problems] == [
        ("CP5002", folder),
        ("CP5001", folder / "entry.toml"),
    ]


def test_variants_become_targets_that_verify_reads(tmp_path: Path) -> None:
    item = load_item(write_entry(tmp_path))
    targets = [expand(item, v, tmp_path / "out") for v in item.entry.variant]
    assert [t.name for t in targets] == ["twice__f32", "twice__f16"]
    specs = [load_spec(t) for t in targets]
    assert [s.port.constants for s in specs] == [{"dtype": "f32"}, {"dtype": "f16"}]
    assert [s.buffers[0].dtype for s in specs] == ["f32", "f16"]
    assert sorted(p.name for p in targets[0].iterdir()) == [
        "cuda.cu",
        "kernel.py",
        "reference.py",
        "spec.toml",
    ]


def test_expanding_again_keeps_what_lies_there(tmp_path: Path) -> None:
    item = load_item(write_entry(tmp_path / "kernels"))
    variant, into = item.entry.variant[0], tmp_path / "out"
    target = expand(item, variant, into)
    for name in ("verdict.json", "mine.txt"):
        (target / name).write_text("precious")
    assert expand(item, variant, into) == target and (target / "verdict.json").exists()
    (item.folder / "reference.py").write_text("# newer\n")
    (target / "kernel.py").unlink()
    (target / "kernel.py").symlink_to(item.folder / "kernel.py")
    expand(item, variant, into)
    assert (target / "reference.py").read_text() == "# newer\n" and not (target / "kernel.py").is_symlink()
    assert not (target / "verdict.json").exists() and (target / "mine.txt").read_text() == "precious"
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        expand(item, variant, into)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (SPEC + "# ${other}\n", "variant f32 of entry.toml has no value for ${other}"),
        (SPEC.replace("${dtype}", "f32"), "variant f32 of entry.toml: nothing uses dtype"),
    ],
)
def test_places_and_values_must_meet(tmp_path: Path, spec: str, told: str) -> None:
    item = load_item(write_entry(tmp_path, spec=spec))
    with pytest.raises(CorpusError, match=re.escape(told)):
        spec_of(item, item.entry.variant[0])


def proof(folder: Path, device: str = "emulator") -> Proof:
    item = load_item(folder)
    names = [v.name for v in item.entry.variant]
    return Proof(
        date="2026-11-30", device=device, status="PASSED", variants=names, mutation=0.97, hashes=item.hashes()
    )


def test_only_what_is_proven_as_it_is_now_may_be_learned_from(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    assert retrievable(load(tmp_path)[0]) == []
    record(load_item(folder), proof(folder))
    assert [i.entry.id for i in retrievable(load(tmp_path)[0])] == ["twice"]
    for name in ("kernel.py", "cuda.cu", "reference.py", "spec.toml"):
        before = (folder / name).read_text()
        (folder / name).write_text(before + "\n")
        assert retrievable(load(tmp_path)[0]) == [], name
        (folder / name).write_text(before)
    (folder / "notes.md").write_text("other words\n")
    assert len(retrievable(load(tmp_path)[0])) == 1
    (folder / "entry.toml").write_text((folder / "entry.toml").read_text().replace('"f16"', '"bf16"'))
    assert retrievable(load(tmp_path)[0]) == []


def test_proofs_of_devices_stand_side_by_side_and_old_ones_go(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    record(load_item(folder), proof(folder))
    record(load_item(folder), proof(folder, "NVIDIA H200"))
    text = (folder / "entry.toml").read_text()
    assert text.startswith(ENTRY.rstrip("\n")) and text.count(MARKER) == 1
    item = load_item(folder)
    assert [p.device for p in item.entry.verified] == ["NVIDIA H200", "emulator"]
    assert item.proof("NVIDIA H200") is not None and item.proof("another") is None
    (folder / "kernel.py").write_text("changed\n")
    record(load_item(folder), proof(folder))
    assert [p.device for p in load_item(folder).entry.verified] == ["emulator"]


def test_a_proof_that_another_process_wrote_meanwhile_stays(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    before = load_item(folder)
    record(load_item(folder), proof(folder, "NVIDIA H200"))
    record(before, proof(folder))
    assert [p.device for p in load_item(folder).entry.verified] == ["NVIDIA H200", "emulator"]


def test_what_people_wrote_is_never_lost_to_a_proof(tmp_path: Path) -> None:
    by_hand = f'{ENTRY}\n{MARKER}\n\n[[variant]]\nname = "bf16"\nvalues = {{ dtype = "bf16" }}\n'
    above = ENTRY + with_proof("", [proof(write_entry(tmp_path), "another")]).replace(MARKER, "")
    for text in (by_hand, above):
        folder = write_entry(tmp_path, entry=text)
        with pytest.raises(CorpusError, match=r"entry\.toml: CP5001: proofs stand below"):
            record(load_item(folder), proof(folder))
        assert (folder / "entry.toml").read_text() == text
    folder = write_entry(tmp_path, entry=ENTRY.replace('"Doubles a vector"', f'"{MARKER}"'))
    record(load_item(folder), proof(folder))
    assert load_item(folder).entry.summary == MARKER and load_item(folder).proof() is not None


def test_an_entry_that_changed_meanwhile_gets_no_proof(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    before, made = load_item(folder), proof(folder)
    text = ENTRY.replace('dtype = "f16"', 'dtype = "bf16"')
    (folder / "entry.toml").write_text(text)
    with pytest.raises(CorpusError, match="twice: CP5005: changed while it was judged"):
        record(before, made)
    assert (folder / "entry.toml").read_text() == text


def test_a_device_may_be_called_anything(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    record(load_item(folder), proof(folder, 'GPU "\U0001d465" \\ \x7f'))
    assert load_item(folder).proofs()[0].device == 'GPU "\U0001d465" \\ \x7f'


def test_a_disk_that_is_full_is_told_of_the_entry_s_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_entry(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left") as told:
        record(load_item(folder), proof(folder))
    assert told.value.filename == str(folder / "entry.toml")
    assert (folder / "entry.toml").read_text() == ENTRY
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


def test_every_code_has_a_page() -> None:
    pages = {p.stem: p.read_text(encoding="utf-8") for p in PAGES.glob("*.md")}
    assert set(pages) == set(CODES)
    for code, text in pages.items():
        assert text.startswith(f"# {code}: {CODES[code]}\n"), code
        assert [
            h for h in ("What it means", "Why it matters", "How to fix") if f"\n## {h}\n" not in text
        ] == [], code


def test_a_page_that_shows_how_to_prove_judges_changed_kernels() -> None:
    shown = [m for p in PAGES.glob("*.md") for m in re.findall(r"-m verify DIR[^`]*", p.read_text("utf-8"))]
    assert shown == ["-m verify DIR --mutate"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("schema = 1", "schema = " + "9" * 5000, "CP5001: can't be read: Exceeds the limit"),
        ("schema = 1", "x = " + "[" * 5000, "CP5001: can't be read: maximum recursion depth"),
        ('"Doubles a vector"', '"Doubles\\na vector"', "CP5001: summary: String should match"),
        ('"Doubles a vector"', '"\\u001b[31mDoubles"', "CP5001: summary: String should match"),
        ('id = "twice"', 'id = "twi__ce"', "CP5001: id: String should match"),
        ('family = "toys"', 'family = "toys_"', "CP5001: family: String should match"),
    ],
)
def test_what_no_entry_can_say_is_told_and_stops_no_other(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    broken = write_entry(tmp_path, entry=ENTRY.replace(old, new))
    shutil.copytree(broken, tmp_path / "arts/thrice")
    text = ENTRY.replace('"toys"', '"arts"').replace('"twice"', '"thrice"')
    (tmp_path / "arts/thrice/entry.toml").write_text(text)
    items, problems = load(tmp_path)
    assert [i.entry.id for i in items] == ["thrice"]
    assert len(problems) == 1 and f"{broken}/entry.toml: {told}" in str(problems[0])


@pytest.mark.parametrize(
    "line", ["mutation = nan", "mutation = 1.5", "mutation = -1", "ratio = nan", "ratio = inf", "ratio = 0"]
)
def test_a_recorded_number_that_can_not_be_is_told(tmp_path: Path, line: str) -> None:
    folder = write_entry(tmp_path)
    record(load_item(folder), proof(folder))
    place = folder / "entry.toml"
    name = line.partition(" ")[0]
    place.write_text(place.read_text().replace("mutation = 0.97", line))
    with pytest.raises(CorpusError, match=rf"CP5001: verified.0.{name}: Input should be"):
        load_item(folder)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("mutation = 0.5", "CP5007: emulator: a score of 0.5 is recorded"),
        ("mutation = 0.97\nratio = 0.5", "CP5008: emulator: 0.5 of its CUDA twin's speed is recorded"),
        ("ratio = 1.5", "CP5007: no score of changed kernels is recorded"),
    ],
)
def test_what_is_recorded_and_passes_no_gate_is_no_proof(tmp_path: Path, line: str, told: str) -> None:
    folder = write_entry(tmp_path)
    record(load_item(folder), proof(folder))
    assert load_item(folder).wanting() == [] and len(retrievable(load(tmp_path)[0])) == 1
    place = folder / "entry.toml"
    place.write_text(place.read_text().replace("mutation = 0.97", line))
    item = load_item(folder)
    assert [str(p) for p in item.wanting()] == [f"{folder}: {told}"]
    assert item.proof() is None and retrievable([item]) == []


@pytest.mark.parametrize("place", ["", "toys", "toys/twice"])
def test_what_can_not_be_looked_into_is_told_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    closed = write_entry(tmp_path).parents[1] / place
    other = tmp_path / "arts/thrice"
    shutil.copytree(tmp_path / "toys/twice", other)
    text = ENTRY.replace('"toys"', '"arts"').replace('"twice"', '"thrice"')
    (other / "entry.toml").write_text(text)
    iterdir, stat = Path.iterdir, Path.stat

    def refuses(path: Path) -> None:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # As for users other than root, who is refused nothing.
    monkeypatch.setattr(Path, "iterdir", lambda p: refuses(p) or iterdir(p))
    monkeypatch.setattr(Path, "stat", lambda p, **more: refuses(p.parent) or stat(p, **more))
    items, problems = load(tmp_path)
    assert [i.entry.id for i in items] == (["thrice"] if place else [])
    assert [str(p) for p in problems] == [f"{closed}: CP5002: can't be read: Permission denied"]


def test_a_corpus_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert [p.code for p in load(tmp_path / "gone")[1]] == ["CP5002"]


def test_what_editors_leave_behind_is_no_entry(tmp_path: Path) -> None:
    write_entry(tmp_path)
    (tmp_path / "toys/.ipynb_checkpoints").mkdir()
    (tmp_path / ".git/hooks").mkdir(parents=True)
    (tmp_path / "toys/circle").symlink_to("circle")
    items, problems = load(tmp_path)
    assert [i.entry.id for i in items] == ["twice"] and problems == []
