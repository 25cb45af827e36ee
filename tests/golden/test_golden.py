"""The port of each snippet in `cuda/` is the file in `expected/`, byte for byte.

`pytest tests/golden --update-golden` writes the files anew, to be reviewed as a diff. A refused
kernel has its diagnostics as `.txt`; a snippet with several kernels or instantiations has one file each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from translator.diag.diagnostic import Diagnostic, Sink
from translator.emit import emit
from translator.frontend.build import build_model
from translator.frontend.project import KernelReading, ReadOptions, read
from translator.passes import lower

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
SNIPPETS = sorted(p.stem for p in (HERE / "cuda").glob("*.cu"))


def made(snippet: str) -> dict[str, str]:
    """File name → text of all ports and refusals of a snippet."""
    sink = Sink()
    readings = read([str(HERE / "cuda" / f"{snippet}.cu")], ReadOptions(), sink)
    assert readings, [str(d) for d in sink.items]
    parts = [one(r) for r in readings]
    if len(parts) == 1:
        return {f"{snippet}{parts[0][0]}": parts[0][1]}
    return {f"{snippet}.{k}{suffix}": text for k, (suffix, text) in enumerate(parts)}


def one(reading: KernelReading) -> tuple[str, str]:
    """(file suffix, text) for one kernel."""
    sink = Sink()
    model = build_model(reading, sink)
    if model is not None and not sink.refused:
        lowered = lower(model, sink)
        draft = None if sink.refused else emit(lowered, sink)
        if draft is not None and not sink.refused:
            return ".py", draft.source
    return ".txt", "".join(f"{line(d)}\n" for d in sink.items if d.refuses)


def line(d: Diagnostic) -> str:
    return f"{d.code} {Path(d.span.path).name}:{d.span.line}: {d.message}"


def orphans() -> Iterator[str]:
    """Expected files of snippets that are gone."""
    yield from sorted(p.name for p in EXPECTED.glob("*") if p.name.split(".")[0] not in SNIPPETS)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_port_is_the_expected_text(snippet: str, request: pytest.FixtureRequest) -> None:
    found = made(snippet)
    if request.config.getoption("--update-golden"):
        if os.environ.get("CI"):
            pytest.fail("--update-golden is for people: in CI nobody would review what it writes")
        EXPECTED.mkdir(exist_ok=True)
        for old in EXPECTED.glob(f"{snippet}.*"):
            old.unlink()
        for name, text in found.items():
            (EXPECTED / name).write_text(text)
        return
    wanted = {p.name: p.read_text() for p in EXPECTED.glob(f"{snippet}.*")}
    assert found == wanted


def test_no_expected_file_is_left_over() -> None:
    assert list(orphans()) == []
