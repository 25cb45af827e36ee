"""A working folder for commands that ask a model: a target, a key, and a verifier by first lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loop.scripted import RIGHT, verdict
from tests.loop.test_search import SPEC
from translator.batch import assist
from translator.loop import workshop
from verify.options import Options
from verify.verdict import Verdict
from verify.where import Where

KEY = "sk-never-to-be-seen-0123456789"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with a target `k` that has a right port; candidates are judged by their first line."""

    def by_first_line(folder: Path, options: Options) -> Verdict:
        return verdict((folder / "port.py").read_text(), options)

    of = workshop.Workshop.of

    def made(*args: object) -> workshop.Workshop:
        shop = of(*args)  # type: ignore[arg-type]
        shop.judge = by_first_line
        return shop

    monkeypatch.setattr(workshop.Workshop, "of", made)
    monkeypatch.setattr(assist, "verify_target", by_first_line)
    monkeypatch.setattr(assist, "load_api", lambda: None)
    monkeypatch.setattr(assist, "choose", lambda _: Where("sm_90a", emulator=True))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "k"
    (folder / "original").mkdir(parents=True)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "original/device.cu").write_text("__global__ void k(float* x) { x[threadIdx.x] = 1; }\n")
    (folder / "port.py").write_text(RIGHT)
    yield tmp_path
