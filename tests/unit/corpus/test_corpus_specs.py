"""An entry's spec.toml is looked at before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_entry import SPEC

import translator.batch.corpus_check as check
from corpus.catalog import Item
from translator.cli.main import run as cuteport


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('grid = ["1"]', "grid = 7", 11, "launch.grid: Input should be a valid list"),
        ('grid = ["1"]', 'grid = ["rows"]', 11, "unknown name 'rows'"),
        ('grid = ["1"]', "grid = ", 11, "not valid TOML: Invalid value"),
        ('grid = ["1"]', "x = " + "9" * 5000, 1, "not valid TOML: Exceeds the limit"),
        ('grid = ["1"]', "x = " + "[" * 5000, 1, "nested too deeply"),
        ('source = "cuda.cu"', 'source = "/etc/hostname"', 4, "original.source is '/etc/hostname'"),
        ('module = "kernel.py"', 'module = "../kernel.py"', 7, "port.module is '../kernel.py'"),
        (
            'entry = "twice"',
            'entry = "compile_twice"',
            8,
            "port.entry is 'compile_twice'; it is the entry's id",
        ),
        ("[launch]", '[tolerance]\nrule = "original"\n[launch]', 11, "reference.py would never be asked"),
    ],
)
def test_a_spec_that_can_not_be_judged_is_told_once_and_early(
    item: Item, capsys: pytest.CaptureFixture[str], old: str, new: str, line: int, told: str
) -> None:
    assert old in SPEC
    (item.folder / "spec.toml").write_text(SPEC.replace(old, new))
    (problem,) = check.examine([item])[0].problems
    assert (problem.code, problem.path, problem.line) == ("CP5001", item.folder / "spec.toml", line)
    assert told in problem.message
    for more in (["--no-run"], ["--device", "emulator"], ["--verdicts", str(Path.cwd())]):
        assert cuteport(["corpus", "check", *more]) == 1
        got = capsys.readouterr()
        assert got.out == "twice: refused\n" and got.err == f"{problem}\n"
