"""The search for the version that changed a target: its ends, its steps, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from saxpy_target import write_target
from stand_ins import compiled, passed

from translator.cli.main import run
from verify.check import bisect as search_module
from verify.check import venvs
from verify.check.bisect import BisectReport, Search, Tried, bisect, differences, signature
from verify.check.output import UsageError
from verify.check.probe import Probed
from verify.check.venvs import InstallError
from verify.verdict import StageResult, Status, Verdict

ROOT = Path(__file__).resolve().parents[3]
VERSIONS = [f"4.{minor}.{patch}" for minor in range(4) for patch in range(4)]


def refused(target: Path) -> Verdict:
    stages = [
        StageResult(stage="static", target="t", status=Status.PASSED),
        StageResult(stage="compile", target="t", status=Status.COMPILE_ERROR, code="CP6102", message="no"),
    ]
    return Verdict(target="t", kernel="k", status=Status.COMPILE_ERROR, proven="", stages=stages)


class Index:
    """Versions that give what `of` says; those in `absent` can't be installed."""

    def __init__(self, of: Callable[[int], Probed], absent: tuple[str, ...] = ()) -> None:
        self.of = of
        self.absent = absent
        self.asked: list[str] = []

    def __call__(self, version: str) -> tuple[Tried, Probed | None]:
        self.asked.append(version)
        if version in self.absent:
            return Tried(version=version, state="skipped", code="CP9211", message="not to be had"), None
        probed = self.of(VERSIONS.index(version))
        return Tried(version=version, state="end", status=str(probed.verdict.status)), probed


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write_target(tmp_path / "t")


def probed(target: Path, ptx: str = "one", registers: int = 20, ok: bool = True) -> Probed:
    verdict = passed(target) if ok else refused(target)
    port = compiled(ptx, registers) if ok else None
    launches = {"c": ptx} if ok else {}
    return Probed(verdict=verdict, versions={}, port=port, code=ptx if ok else "", launches=launches)


def hunt(target: Path, index: Index, **asked: Any) -> BisectReport:
    return bisect(Search(target, VERSIONS[0], VERSIONS[-1], **asked), trial=index, versions=VERSIONS)


@pytest.mark.parametrize("first", range(1, len(VERSIONS)))
def test_the_first_bad_version_is_found_in_few_steps(target: Path, first: int) -> None:
    index = Index(lambda k: probed(target, ok=k < first))
    report = hunt(target, index)
    assert (report.first_bad, report.last_good) == (VERSIONS[first], VERSIONS[first - 1])
    assert (report.aspect, report.between, report.exit_code) == ("verdict", [], 0)
    assert len(index.asked) <= 6 and len(set(index.asked)) == len(index.asked)
    assert {t.version: t.state for t in report.tried}[VERSIONS[first]] == "bad"
    assert "verdict PASSED → COMPILE_ERROR" in report.changed[0]


@pytest.mark.parametrize("first", [1, 7, 15])
def test_versions_that_can_not_be_installed_are_skipped_and_said(target: Path, first: int) -> None:
    absent = tuple(VERSIONS[k] for k in range(1, 15) if k % 3 == 0 or k == first)
    index = Index(lambda k: probed(target, ok=k < first), absent)
    report = hunt(target, index)
    low, high = VERSIONS.index(report.last_good or ""), VERSIONS.index(report.first_bad or "")
    assert low < first <= high
    assert report.between == [v for v in VERSIONS[low + 1 : high] if v in absent] == VERSIONS[low + 1 : high]
    for version in report.between:
        assert version in report.words
    skipped = [t for t in report.tried if t.state == "skipped"]
    assert all(t.code == "CP9211" and t.message for t in skipped)


def test_an_end_that_can_not_be_installed_ends_the_search(target: Path) -> None:
    report = hunt(target, Index(lambda _: probed(target), (VERSIONS[-1],)))
    assert (report.exit_code, report.first_bad) == (3, None)
    assert "an end of the search, can't be tried: not to be had" in report.words


@pytest.mark.parametrize(
    ("new", "aspect"),
    [
        ({"ok": False}, "verdict"),
        ({"registers": 40, "ptx": "two"}, "resources"),
        ({"ptx": "two"}, "launches"),
        ({}, None),
    ],
)
def test_the_gravest_difference_of_the_ends_is_searched(
    target: Path, new: dict[str, Any], aspect: str | None
) -> None:
    report = hunt(target, Index(lambda k: probed(target, **(new if k > 4 else {}))))
    assert report.aspect == aspect
    assert report.first_bad == (VERSIONS[5] if aspect else None)
    if aspect is None:
        assert "nothing changed" in report.words and report.exit_code == 0


def test_what_is_asked_for_is_searched(target: Path) -> None:
    def of(k: int) -> Probed:
        return probed(target, ptx="two" if k > 2 else "one", ok=k < 9)

    assert hunt(target, Index(of)).first_bad == VERSIONS[9]
    assert (
        hunt(target, Index(lambda k: probed(target, ptx="two" if k > 2 else "one")), by="ptx").first_bad
        == (VERSIONS[3])
    )


def test_values_not_compared_are_no_fault_of_a_version(target: Path) -> None:
    data = passed(target).model_dump()
    data["stages"][2] = {
        "stage": "parity",
        "target": "t",
        "status": "NOT_RUN",
        "code": "CP7109",
        "message": "no",
    }
    blind = Verdict.model_validate({**data, "status": "COMPILED"})
    one = probed(target)
    other = one.model_copy(update={"verdict": blind, "launches": {}})
    assert signature(one, "verdict") == signature(other, "verdict")
    assert signature(other, "values") is None and signature(other, "launches") is None
    assert differences(one, other) == []


