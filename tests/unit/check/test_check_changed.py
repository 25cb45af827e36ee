"""Which targets a change in git concerns."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stand_ins import World, outcomes

from verify.check.changed import SHARED, GitError, affected, touched
from verify.check.output import UsageError


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "b2", "c ü"):
        made.target(name, f"ptx: {name}")
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("runs/\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "1")
    return made


def names(world: World, revision: str = "HEAD", shared: tuple[str, ...] = SHARED) -> list[str]:
    root, paths = touched(revision, world.folder)
    targets = sorted(world.targets.iterdir())
    return [t.name for t in affected(targets, root, paths, shared)]


def test_nothing_changed(world: World) -> None:
    assert names(world) == []
    report = world.check(Path("targets"), since="HEAD")
    assert (report.targets, report.exit_code, world.ran) == ([], 0, [])


def test_edited_added_removed_and_renamed_files_count(world: World) -> None:
    world.edit("b", "ptx: other")
    (world.targets / "c ü/new.h").write_text("")
    assert names(world) == ["b", "c ü"]  # b2 only starts like b
    git(world.folder, "add", "-A")
    git(world.folder, "commit", "-qm", "2")
    assert names(world) == [] and names(world, "HEAD~1") == ["b", "c ü"]
    (world.targets / "a/original/device.cu").rename(world.targets / "b2/device.cu")
    assert names(world) == ["a", "b2"]
    git(world.folder, "add", "-A")
    assert names(world) == ["a", "b2"]


def test_what_a_verification_writes_does_not_count(world: World) -> None:
    (world.targets / "a/verdict.json").write_text("{}")
    assert names(world) == []
    (world.targets / "a/baselines").mkdir()
    (world.targets / "a/baselines/emulator.json").write_text("{}")
    assert names(world) == ["a"]


@pytest.mark.parametrize("path", ["pyproject.toml", "requirements-ci.txt", "uv.lock", "verify/parity.py"])
def test_shared_inputs_concern_all(world: World, path: str) -> None:
    place = world.folder / path
    place.parent.mkdir(exist_ok=True)
    place.write_text("")
    assert len(names(world)) == 4
    assert names(world, shared=("other",)) == []


def test_only_those_are_checked(world: World) -> None:
    world.edit("b", "ptx: other")
    assert outcomes(world.check(Path("targets"), since="HEAD")) == {"b": "NEW"}


def test_what_git_does_not_know_is_checked(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    assert affected([outside], world.folder, [], SHARED) == [outside]


def test_git_that_can_not_say_is_wrong_usage(world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    for revision in ("nosuch", "--output=x", ""):
        with pytest.raises(GitError):
            touched(revision, world.folder)
    with pytest.raises(GitError, match="not a git repository"):
        touched("HEAD", tmp_path_factory.mktemp("plain"))
    with pytest.raises(UsageError, match="--changed-since nosuch"):
        world.check(since="nosuch")
