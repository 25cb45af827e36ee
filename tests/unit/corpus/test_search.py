"""Searching by words, and likeness by structure."""

from __future__ import annotations

from pathlib import Path

from small_entry import ENTRY, KERNEL, write_entry

from corpus.catalog import Item, load_item
from corpus.search import search, words
from corpus.shingles import likeness, shingles


def test_words_of_code_and_of_people() -> None:
    assert words("__shfl_xor_sync, warpReduce: 128-bit loads of rows") == [
        "shfl", "xor", "sync", "warp", "reduce", "128", "bit", "load", "of", "row",
    ]  # fmt: skip


def entries(root: Path) -> list[Item]:
    made = []
    for name, summary, twin in (
        ("twice", "Doubles a vector", "x[i] * 2"),
        ("sums", "Sums rows by shuffles", "__shfl_xor_sync(0xffffffff, v, m)"),
        ("moves", "Copies a vector", "y[i] = x[i]"),
    ):
        folder = write_entry(
            root / name, entry=ENTRY.replace("twice", name).replace("Doubles a vector", summary), cuda=twin
        )
        target = folder.parent / name
        folder.rename(target)
        made.append(load_item(target))
    return made


def test_what_an_entry_says_of_itself_counts_most(tmp_path: Path) -> None:
    items = entries(tmp_path)
    assert [h.item.entry.id for h in search("sum rows", items)] == ["sums"]
    assert search("vector copy copies", items)[0].item.entry.id == "moves"
    hit = search("shfl unknown", items)[0]
    assert (hit.item.entry.id, hit.words) == ("sums", ("shfl",))
    assert search("nothing of the kind", items[:0]) == [] and search("zebra", items) == []
    assert search("vector", items) == search("vector", list(items)), "the same each time"


def test_what_people_type_is_spelt_out(tmp_path: Path) -> None:
    items = entries(tmp_path)
    assert not search("ShUfFles", items)
    assert [h.item.entry.id for h in search("ShUfFles", items, short={})] == ["sums"]
    assert [h.item.entry.id for h in search("reduction", items, short={"reduction": ("sum",)})] == ["sums"]
    # what is called so comes first, though another says it more often
    for k in range(2):
        (items[2 * k].folder / "notes.md").write_text("moves sums " * 40)
    first = [[search(w, items, short=s)[0].item.entry.id for w in ("sums", "MOVES")] for s in (None, {})]
    assert first[1] == ["sums", "moves"] != first[0]


def test_likeness_is_of_structure(tmp_path: Path) -> None:
    own = shingles(KERNEL)
    renamed = KERNEL.replace("twice", "double").replace("mX", "mY").replace("Doubles", "Makes double")
    assert likeness(own, shingles(renamed)) == 1.0
    grown = KERNEL.replace(
        "    tXrX =", "    for j in range(width):\n        tXrX = gX[j] + j * 2\n    tXrX ="
    )
    assert 0.2 < likeness(own, shingles(grown)) < 1.0
    assert likeness(own, shingles("x = 1\n")) < 0.1
