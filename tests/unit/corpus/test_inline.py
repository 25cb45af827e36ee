"""Blocks in kernels: put in, kept in step, told where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_entry import KERNEL, write_blocks

from corpus.inline import BLOCKS, check_inlined, inlined, load_blocks, own_lines, with_blocks

HERE = Path("kernel.py")


@pytest.fixture
def blocks(tmp_path: Path) -> dict[str, object]:
    return load_blocks(write_blocks(tmp_path / "blocks"))  # type: ignore[return-value]


def test_a_block_is_its_code_without_title_and_imports(blocks: dict) -> None:  # type: ignore[type-arg]
    assert list(blocks) == ["one", "two"]
    assert blocks["one"].text == 'FIRST = 1\n\n\ndef one():\n    """One."""\n    return FIRST\n'
    assert blocks["two"].text.startswith("# about two\ndef two():")
    assert (blocks["two"].needs, blocks["two"].imports) == (("one",), {("cutlass", "")})


def test_blocks_are_put_in_once_and_renewed(blocks: dict) -> None:  # type: ignore[type-arg]
    assert [p.message for p in check_inlined(HERE, KERNEL, blocks)] == [
        "block one is not filled in",
        "block two is not filled in",
    ]
    made = with_blocks(KERNEL, blocks)
    assert check_inlined(HERE, made, blocks) == []
    assert with_blocks(made, blocks) == made
    assert own_lines(made) == own_lines(KERNEL)
    assert [i.name for i in inlined(made)] == ["one", "two"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return FIRST", "return FIRST + 1", "block one differs from corpus/blocks/one.py"),
        ("import functools\n", "", "block one needs import functools"),
        ("# -- end of two\n", "", "block two is never closed by '# -- end of two'"),
        ("# -- block two", "# -- block tow", "block tow is never closed by '# -- end of tow'"),
    ],
)
def test_what_is_out_of_step_is_told(blocks: dict, old: str, new: str, told: str) -> None:  # type: ignore[type-arg]
    made = with_blocks(KERNEL, blocks)
    assert old in made
    problems = check_inlined(HERE, made.replace(old, new), blocks)
    assert [(p.code, p.message) for p in problems] == [("CP5004", told)]


def test_a_changed_block_makes_kernels_out_of_date(blocks: dict, tmp_path: Path) -> None:  # type: ignore[type-arg]
    made = with_blocks(KERNEL, blocks)
    one = tmp_path / "blocks/one.py"
    one.write_text(one.read_text().replace("FIRST = 1", "FIRST = 2"))
    newer = load_blocks(one.parent)
    assert [p.message for p in check_inlined(HERE, made, newer)] == [
        "block one differs from corpus/blocks/one.py"
    ]
    assert check_inlined(HERE, with_blocks(made, newer), newer) == []


def test_order_and_unknown_blocks_are_told(blocks: dict) -> None:  # type: ignore[type-arg]
    swapped = KERNEL.replace(
        "# -- block one\n# -- block two", "# -- block two\n# -- block one\n# -- block six"
    )
    problems = check_inlined(HERE, with_blocks(swapped, blocks), blocks)
    assert [p.message for p in problems] == ["block two needs block one before it", "no block is called six"]


def test_the_corpus_itself_is_in_step() -> None:
    from corpus.catalog import KERNEL as NAME
    from corpus.catalog import load

    items, problems = load()
    assert problems == [] and items
    blocks = load_blocks()
    told = [p for i in items for p in check_inlined(i.folder / NAME, i.text(NAME), blocks)]
    assert told == []
    used = {b for i in items for b in i.entry.blocks}
    # Each block is used by at least one entry, or says why it can't be.
    apart = {b for b in blocks if "\nNot inlined: " in (BLOCKS / f"{b}.py").read_text(encoding="utf-8")}
    assert set(blocks) - used == apart == {"compile_cache", "e5m2_convert", "multimem"}
