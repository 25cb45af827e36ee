"""Where no task folder can be made, the kernel's outcome says so and the others go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.batch import task_folder
from translator.batch.work import Part, translate_part
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions, collect

CUDA = """
__global__ void k(float *x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }
__global__ void plain(float *x) { x[threadIdx.x] *= 2.0f; }
"""


def part(tmp_path: Path) -> Part:
    path = tmp_path / "k.cu"
    path.write_text(CUDA)
    options = ReadOptions()
    return Part(collect([str(path)], options, Sink()), options, tasks=True)


def test_a_source_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = part(tmp_path)

    def gone(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "k.cu")

    monkeypatch.setattr(task_folder, "task_files", gone)
    refused, plain = translate_part(asked)
    said = {f.code: f.message for f in refused.outcome.findings}
    assert said["CP1190"] == "no task folder for k: No such file or directory"
    assert (refused.outcome.status, refused.files, refused.bug) == ("REFUSED", (), "")
    assert [(s.name, s.status) for s in refused.outcome.stages][-1] == ("task", "NOT_RUN")
    assert (plain.outcome.status, bool(plain.files)) == ("NOT_RUN", True)


def test_a_bug_costs_the_task_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = part(tmp_path)

    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(task_folder, "task_files", broken)
    refused, _ = translate_part(asked)
    assert (refused.outcome.status, refused.files) == ("CRASHED", ())
    assert "KeyError: 'lost'" in refused.bug
