"""Which kernels of the corpus have an address: those that are proven as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corpus import catalog
from corpus.proof import MARKER
from translator.mcp.resources import pages, read
from translator.mcp.roots import RefusedError, Roots

URI = "cuteport://corpus/norm/rms_norm"


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The entry.toml of a copy of an entry, which is the whole corpus meanwhile."""
    folder = tmp_path / "norm" / "rms_norm"
    shutil.copytree(catalog.KERNELS / "norm" / "rms_norm", folder)
    found = catalog.load(tmp_path)
    monkeypatch.setattr(catalog, "load", lambda: found)
    assert (len(found[0]), found[1]) == (1, [])
    return folder / catalog.ENTRY


def listed() -> list[str]:
    return [page.uri for page in pages() if "/corpus/" in page.uri]


def test_a_proven_entry_is_listed_and_read(entry: Path, tmp_path: Path) -> None:
    assert listed() == [URI]
    text, mime = read(URI, Roots((tmp_path,), tmp_path))
    assert (text.splitlines()[0].partition(":")[0], mime) == ("# norm/rms_norm", "text/markdown")


def test_a_draft_has_no_address(entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = entry.read_text(encoding="utf-8").partition(MARKER)[0]
    entry.write_text(own.replace("idioms =", 'draft = "not judged yet"\nidioms =', 1), encoding="utf-8")
    item = catalog.load_item(entry.parent)
    assert item.entry.draft == "not judged yet"
    monkeypatch.setattr(catalog, "load", lambda: ([item], []))
    assert listed() == []
    with pytest.raises(RefusedError, match="CP5511"):
        read(URI, Roots((tmp_path,), tmp_path))
