"""A tool's process: confined to what the server's user allowed, then one command of `cuteport`.

On Linux the kernel keeps it, and all that it starts, to reading the given folders and writing to the run
folder, and from opening TCP connections (Landlock). It ends with the server.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import runpy
import signal
import struct
import sys
from collections.abc import Iterable, Sequence

_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls of Landlock, the same on all architectures
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = (1 << bit for bit in range(4))
_MAKE = sum(1 << bit for bit in range(4, 13))  # all that makes or removes a name
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_TCP = 0b11
_CAPGET, _CAPSET = {"x86_64": (125, 126), "aarch64": (90, 91)}.get(os.uname().machine, (0, 0))
_CAPABILITIES = 0x20080522  # the version of the header
_CAPBSET_DROP = 24
_LOOKS_INTO_OTHERS = (19, 21, 38)  # SYS_PTRACE, SYS_ADMIN, PERFMON: Landlock does not hold who has them
_FILE_BYTES = 4 << 30


def landlock() -> int:
    """The version of Landlock that this kernel has; 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    found: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)
    return max(0, found)


def restrict(read: Sequence[str], write: Sequence[str]) -> bool:
    """From now on only `read` and `write` are read, and only `write` written; False where the kernel can't.

    Paths are files or folders; those that do not exist are left out.
    """
    abi = landlock()
    if not abi:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    reads = _EXECUTE | _READ_FILE | _READ_FOLDER
    writes = _WRITE_FILE | _MAKE | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    attributes = struct.pack("<Q", reads | writes) + (struct.pack("<Q", _TCP) if abi >= 4 else b"")
    rules = libc.syscall(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        _give_up(libc, _LOOKS_INTO_OTHERS)
        for paths, rights in ((read, reads), (write, reads | writes)):
            if not all(_allowed(libc, rules, p, rights) for p in paths):
                return False
        return bool(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and libc.syscall(_RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)


def _give_up(libc: ctypes.CDLL, capabilities: Iterable[int]) -> None:
    """Root loses what would let it read the memory of others through /proc; nobody else has it."""
    header = struct.pack("<Ii", _CAPABILITIES, 0)
    held = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits of each
    if not _CAPGET or libc.syscall(_CAPGET, header, held) != 0:
        return
    words = list(struct.unpack("<6I", held.raw))
    for one in capabilities:
        libc.prctl(_CAPBSET_DROP, one, 0, 0, 0)
        for k in range(3):
            words[one // 32 * 3 + k] &= ~(1 << one % 32)
    libc.syscall(_CAPSET, header, struct.pack("<6I", *words))


def _allowed(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> bool:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        of_files = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
        given = rights if os.path.isdir(path) else rights & of_files  # noqa: PTH112
        return bool(libc.syscall(_ADD, rules, 1, struct.pack("<Qi", given, fd), 0) == 0)
    finally:
        os.close(fd)


def _end_with(parent: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)


def main(arguments: Iterable[str]) -> None:
    """`{"parent": PID, "read": […], "write": […], "confine": true}` as the first argument, then a command."""
    from verify.confine import limits

    asked, *words = arguments
    policy = json.loads(asked)
    _end_with(policy["parent"])
    with contextlib.suppress(OSError, ValueError):
        limits(_FILE_BYTES)
    if policy["confine"] and not restrict(policy["read"], policy["write"]):
        os._exit(1)  # the server looked before: it must not be weaker than it said
    sys.argv = ["cuteport", *words]
    runpy.run_module("translator.cli.main", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
