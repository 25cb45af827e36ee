"""A new entry gets its place whole, or not at all."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from small_entry import write_entry

from corpus.catalog import load
from corpus.place import put
from corpus.problem import CorpusError
from translator.batch.corpus_add import skeleton
from translator.cli.main import run as cuteport


@pytest.mark.parametrize("what", ["file", "link", "family"])
def test_what_is_in_the_way_is_told(tmp_path: Path, what: str) -> None:
    place = tmp_path / "toys" if what == "family" else tmp_path / "toys/thrice"
    place.parent.mkdir(exist_ok=True)
    if what == "link":
        place.symlink_to("nowhere")
    else:
        place.write_text("mine")
    with pytest.raises(CorpusError, match=rf"{place}: CP5012: (exists already|is in the way: File exists)"):
        skeleton("toys", "thrice", tmp_path)
    assert [p for p in tmp_path.rglob("*") if p.is_file() or p.is_symlink()] == [place]


def test_a_folder_of_the_corpus_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "kernels").write_text("")
    with pytest.raises(CorpusError, match="CP5012: is in the way"):
        skeleton("toys", "thrice", tmp_path / "kernels")


def test_of_two_at_once_one_is_told(tmp_path: Path) -> None:
    def other_is_faster(_: Path) -> None:
        write_entry(tmp_path)

    with pytest.raises(CorpusError, match="toys/twice: CP5012: is in the way: Directory not empty"):
        put("toys", "twice", tmp_path, other_is_faster)
    assert [i.entry.id for i in load(tmp_path)[0]] == ["twice"]
    assert [p.name for p in tmp_path.iterdir()] == ["toys"]


def test_a_disk_that_fills_leaves_no_half_entry(tmp_path: Path) -> None:
    def fills(at: Path) -> None:
        (at / "entry.toml").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device", str(at))

    with pytest.raises(OSError, match="No space left"):
        put("toys", "twice", tmp_path, fills)
    assert list(tmp_path.iterdir()) == []


def test_what_is_half_made_is_no_entry(tmp_path: Path) -> None:
    folder = write_entry(tmp_path)
    shutil.copytree(folder.parent, tmp_path / ".new-abc")
    assert [i.entry.id for i in load(tmp_path)[0]] == ["twice"] and load(tmp_path)[1] == []


@pytest.mark.parametrize(
    "name", ["toys/" + "x" * 65, "x" * 65 + "/twice", "toys/a__b", "toys/a_", "toys/import"]
)
def test_a_name_that_no_entry_could_have_is_wrong_usage(name: str) -> None:
    assert cuteport(["corpus", "new", name]) == 2
