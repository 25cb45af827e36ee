"""STYLE.md's rules that a program can hold: each broken once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from small_entry import ENTRY, KERNEL, NOTES, write_blocks, write_entry

from corpus.catalog import load, load_item
from corpus.inline import load_blocks, with_blocks
from corpus.problem import CorpusError
from corpus.shingles import shingles
from corpus.style import check_block, check_style


def told(root: Path, **files: str) -> list[str]:
    blocks = load_blocks(write_blocks(root / "blocks"))
    files["kernel"] = with_blocks(files.get("kernel", KERNEL), blocks)
    problems = check_style(load_item(write_entry(root, **files)))
    assert all(p.code == "CP5003" for p in problems)
    return [p.message for p in problems]


def test_a_good_entry_breaks_no_rule(tmp_path: Path) -> None:
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Units: elements. ", "", "its docstring says nothing under `Units:`"),
        ("    gX → rX → gX\n", "", "its docstring has no picture of the layout"),
        ("import functools\n", "import functools\nimport numpy\n", "imports numpy"),
        ("mX: cute.Tensor", "x: cute.Tensor", "tensor x of a kernel is not called m and a capital"),
        ("width: cutlass.Constexpr", "width", "parameter width of a kernel has no type"),
        ("gX = cute.local_tile", "x = cute.local_tile", "x comes from local_tile: its name has none of gc"),
        ("tXrX = cute.make_f", "tXgX = cute.make_f", "tXgX comes from make_fragment_like: its name"),
        ("def compile_twice", "def build_twice", "has no function compile_twice"),
        ('    """Compiled."""\n', "", "compile_twice has no docstring"),
        ("*, dtype, stream", "dtype, *, stream", "twice does not take dtype by keyword"),
        ("    tXrX", "    n = cute.arch.block_dim()\n    tXrX", "asks for block_dim, which is wrong at 1024"),
        ("# -- block two\n", "", "inlines the blocks one; entry.toml says one, two"),
        ("def twice(", "X = 1\n" * 200 + "\n\ndef twice(", "lines of its own, more than 200"),
        ("Doubles.\n\nShapes", "TODO\n\nShapes", "has a TODO"),
    ],
)  # fmt: skip
def test_each_rule_of_kernels(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in KERNEL
    got = told(tmp_path, kernel=KERNEL.replace(old, new, 1))
    assert len(got) == 1 and message in got[0], got


def test_notes_have_a_table_and_pitfalls(tmp_path: Path) -> None:
    assert told(tmp_path / "a", notes=NOTES.replace("| `x[i] * 2` | `x * 2` |\n", "")) == [
        "has no table `| CUDA | CuTe DSL |` with a row"
    ]
    assert told(tmp_path / "b", notes=NOTES.replace("- None.", "")) == ["has no list under `## Pitfalls`"]
    assert told(tmp_path / "c", entry=ENTRY.replace("scalar loop", "TODO")) == ["has a TODO"]
    for cell in ("", "``", " "):
        empty = NOTES.replace("| `x * 2` |", f"| {cell} |")
        assert told(tmp_path / f"d{len(cell)}{cell == ' '}", notes=empty) == ["has a row with an empty cell"]


def test_blocks_have_rules_too(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import numpy\n\ndef f():\n    return block_dim\n\n" + "X = 1\n" * 200)
    assert [p.message for p in check_block(bad)] == [
        "has no docstring",
        "has 205 lines, more than 200",
        "f has no docstring",
        "imports numpy",
    ]


def test_the_corpus_itself_keeps_its_style() -> None:
    from corpus.inline import BLOCKS

    items, problems = load()
    assert problems == []
    assert [str(p) for i in items for p in check_style(i)] == []
    assert [str(p) for b in BLOCKS.glob("*.py") if b.stem != "__init__" for p in check_block(b)] == []


@pytest.mark.parametrize("data", [b"def one(:\n", b"\xff", b"x = 1\0"])
def test_a_block_that_is_no_python_is_told(tmp_path: Path, data: bytes) -> None:
    (path := tmp_path / "one.py").write_bytes(data)
    (told,) = check_block(path)
    assert told.code == "CP5003" and told.message.startswith("no Python: ")
    with pytest.raises(CorpusError, match=r"one.py(:1)?: CP5003: no Python: "):
        load_blocks(tmp_path)


@pytest.mark.parametrize(
    "text", ["-" * 20000 + "1", "+".join(["1"] * 3000), "a" + ".b" * 3000, "lambda: " * 2000 + "1"]
)
def test_what_is_nested_too_deeply_is_told_or_read(tmp_path: Path, text: str) -> None:
    kernel = KERNEL + f"\n\nX = {text}\n"
    assert told(tmp_path, kernel=kernel) in ([], ["nested too deeply"])
    try:
        assert shingles(kernel)
    except ValueError as e:
        assert str(e) == "nested too deeply"
    place = tmp_path / "block.py"
    place.write_text(f'"""One."""\n\nX = {text}\n')
    assert [p.message for p in check_block(place)] in ([], ["no Python: nested too deeply"])


def test_a_type_that_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    deep = "lambda: " * 900 + "1"
    kernel = KERNEL.replace("width: cutlass.Constexpr", f"width: ({deep})")
    assert told(tmp_path, kernel=kernel) in ([], ["nested too deeply"])


def test_a_block_that_is_no_file_is_told(tmp_path: Path) -> None:
    folder = write_blocks(tmp_path / "blocks")
    for name, make in (("three.py", Path.mkdir), ("four.py", os.mkfifo)):
        make(folder / name)
        with pytest.raises(CorpusError, match=rf"{name}: CP5003: no Python: not a regular file"):
            load_blocks(folder)
        assert [p.message for p in check_block(folder / name)] == ["no Python: not a regular file"]
        (folder / name).rename(tmp_path / name)
