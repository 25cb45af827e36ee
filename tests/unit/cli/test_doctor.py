"""`cuteport doctor`: DSL versions from the table, checks that fail alone, and what decides the exit code."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from translator import doctor
from translator.cli.main import run
from translator.doctor import Check, Examination, judge_dsl
from verify import canary, environment


@pytest.mark.parametrize(
    ("version", "verdict", "word"),
    [
        ("4.8.1", "ok", "known issue"),
        ("4.5.0", "missing", "predicated copies"),
        ("4.5.1", "missing", "predicated copies"),
        ("4.5.2", "missing", "slower"),
        ("4.6.0", "missing", "DLPack"),
        ("4.3.2", "missing", "attribute"),
        ("4.7.0", "missing", "4.8 or newer"),
        ("4.9.0", "warning", "tested are"),
        ("4.8.1.dev3", "warning", "tested are"),
    ],
)
def test_versions(version: str, verdict: str, word: str) -> None:
    found, detail = judge_dsl(version)
    assert found == verdict
    assert word in detail


def examined(**missing: bool) -> Examination:
    names = (
        "Python",
        "CuTe DSL",
        "reading CUDA",
        "compiling a port",
        "torch",
        "GPU",
        "CUDA bindings",
        "NVRTC",
        "emulator",
    )
    needed = names[:4]
    return Examination(
        tuple(Check(n, "missing" if n in missing else "ok", "", needed=n in needed) for n in names)
    )


def test_exit_3_only_where_the_main_job_cannot_run() -> None:
    assert (examined().can_prove, examined().exit_code) == (True, 0)
    without_gpu = examined(GPU=True)
    assert (without_gpu.can_port, without_gpu.can_prove, without_gpu.exit_code) == (True, False, 0)
    assert without_gpu.can_compare
    assert not examined(GPU=True, emulator=True).can_compare
    without_dsl = examined(**{"CuTe DSL": True})
    assert (without_dsl.can_port, without_dsl.exit_code) == (False, 3)


def test_a_check_that_crashes_is_a_line_not_a_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> doctor.Found:
        raise OSError("driver on fire")

    monkeypatch.setattr(
        doctor, "_CHECKS", (("GPU", broken, "no proof", False), ("Python", doctor._python, "", True))
    )
    assert run(["doctor", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["can_port"] is True
    assert [c["verdict"] for c in document["checks"]] == ["missing", "ok"]
    assert "driver on fire" in document["checks"][0]["detail"]
    assert document["checks"][0]["costs"] == "no proof"


def test_known_kernels_are_run_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(arch="sm_90a")
    said = (False, "wrong at ptxas -O3: of 187 it makes 26, not 6268; right at ptxas -O1")
    monkeypatch.setattr(environment, "find_gpu", lambda: (gpu, ""))
    monkeypatch.setattr(canary, "check_machine_code", lambda _canary, _arch: said)
    assert doctor._original_canary() == ("warning", f"select_loop: {said[1]}")
    monkeypatch.setattr(canary, "check_machine_code", lambda _canary, _arch: (True, "right"))
    assert doctor._port_canary() == ("ok", "countdown_select: right")
    monkeypatch.setattr(environment, "find_gpu", lambda: (None, "no NVIDIA driver"))
    assert doctor._port_canary() == ("not run", "no NVIDIA driver")


@pytest.mark.dsl
def test_this_machine_can_do_the_main_job(capfd: pytest.CaptureFixture[str]) -> None:
    code = run(["doctor"])
    said = capfd.readouterr()
    assert code == 0, said.out
    assert "the bundled kernel's port compiles for" in said.out


def test_the_known_issues_of_a_version_are_counted_in_its_line() -> None:
    line, *more = judge_dsl("4.8.1")[1].splitlines()
    assert len(more) > 1 and all(m.startswith("known issue: ") for m in more)
    assert line == f"4.8.1, {len(more)} known issues"


def test_every_check_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_CHECKS", (("CuTe DSL", doctor._dsl, "nothing", True),))
    check = doctor._check(0)
    assert len(check.detail) < 80
    assert "\n" not in check.detail
