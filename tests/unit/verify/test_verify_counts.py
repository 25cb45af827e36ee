"""Counts of both sides: by class and width, what moves, and in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from verify.counting import Watched, counted
from verify.counts import CountFacts, counts_of, in_lines, one_side
from verify.emulator.classes import CLASSES, access_bytes, class_of, space_of
from verify.emulator.ops import names
from verify.facts import RunFacts
from verify.sides import Inputs, SideRan
from verify.spec_file import parse_spec

OPCODES = {
    "ld.param.u64": 7,
    "ld.global.v4.f32": 16,
    "ld.b32": 2,
    "ld.global.nc.L2::128B.v2.b64": 3,
    "ld.shared::cta.f32": 9,
    "st.shared.v2.f32": 4,
    "st.global.b16": 5,
    "fma.rn.f32": 100,
    "setp.lt.f32": 10,
    "add.s32": 20,
    "bar.sync": 64,
    "bar.warp.sync": 1,
    "barrier.cluster.arrive": 1,
    "mov.u32": 8,
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16": 6,
}


def test_classes_widths_and_spaces() -> None:
    found = counts_of(OPCODES, {"x": (128, 0), "y": (8, 64)})
    assert found.instructions == sum(OPCODES.values())
    assert found.classes == {
        "integer": 20, "float": 110, "memory": 46, "matrix": 6, "sync": 66, "move": 8,
    }  # fmt: skip
    assert found.loads == {"32": 2, "128": 19}
    assert found.stores == {"16": 5}
    assert (found.shared_loads, found.shared_stores, found.barriers) == (9, 4, 64)
    assert (found.traffic["y"].read, found.traffic["y"].written, found.traffic_bytes) == (8, 64, 200)


def test_every_opcode_has_a_class_and_every_access_a_width() -> None:
    assert {class_of(op) for op in names()} == set(CLASSES)
    widths: set[int] = set()
    for op in names():
        if op.startswith(("ld.", "st.")) and space_of(op) in ("global", "generic"):
            widths |= set(access_bytes({op: 1}, op[:2], "global", "generic"))
    assert widths == {1, 2, 4, 8, 16, 32}


def test_a_comparison_in_words_names_what_differs() -> None:
    old = counts_of({"ld.global.f32": 512, "add.f32": 488}, {"x": (2048, 0)})
    new = counts_of({"ld.global.v4.f32": 128, "add.f32": 488, "bar.sync": 4}, {"x": (2048, 0)})
    assert in_lines(CountFacts(case="typical", original=old, port=new)) == [
        "case typical: 0.62x of the original's instructions: 1000 → 620 "
        "(float 488, memory 512 → 128, sync 0 → 4)",
        "loads 128-bit 0 → 128, 32-bit 512 → 0; stores none",
        "traffic 2.0 kB; barriers 0 → 4",
    ]
    assert one_side(old) == [
        "instructions 1000 (float 488, memory 512)",
        "loads 32-bit 512; stores none",
        "traffic 2.0 kB",
    ]


SPEC = """
schema = 1
name = "k"
[original]
kernel = "k"
[port]
entry = "k"
[launch]
grid = ["n"]
block = [32]
[[arg]]
name = "x"
kind = "buffer"
dtype = "float32"
elems = "n"
role = "out"
[[case]]
name = "small"
role = "boundary"
sizes = { n = 1 }
[[case]]
name = "medium"
role = "boundary"
sizes = { n = 999 }
[[case]]
name = "usual"
sizes = { n = 100 }
"""


class Played:
    """A side that says how many instructions it ran so far."""

    def __init__(self) -> None:
        self.ran = 0

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        self.ran += 1
        return SideRan({"x": np.zeros(4, np.uint8)}, opcodes={"add.s32": self.ran} if repeat == 0 else {})

    def restart(self) -> None:
        self.ran = 0


@pytest.mark.parametrize(
    ("ran", "chosen"),
    [(["small", "medium", "usual"], "usual"), (["small", "medium"], "medium"), ([], None)],
)
def test_a_typical_case_is_told_or_else_the_largest(ran: list[str], chosen: str | None) -> None:
    spec, sides = parse_spec(SPEC), (Watched(Played()), Watched(Played()))
    for side in sides:
        for case in ran * 2:
            for repeat in range(2):
                assert side.run(case, Inputs({}, Path()), repeat).outputs["x"].nbytes == 4
    facts = [
        RunFacts(case=c, seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=True) for c in ran
    ]
    found = counted(spec, facts, *sides)
    assert (found.case if found else None) == chosen
    if found is not None:  # of the first of its runs
        assert found.port.instructions == 1 + 2 * ran.index(found.case)
