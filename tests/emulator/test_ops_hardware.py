"""The emulator's bits against those an H200 gave for the same single instructions.

The recording is written by tests/emulator/single/run_gpu.py on the machine that it names.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.single.cases import Case, cases, inputs
from tests.emulator.single.native import build, run
from tests.emulator.single.record import RECORDED, Outcome, digest, kept, read, write
from tests.emulator.single.tolerance import differs

ALL = bool(os.environ.get("EMULATOR_ALL_OPCODES"))
EVERY = list(cases())


def sample() -> list[Case]:
    """All but the large families, of which every so many; another part than the arithmetic tests take."""
    step = {"set": 30, "setp": 12, "cvt": 2} | {f"v{w}{n}": 8 for n in (2, 4) for w in ("add", "sub", "avrg")}
    count: Counter[str] = Counter()
    found = []
    for case in EVERY:
        family = case.op.name.split(".")[0]
        count[family] += 1
        if ALL or count[family] % step.get(family, 1) == 0:
            found.append(case)
    return found


@pytest.fixture(scope="module")
def recorded() -> dict[str, Outcome]:
    if not RECORDED.exists():
        pytest.skip("no recording of hardware yet")
    return read(RECORDED, EVERY)[0]


def test_bits_are_those_of_the_hardware(recorded: dict[str, Outcome], tmp_path: Path) -> None:
    chosen = [case for case in sample() if case.key in recorded and not recorded[case.key].refused]
    library = build(chosen, tmp_path)
    bad = [
        message
        for number, case in enumerate(chosen)
        if (message := mismatch(library, number, case, recorded))
    ]
    assert bad == []


def test_every_opcode_ran_on_hardware(recorded: dict[str, Outcome]) -> None:
    assert [case.key for case in EVERY if case.key not in recorded] == []
    assert [key for key, outcome in recorded.items() if outcome.refused] == []


def mismatch(library: ctypes.CDLL, number: int, case: Case, recorded: dict[str, Outcome]) -> str:
    """What differs, or an empty text."""
    outcome = recorded[case.key]
    got = run(library, number, case)
    rows = np.flatnonzero(differs(case, outcome.rows, got[: kept(case)]))
    if len(rows):
        first = rows[0]
        words = (" ".join(f"{int(x):x}" for x in part[first]) for part in (inputs(case), outcome.rows, got))
        return "{}: {} rows; operands {}, hardware {}, emulator {}".format(case.key, len(rows), *words)
    if not case.op.approximate and digest(got) != outcome.digest:
        return f"{case.key}: a row after the first {kept(case)}"
    return ""


def test_a_recording_reads_back_and_a_wrong_bit_shows(tmp_path: Path) -> None:
    keys = (
        "fma.rm.f32",
        "ex2.approx.f32",
        "mov.b128",
        "setp.lt.and.s32",
        "cvt.rzi.s8.f32",
        "popc.b64",
        "addc.cc.u64",
    )
    chosen = [case for case in EVERY if case.key in keys]
    assert len(chosen) == len(keys)
    library = build(chosen, tmp_path)
    outputs = {case.key: run(library, number, case) for number, case in enumerate(chosen)}
    outputs["popc.b64"][3] += np.uint64(1)
    outputs["fma.rm.f32"][500] ^= np.uint64(1)
    del outputs["mov.b128"]
    write(tmp_path / "r.npz", outputs, {"mov.b128": "refused"}, chosen, {"gpu": "none"})
    outcomes, about = read(tmp_path / "r.npz", EVERY)
    assert about == {"gpu": "none"}
    assert outcomes["mov.b128"].refused == "refused"
    messages = {
        case.key: mismatch(library, number, case, outcomes)
        for number, case in enumerate(chosen)
        if case.key != "mov.b128"
    }
    assert messages.pop("popc.b64").startswith("popc.b64: 1 rows; operands ")
    assert messages.pop("fma.rm.f32") == "fma.rm.f32: a row after the first 128"
    assert set(messages.values()) == {""}
