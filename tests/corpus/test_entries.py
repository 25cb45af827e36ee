"""The entries themselves: proven as they are, and right again in the emulator, one element type each."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.catalog import Item, load
from corpus.entry import LEAST_SCORE
from corpus.expand import expand
from verify.run import Options, verify_targets
from verify.static import check_static
from verify.verdict import Status

EVERY: list[Item] = load()[0]
ITEMS = [item for item in EVERY if item.entry.draft is None]


def test_a_draft_has_no_proof() -> None:
    drafts = [item for item in EVERY if item.entry.draft is not None]
    assert [item.entry.id for item in drafts if item.proof() is not None] == []


def test_every_entry_is_proven_in_the_emulator() -> None:
    for item in ITEMS:
        proof = item.proof("emulator")
        assert proof is not None, f"{item.entry.id}: cuteport corpus check {item.entry.id} --device emulator"
        assert proof.mutation is not None and proof.mutation >= LEAST_SCORE, item.entry.id


def test_every_kernel_keeps_to_what_a_port_may_do() -> None:
    for item in EVERY:
        found = check_static(item.folder, "kernel.py", item.entry.id)
        assert found.status is Status.PASSED, found.message


@pytest.mark.dsl
def test_every_entry_passes_in_the_emulator(tmp_path: Path) -> None:
    # Another type for each, so that all are met: the proofs are about every variant.
    targets = [
        expand(item, item.entry.variant[k % len(item.entry.variant)], tmp_path)
        for k, item in enumerate(ITEMS)
    ]
    options = Options(stages=("static", "compile", "parity"), device="emulator", jobs=2, write=False)
    told = {Path(v.target).name: (v.status, v.proven) for v in verify_targets(targets, options)}
    assert len(told) == len(ITEMS) > 0
    assert {name: t for name, t in told.items() if t[0] is not Status.PASSED} == {}
