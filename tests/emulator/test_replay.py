"""A verdict is repeated from its file and the repository: what differs is told, and nothing is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from verify.__main__ import check
from verify.certificate import CertificateError, read_certificate, sealed
from verify.options import Options
from verify.replay import asked_again, compare
from verify.run import verify_targets
from verify.verdict import Status, Verdict

TARGETS = Path(__file__).resolve().parents[2] / "targets"
pytestmark = pytest.mark.dsl


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one target and a certificate elsewhere in it."""
    home = tmp_path_factory.mktemp("replayed")
    ignore = shutil.ignore_patterns("verdict.json", "baselines")
    shutil.copytree(TARGETS / "cuteport__saxpy", home / "targets/saxpy", ignore=ignore)
    options = Options(stages=("parity",), cases=("n=1", "n=257"), seed=3, device="emulator")
    list(verify_targets([home / "targets/saxpy"], options))
    (home / "targets/saxpy/verdict.json").rename(home / "claim.json")
    return home


def claim(home: Path) -> Verdict:
    return read_certificate(home / "claim.json")


def replayed(
    home: Path, capsys: pytest.CaptureFixture[str], dirs: tuple[Path, ...] = ()
) -> tuple[int, dict[str, object]]:
    code = check(list(dirs), Options(), as_json=True, certificate=home / "claim.json")
    return code, json.loads(capsys.readouterr().out)


def test_the_claim_holds_again_from_any_place(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = claim(home)
    assert before.status is Status.PASSED and before.asked is not None
    assert (before.seed, before.asked.cases, before.asked.device) == (3, ["n=1", "n=257"], "emulator")
    moved = home / "elsewhere"
    moved.mkdir()
    shutil.copytree(home / "targets", moved / "ports")
    monkeypatch.chdir(moved)
    code, made = replayed(home, capsys)
    # The verdict names the old folder, which is still there.
    assert (code, made["same"], made["changes"]) == (0, True, [])
    (home / "targets/saxpy").rename(home / "targets/gone")
    try:
        code, made = replayed(home, capsys)
    finally:
        (home / "targets/gone").rename(home / "targets/saxpy")
    assert (code, made["same"], made["target"]) == (0, True, "ports/saxpy")
    found = Verdict.model_validate(made["found"])
    parity, again = (v.stage("parity") for v in (before, found))
    assert parity and again and parity.parity and again.parity
    assert [(r.case, r.seed, r.kind) for r in again.parity.runs] == [
        (r.case, r.seed, r.kind) for r in parity.parity.runs
    ]
    assert not list(home.rglob("verdict.json"))


def test_a_changed_port_is_not_what_was_claimed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = home / "other"
    shutil.copytree(home / "targets/saxpy", other)
    text = (other / "port.py").read_text()
    (other / "port.py").write_text(text.replace("a * x[i] + y[i]", "a * x[i] - y[i]"))
    code, made = replayed(home, capsys, (other,))
    changes = made["changes"]
    assert isinstance(changes, list)
    assert code == 1 and not made["same"]
    assert [(c["kind"], c["what"]) for c in changes[:2]] == [("files", "port"), ("result", "status")]
    assert changes[1]["claimed"].startswith("PASSED") and changes[1]["found"].startswith("WRONG_VALUES")


def test_versions_times_and_machine_code_are_told_but_break_no_claim(home: Path) -> None:
    before = claim(home)
    versions = {**before.environment, "versions": {**before.environment["versions"], "torch": "9"}}
    hashes = {**before.hashes, "harness": "0" * 64}
    after = before.model_copy(update={"environment": versions, "hashes": hashes})
    changes = list(compare(before, after))
    assert {c.kind for c in changes} == {"versions"}
    assert {c.what for c in changes} == {"torch", "verify itself"}


def test_fewer_runs_or_other_errors_break_the_claim(home: Path) -> None:
    before = claim(home)
    stage = before.stage("parity")
    assert stage is not None and stage.parity is not None
    worse = [d.model_copy(update={"max_abs": d.max_abs + 1e-6}) for d in stage.parity.outputs]
    parity = stage.parity.model_copy(update={"outputs": worse, "runs": stage.parity.runs[:-1]})
    stages = [stage.model_copy(update={"parity": parity}) if s is stage else s for s in before.stages]
    changes = list(compare(before, before.model_copy(update={"stages": stages})))
    assert [(c.kind, c.what) for c in changes] == [("result", "counted runs"), ("result", "y")]


def test_what_a_gpu_showed_may_be_shown_in_the_emulator_but_not_the_other_way_round(home: Path) -> None:
    before = claim(home)
    assert before.asked is not None
    assert asked_again(before, Options()).device == "emulator"
    gpu = before.model_copy(update={"asked": before.asked.model_copy(update={"device": "gpu"})})
    assert asked_again(gpu, Options()).device == "auto"
    assert asked_again(before, Options(record=True)).record is False


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda t: t[: len(t) // 2], "no JSON, or not all of it"),
        (lambda t: t.replace('"PASSED"', '"COMPILED"', 1), "no verdict"),
        (lambda t: t.replace('"seed": 3', '"seed": 4', 1), "its seal does not fit"),
        (lambda t: t.replace('"schema_version": 1', '"schema_version": 7', 1), "schema 7"),
        (lambda t: "[]", "no verdict"),
        (lambda t: "[" * 100000, "no JSON, or not all of it"),
    ],
)
def test_what_is_no_certificate_is_told(home: Path, tmp_path: Path, damage: object, words: str) -> None:
    path = tmp_path / "claim.json"
    path.write_text(damage((home / "claim.json").read_text()))  # type: ignore[operator]
    with pytest.raises(CertificateError, match=words):
        read_certificate(path)
    assert check([], Options(), certificate=path) == 2


def test_an_old_verdict_says_too_little(home: Path, tmp_path: Path) -> None:
    old = claim(home).model_copy(update={"asked": None})
    path = tmp_path / "claim.json"
    path.write_text(sealed(old).model_dump_json(exclude_none=True))
    with pytest.raises(CertificateError, match="earlier version"):
        read_certificate(path)
