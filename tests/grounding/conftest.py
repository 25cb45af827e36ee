"""The names of the installed DSL, read once."""

from __future__ import annotations

import pytest

from translator.diag.diagnostic import Sink
from translator.grounding.api import Api, load_api


@pytest.fixture(scope="session")
def api() -> Api:
    sink = Sink()
    known = load_api(sink)
    assert known is not None, sink.items
    return known
