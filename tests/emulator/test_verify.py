"""Whole verifications in the emulator: right ports pass, and each kind of wrong kernel has its verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from verify import run
from verify.options import Options
from verify.run import verify_targets
from verify.verdict import StageResult, Status, Verdict

TARGETS = Path(__file__).resolve().parents[2] / "targets"
pytestmark = pytest.mark.dsl


def copied(folder: Path, name: str, sizes: str, edits: dict[str, tuple[str, str]]) -> Path:
    """A target with two small cases instead of its own; `edits` change its files."""
    origin = TARGETS / f"cuteport__{name}"
    shutil.copytree(origin, folder, ignore=shutil.ignore_patterns("verdict.json", "baselines"))
    spec = (folder / "spec.toml").read_text()
    head, tolerance = spec.split("[[case]]")[0], spec[spec.index("[tolerance]") :]
    cases = [f'[[case]]\nname = "{n}"\nrole = "boundary"\nsizes = {{ {sizes} = {n} }}\n' for n in (257, 999)]
    (folder / "spec.toml").write_text(head + "\n".join(cases) + tolerance)
    for file, (old, new) in edits.items():
        text = (folder / file).read_text()
        assert text.count(old) == 1, (file, old)
        (folder / file).write_text(text.replace(old, new))
    return folder


LINE = "y[i] = a * x[i] + y[i]"
PORTS: dict[str, tuple[str, str]] = {
    "right": (LINE, LINE),
    "dies": ("    if stream is None:\n", "    import os\n    os._exit(3)\n    if stream is None:\n"),
    "after_a_death": (LINE, LINE),
    "wrong": (LINE, "y[i] = a * x[i] - y[i]"),
    "holds_a_number": (LINE, "y[i] = Float32(2.5) * x[i] + y[i]"),
    "races_alone": (
        "    i = bidx * bdimx + tidx\n",
        "    i = bidx * bdimx + tidx\n    flag = cute.arch.alloc_smem(Float32, 1)\n    flag[0] = a\n"
        "    cute.arch.sync_threads()\n    a = flag[0]\n",
    ),
    "outside": ("while i < n:", "while i <= n:"),
}


def passed(target: Path, _module: str, _entry: str) -> StageResult:
    return StageResult(stage="static", target=str(target), status=Status.PASSED)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """All at once: they share one child with the DSL, one after the other."""
    home = tmp_path_factory.mktemp("emulated")
    targets = [copied(home / n, "saxpy", "n", {"port.py": edit}) for n, edit in PORTS.items()]
    step = "sdata[tid] = sum = sum + sdata[tid + s];\n"
    racy = {"original/device.cu": (step + "        __syncthreads();\n", step)}
    targets.append(copied(home / "racy_original", "reduce_sum", "n", racy))
    options = Options(device="emulator", record=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "check_static", passed)  # which would refuse to run some
        return {Path(v.target).name: v for v in verify_targets(targets, options)}


def test_a_right_port_passes_and_says_where(verdicts: dict[str, Verdict]) -> None:
    right = verdicts["right"]
    parity, bench = right.stage("parity"), right.stage("bench")
    assert parity is not None and parity.parity is not None and bench is not None
    assert right.status is Status.PASSED
    words = "equals the original in 18 counted runs in the emulator; sanitizers clean (emulator); "
    assert right.proven == words + "speed not compared"
    assert parity.parity.device == "emulator"
    assert parity.parity.findings == []
    assert (bench.status, bench.code) == (Status.NOT_RUN, "CP9002")
    assert right.environment["gpu"] is None
    written = json.loads((Path(right.target) / "verdict.json").read_text())
    assert written["stages"][2]["parity"]["device"] == "emulator"
    assert not (Path(right.target) / "baselines").exists()  # those are a GPU's


def test_a_port_that_ends_its_process_costs_only_itself(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["dies"].status is Status.CRASHED
    assert verdicts["after_a_death"].status is Status.PASSED


def test_a_number_of_the_spec_in_the_port_is_found_out(verdicts: dict[str, Verdict]) -> None:
    found = verdicts["holds_a_number"]
    assert found.status is Status.WRONG_VALUES and "; a=" in found.proven


def test_a_race_of_the_port_alone_that_changes_nothing_is_told(verdicts: dict[str, Verdict]) -> None:
    found = verdicts["races_alone"]
    parity = found.stage("parity")
    assert found.status is Status.PASSED and parity is not None and parity.parity is not None, found.proven
    (race,) = parity.parity.findings
    lines = (Path(found.target) / "port.py").read_text().splitlines()
    assert (race.code, race.side, race.inherited) == ("CP8013", "port", False)
    assert lines[race.line - 1].strip() == "flag[0] = a"
    assert f"unlike the original, CP8013 {race.message}" in found.proven
    assert f"against block 0, thread 0 at port.py:{race.line}" in found.proven


def test_wrong_values_are_told(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["wrong"].status is Status.WRONG_VALUES
    assert "CP7012" in verdicts["wrong"].proven


def test_an_access_outside_is_found_before_values_are_compared(verdicts: dict[str, Verdict]) -> None:
    outside = verdicts["outside"]
    assert outside.status is Status.SANITIZER
    parity = outside.stage("parity")
    assert parity is not None and parity.parity is not None
    assert parity.code == "CP8001"
    found = next(f for f in parity.parity.findings if f.code == "CP8001")
    assert (found.side, found.case, found.file) == ("port", "257", "port.py")
    line = (Path(outside.target) / "port.py").read_text().splitlines()[found.line - 1]
    assert line.strip() == LINE
    assert parity.line == found.line
    assert "y" in found.message or "x" in found.message
    assert str(TARGETS) not in parity.message


def test_a_racy_original_is_suspect_whatever_the_port_does(verdicts: dict[str, Verdict]) -> None:
    racy = verdicts["racy_original"]
    parity = racy.stage("parity")
    assert parity is not None and parity.parity is not None
    assert (racy.status, parity.code) == (Status.ORIGINAL_SUSPECT, "CP8011")
    assert {f.side for f in parity.parity.findings} == {"original"}
    assert {f.file for f in parity.parity.findings} == {"reduce_sum.cu"}
