"""What is run again and what is not, and what each target's outcome is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from stand_ins import FakeLane, World, how, outcomes

from verify.check import engine
from verify.check.model import Outcome
from verify.check.output import UsageError
from verify.check.trace import Trace
from verify.options import Options
from verify.spec import Spec
from verify.verdict import Verdict


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_what_is_recorded_and_unchanged_is_not_run_again(world: World) -> None:
    place = world.target("a", "ptx: one")
    first = world.check(record=True)
    assert (outcomes(first), first.recorded, world.ran) == ({"a": "NEW"}, 1, ["a"])
    second = world.check()
    assert (outcomes(second), how(second), world.ran) == ({"a": "OK"}, {"a": "baseline"}, [])
    values = second.targets[0].values
    assert "not run again" in values.words and values.verified == "2026-01-01T00:00:00"
    full = world.check(full=True)
    assert (outcomes(full), how(full), world.ran) == ({"a": "OK"}, {"a": "run"}, ["a"])
    assert not (place / "verdict.json").exists()


@pytest.mark.parametrize(
    "edit",
    [
        "ptx: two; code: two",
        "ptx: one; launch: other",
        "ptx: one; unseen: CP7109: unknown version",
        "ptx: one; only: a comment",  # other sizes are held out of another port
    ],
)
def test_what_can_have_changed_is_run(world: World, edit: str) -> None:
    world.target("a", "ptx: one")
    world.check(record=True)
    world.edit("a", edit)
    report = world.check()
    assert how(report) == {"a": "run"} and world.ran == ["a"]


@pytest.mark.parametrize("touch", ["spec.toml", "reference.py"])
def test_inputs_of_the_comparison_are_part_of_what_was_proven(world: World, touch: str) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    with (place / touch).open("a") as f:
        f.write("\n# other\n")
    report = world.check()
    assert world.ran == ["a"]
    assert outcomes(report) == {"a": "STALE"}


def test_another_verifier_proves_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.target("a", "ptx: one")
    world.check(record=True)
    monkeypatch.setattr("verify.check.identity.harness", lambda: "other")
    assert how(world.check()) == {"a": "run"}


def test_another_original_with_the_same_code_is_not_run(world: World) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    with (place / "original/device.cu").open("a") as f:
        f.write("// a comment\n")
    report = world.check()
    assert (outcomes(report), how(report)) == ({"a": "STALE"}, {"a": "baseline"})
    assert [c.what for c in report.targets[0].changes] == ["original"]


def test_equal_targets_are_run_once(world: World) -> None:
    for name in ("a", "b", "c"):
        world.target(name, "ptx: one")
    world.target("d", "ptx: other")
    report = world.check()
    assert world.ran == ["a", "d"]
    assert how(report) == {"a": "run", "b": "this run", "c": "this run", "d": "run"}
    assert {Path(r.values.source).name for r in report.targets if r.values.how == "this run"} == {"a"}
    again = world.check()
    assert world.ran == [] and set(how(again).values()) == {"cache"}


def test_what_failed_is_never_reused(world: World) -> None:
    for name in ("a", "b"):
        world.target(name, "ptx: one; status: WRONG_VALUES")
    for _ in range(2):
        report = world.check()
        assert sorted(world.ran) == ["a", "b"]
        assert outcomes(report) == {"a": "BROKEN", "b": "BROKEN"}
        assert report.exit_code == 1
    found = report.targets[0]
    assert (found.code, found.line, found.file) == ("CP7012", 7, str(Path(found.target) / "port.py"))


def test_full_runs_each(world: World) -> None:
    for name in ("a", "b"):
        world.target(name, "ptx: one")
    world.check()
    assert set(how(world.check(full=True)).values()) == {"run"}
    assert world.ran == ["a", "b"]


@pytest.mark.parametrize(
    ("now", "outcome", "words"),
    [
        ("ptx: two; code: two", "CHANGED", "port: PTX changed"),
        ("ptx: one; registers: 40", "CHANGED", "port: registers 20 → 40"),
        ("ptx: two; code: two; off: 0.5", "CHANGED", "y: error equal bits → max_abs 0.5 (0 ulp)"),
        ("ptx: two; code: two; bits: q", "CHANGED", "port: output bits changed"),
        ("ptx: two; code: two; instructions: 7", "CHANGED", "port: instructions executed 100 → 7"),
        ("ptx: two; code: one", "OK", ""),
        ("ptx: two; code: two; status: WRONG_VALUES", "BROKEN", "parity: WRONG_VALUES: y differs"),
        ("ptx: two; code: two; refused: CP6102; status: NOT_RUN", "UNPROVEN", "y differs"),
    ],
)
def test_what_changed_is_named(world: World, now: str, outcome: str, words: str) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    record = place / "baselines/emulator.json"
    world.edit("a", now)
    data = json.loads(record.read_text())
    # As if the same port.py had been compiled by another compiler.
    data["hashes"]["port"] = engine.hashes(place, engine.load_specs([place])[place])["port"]
    record.write_text(json.dumps(data))
    (found,) = world.check().targets
    assert found.outcome.value == outcome
    told = [c.words for c in found.changes] + [found.message]
    assert any(words in t for t in told)


@pytest.mark.parametrize("touch", ["port.py", "spec.toml"])
def test_only_what_changed_is_told_of_an_edited_comment(world: World, touch: str) -> None:
    """Held-out inputs come from the bytes of port and spec: bits and errors are those of other inputs."""
    place = world.target("a", "ptx: one")
    world.check(record=True)
    with (place / touch).open("a") as f:
        f.write("# off: 0.25\n# bits: q\n")
    if touch == "spec.toml":  # what this world finds in port.py, with the port as recorded
        world.edit("a", "ptx: one; off: 0.25; bits: q")
        record = place / "baselines/emulator.json"
        data = json.loads(record.read_text())
        data["hashes"]["port"] = engine.hashes(place, engine.load_specs([place])[place])["port"]
        record.write_text(json.dumps(data))
    (found,) = world.check(full=True).targets
    assert (found.outcome, found.message) == (Outcome.STALE, f"{touch.partition('.')[0]} changed")


def test_errors_of_other_code_are_told_with_their_other_inputs(world: World) -> None:
    world.target("a", "ptx: one")
    world.check(record=True)
    world.edit("a", "ptx: two; off: 0.5; bits: q")
    (found,) = world.check().targets
    words = "y: error equal bits → max_abs 0.5 (0 ulp), with other held-out inputs"
    assert [c.words for c in found.changes] == ["port changed", "port: PTX changed", words]


def test_another_seed_compares_no_bits(world: World) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    world.edit("a", "ptx: one; off: 0.25; bits: q")
    record = place / "baselines/emulator.json"
    data = json.loads(record.read_text())
    data["hashes"]["port"] = engine.hashes(place, engine.load_specs([place])[place])["port"]
    record.write_text(json.dumps(data))
    assert outcomes(world.check(full=True, options=Options(seed=1))) == {"a": "OK"}
    assert outcomes(world.check(full=True)) == {"a": "CHANGED"}


def test_versions_that_changed_are_named(world: World) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    record = place / "baselines/emulator.json"
    data = json.loads(record.read_text())
    data["versions"]["nvidia-cutlass-dsl"] = "4.0.0"
    data["versions"]["gone"] = "1"
    record.write_text(json.dumps(data))
    (found,) = world.check().targets
    named = {v.name: v.before for v in found.versions}
    assert named == {"nvidia-cutlass-dsl": "4.0.0", "gone": "1"}
    assert found.outcome is Outcome.OK


def test_recording_accepts(world: World) -> None:
    place = world.target("a", "ptx: one")
    world.check(record=True)
    world.edit("a", "ptx: two; registers: 40")
    assert world.check(fail_on=(Outcome.STALE,)).exit_code == 1
    accepted = world.check(record=True, fail_on=(Outcome.STALE,))
    assert (accepted.exit_code, accepted.recorded) == (0, 1)
    after = world.check()
    assert outcomes(after) == {"a": "OK"}
    kept = (place / "baselines/emulator.json").read_bytes()
    assert world.check(record=True).recorded == 0  # nothing new: the file stays as it is
    assert (place / "baselines/emulator.json").read_bytes() == kept


def test_what_was_not_seen_in_full_proves_nothing_for_later(world: World) -> None:
    world.target("a", "ptx: one; unseen: case large: CP7108: too much shared memory")
    for _ in range(2):
        report = world.check(record=True)
        assert how(report) == {"a": "run"} and world.ran == ["a"]


@pytest.mark.parametrize(("status", "outcome"), [("WRONG_VALUES", "BROKEN"), ("SLOWER", "SLOWER")])
def test_what_did_not_pass_is_not_recorded(world: World, status: str, outcome: str) -> None:
    place = world.target("a", f"status: {status}")
    report = world.check(record=True)
    assert outcomes(report) == {"a": outcome}
    assert (report.recorded, report.exit_code) == (0, 1)
    assert not (place / "baselines").exists()


def test_a_broken_spec_stops_no_other(world: World) -> None:
    for name in ("a", "b", "c"):
        world.target(name)
    (world.targets / "b/spec.toml").write_text("schema = 1\nname = 3\n")
    report = world.check()
    assert outcomes(report) == {"a": "NEW", "b": "BROKEN", "c": "NEW"}
    bad = report.targets[1]
    assert (bad.code, bad.file, bad.line) == ("CP6001", str(world.targets / "b/spec.toml"), 2)
    assert report.exit_code == 2


@pytest.mark.parametrize("when", ["compiled", "run"])
def test_a_folder_that_goes_away_meanwhile_is_missing(
    world: World, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    for name in ("a", "b", "c"):
        world.target(name, f"ptx: {name}")

    def vanish(target: Path) -> None:
        if target.name == "b" and target.exists():
            target.rename(world.folder / "elsewhere")

    if when == "run":
        world.before = vanish
    else:
        plain = FakeLane.trace

        def trace(self: FakeLane, target: Path, spec: Spec, cases: Sequence[str] = ()) -> Trace:
            vanish(target)
            return plain(self, target, spec, cases)

        monkeypatch.setattr(FakeLane, "trace", trace)
    report = world.check(record=True)
    assert outcomes(report) == {"a": "NEW", "b": "MISSING", "c": "NEW"}
    assert "went away" in report.targets[1].message
    assert not (world.targets / "b").exists()
    assert report.exit_code == 2


def test_a_folder_without_a_spec_is_not_overlooked(world: World) -> None:
    world.target("a")
    (world.target("b") / "spec.toml").unlink()
    (world.targets / "notes").mkdir()
    assert outcomes(world.check()) == {"a": "NEW", "b": "MISSING"}


def test_zero_targets_is_wrong_usage(world: World) -> None:
    world.targets.mkdir()
    for dirs in ((world.targets,), (world.folder / "nosuch",)):
        with pytest.raises(UsageError, match="no targets"):
            world.check(*dirs)


def test_one_missing_folder_stops_no_other(world: World) -> None:
    world.target("a")
    report = world.check(world.targets / "a", world.targets / "gone")
    assert outcomes(report) == {"a": "NEW", "gone": "MISSING"}
    assert report.exit_code == 2 and report.targets[1].code == "CP9206"


def test_without_device_values_are_unproven(world: World) -> None:
    world.target("a", "ptx: one")
    world.check(record=True)
    world.edit("a", "ptx: one; unseen: CP7109: nvidia-cutlass-dsl 9.9: launches can't be caught")
    world.where = engine.Where("sm_90a", code="CP7109", why="no such emulator")
    report = world.check()
    (found,) = report.targets
    assert (found.outcome, found.code, found.values.how) == (Outcome.UNPROVEN, "CP9207", "none")
    assert "nvidia-cutlass-dsl 9.9" in found.message
    assert report.exit_code == 3
    assert world.check(fail_on=(Outcome.BROKEN,)).exit_code == 0
    assert world.check(record=True).recorded == 0


def test_a_bug_in_verify_is_exit_4(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.target("a")
    plain = engine.verify_targets

    def buggy(*args: object, **more: object) -> object:
        for v in plain(*args, **more):  # type: ignore[arg-type]
            data = v.model_dump()
            data["stages"][2] |= {"status": "AMBIGUOUS", "code": "CP7099"}
            yield Verdict.model_validate({**data, "status": "AMBIGUOUS"})

    monkeypatch.setattr(engine, "verify_targets", buggy)
    assert world.check().exit_code == 4
