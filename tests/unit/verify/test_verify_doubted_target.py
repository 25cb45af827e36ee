"""A whole target doubted by real children: PTX in the emulator plays machine code, right or tampered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from verify.canary import ORIGINAL, folder
from verify.emulated import Slots
from verify.facts import DoubtFacts, ParityFacts, RunFacts
from verify.gpu import _doubt, build_original
from verify.options import Options
from verify.sides import EMULATED_ORIGINAL, EMULATED_PORT, ChildSide, Role
from verify.sides import ORIGINAL as ORIGINAL_ROLE
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status
from verify.where import emulator_gap

ARCH = "sm_90a"


class Played(ChildSide):
    """A GPU's side: its machine code is the PTX beside the cubin, wrong unless made at `right_at`."""

    right_at = 1

    def reload(self, load: Mapping[str, Any]) -> None:
        super().reload({**load, "ptx": str(self._ptx(Path(load["cubin"])))})

    def _ptx(self, cubin: Path) -> Path:
        if cubin.parent.name == f"level{self.right_at}":
            return cubin.with_name("ptx")
        text = cubin.with_name("ptx").read_text()
        assert ", -3;" in text  # the step of the loop
        wrong = cubin.with_name("wrong.ptx")
        wrong.write_text(text.replace(", -3;", ", -5;"))
        return wrong


def parity() -> StageResult:
    run = RunFacts(case="n=33", seed=0, values="spec", grid=(2, 1, 1), block=(32, 1, 1), counted=False)
    facts = ParityFacts(
        runs=[run], outputs=[], rule="exact", deterministic=True, order_dependent=False, port_repeats=3
    )
    return StageResult(
        stage="parity",
        target="t",
        status=Status.WRONG_VALUES,
        code="CP7012",
        message="32 elements differ",
        parity=facts,
    )


@pytest.fixture
def doubted(tmp_path: Path) -> Iterator[StageResult]:
    """The canary whose original is wrong, judged as a GPU's verifier would."""

    def child(role: Role, load: dict[str, Any], kind: type[ChildSide] = ChildSide) -> ChildSide:
        return held.enter_context(closing(kind(role, load, ARCH, 60.0)))

    with ExitStack() as held:
        place = held.enter_context(folder(ORIGINAL))
        builder = child(ORIGINAL_ROLE, {})
        built = build_original(builder, str(place), ARCH, tmp_path)
        cubin = {"target": str(place), "cubin": str(tmp_path / "cubin"), "names": built.names}
        original = child(EMULATED_ORIGINAL, {}, Played)
        original.reload(cubin)
        port = child(EMULATED_PORT, {"target": str(place), "module": str(place / "port.py"), "arch": ARCH})
        slots = held.enter_context(closing(Slots(ARCH, 60.0)))
        with slots.one() as slot:
            yield _doubt(place, load_spec(place), Options(), parity(), original, port, builder, None, slot)


@pytest.mark.dsl
@pytest.mark.skipif(bool(emulator_gap()[1]), reason="no emulator here")
def test_a_suspect_original_is_found_and_the_port_is_judged_by_its_ptx(doubted: StageResult) -> None:
    assert (doubted.status, doubted.code) == (Status.ORIGINAL_SUSPECT, "CP7031")
    assert "the machine code gives" in doubted.message
    assert "right at --ptxas-options=-O1" in doubted.message
    assert "the port gives what that PTX means in 3 runs" in doubted.message
    assert doubted.parity is not None
    original, port = doubted.parity.doubts
    assert (original.side, original.runs, original.right_at) == ("original", 0, 1)
    expected = {"runs": 3, "equal": 3, "level": 1, "rule": port.rule, "left_open": port.left_open}
    assert port == DoubtFacts(side="port", **expected)
    # Both kernels' PTX ran: what it executes and moves is a fact of the verdict.
    counts = doubted.parity.counts
    assert counts is not None
    assert counts.case == "n=33"
    assert counts.original.instructions > counts.original.classes["memory"] > 0
    assert counts.port.traffic_bytes == counts.original.traffic_bytes > 0