def test_ends_that_make_no_sense_are_wrong_usage(target: Path) -> None:
    index = Index(lambda _: probed(target))
    for good, bad, words in (
        ("4.1.0", "4.1.0", "must be older"),
        ("4.2.0", "4.1.0", "must be older"),
        ("9.9", "4.1.0", "--good 9.9: pip offers"),
        ("", "4.1.0", "say which was good"),
    ):
        with pytest.raises(UsageError, match=words):
            bisect(Search(target, good, bad), trial=index, versions=VERSIONS)
    assert index.asked == []


def test_the_good_end_is_the_one_of_the_baseline(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (target / "baselines").mkdir()
    real = ROOT / "targets/cuteport__saxpy/baselines/h200.json"
    data = json.loads(real.read_text())
    data["versions"]["nvidia-cutlass-dsl"] = "4.1.1"
    (target / "baselines/h200.json").write_text(json.dumps(data))
    monkeypatch.setattr(search_module, "installed", lambda: "4.3.0")
    assert search_module.ends(Search(target), VERSIONS) == ("4.1.1", "4.3.0")


def test_an_interrupted_search_tells_what_it_tried(target: Path) -> None:
    def of(k: int) -> Probed:
        if k not in (0, 15):
            raise KeyboardInterrupt
        return probed(target, ok=k < 9)

    report = hunt(target, Index(of))
    assert (report.exit_code, report.interrupted, report.first_bad) == (130, True, None)
    assert [t.version for t in report.tried] == [VERSIONS[0], VERSIONS[-1]]


def test_versions_come_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "nvidia-cutlass-dsl (4.8.1)\nAvailable versions: 4.8.1, 4.8.0, 4.7.1\n  INSTALLED: 4.8.1\n"
    monkeypatch.setattr(venvs, "command", lambda *_: (0, said, "WARNING: experimental"))
    assert venvs.available() == ["4.7.1", "4.8.0", "4.8.1"]
    monkeypatch.setattr(venvs, "command", lambda *_: (1, "", "WARNING: x\nERROR: No matching distribution"))
    with pytest.raises(InstallError, match="ERROR: No matching distribution"):
        venvs.available()


def test_an_index_that_can_not_be_asked_is_the_environment(
    target: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(venvs, "command", lambda *_: (1, "", "ERROR: no route"))
    assert run(["bisect", str(target), "--good", "4.1.0", "--json"]) == 3
    assert json.loads(capfd.readouterr().out)["error"]["kind"] == "environment"


def fake_install(monkeypatch: pytest.MonkeyPatch, code: int = 0) -> list[list[str]]:
    """Environments are made as always; installing into them is left out."""
    asked: list[list[str]] = []
    plain = venvs.command

    def command(arguments: Any, seconds: float, env: Any = None) -> tuple[int, str, str]:
        if "install" in arguments:
            asked.append(list(arguments))
            return code, "", "ERROR: Could not find a version" if code else ""
        return plain(arguments, seconds, env)

    monkeypatch.setattr(venvs, "command", command)
    return asked


def test_an_environment_sees_all_but_the_dsl_and_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_install(monkeypatch)
    look = (
        "import importlib.util as u, numpy, pydantic; from importlib import metadata as m\n"
        "print([n for n in ('cutlass', 'nvidia_cutlass_dsl') if u.find_spec(n)],"
        " [d.name for d in m.distributions() if 'cutlass' in d.name])"
    )
    with venvs.environment("4.0.0") as python:
        folder = python.parents[2]
        code, out, err = venvs.run_in(python, ["-c", look], 60.0)
        assert (code, out.strip()) == (0, "[] []"), err
    assert not folder.exists()
    (install,) = asked
    assert install[-1].startswith("nvidia-cutlass-dsl") and install[-1].endswith("==4.0.0")
    assert install[install.index("--python") + 1] == str(python)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_environment_is_removed_however_it_ends(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    fake_install(monkeypatch)
    with pytest.raises(error), venvs.environment("4.0.0") as python:
        folder = python.parents[2]
        raise error
    assert not folder.exists()


def test_a_version_that_pip_refuses_is_an_install_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_install(monkeypatch, 1)
    with pytest.raises(InstallError, match="Could not find a version"), venvs.environment("4.0.0"):
        pass


def test_programs_end_with_the_call_that_started_them(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    grandchild = f"import time; time.sleep(3); open({str(mark)!r}, 'w').close()"
    child = "import subprocess, sys, time\n"
    child += f"subprocess.Popen([sys.executable, '-c', {grandchild!r}]); time.sleep(60)"
    assert venvs.command([sys.executable, "-c", child], 1.0)[0] == 124
    time.sleep(3)
    assert not mark.exists()


def test_ctrl_c_leaves_no_environment(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from verify.check import venvs\n"
        "plain = venvs.command\n"
        "def command(arguments, seconds, env=None):\n"
        "    if 'install' in arguments:\n"
        "        print('installing', flush=True)\n"
        "        return plain([sys.executable, '-c', 'import time; time.sleep(60)'], 60.0)\n"
        "    return plain(arguments, seconds, env)\n"
        "venvs.command = command\n"
        "with venvs.environment('4.0.0'):\n"
        "    pass\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"installing\n"
    assert [p for p in tmp_path.iterdir() if p.name.startswith("cuteport-bisect-")]
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=30)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("cuteport-bisect-")]
