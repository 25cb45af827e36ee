"""Collectives of warps and barriers of blocks in the emulator's runtime, by kernels in C."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.emulator.runtime_harness import SCHEDULES, U32, checked_or_not, count, each_schedule, run, words

# ---- warps


def shuffled(mode: int, lane: int, b: int, c: int) -> tuple[int, bool]:
    """By the description in the PTX ISA."""
    segment, clamp = c >> 8 & 31, c & 31
    highest, lowest = (lane & segment) | (clamp & ~segment), lane & segment
    source, good = {
        0: (lane - b, lane - b >= highest),
        1: (lane + b, lane + b <= highest),
        2: (lane ^ b, lane ^ b <= highest),
        3: (lowest | (b & ~segment & 31), (lowest | (b & ~segment & 31)) <= highest),
    }[mode]
    return (source, good) if good else (lane, good)


@each_schedule
@pytest.mark.parametrize("mode", range(4))
def test_shuffles(mode: int, schedule: str) -> None:
    values = np.random.default_rng(mode).integers(0, 1 << 32, 32, np.uint32)
    for b, c in [(1, 0), (1, 31), (3, 31), (16, 31), (5, 7 | 24 << 8), (2, 24 << 8), (31, 0x1C03), (8, 15)]:
        out, p = words(32), words(32)
        assert not run("warps.c", "shuffle", [values, out, p, mode, b, c], schedule=schedule).findings
        expected = [shuffled(mode, lane, b, c) for lane in range(32)]
        assert out.tolist() == [values[lane] for lane, _ in expected]
        assert p.tolist() == [good for _, good in expected]


def floats(bits: U32) -> npt.NDArray[np.float32]:
    return bits.view(np.float32)


REDUCTIONS = {
    0: lambda x: np.add.reduce(x, dtype=np.uint32),
    1: lambda x: x.view(np.int32).min().astype(np.int32).view(np.uint32),
    2: lambda x: x.view(np.int32).max().astype(np.int32).view(np.uint32),
    3: lambda x: x.min(),
    4: lambda x: x.max(),
    5: np.bitwise_and.reduce,
    6: np.bitwise_or.reduce,
    7: np.bitwise_xor.reduce,
    8: lambda x: np.fmin.reduce(floats(x)).view(np.uint32),
    9: lambda x: np.fmax.reduce(floats(x)).view(np.uint32),
    10: lambda x: np.fmin.reduce(abs(floats(x))).view(np.uint32),
    11: lambda x: np.fmax.reduce(abs(floats(x))).view(np.uint32),
}


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x00FF0F00, 0x80000000])
def test_redux(op: int, mask: int) -> None:
    random = np.random.default_rng(op)
    values = random.integers(0, 1 << 32, 32, np.uint32)
    if op >= 8:
        values = random.standard_normal(32).astype(np.float32).view(np.uint32)
        values[31 if mask != 0x80000000 else 0] = 0x7FC00000  # NaN is left out
    inside = [lane for lane in range(32) if mask >> lane & 1]
    out = words(32)
    assert not run("warps.c", "reduce_to", [values, out, op, mask]).findings
    assert (out[inside] == REDUCTIONS[op](values[inside])).all()


@pytest.mark.parametrize("op, nan", [(8, False), (9, False), (12, True), (13, True), (15, True)])
def test_redux_of_nan_and_zeros(op: int, nan: bool) -> None:
    out = words(32)
    values = np.zeros(32, np.uint32)
    values[::2] = 0x80000000
    run("warps.c", "reduce_to", [values, out, op, 0xFFFFFFFF])
    smallest, absolute = op in (8, 10, 12, 14), op in (10, 11, 14, 15)
    assert (out == (0x80000000 if smallest and not absolute else 0)).all()
    values[5] = 0xFF800001
    run("warps.c", "reduce_to", [values, out, op, 0xFFFFFFFF])
    assert (out == 0x7FFFFFFF).all() == nan


@each_schedule
@pytest.mark.parametrize("case", ["mixed", "odd", "even", "same"])
def test_votes_and_matches(case: str, schedule: str) -> None:
    values = {
        "mixed": count(32) // 3,
        "odd": 2 * count(32) + 1,
        "even": 2 * count(32),
        "same": words(32) + 7,
    }[case]
    out = words(256)
    assert not run("warps.c", "votes", [values, out], schedule=schedule).findings
    ballot = sum(1 << i for i in range(32) if values[i] & 1)
    same = [sum(1 << j for j in range(32) if values[j] == v) for v in values]
    alike = case == "same"
    for lane, row in enumerate(out.reshape(32, 8).tolist()):
        uniform = ballot in (0, 0xFFFFFFFF)
        assert row[:4] == [ballot, ballot != 0, ballot == 0xFFFFFFFF, uniform]
        assert row[4:7] == [same[lane], 0xFFFFFFFF if alike else 0, alike]
        assert row[7] == (0 if lane < 4 else 4)


@each_schedule
def test_parts_of_a_warp_meet_by_themselves(schedule: str) -> None:
    out = words(32)
    assert not run("warps.c", "halves", [out], schedule=schedule).findings
    down = [*range(1, 16), 0x7FFFFFFF, *range(18, 32), 30, 31]
    expected = [(d + 100 * (lane & 16)) & 0xFFFFFFFF for lane, d in enumerate(down)]
    assert out.tolist() == expected


@each_schedule
def test_activemask_is_who_can_get_there(schedule: str) -> None:
    out = words(64)
    assert not run("warps.c", "converge", [out], schedule=schedule).findings
    third = [sum(1 << i for i in range(k, 32, 3)) for k in range(3)]
    assert out[:32].tolist() == [third[lane % 3] if lane != 2 else 0 for lane in range(32)]
    assert (out[32:][[i for i in range(32) if i != 2]] == 0xFFFFFFFB).all()


@each_schedule
def test_lanes_that_exited_are_not_waited_for(schedule: str) -> None:
    out = words(32)
    assert not run("warps.c", "after_exit", [out], schedule=schedule).findings
    assert (out[::2] == 0x55555555).all()


@each_schedule
def test_misused_collectives(schedule: str) -> None:
    assert run("warps.c", "bad_mask", [words(32)], schedule=schedule).findings[0] == (8021, "vote", "")
    kinds = run("warps.c", "mixed", [words(32)], schedule=schedule).findings[0]
    assert kinds[0] == 8021
    assert set(kinds[1:]) == {"vote", "syncwarp"}
    out = words(32)
    assert not run("warps.c", "duplicated", [out], schedule=schedule).findings
    assert (out == count(32) ^ 16).all()
    stuck = run("warps.c", "missing_lane", [words(32)], schedule=schedule)
    assert stuck.stopped_by == 8024
    assert set(stuck.findings[0][1:]) == {"barrier", "syncwarp"}
    assert b"1 wait at a barrier" in stuck.raw[0].what
    assert b"31 wait at a warp collective" in stuck.raw[0].what


# ---- barriers


@each_schedule
@checked_or_not
def test_a_barrier_orders_the_block(schedule: str, checks: bool) -> None:
    for threads in (1, 31, 96, 1024):
        source, out = count(4 * threads), words(4 * threads)
        done = run(
            "barriers.c", "reverse", [source, out], grid=4, block=threads, schedule=schedule, checks=checks
        )
        assert not done.findings
        assert (out.reshape(4, -1) == source.reshape(4, -1)[:, ::-1]).all()


@each_schedule
@pytest.mark.parametrize("odd", [0, 1, 50, 96])
def test_barrier_reductions(odd: int, schedule: str) -> None:
    source, out = (count(96) < odd).astype(np.uint32), words(288)
    assert not run("barriers.c", "reductions", [source, out], block=96, schedule=schedule).findings
    assert (out.reshape(96, 3) == [odd, odd == 96, odd > 0]).all()


@each_schedule
def test_named_barriers_order_their_parties(schedule: str) -> None:
    out = words(96)
    done = run("barriers.c", "producer", [out, 3, 1], block=96, schedule=schedule)
    assert not done.findings
    assert out.tolist() == [100 * i + 31 - lane for i in range(3) for lane in range(32)]


def test_a_producer_that_does_not_wait_races() -> None:
    found = {
        f
        for s in SCHEDULES
        for f in run("barriers.c", "producer", [words(96), 3, 0], block=96, schedule=s).findings
    }
    assert (8011, "produce", "consume") in found or (8011, "consume", "produce") in found


@pytest.mark.parametrize("left, codes", [(96, []), (64, []), (40, [8023]), (0, [])])
@each_schedule
def test_threads_that_exit_before_a_barrier(left: int, codes: list[int], schedule: str) -> None:
    out = words(96)
    done = run("barriers.c", "early", [out, left], block=96, schedule=schedule)
    assert done.codes == codes
    assert (out == (count(96) < left)).all()
    if codes:
        assert (done.raw[0].thread // 32, done.raw[0].other_thread // 32) == (1, 1)


@each_schedule
def test_divergent_barriers(schedule: str) -> None:
    done = run("barriers.c", "two_places", [words(64), 40], block=64, schedule=schedule)
    assert done.codes == [8021]
    assert set(done.findings[0][1:]) == {"first", "second"}
    assert not run("barriers.c", "two_places", [words(64), 32], block=64, schedule=schedule).findings
    assert not run("barriers.c", "unaligned", [words(64), 40], block=64, schedule=schedule).findings


@each_schedule
def test_barrier_counts(schedule: str) -> None:
    assert not run("barriers.c", "counts", [words(64), 64, 64], block=64, schedule=schedule).findings
    assert not run("barriers.c", "counts", [words(64), 0, 64], block=64, schedule=schedule).findings
    unequal = run("barriers.c", "counts", [words(64), 64, 32], block=64, schedule=schedule)
    assert unequal.codes
    assert set(unequal.codes) <= {8022, 8024}  # the 32 may go on alone, and leave the others waiting
    if schedule == "forward":
        assert unequal.findings == ((8022, "wait", "wait"),)
    assert 8022 in run("barriers.c", "counts", [words(64), 40, 40], block=64, schedule=schedule).codes
    stuck = run("barriers.c", "counts", [words(64), 96, 96], block=64, schedule=schedule)
    assert stuck.stopped_by == 8024


def test_deadlock_says_who_waits_where() -> None:
    stuck = run("barriers.c", "some_wait", [words(64)], block=64)
    assert stuck.findings == ((8024, "zero", "one"),)
    assert b"64 wait at a barrier" in stuck.raw[0].what
