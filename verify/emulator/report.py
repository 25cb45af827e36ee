"""What a run in the emulator found, in words and with places in the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verify.emulator.abi import Finding as Raw
from verify.emulator.abi import Launch
from verify.emulator.emit.sites import Sites
from verify.emulator.memory import Allocation

_NO_SITE = 0xFFFFFFFF
_SHARED = 1 << 20  # offsets in shared memory are below, host addresses above
_GLOBAL = frozenset({"CP8001", "CP8004", "CP8006", "CP8012", "CP8013", "CP8014"})
_PAIRS = frozenset({"CP8011", "CP8012", "CP8013", "CP8014"})
BENIGN = frozenset({"CP8013"})


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction: a line of the source (0: unknown), and of the PTX, with its text."""

    file: str
    line: int
    ptx_line: int
    ptx: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else f"PTX line {self.ptx_line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of misbehaviour at one place: the first time it was seen, and how often.

    `block` and `thread` are linear indices; `other` is the place of the access or wait that it clashes with.
    """

    code: str
    message: str
    place: Place
    other: Place | None
    block: int
    thread: int
    count: int
    address: int = 0  # of the access: global a host address, shared an offset

    @property
    def benign(self) -> bool:
        """True for races that store the same value: they change nothing."""
        return self.code in BENIGN

    @property
    def file(self) -> str:
        return self.place.file

    @property
    def line(self) -> int:
        return self.place.line

    @property
    def ptx(self) -> str:
        return self.place.ptx


def describe(raw: Raw, sites: Sites, files: Mapping[int, str], memory: Iterable[Allocation]) -> Finding:
    """A finding of the runtime in words."""
    code = f"CP{raw.code}"
    place = _place(raw.site, sites, files)
    other = _place(raw.other_site, sites, files) if raw.other_site != _NO_SITE else None
    words = [raw.what.decode("utf-8", "replace")]
    if raw.size and code in _GLOBAL and raw.addr >= _SHARED:
        words.append(_where(raw.addr, raw.size, memory))
    elif raw.size:
        words.append(f"{raw.size} bytes at offset {raw.addr:#x}")
    words.append(f"block {raw.block}, thread {raw.thread}")
    if other is not None and code in _PAIRS:
        words.append(f"against block {raw.other_block}, thread {raw.other_thread} at {other}")
    if raw.count > 1:
        words.append(f"{raw.count} times")
    return Finding(
        code, "; ".join(w for w in words if w), place, other, raw.block, raw.thread, raw.count, raw.addr
    )


@dataclass(frozen=True, slots=True)
class Writer:
    """The thread that wrote at an address last; linear indices."""

    block: int
    thread: int
    place: Place


def writer_of(launch: Launch, sites: Sites, files: Mapping[int, str]) -> Writer | None:
    """What a launch answers about the address it was asked for; None where it does not know."""
    if not launch.wrote:
        return None
    return Writer(launch.wrote_block, launch.wrote_thread, _place(launch.wrote_site, sites, files))


def _place(site: int, sites: Sites, files: Mapping[int, str]) -> Place:
    if site >= len(sites.instructions):
        return Place("", 0, 0, "")
    i = sites.instructions[site]
    return Place(files.get(i.loc.file, ""), i.loc.line, i.ptx_line, i.text)


def _where(address: int, size: int, memory: Iterable[Allocation]) -> str:
    """An address in terms of the nearest buffer."""

    def distance(a: Allocation) -> int:
        return a.base - address if address < a.base else max(0, address - a.end + 1)

    near = min(memory, key=distance, default=None)
    if near is None:
        return f"{size} bytes at {address:#x}"
    name = near.name
    if address < near.base:
        return f"{size} bytes, {near.base - address} before the start of {name} ({near.size} bytes)"
    if address + size > near.end:
        return f"{size} bytes at byte {address - near.base} of {name}, which has {near.size}"
    return f"{size} bytes at byte {address - near.base} of {name}"
