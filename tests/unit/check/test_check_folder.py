"""Run folders: what is kept, what is taken over, and what two runs at once do to each other."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from stand_ins import World, outcomes

from verify.check import folder
from verify.check.command import Request, run_check
from verify.check.folder import NoRunError, RunFolder
from verify.check.output import UsageError


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def interrupted(world: World, at: str) -> None:
    """Ctrl-C while the target `at` is run."""

    def press(target: Path) -> None:
        if target.name == at:
            raise KeyboardInterrupt

    world.before = press


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(world: World) -> None:
    for name in "abc":
        world.target(name, f"ptx: {name}")
    interrupted(world, "b")
    report = world.check(full=True)
    assert (report.exit_code, report.interrupted) == (130, True)
    assert outcomes(report) == {"a": "NEW"}
    assert [Path(p).name for p in report.not_reached] == ["b", "c"]
    world.before = lambda _: None
    report = world.check(full=True, resume=True)
    assert world.ran == ["b", "c"]
    assert {Path(r.target).name: r.resumed for r in report.targets} == {"a": True, "b": False, "c": False}
    assert report.exit_code == 0


def test_the_folders_of_a_run_are_remembered(world: World) -> None:
    world.target("a", "ptx: one")
    world.target("b", "ptx: two")
    interrupted(world, "b")
    world.check(full=True)
    world.before = lambda _: None
    world.ran.clear()
    remembered = run_check(Request((), resume=True, full=True, runs=world.folder / "runs"))
    assert [Path(r.target).name for r in remembered.targets] == ["a", "b"]
    assert remembered.targets[0].resumed and world.ran == ["b"]


@pytest.mark.parametrize("change", ["port", "baseline", "options", "result", "tool"])
def test_results_that_no_longer_hold_are_not_taken_over(
    world: World, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    place = world.target("a", "ptx: one")
    world.target("b", "ptx: two")
    interrupted(world, "b")
    report = world.check(full=True)
    world.before = lambda _: None
    asked: dict[str, Any] = {"full": True}
    if change == "port":
        world.edit("a", "ptx: one; a: comment")
    elif change == "baseline":
        (place / "baselines").mkdir()
        (place / "baselines/emulator.json").write_text("{}")
    elif change == "options":
        asked = {"full": False}
    elif change == "result":
        (kept,) = (Path(report.run) / "targets").glob("*.json")
        kept.write_bytes(kept.read_bytes()[:-40])
    else:
        monkeypatch.setattr("verify.check.engine.installed", lambda: {"nvidia-cutlass-dsl": "5.0"})
    again = world.check(resume=True, **asked)
    assert [r.resumed for r in again.targets] == [False, False]
    assert world.ran == (["b"] if change == "options" else ["a", "b"])


def test_a_recorded_result_still_holds(world: World) -> None:
    world.target("a", "ptx: one")
    world.target("b", "ptx: two")
    interrupted(world, "b")
    world.check(full=True, record=True)
    world.before = lambda _: None
    report = world.check(full=True, record=True, resume=True)
    assert world.ran == ["b"]
    assert [r.recorded for r in report.targets] == [True, True]


def test_nothing_to_go_on_with_is_wrong_usage(world: World) -> None:
    world.target("a")
    with pytest.raises(UsageError, match="to continue"):
        world.check(resume=True)


def test_a_run_that_ended_is_not_continued(world: World) -> None:
    world.target("a")
    report = world.check()
    with pytest.raises(UsageError, match=f"nothing to continue: {report.run} came to its end"):
        world.check(resume=True)


def test_a_run_that_a_newer_one_made_up_for_is_past(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.target("a")
    interrupted(world, "a")
    world.check()
    world.before = lambda _: None
    monkeypatch.setattr(folder.time, "strftime", lambda *_: "29991231T000000Z")
    report = world.check()
    with pytest.raises(UsageError, match=f"nothing to continue: {report.run} came to its end"):
        world.check(resume=True)


def test_a_run_of_other_targets_is_not_continued(world: World) -> None:
    one, other = (world.target(name, f"ptx: {name}") for name in "ab")
    interrupted(world, "a")
    report = world.check(one)
    assert report.interrupted
    world.before = lambda _: None
    with pytest.raises(UsageError, match=f"{report.run} is a check of {one}"):
        world.check(other, resume=True)
    world.check(other)  # a newer one that ended is passed by
    again = world.check(one, resume=True)
    assert (outcomes(again), again.run) == ({"a": "NEW"}, report.run)


def test_a_damaged_record_of_a_run_is_told(world: World) -> None:
    world.target("a")
    interrupted(world, "a")
    report = world.check()
    (Path(report.run) / "check.json").write_text("[" * 100_000)
    with pytest.raises(UsageError, match="is a check of what it no longer says"):
        world.check(resume=True)


def test_a_run_at_work_is_left_alone(tmp_path: Path) -> None:
    first = RunFolder.create(tmp_path, ["x"])
    with pytest.raises(NoRunError, match="still at work"):
        RunFolder.last(tmp_path)
    second = RunFolder.create(tmp_path, ["y"])
    assert first.path != second.path
    second.close()
    found = RunFolder.last(tmp_path)
    assert (found.path, found.dirs) == (second.path, [Path("y")])
    first.close()
    found.close()


def test_a_full_disk_costs_only_the_way_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        world.target(name, f"ptx: {name}")
    plain = folder.write_json
    written: list[Path] = []

    def full(path: Path, data: Any) -> None:
        if path.parent.name == "targets":
            written.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(path, data)

    monkeypatch.setattr(folder, "write_json", full)
    report = world.check()
    assert outcomes(report) == {"a": "NEW", "b": "NEW"}
    assert (report.exit_code, report.run) == (0, "")
    assert len(written) == 1  # not tried over and over
    assert "No space left on device: --resume will not know of this run" in world.warned[0]


def test_a_place_that_can_not_be_written_is_told(world: World) -> None:
    world.target("a")
    (world.folder / "runs").write_text("in the way")
    report = world.check()
    assert (report.exit_code, report.run) == (0, "")
    assert "results can't be kept" in world.warned[0]
