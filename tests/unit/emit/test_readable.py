"""A port that Python could not read is refused, with a code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from translator.diag.diagnostic import NOWHERE, Sink
from translator.emit import emit
from translator.emit.readable import check_readable
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower


def test_more_loops_in_one_another_than_python_takes(tmp_path: Path) -> None:
    loops = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(25))
    source = tmp_path / "k.cu"
    source.write_text(f"__global__ void k(float* x, int n) {{ {loops} x[0] += 1; }}\n", encoding="utf-8")
    sink = Sink()
    (reading,) = project.read([str(source)], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    emit(lower(model, sink), sink)
    assert [d.code for d in sink.items if d.refuses] == ["CP4007"]


def test_the_limit_is_the_reader_s_and_not_the_translator_s() -> None:
    kept = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        sink = Sink()
        check_readable("x = " + "+".join("a" * 10_000) + "\n", NOWHERE, sink)
        assert [d.code for d in sink.items] == ["CP4007"]
        assert sys.getrecursionlimit() == 20_000
    finally:
        sys.setrecursionlimit(kept)


def test_what_is_no_python_is_a_bug() -> None:
    with pytest.raises(SyntaxError):
        check_readable("x = = 1\n", NOWHERE, Sink())
