"""What the page on speed says of the entries beside their CUDA twins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_entry import write_blocks, write_entry

from corpus.catalog import Item, load_item
from corpus.entry import Proof
from corpus.inline import load_blocks
from corpus.proof import record
from tests.corpus.speed.page import merged, twins, untimed


def proven(folder: Path, device: str, ratio: float | None) -> Item:
    """The entry of `folder` with one more proof, of the files as they are."""
    item = load_item(folder)
    names = [v.name for v in item.entry.variant]
    proof = Proof(
        date="2026-11-30",
        device=device,
        status="PASSED",
        variants=names,
        mutation=1.0,
        ratio=ratio,
        hashes=item.hashes(),
    )
    record(item, proof)
    return load_item(folder)


def test_twins_are_told_from_proofs_that_hold(tmp_path: Path) -> None:
    load_blocks(write_blocks(tmp_path / "blocks"))
    one, other = (write_entry(tmp_path / n) for n in ("one", "other"))
    proven(one, "emulator", None)
    assert twins([load_item(one)]) == "Against their CUDA twins the entries have not been timed."
    items = [proven(one, "NVIDIA H200", 2.0), proven(other, "NVIDIA H200", 8.0)]
    told = twins(items)
    assert "2 of 2 entries are timed (NVIDIA H200, 2026-11-30;" in told
    assert "4.00 times the twin's speed, 2.00 at least" in told
    assert told.splitlines()[-2:] == ["| twice | 2.00 |", "| twice | 8.00 |"]
    (other / "reference.py").write_text("# newer\n")
    assert "1 of 2 entries" in (told := twins([items[0], load_item(other)])) and "8.00" not in told


def test_entries_without_rows_are_named(tmp_path: Path) -> None:
    items = [load_item(write_entry(tmp_path))]
    assert untimed([{"what": "mxfp8 bf16 1x2"}], items) == "Not timed here: twice."
    assert untimed([{"what": "twice f32 8"}], items) == "Every entry has rows."


def test_rows_take_the_place_of_those_that_were_kept(tmp_path: Path) -> None:
    def timed(name: str, date: str, dsl: str, **us: float) -> str:
        rows = [{"family": "norm", "what": what, "us": {"ours": t}} for what, t in us.items()]
        (tmp_path / name).write_text(json.dumps({"date": date, "dsl": dsl, "rows": rows}))
        return str(tmp_path / name)

    old, new = timed("a", "2026-11-30", "4.8.1", one=1.0, two=2.0), timed("b", "2026-12-01", "4.8.1", two=3.0)
    first = merged([old])
    both = merged([new], first)
    assert merged([old, new]) == both and both["date"] == "2026-11-30, 2026-12-01"
    assert {r["what"]: r["us"]["ours"] for r in both["rows"]} == {"one": 1.0, "two": 3.0}
    assert merged([new], both)["date"] == both["date"]
    with pytest.raises(ValueError, match="not measured alike: dsl"):
        merged([timed("c", "2026-12-01", "4.9.0", two=3.0)], both)
