"""Baselines that can't be used are told, and never taken for none; times count on the same device alone."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stand_ins import World, bench, compiled, how, outcomes

from verify.baseline import Baseline, BaselineError
from verify.check import compare, engine
from verify.check.baseline import find, read
from verify.check.compare import Now
from verify.environment import Gpu
from verify.facts import BenchFacts
from verify.where import Where

H200 = Gpu("NVIDIA H200", "sm_90a", 132, 50 << 20, 140 << 30, "CUDA 13.0")
REAL = Path(__file__).resolve().parents[3] / "targets/cuteport__saxpy"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def damaged(path: Path, how: str) -> None:
    data = json.loads(path.read_text())
    if how == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "binary":
        path.write_bytes(b"\xff\xfe\x00")
    elif how == "nested":
        path.write_text("[" * 100_000)
    elif how == "list":
        path.write_text("[1]")
    elif how == "schema":
        path.write_text(json.dumps(data | {"schema_version": 99}))
    elif how == "device":
        path.write_text(json.dumps(data | {"device": "NVIDIA A100"}))
    elif how == "field":
        del data["resources"]
        path.write_text(json.dumps(data))
    elif how == "type":
        data["resources"]["port"]["kernels"][0]["registers"] = "many"
        path.write_text(json.dumps(data))
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("cut", "can't be read"),
        ("empty", "can't be read"),
        ("binary", "can't be read"),
        ("nested", "can't be read"),
        ("list", "is no baseline"),
        ("schema", "has schema 99; known is 2"),
        ("device", "is damaged"),  # what the emulator records is no record of a GPU
        ("field", "is damaged: resources"),
        ("type", "is damaged: resources.port.kernels.0.registers"),
        ("folder", "can't be read"),
    ],
)
def test_a_damaged_baseline_is_told_and_can_be_recorded_again(world: World, how: str, words: str) -> None:
    place = world.target("a") / "baselines/emulator.json"
    world.target("b")
    world.check(record=True)
    damaged(place, how)
    report = world.check()
    assert outcomes(report) == {"a": "UNREADABLE", "b": "OK"}
    (bad, _) = report.targets
    assert (bad.code, bad.file) == ("CP9203", str(place))
    assert words in bad.message
    assert bad.values.how == "cache"  # values are right all the same
    assert report.exit_code == 1
    again = world.check(record=True)
    if how == "folder":  # what is in the way is not removed
        assert (again.targets[0].code, again.exit_code) == ("CP9208", 3)
        return
    assert again.exit_code == 0
    assert outcomes(world.check()) == {"a": "OK", "b": "OK"}


def test_a_baseline_that_can_not_be_written_leaves_the_old_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = world.target("a", "ptx: one") / "baselines/emulator.json"
    world.check(record=True)
    kept = place.read_bytes()
    world.edit("a", "ptx: two; code: two")
    plain = engine.write_json

    def full(path: Path, data: Any) -> None:
        if path == place:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(path, data)

    monkeypatch.setattr(engine, "write_json", full)
    report = world.check(record=True)
    (found,) = report.targets
    assert (found.code, report.exit_code, report.recorded) == ("CP9208", 3, 0)
    assert "No space left on device" in found.message
    assert place.read_bytes() == kept


def test_recorded_on_a_gpu_is_read_and_of_its_own_device(tmp_path: Path) -> None:
    _, found = find(REAL, H200)
    assert found is not None and found.bench is not None and found.device == "NVIDIA H200"
    other = Gpu("NVIDIA A100", "sm_80", 108, 40 << 20, 40 << 30, "CUDA 13.0")
    assert find(REAL, other)[1] is None
    renamed = tmp_path / "baselines"
    renamed.mkdir()
    (renamed / "a100.json").write_bytes((REAL / "baselines/h200.json").read_bytes())
    with pytest.raises(BaselineError, match="was recorded on NVIDIA H200, not on NVIDIA A100"):
        find(tmp_path, other)


def timed() -> Baseline:
    """A recorded baseline with times that no later recording changes."""
    return read(REAL / "baselines/h200.json").model_copy(update={"bench": bench(219.44, 219.4)})


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (bench(219.4, 219.4), None),
        (bench(222.0, 219.4), None),  # 1.2 %: less than counts
        (bench(226.0, 219.4), "port, case large: 219.44 us → 226.00 us (+3.0%); ratio to the original"),
        (bench(226.0, 219.4, spread=0.04), None),  # the times overlap
        (bench(226.0, 226.0), None),  # both by 3 %: another machine
        (bench(235.0, 235.0), "the original by as much: driver, clocks or machine rather than the port"),
        (bench(219.4, 180.0), None),  # a faster original is no slower port
        (bench(200.0, 219.4), None),
    ],
)
def test_slower_is_told_from_noise(now: BenchFacts, words: str | None) -> None:
    recorded = timed()
    found = compare.slower(compare.changes(recorded, Now(recorded.hashes, {}, bench=now)))
    assert (found is None) == (words is None)
    assert found is None or words in found.words  # type: ignore[operator]


def test_times_of_another_device_or_case_say_nothing() -> None:
    recorded = timed()
    slow = Now(recorded.hashes, {}, bench=bench(400.0, 219.4))
    assert compare.slower(compare.changes(recorded, slow)) is not None
    assert compare.changes(recorded, slow, own=False) == []
    other = Now(recorded.hashes, {}, bench=bench(400.0, 219.4, case="typical"))
    assert [c.words for c in compare.changes(recorded, other)] == ["timed case large → typical"]


def test_without_an_own_baseline_resources_are_compared_with_another_device(world: World) -> None:
    place = world.target("a", "ptx: one; registers: 33")
    folder = place / "baselines"
    folder.mkdir()
    data = json.loads((REAL / "baselines/h200.json").read_text())
    (folder / "h200.json").write_text(json.dumps(data))
    (found,) = world.check().targets
    assert found.outcome.value == "NEW"
    assert "h200.json" in found.notes[0]
    assert "port: registers 14 → 33" in [c.words for c in found.changes]
    assert {c.kind for c in found.changes} <= {"ptx", "resources"}


def test_spills_and_shared_memory_are_told_by_kernel() -> None:
    recorded = read(REAL / "baselines/h200.json")
    now = Now(recorded.hashes, {}, {"port": compiled("x", 14, spill_bytes=8, static_shared_bytes=1024)})
    words = [c.words for c in compare.changes(recorded, now)]
    assert "port: bytes spilled 0 → 8" in words
    assert "port: bytes of shared memory 0 → 1024" in words
    assert "port: global loads 2 → 0" in words


def test_every_case_that_was_timed_is_compared() -> None:
    recorded = timed()
    assert recorded.bench is not None
    small = recorded.bench.model_copy(update={"case": "typical", "also": []})
    recorded = recorded.model_copy(update={"bench": recorded.bench.model_copy(update={"also": [small]})})
    now = bench(219.4, 219.4).model_copy(update={"also": [bench(300.0, 219.4, case="typical")]})
    found = compare.slower(compare.changes(recorded, Now(recorded.hashes, {}, bench=now)))
    assert found is not None and found.words.startswith("port, case typical: 219.44 us → 300.00 us")


def test_on_a_gpu_values_and_times_are_always_run(world: World) -> None:
    world.where = Where("sm_90a", H200)
    place = world.target("a", "us: 220")
    assert world.check(record=True).recorded == 1
    record = read(place / "baselines/h200.json")
    assert (record.device, record.driver) == ("NVIDIA H200", "CUDA 13.0")
    assert record.bench is not None and record.bench.port.median_us == 220
    report = world.check()
    assert (outcomes(report), how(report), world.ran) == ({"a": "OK"}, {"a": "run"}, ["a"])
    assert report.device == "NVIDIA H200"
    world.edit("a", "us: 300")
    late = world.check()
    assert (outcomes(late), late.exit_code) == ({"a": "SLOWER"}, 1)
    assert "port, case large: 220.00 us → 300.00 us (+36.4%)" in late.targets[0].message
    accepted = world.check(record=True)
    assert (accepted.exit_code, accepted.recorded) == (0, 1)
    assert outcomes(world.check()) == {"a": "OK"}


def test_the_driver_is_one_of_the_versions(world: World) -> None:
    world.where = Where("sm_90a", H200)
    world.target("a", "us: 220")
    world.check(record=True)
    world.where = Where("sm_90a", replace(H200, driver="CUDA 13.1"))
    (found,) = world.check().targets
    assert [(v.name, v.before, v.after) for v in found.versions] == [("driver", "CUDA 13.0", "CUDA 13.1")]
