"""Compiles mapping rows in batches, each at most once per worker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mapping.row_kernels import Variant, compile_batch

Ptx = Callable[[int, list[Variant], list[Variant]], dict[str, str]]


@pytest.fixture(scope="session")
def row_ptx() -> Iterator[Ptx]:
    """PTX by kernel name of some variants of a batch.

    A batch that does not compile is compiled variant by variant, so that the failing one is named.
    """
    done: dict[int, dict[str, str] | None] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def whole(number: int, batch: list[Variant]) -> dict[str, str] | None:
            if number not in done:
                try:
                    done[number] = compile_batch(batch, folder, f"batch{number}")
                except Exception:
                    done[number] = None
            return done[number]

        def wanted(number: int, batch: list[Variant], some: list[Variant]) -> dict[str, str]:
            ptx = whole(number, batch)
            if ptx is not None:
                return {v.name: ptx[v.name] for v in some}
            return {k: p for v in some for k, p in compile_batch([v], folder, f"alone_{v.name}").items()}

        yield wanted
