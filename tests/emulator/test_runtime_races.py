"""Races, and synchronisation that rules them out, in the emulator's runtime, by kernels in C."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.runtime_harness import SCHEDULES, U32, checked_or_not, count, each_schedule, run, words

# ---- races in a block


def races(
    kernel: str, args: list[U32 | int], block: int, file: str = "races.c", **more: int
) -> set[tuple[int, str, str]]:
    """What each schedule finds; all must agree on whether there is something."""
    found = [set(run(file, kernel, args, block=block, schedule=s, **more).findings) for s in SCHEDULES]  # type: ignore[arg-type]
    assert len({bool(f) for f in found}) == 1
    return set().union(*found)


BOTH = {(8011, "read", "write"), (8011, "write", "read")}


def test_shared_race_and_its_twin() -> None:
    assert races("neighbour", [words(64), 0], 64) <= BOTH | {(8005, "read", "")}
    assert races("neighbour", [words(64), 0], 64) & BOTH
    assert races("neighbour", [words(64), 1], 64) == set()
    assert races("neighbour", [words(64), 2], 64) & BOTH  # a warp is not enough for two warps …
    assert races("neighbour", [words(32), 2], 32) == set()  # … but for one
    assert races("neighbour", [words(32), 0], 32) & BOTH  # where lanes do not run in step


def test_missing_second_barrier() -> None:
    assert races("reuse", [words(288), 0], 96) & BOTH
    assert races("reuse", [words(288), 1], 96) == set()


def test_lanes_of_a_partial_warp_barrier() -> None:
    assert races("lanes", [words(32), 0xFF], 32) == set()
    assert races("lanes", [words(32), 0x0F], 32) & BOTH
    assert races("lanes", [words(32), 0xFFFFFFFF], 32) == set()


def test_the_same_value_is_benign() -> None:
    assert races("same_value", [words(64), 0], 64) == {(8013, "write", "write")}
    assert races("same_value", [words(64), 1], 64) == {(8011, "write", "write")}


def test_bytes_of_one_word_are_apart() -> None:
    assert races("bytes", [words(16)], 64) == set()


def test_atomics() -> None:
    out = words(64)
    assert races("counter", [out, 0], 64) == set()
    assert (out == 64).all()
    assert {c for c, _, _ in races("counter", [words(64), 1], 64)} & {8011}
    assert (8011, "load and store", "load and store") in races("counter", [words(64), 2], 64)


def test_flags_in_shared_memory() -> None:
    out = words(1)
    assert races("volatiles", [out, 0], 64) == set()
    assert out[0] == 77
    assert races("volatiles", [out, 1], 64) == {(8011, "read", "write")}
    assert races("volatiles", [out, 2], 64) == set()


def test_global_races_in_a_block() -> None:
    assert {c for c, _, _ in races("in_place", [count(64), 64], 64)} == {8012}
    assert races("through_global", [words(64), words(64), 0], 64) & {
        (8012, "read", "write"),
        (8012, "write", "read"),
    }
    assert races("through_global", [words(64), words(64), 1], 64) == set()


def test_a_write_is_held_against_all_readers() -> None:
    assert races("three_readers", [words(96), 0], 128) & BOTH
    assert races("three_readers", [words(96), 1], 128) == set()


# ---- blocks


@pytest.mark.parametrize("kernel", ["last_block", "last_block_each"])
@each_schedule
def test_the_last_block_knows_what_all_wrote(kernel: str, schedule: str) -> None:
    for resident in (1, 3):
        parts, counter, out = words(8 * 64), words(1), words(64)
        args = [parts, counter, out, 0]
        done = run("blocks.c", kernel, args, grid=8, block=64, schedule=schedule, resident=resident)
        assert not done.findings
        assert out.tolist() == [28 + 8 * t for t in range(64)]


@pytest.mark.parametrize("broken", [1, 2, 3], ids=["no fence", "no barrier", "not the last"])
@each_schedule
def test_the_last_block_done_wrongly(broken: int, schedule: str) -> None:
    for resident in (1, 3):
        args = [words(8 * 64), words(1), words(64), broken]
        done = run("blocks.c", "last_block", args, grid=8, block=64, schedule=schedule, resident=resident)
        assert set(done.findings) & {(8012, "sum", "part"), (8012, "part", "sum")}


@each_schedule
@checked_or_not
def test_a_barrier_of_the_grid(schedule: str, checks: bool) -> None:
    a, b = words(5 * 64), words(5 * 64)
    done = run("blocks.c", "grid", [a, words(1), b, 0], grid=5, block=64, schedule=schedule, checks=checks)
    assert not done.findings
    assert (b.reshape(5, 64) == np.roll(count(320).reshape(5, 64), -1, axis=0)).all()
    assert (a.reshape(5, 64) == np.roll(count(320).reshape(5, 64), -2, axis=0)).all()


def test_a_large_grid_leaves_room_for_the_next() -> None:
    # Two libraries, each with more guarded stacks than a process has mappings for.
    for checks in (True, False):
        args = [words(100 * 256), words(1), words(100 * 256), 0]
        done = run("blocks.c", "grid", args, grid=100, block=256, checks=checks)
        assert (done.end, done.findings) == (0, ())


@pytest.mark.parametrize("broken", [1, 2, 3], ids=["no fence", "no barrier after", "no barrier before"])
@each_schedule
def test_a_broken_barrier_of_the_grid(broken: int, schedule: str) -> None:
    done = run(
        "blocks.c", "grid", [words(320), words(1), words(320), broken], grid=5, block=64, schedule=schedule
    )
    assert done.codes == [8012]


def test_polling_costs_the_same_however_long_it_takes() -> None:
    done = run("blocks.c", "poll", [words(1), words(3)], grid=3, block=1, budget=100_000)
    assert (done.stopped_by, [line for _, line, _ in done.findings]) == (8041, ["poll"])
    assert done.seconds < 1.0  # 0.03 s; with a release for each poll, half a minute


def test_a_barrier_of_the_grid_needs_all_blocks() -> None:
    args = [words(320), words(1), words(320), 0]
    done = run("blocks.c", "grid", args, grid=5, block=64, resident=2, budget=100_000)
    assert (done.end, done.stopped_by, done.codes) == (1, 8041, [8041])


@pytest.mark.parametrize("kernel", ["look_back", "release_acquire"])
@pytest.mark.parametrize("resident", [0, 1, 4])
@each_schedule
def test_a_chain_of_blocks(kernel: str, resident: int, schedule: str) -> None:
    values = words(40)
    args = [values, words(40), words(40 * 32), 0]
    done = run("blocks.c", kernel, args, grid=40, schedule=schedule, resident=resident)
    assert not done.findings
    assert values.tolist() == [b * (b + 1) // 2 for b in range(40)]


@pytest.mark.parametrize("kernel", ["look_back", "release_acquire"])
@each_schedule
def test_a_chain_without_release(kernel: str, schedule: str) -> None:
    done = run("blocks.c", kernel, [words(40), words(40), words(40 * 32), 1], grid=40, schedule=schedule)
    assert (8012, "take", "give") in done.findings


@pytest.mark.parametrize("resident", [1, 4])
@each_schedule
def test_a_lock(resident: int, schedule: str) -> None:
    total = words(1)
    done = run(
        "blocks.c", "lock", [words(1), total, 0], grid=4, block=64, schedule=schedule, resident=resident
    )
    assert not done.findings
    assert total[0] == 256


@pytest.mark.parametrize("broken", [1, 2], ids=["no fence", "no lock"])
@each_schedule
def test_a_broken_lock(broken: int, schedule: str) -> None:
    done = run("blocks.c", "lock", [words(1), words(1), broken], grid=4, block=64, schedule=schedule)
    assert (8012, "add", "add") in done.findings


def test_blocks_that_store_to_one_place() -> None:
    assert races("same_cell", [words(1), 0], 32, "blocks.c", grid=4) == {(8012, "store", "store")}
    assert races("same_cell", [words(1), 1], 32, "blocks.c", grid=4) == {(8013, "store", "store")}
    total = words(1)
    assert races("same_cell", [total, 2], 32, "blocks.c", grid=4) == set()
    assert total[0] == 4 * len(SCHEDULES)
