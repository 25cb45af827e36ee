"""The suite itself: each defect is still in the PTX, and the table says what can be so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.defects.suite import HERE, Pair, compiled, kernel_text, lines_of, marked_lines, pairs
from verify.codes import CODES

pytest.importorskip("cuda.bindings.nvrtc")


def test_the_suite_is_large_enough_and_names_are_unique() -> None:
    names = [p.name for p in pairs()]
    assert len(names) == len(set(names))
    assert len(names) >= 36


def test_every_kernel_of_every_file_is_in_the_table() -> None:
    listed = {(p.file, t.kernel) for p in pairs() for t in (p.bad, p.good)}
    written = {
        (path.name, name)
        for path in Path(HERE).glob("*.cu")
        for name in re.findall(r"__global__ void (\w+)", path.read_text(encoding="utf-8"))
    }
    assert written == listed


def test_every_finding_of_the_table_is_a_code_and_every_code_is_found() -> None:
    listed = {c for p in pairs() for c in p.allowed()}
    # CP806x: what compute-sanitizer alone tells.
    findings = {c for c in CODES if c.startswith("CP80") and not c.startswith("CP806")}
    assert listed == findings


@pytest.mark.parametrize("pair", pairs(), ids=lambda p: p.name)
def test_the_compiler_keeps_the_defect(pair: Pair) -> None:
    ptx = compiled(pair.file)
    marked = marked_lines(pair.file, pair.bad.kernel)
    assert marked <= lines_of(kernel_text(ptx, pair.bad.kernel))
    assert bool(marked) == (pair.codes != (frozenset({"CP8051"}),))
    if pair.bad.kernel != pair.good.kernel:
        assert marked_lines(pair.file, pair.good.kernel) == frozenset()
        texts = [_instructions(kernel_text(ptx, t.kernel)) for t in (pair.bad, pair.good)]
        assert texts[0] != texts[1]


@pytest.mark.parametrize("pair", pairs(), ids=lambda p: p.name)
def test_the_table_can_be_so(pair: Pair) -> None:
    parameters = re.findall(r"\.param (?:\.align \d+ )?\.\w+(?: \.ptr\S* .*?)? \w+_param_\d+", _head(pair))
    assert len(parameters) == len(pair.args)
    for arg in pair.args:
        kind, colon, number = arg.partition(":")
        assert kind in pair.buffers or (colon and kind == "i32" and int(number) >= 0)
    results = {b.name: np.zeros(b.count, b.dtype) for b in pair.buffers.values()}
    for of, found, wanted in pair.expected(results):
        assert found.shape == wanted.shape, of


def _head(pair: Pair) -> str:
    return kernel_text(compiled(pair.file), pair.good.kernel).partition("{")[0]


def _instructions(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines()[1:])
    plain = (re.sub(r"\$L__BB\d+_|_Z\w+|\w+_(bad|good)_param", "", line) for line in lines)
    return [line for line in plain if line and not line.startswith((".loc", ".param", "//"))]
