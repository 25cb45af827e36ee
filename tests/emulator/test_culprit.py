"""The first wrong element is traced to the threads that computed it, on both sides."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from verify.facts import WriterFacts
from verify.options import Options
from verify.run import verify_target
from verify.verdict import Verdict

TARGETS = Path(__file__).resolve().parents[2] / "targets"
pytestmark = pytest.mark.dsl
LINE = "y[i] = a * x[i] + y[i]"


def judged(folder: Path, name: str, case: str, old: str, new: str) -> tuple[Verdict, int]:
    """The verdict on a target's changed port, and the line of the change."""
    shutil.copytree(
        TARGETS / f"cuteport__{name}", folder, ignore=shutil.ignore_patterns("verdict.json", "baselines")
    )
    text = (folder / "port.py").read_text()
    assert text.count(old) == 1
    (folder / "port.py").write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    return verify_target(folder, Options(stages=("parity",), cases=(case,), device="emulator")), line


def writers(verdict: Verdict) -> tuple[WriterFacts | None, WriterFacts | None]:
    stage = verdict.stage("parity")
    assert stage is not None and stage.parity is not None
    (bad,) = [d for d in stage.parity.outputs if d.port_writer or d.original_writer]
    return bad.port_writer, bad.original_writer


def test_a_wrong_value_has_its_threads_and_lines(tmp_path: Path) -> None:
    # Wrong from element 300 on: block 1 of 256 threads, its thread 44.
    verdict, line = judged(tmp_path / "t", "saxpy", "n=10007", LINE, f"{LINE} if i < 300 else x[i]")
    port, original = writers(verdict)
    assert port is not None and original is not None
    assert (port.block, port.thread) == (original.block, original.thread) == ((1, 0, 0), (44, 0, 0))
    assert (port.file, port.line) == ("port.py", line)
    assert original.file.endswith(".cu") and original.line > 0
    assert f"computed by block (1, 0, 0), thread (44, 0, 0) at port.py:{line}" in verdict.proven
    assert "in the original by block (1, 0, 0)" in verdict.proven


def test_what_the_port_does_not_write_is_traced_in_the_original(tmp_path: Path) -> None:
    verdict, _ = judged(
        tmp_path / "t", "transpose_padded", "97x64", "y + j_1 < width:", "y + j_1 < width - 1:"
    )
    port, original = writers(verdict)
    assert port is None and original is not None
    # The last row of 97 is the second of the last tile's: block x is 3 of tiles of 32, thread y is 0.
    assert original.block == (3, 0, 0) and original.thread == (0, 0, 0)
    assert "CP7014" in verdict.proven and "in the original by block (3, 0, 0)" in verdict.proven
