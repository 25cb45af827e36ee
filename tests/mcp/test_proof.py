"""The tools that compile and compare: a real target, and one that reaches for what it may not read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.mcp.session import ROOT, SECRET, Served, room, serve, tree
from translator.mcp.child import landlock
from verify.environment import find_gpu

pytest.importorskip("mcp")
pytestmark = [
    pytest.mark.dsl,
    pytest.mark.skipif(landlock() == 0, reason="this kernel has no Landlock; targets are not run"),
]

CASE = "n=255"
NAMES = ["cute.arch.shuffle_sync_bfly", "cute.arch.shuffle_butterfly"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    place = room(tmp_path_factory.mktemp("room"))
    own = place / "in"
    for name in ("good", "hostile_reference", "hostile_original"):
        shutil.copytree(ROOT / "targets/cuteport__saxpy", own / name)
    secret = place / "out/secret.h"
    reference = f"import sys\ntext = open({str(secret)!r}).read()\nsys.exit(text)\n"
    (own / "hostile_reference/reference.py").write_text(reference)
    original = own / "hostile_original/original/device.cu"
    broken = place / "out/broken.h"
    broken.write_text(f"__device__ int y = {SECRET};\n")  # which a compiler would quote
    original.write_text(f'#include "{broken}"\n{original.read_text()}')
    before = [tree(place / p) for p in ("in", "out", "home")]
    emulated = {"device": "emulator", "cases": [CASE], "stages": ["parity"]}
    made = serve(
        place,
        {
            "api": ("api_lookup", {"names": NAMES}),
            "verify": ("verify", {"target": "good", **emulated}),
            "bench": ("bench", {"target": "good", "cases": [CASE]}),
            "reference": ("verify", {"target": "hostile_reference", **emulated}),
            "original": ("verify", {"target": "hostile_original", **emulated}),
            "doctor": ("doctor", {}),
        },
    )
    assert [tree(place / p) for p in ("in", "out", "home")] == before
    return made


def statuses(served: Served, name: str) -> tuple[str, dict[str, str]]:
    (verdict,) = served.document(name)["verdicts"]
    return verdict["status"], {s["stage"]: s["status"] for s in verdict["stages"]}


def test_values_are_compared_on_a_copy(served: Served) -> None:
    status, stages = statuses(served, "verify")
    assert status == "PASSED", served.said("verify")
    assert (stages["compile"], stages["parity"], stages["bench"]) == ("PASSED", "PASSED", "NOT_RUN")
    (verdict,) = served.document("verify")["verdicts"]
    target = Path(verdict["target"])
    assert target.is_relative_to(served.room / "run") and target.name == "good"
    assert json.loads((target / "verdict.json").read_text())["status"] == "PASSED"
    assert served.said("verify").startswith("PASSED: ")


@pytest.mark.skipif(find_gpu()[0] is not None, reason="there is a GPU")
def test_without_a_gpu_no_time_is_known(served: Served) -> None:
    status, stages = statuses(served, "bench")
    assert (status, stages["parity"], stages["bench"]) == ("PASSED", "PASSED", "NOT_RUN")
    assert "bench: NOT_RUN: CP9002" in served.said("bench")


@pytest.mark.parametrize("name", ["reference", "original"])
def test_a_target_s_code_reads_nothing_outside(served: Served, name: str) -> None:
    assert statuses(served, name)[0] != "PASSED"
    assert SECRET not in served.everything
    for path in (served.room / "run").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_names_of_the_installed_dsl(served: Served) -> None:
    known, unknown = served.document("api")["names"]
    assert (known["what"], known["kind"], known["name"]) == ("dsl", "function", NAMES[0])
    assert "offset" in known["signature"]
    assert (unknown["what"], unknown["nearest"][0]) == ("unknown", NAMES[0])
    assert f"{NAMES[1]}: does not exist; nearest: {NAMES[0]}" in served.said("api")


def test_doctor_says_what_this_machine_can(served: Served) -> None:
    document = served.document("doctor")
    assert document["can_port"] is True
    assert served.said("doctor").startswith("this machine can: port")
    assert served.progress  # long tools tell how far they are
    assert all(total and 0 < done < total for done, total in served.progress)
