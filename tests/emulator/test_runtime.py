"""The emulator's runtime, by kernels written in C against its interface as generated code is."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest

from tests.emulator.runtime_harness import library, run
from verify.emulator import abi

SCHEDULES = ("forward", "reverse", "random:1", "random:2")
U32 = npt.NDArray[np.uint32]
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)
checked_or_not = pytest.mark.parametrize("checks", [True, False], ids=["checked", "raw"])


def words(n: int) -> U32:
    return np.zeros(n, np.uint32)


def count(n: int) -> U32:
    return np.arange(n, dtype=np.uint32)


# ---- accesses


@checked_or_not
def test_every_width_is_read_and_written(checks: bool) -> None:
    source = np.random.default_rng(0).integers(0, 256, 32 * 32, np.uint8)
    out = np.zeros_like(source)
    done = run("access.c", "widths", [source, out], checks=checks)
    assert not done.findings
    assert (out == source).all()


@checked_or_not
def test_generic_addresses_reach_shared_and_local(checks: bool) -> None:
    source = np.random.default_rng(0).integers(0, 256, 8 * 64, np.uint8)
    out = np.zeros_like(source)
    done = run("access.c", "spaces", [source, out], block=64, checks=checks)
    assert not done.findings
    assert (out == source).all()


def test_outside_of_global_memory() -> None:
    out = words(32)
    done = run("access.c", "outside_global", [count(32) + 1, out, 8])
    assert {f[:2] for f in done.findings} == {(8001, "load"), (8001, "store")}
    assert sorted(f.count for f in done.raw) == [2, 32]
    assert out.tolist() == [*range(3, 33), 0, 0]  # a bad load gives 0


def test_constant_memory_is_not_written() -> None:
    source = count(32)
    done = run("access.c", "touches", [source, source], read_only=[0, 1])
    assert done.codes == [8001]
    assert (source == count(32)).all()


def test_misaligned() -> None:
    out = words(32)
    done = run("access.c", "misaligned", [count(33), out])
    assert [f[:2] for f in done.findings] == [(8004, "global"), (8004, "shared")]
    assert not out.any()


def test_outside_of_shared_memory() -> None:
    out = words(20)
    done = run("access.c", "outside_shared", [out], block=20)
    assert done.findings == ((8002, "store", ""), (8002, "load", ""))
    assert [(f.count, f.thread) for f in done.raw] == [(4, 16), (4, 16)]
    assert out.tolist() == [5] * 16 + [0] * 4


def test_outside_of_local_memory() -> None:
    done = run("access.c", "outside_local", [words(1)], block=1)
    assert done.findings == ((8003, "store", ""), (8003, "load", ""))


@pytest.mark.parametrize(
    "which, code, label",
    [(0, 8005, "shared"), (1, 8007, "local"), (2, 8006, "global"), (3, 8006, "atomic")],
)
def test_reads_of_what_nobody_wrote(which: int, code: int, label: str) -> None:
    state = np.ones(128, np.uint8)
    state[64:] = 0
    done = run("access.c", "unwritten", [count(32), words(32), which], states={0: state})
    assert done.findings == ((code, label, ""),)
    assert done.raw[0].count == (32 if which == 1 else 16)


@checked_or_not
def test_local_memory_of_a_call_chain(checks: bool) -> None:
    out = words(32)
    assert not run("access.c", "calls", [out, 7], checks=checks).findings
    assert (out == 28).all()
    assert run("access.c", "calls", [out, 8], checks=checks).stopped_by == 8003


def test_what_was_touched() -> None:
    states = {i: np.array([1, 0][i] * np.ones(128), np.uint8) for i in range(2)}
    assert not run("access.c", "touches", [count(32), words(32)], states=states).findings
    even = np.arange(128) // 4 % 2 == 0
    assert (states[0] == np.where(even, 1 | 2, 1)).all()
    assert (states[1] == np.where(even, 0, 1 | 4)).all()


@pytest.mark.parametrize("wait, groups, wrong", [(1, 0, 0), (1, 1, 4 * 32), (0, 0, 8 * 32)])
def test_an_asynchronous_copy_is_there_when_waited_for(wait: int, groups: int, wrong: int) -> None:
    source, out = count(256) + 1, words(256)
    done = run("access.c", "copies", [source, out, wait, groups])
    expected = source.reshape(32, 8).copy()
    expected[:, 6:] = 0
    assert (out.reshape(32, 8) != expected).sum() == wrong
    assert done.findings == (((8005, "use", ""),) if wrong else ())


def test_an_asynchronous_copy_is_checked() -> None:
    done = run("access.c", "copies", [count(200), words(256), 1, 0])
    assert done.codes == [8001]


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


@pytest.mark.parametrize("broken", [1, 2, 3], ids=["no fence", "no barrier after", "no barrier before"])
@each_schedule
def test_a_broken_barrier_of_the_grid(broken: int, schedule: str) -> None:
    done = run(
        "blocks.c", "grid", [words(320), words(1), words(320), broken], grid=5, block=64, schedule=schedule
    )
    assert done.codes == [8012]


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


# ---- ends and the rest


def text(s: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(s.encode() + b"\0", np.uint8).copy()


def test_printf() -> None:
    formats = text("%d|%8.3f|%-6s|%c|%08X|%lld|100%%\n")
    done = run("ends.c", "print", [formats, text("abc")])
    assert done.output == "-5|   2.500|abc   |x|000000FF|-1234567890123|100%\n"


def test_printf_of_a_text_that_is_not_there() -> None:
    assert run("ends.c", "print", [text("%d %f %s.\n"), 8]).output == "-5 2.500000 ?.\n"


def test_assertion() -> None:
    ran = words(1)
    done = run("ends.c", "asserts", [text("a < b"), text("k.cu"), text("f"), ran])
    assert (done.end, done.stopped_by) == (1, 8031)
    assert done.findings == ((8031, "assertion", ""),)
    assert done.raw[0].what == b"assertion failed: a < b (k.cu:42)"
    assert (done.raw[0].thread, ran[0]) == (3, 3)


def test_trap() -> None:
    done = run("ends.c", "traps", [], grid=2, block=64)
    assert (done.end, done.stopped_by, done.findings) == (1, 8032, ((8032, "trap", ""),))


@each_schedule
def test_exit_from_a_call(schedule: str) -> None:
    out = words(192)
    assert not run("ends.c", "exits", [out], grid=2, block=96, schedule=schedule).findings
    assert out.tolist() == [1, 0] * 96


@pytest.mark.parametrize("kernel", ["forever", "waits_forever"])
def test_the_budget_ends_a_loop(kernel: str) -> None:
    done = run("ends.c", kernel, [words(1)], budget=5000)
    assert (done.end, done.stopped_by, done.codes, done.budget) == (1, 8041, [8041], -1)


@pytest.mark.parametrize("kernel", ["order", "order_fibers"])
def test_schedules_are_orders(kernel: str) -> None:
    came = {}
    for schedule in (*SCHEDULES, "random:1"):
        out = words(4 * 96)
        assert not run("ends.c", kernel, [out, words(1)], grid=4, block=96, schedule=schedule).findings
        assert sorted(out) == list(range(4 * 96))
        assert schedule not in came or (came[schedule] == out).all()
        came[schedule] = out
    assert (came["forward"] == count(384)).all()
    assert (came["reverse"] == count(384)[::-1]).all()
    assert len({tuple(o) for o in came.values()}) == len(SCHEDULES)


def test_places_of_threads_and_counters() -> None:
    out = words(2 * 3 * 2 * 24 * 8)
    done = run("ends.c", "places", [out], grid=(2, 3, 2), block=(4, 3, 2))
    rows = out.reshape(2, 3, 2, 2, 3, 4, 8)
    for bz, by, bx, z, y, x in np.ndindex(rows.shape[:-1]):
        linear = x + 4 * (y + 3 * z)
        assert rows[bz, by, bx, z, y, x].tolist() == [x, y, z, bx, by, bz, linear % 32, linear // 32]
    assert done.counts[2] == 12 * 24


def test_clocks_rise() -> None:
    out = words(32)
    run("ends.c", "clocks", [out])
    assert out.all()


@each_schedule
def test_sleepers_let_others_run(schedule: str) -> None:
    out = words(32)
    assert run("ends.c", "polls", [out, words(1)], schedule=schedule).end == 0
    assert out.all()


def test_bad_launches_are_refused() -> None:
    out = words(4096)
    assert run("ends.c", "clocks", [out], block=1025).end == 2
    assert run("ends.c", "clocks", [out], block=(32, 32, 2)).end == 2
    assert run("ends.c", "clocks", [out], grid=0).end == 2
    assert run("barriers.c", "reverse", [out, out], shared=-4096).end == 2


def test_structs_agree_with_the_header() -> None:
    sizes = (ctypes.c_uint32 * 4).in_dll(library("ends.c"), "sizes")
    assert list(sizes) == [ctypes.sizeof(s) for s in (abi.Kernel, abi.Launch, abi.Allocation, abi.Finding)]
