"""Child processes: one that raises, dies or hangs costs its own task only."""

from __future__ import annotations

import os
import signal
import time

from translator.batch import fanout
from translator.batch.fanout import Lost


def work(task: str) -> str:
    if task == "raise":
        raise ValueError("no")
    if task == "die":
        os._exit(7)
    if task == "hang":
        time.sleep(60)
    if task == "deep":
        return str(_depth(20_000))
    return task.upper()


def _depth(n: int) -> int:
    return 0 if n == 0 else 1 + _depth(n - 1)


def test_results_keep_the_order_of_tasks() -> None:
    told: list[int] = []
    results = fanout.run(list("abcdef"), work, jobs=2, timeout=20, done=lambda k, _: told.append(k))
    assert results == list("ABCDEF")
    assert sorted(told) == list(range(6))


def test_a_bad_task_loses_only_itself() -> None:
    results = fanout.run(["a", "raise", "die", "hang", "deep", "b"], work, jobs=2, timeout=1.5)
    assert [r if isinstance(r, str) else r.why for r in results] == [
        "A",
        "raised",
        "died",
        "timeout",
        "20000",
        "B",
    ]
    raised, died = results[1], results[2]
    assert isinstance(raised, Lost)
    assert "ValueError: no" in raised.text
    assert isinstance(died, Lost)
    assert "exit code 7" in died.text


def test_nothing_to_do_starts_nothing() -> None:
    assert fanout.run([], work, jobs=2, timeout=1) == []


def _ends_on_sigterm(task: int) -> bool:
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_child_does_not_inherit_the_parent_s_way_of_ending() -> None:
    kept = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        assert fanout.run([1], _ends_on_sigterm, jobs=1, timeout=60) == [True]
    finally:
        signal.signal(signal.SIGTERM, kept)


def _takes_memory(task: int) -> int:
    return len(bytearray(task))


def test_a_child_can_t_take_all_memory() -> None:
    found = fanout.run([1000, 64 * 1024**3], _takes_memory, jobs=1, timeout=60)
    assert found[0] == 1000
    assert isinstance(found[1], Lost) and "MemoryError" in found[1].text
