"""The helpers beside the tests of the corpus are imported by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from corpus.catalog import Item

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Item:
    """The small entry with its blocks, as the only one of the corpus."""
    from small_entry import KERNEL, write_blocks, write_entry

    import translator.batch.corpus_check as check
    from corpus.catalog import load_item
    from corpus.inline import load_blocks, with_blocks

    blocks = load_blocks(write_blocks(tmp_path / "blocks"))
    monkeypatch.setattr(check, "load_blocks", lambda: blocks)
    folder = write_entry(tmp_path / "kernels", kernel=with_blocks(KERNEL, blocks))
    monkeypatch.setattr("corpus.catalog.load", lambda: ([load_item(folder)], []))
    return load_item(folder)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A target as `port` and a person leave it, verified."""
    from made_verdicts import mutation, verdict_of, write_verdict
    from small_entry import KERNEL, SPEC

    folder = tmp_path / "target"
    (folder / "original").mkdir(parents=True)
    spec = SPEC.replace("${dtype}", "f32").replace('"cuda.cu"', '"original/device.cu"')
    spec = spec.replace("kernel.py", "port.py").replace('entry = "twice"', 'entry = "double"')
    (folder / "spec.toml").write_text(spec)
    plain = KERNEL.replace("# -- block one\n# -- block two\n", "")
    (folder / "port.py").write_text(plain.replace("twice", "double"))
    (folder / "original/device.cu").write_text("__global__ void twice(float* x, int n) {}\n")
    (folder / "reference.py").write_text('"""Doubles."""\n')
    write_verdict(folder, verdict_of(folder, mutation(20, ()), 1.1))
    return folder
