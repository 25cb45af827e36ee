"""What a child gives up before it runs foreign code. Linux; what the kernel refuses is left out, and told.

`enclose` turns the process that the parent started into a guard and returns in another one, the worker:

    parent ── guard ── init (pid 1 of a namespace of its own) ── worker ── whatever the port starts

Everything below the guard ends with it, and the guard with the parent: by the kernel where there is a
process namespace; otherwise the guard is the reaper of all that loses its parent, and kills what it finds
below itself.
The worker has no network, and writes to its scratch folder, its caches and devices only (Landlock).

None of this keeps a port from the memory of its own process: see the README of tests/adversarial.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

Held = dict[str, str]  # network, files, processes, memory: what holds

_NEWUSER, _NEWPID, _NEWNET, _NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
_PDEATHSIG, _NO_NEW_PRIVS, _SUBREAPER = 1, 38, 36
# Landlock: the same numbers on all architectures.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITES = sum(1 << bit for bit in (1, *range(4, 13)))  # all that makes, changes or removes a file
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals

_FILE_BYTES = 16 << 30
_FILES = 8192
_TASKS = 1024  # more than the user has already
_libc = ctypes.CDLL(None, use_errno=True)


def limits(file_bytes: int = _FILE_BYTES) -> None:
    """No core files, no endless files, no fork bomb; and the first to go when memory runs out."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, file_bytes)
    _lower(resource.RLIMIT_NOFILE, _FILES)
    _lower(resource.RLIMIT_NPROC, _tasks() + _TASKS)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def limit_memory(limit: int) -> str:
    """Bound the private memory of this process, in bytes; what holds, in words. Not with CUDA, which reserves
    far more than it uses."""
    _lower(resource.RLIMIT_DATA, limit)
    return f"{limit >> 20} MiB"


def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its control group's where that is less."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path(path).read_text(encoding="ascii")))
    return min(found)


def _lower(what: int, to: int) -> None:
    soft, hard = resource.getrlimit(what)
    bounds = [to, *(v for v in (soft, hard) if v != resource.RLIM_INFINITY)]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (min(bounds), min(bounds)))


def _tasks() -> int:
    """How many threads this user has."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                count += sum(1 for _ in (folder / "task").iterdir())
    return count


def enclose(parent: int, close: Iterable[int], writable: Sequence[str], level: str) -> Held:
    """Returns in the worker, with what holds. `close` are descriptors that are the worker's alone; `level` is
    full, files (no namespaces) or none."""
    spaces = _namespaces() if level == "full" else 0
    _end_with(parent, signal.SIGKILL if spaces & _NEWPID else signal.SIGTERM)
    if spaces & _NEWPID:
        words, said = os.pipe()
        _fork(lambda init: _guard(init, words), (*close, said))
        os.close(words)
        _fork(lambda worker: _reap(worker, said), close)
        os.close(said)
    else:
        _libc.prctl(_SUBREAPER, 1)
        _fork(_watch, close)
    told = {
        "processes": "namespace" if spaces & _NEWPID else "descendants",
        "network": "namespace" if spaces & _NEWNET else "open",
        "files": "open",
    }
    if level != "none" and (abi := _landlock(writable)):
        told["files"] = "scratch and caches"
        if told["network"] == "open" and abi >= 4:
            told["network"] = "no TCP"
    return told


def _namespaces() -> int:
    """New namespaces for this process's children, as many as the kernel grants."""
    user, group = os.getuid(), os.getgid()
    wanted = _NEWPID | _NEWNET | _NEWIPC
    if _libc.unshare(_NEWUSER | wanted) == 0:
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        for name, number in (("uid_map", user), ("gid_map", group)):
            Path(f"/proc/self/{name}").write_text(f"{number} {number} 1", encoding="ascii")
        return wanted
    held = 0
    for one in (_NEWPID, _NEWNET, _NEWIPC):
        held |= one if _libc.unshare(one) == 0 else 0
    return held


def _end_with(parent: int, how: int) -> None:
    """Get a signal when the parent ends. Ends at once where it has ended already."""
    _libc.prctl(_PDEATHSIG, int(how))
    if os.getppid() != parent:
        os._exit(1)


def _fork(stay: Callable[[int], NoReturn], close: Iterable[int]) -> None:
    """Returns in a child that ends with this process, which closes `close` and does `stay(child)`."""
    alive, held = os.pipe()  # closes when this process ends
    child = os.fork()
    if child:
        for fd in (*close, alive):
            os.close(fd)
        stay(child)
    os.close(held)
    _libc.prctl(_PDEATHSIG, int(signal.SIGKILL))
    if select.select([alive], [], [], 0)[0]:
        os._exit(1)  # it ended before the line above took effect
    os.close(alive)


def _guard(init: int, words: int) -> NoReturn:
    """Ends as the worker ended, which init says."""
    status = os.read(words, 4)
    os.waitpid(init, 0)
    if len(status) == 4:
        _end_as(struct.unpack("<i", status)[0])
    os._exit(1)


def _reap(worker: int, said: int) -> NoReturn:
    """Init: buries what ends; when the worker does, so does all else in the namespace."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            os.write(said, struct.pack("<i", status))
            os._exit(0)


def _watch(worker: int) -> NoReturn:
    """The guard without a namespace: buries what ends; kills what is left when worker or parent end."""

    def stop(*_: object) -> NoReturn:
        kill_below(os.getpid())
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    while True:
        pid, status = os.wait()
        if pid == worker:
            kill_below(os.getpid())
            _end_as(status)


def _end_as(status: int) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError):  # no handler can be set for SIGKILL
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def below(pid: int) -> set[int]:
    """All processes that descend from a process."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            fields = stat.rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    found = {pid}
    while more := {p for p, of in parents.items() if of in found} - found:
        found |= more
    return found - {pid}


def kill_below(pid: int, rounds: int = 20) -> None:
    """End everything below a process; again, for what was started meanwhile."""
    for _ in range(rounds):
        if not (left := below(pid)):
            return
        for one in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)


def _landlock(writable: Sequence[str]) -> int:
    """From now on nothing outside `writable` can be written, by this process and all it starts.

    TCP, and signals to others, are refused where the kernel knows how. Returns Landlock's version, or 0.
    """
    abi: int = _libc.syscall(_CREATE, None, 0, 1)
    if abi < 1:
        return 0
    writes = _WRITES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    attributes = struct.pack("<Q", writes)
    attributes += struct.pack("<Q", _TCP) if abi >= 4 else b""
    attributes += struct.pack("<Q", _SCOPES) if abi >= 6 else b""
    rules = _libc.syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return 0
    try:
        for fd in _opened(writable):
            rule = struct.pack("<Qi", writes, fd)
            if _libc.syscall(_ADD, rules, 1, rule, 0) != 0:
                return 0
        if _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or _libc.syscall(_RESTRICT, rules, 0) != 0:
            return 0
    finally:
        os.close(rules)
    return abi


def _opened(folders: Sequence[str]) -> Iterator[int]:
    for folder in (*folders, "/dev", "/proc"):
        with contextlib.suppress(OSError):
            fd = os.open(folder, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
            yield fd
            os.close(fd)
