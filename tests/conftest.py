"""Options of the test suite."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

import pytest

# The DSL reads these once, when it is first imported: whichever test does that, PTX is to be had afterwards.
_DUMP = tempfile.mkdtemp(prefix="cuteport-tests-")
atexit.register(shutil.rmtree, _DUMP, ignore_errors=True)
os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
os.environ.setdefault("CUTE_DSL_KEEP", "ptx,cubin")
os.environ.setdefault("CUTE_DSL_NO_CACHE", "1")
os.environ.setdefault("CUTE_DSL_DUMP_DIR", _DUMP)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/expected anew; review the diff"
    )
