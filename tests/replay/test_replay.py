"""Conversations with a model, replayed: recorded answers and judgements, no endpoint and no compiler.

What is held: tools and answers are read as they were, every candidate is the same text, and the loop ends as
it ended. Prompts may say more by now than was recorded; the answers stay.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assisted.replayed import recordings, replayed


def test_there_are_recordings() -> None:
    assert len(recordings()) >= 12


@pytest.mark.parametrize("folder", recordings(), ids=lambda p: p.name)
def test_it_ends_as_it_ended(folder: Path, tmp_path: Path) -> None:
    found, ended = replayed(folder, tmp_path)
    assert ("PASSED" if found.best is not None else "REFUSED") == ended["outcome"]
    assert found.candidates == ended["candidates"]
