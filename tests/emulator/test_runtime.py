"""The emulator's runtime by kernels in C that use it as generated code does: accesses and ends."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest

from tests.emulator.runtime_harness import (
    SCHEDULES,
    checked_or_not,
    count,
    each_schedule,
    library,
    run,
    words,
)
from verify.emulator import abi

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


# ---- ends and the rest


def text(s: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(s.encode() + b"\0", np.uint8).copy()


def test_printf() -> None:
    formats = text("%d|%8.3f|%-6s|%c|%08X|%lld|100%%\n")
    done = run("ends.c", "print", [formats, text("abc"), 0])
    assert done.output == "-5|   2.500|abc   |x|000000FF|-1234567890123|100%\n"


def test_printf_of_a_text_that_is_not_there() -> None:
    assert run("ends.c", "print", [text("%d %f %s.\n"), 8, 0]).output == "-5 2.500000 ?.\n"


def test_printf_cuts_a_field_that_is_too_wide_and_says_so() -> None:
    done = run("ends.c", "print", [text("%2000000000d|%.999f|%5d"), 8, 0])
    wide, real, _ = done.output.split("|")
    assert wide == f"{-5:>400d}[cut]"
    assert real == f"{2.5:.400f}[cut]"


def test_printf_reads_no_arguments_that_are_not_there() -> None:
    done = run("ends.c", "print", [text("%d %f %s|"), 8, 16])
    assert done.output == "-5 2.500000 ?|"
    assert done.findings == ((8003, "printf", ""),)


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
