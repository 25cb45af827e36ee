"""Many tasks over a few child processes, each on its own: a child that dies or hangs loses one task.

A foreign parser runs in the children (it may crash on hostile input) and Python's own stack is raised
there, so that a deeply nested source is an answer, not an end. Results come back in task order.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Literal, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_STACK = 512 * 1024 * 1024  # bytes of address space for the working thread; touched pages only are paid for
_MEMORY = 3 * 1024**3  # bytes of address space of one child, a fifth of it its stack; 0.7 GB were seen
_DEPTH = 60_000  # Python frames that fit in it
FOREIGN_SECONDS = 60.0  # of processor time for one call of foreign code
_mark: list[mmap.mmap] = []


@dataclass(frozen=True, slots=True)
class Lost:
    """A task with no result: its child raised (`text` is the traceback), died or ran out of time: of its
    processor time in foreign code too."""

    why: Literal["raised", "died", "timeout"]
    text: str
    foreign: bool = False  # it died in foreign code, see `foreign`


@dataclass(slots=True)
class _Child(Generic[Task]):
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    mark: mmap.mmap | None  # 1 while foreign code is at work
    task: int | None = None
    since: float = 0.0


def run(
    tasks: Sequence[Task],
    work: Callable[[Task], Result],
    *,
    jobs: int,
    timeout: float,
    done: Callable[[int, Result | Lost], None] | None = None,
    memory: int | None = _MEMORY,
) -> list[Result | Lost]:
    """`work` of each task, at most `jobs` at a time; `done` is told of each as it ends.

    `work` must be a function of a module and its results picklable. Children are gone on return,
    on Ctrl-C too. `memory` is each child's address space in bytes; with a limit no child can use a GPU.
    """
    results: dict[int, Result | Lost] = {}
    queue = list(range(len(tasks)))[::-1]
    children: list[_Child[Task]] = []

    def finish(child: _Child[Task], result: Result | Lost) -> None:
        assert child.task is not None
        results[child.task] = result
        index, child.task = child.task, None
        if done:
            done(index, result)

    try:
        while len(results) < len(tasks):
            while queue and len(children) < min(jobs, len(tasks)):
                children.append(_start(work, [c.pipe for c in children], memory))
            for child in children:
                if child.task is None and queue:
                    child.task, child.since = queue.pop(), time.monotonic()
                    child.pipe.send(tasks[child.task])
            busy = [c for c in children if c.task is not None]
            ready = wait([c.pipe for c in busy], timeout=_patience(busy, timeout))
            for child in busy:
                if child.pipe in ready:
                    try:
                        finish(child, child.pipe.recv())
                    except (EOFError, ConnectionError):
                        child.process.join()
                        finish(child, _dead(child))
                        children.remove(child)
                elif time.monotonic() - child.since > timeout:
                    _stop(child)
                    finish(child, Lost("timeout", f"no answer in {timeout:g} s"))
                    children.remove(child)
    finally:
        for child in children:
            _stop(child)
    return [results[k] for k in range(len(tasks))]


def _patience(busy: Sequence[_Child[Task]], timeout: float) -> float:
    now = time.monotonic()
    return max(0.0, min(timeout - (now - c.since) for c in busy)) + 0.01


def _start(work: Callable[[Task], Result], siblings: list[Connection], memory: int | None) -> _Child[Task]:
    # A fork of this small, single-threaded process costs milliseconds; elsewhere a fresh interpreter.
    forks = sys.platform == "linux" and threading.active_count() == 1
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    here, there = context.Pipe()
    inherited = [*siblings, here] if forks else []
    mark = mmap.mmap(-1, 1) if forks else None
    process = context.Process(target=_serve, args=(there, work, inherited, memory, mark), daemon=True)
    process.start()
    there.close()
    return _Child(process, here, mark)


def _stop(child: _Child[Task]) -> None:
    child.pipe.close()
    if child.process.is_alive():
        child.process.kill()
    child.process.join()


def _dead(child: _Child[Task]) -> Lost:
    inside = child.mark is not None and child.mark[0] == 1
    if inside and child.process.exitcode == -signal.SIGPROF:
        return Lost("timeout", f"no answer in {FOREIGN_SECONDS:g} s of processor time", foreign=True)
    return Lost("died", _how_it_ended(child.process.exitcode), foreign=inside)


def foreign(*, begins: bool) -> None:
    """In a child: foreign code begins or ends. It gets its share of processor time, and if the child dies in
    it, that is told."""
    for mark in _mark:
        mark[0] = int(begins)
    signal.setitimer(
        signal.ITIMER_PROF, FOREIGN_SECONDS if begins else 0
    )  # by default its end is the child's


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"the child process was ended by {signal.Signals(-code).name}"
    return f"the child process ended with exit code {code}"


def _serve(
    pipe: Connection,
    work: Callable[[Task], Result],
    inherited: list[Connection],
    memory: int | None,
    mark: mmap.mmap | None,
) -> None:
    _mark[:] = [mark] if mark is not None else []
    for copy in inherited:  # a held copy would keep the siblings waiting after the parent's death
        copy.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # not the parent's handler, which would print a traceback
    if memory is not None:
        _limit_memory(memory)
    with_deep_stack(lambda: _answer(pipe, work))
    os._exit(0)  # no clean-up of the parent's copies


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # outside Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    known = [n for n in (soft, hard, most) if n != resource.RLIM_INFINITY]
    with contextlib.suppress(OSError, ValueError):  # macOS has the name, not the limit
        resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))


def with_deep_stack(work: Callable[[], None]) -> None:
    """Run `work` in a thread whose stack holds deep recursion."""
    threading.stack_size(_STACK)
    sys.setrecursionlimit(_DEPTH)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def _answer(pipe: Connection, work: Callable[[Task], Result]) -> None:
    import traceback

    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result: Result | Lost = work(task)
        except BaseException:
            result = Lost("raised", traceback.format_exc())
        try:
            pipe.send(result)
        except OSError:  # the parent is gone, and with it whoever would want to know
            return
        except Exception:
            pipe.send(Lost("raised", traceback.format_exc()))
