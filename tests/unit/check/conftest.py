"""The helpers beside these tests, and the small target of verify's, are imported by name."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "verify")]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What one test proved is nothing that another may rely on."""
    monkeypatch.setenv("CUTEPORT_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
