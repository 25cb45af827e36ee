"""Every opcode that is C alone, with the operands it is tried on: one list for the emulator and for hardware.

A case is an opcode (and a constant, where an operand must be one). Its inputs are rows of 64-bit slots, one
per source operand (two for 128 bits, one per element of a vector), its outputs rows of slots too. Inputs are
a function of the case's signature alone, so that recorded outputs need no record of inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from verify.emulator.ops import Op, pure
from verify.emulator.ptx.module import SIZES

ROWS = 512  # tuples of operands per case
LOP3_TABLES = (0x96, 0xE8, 0xCA, 0x1B)

Slots = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of `type` for placeholder `place` (`a`, `b0`, `d`, `p`, `cc`)."""

    place: str
    type: str


@dataclass(frozen=True, slots=True)
class Case:
    """`carry` is "" or the family whose carry flag the opcode reads or writes: `add` or `sub`."""

    op: Op
    constant: int | None = None

    @property
    def key(self) -> str:
        tail = f"/{self.op.shape}" if self.op.shape else ""
        return self.op.name + tail + ("" if self.constant is None else f"#{self.constant:#x}")

    @property
    def carry(self) -> str:
        assert self.op.c is not None
        if "cc_" not in self.op.c:
            return ""
        return "sub" if self.op.name.startswith("sub") else "add"

    @property
    def sources(self) -> list[Slot]:
        """Input slots in order; a 128-bit operand is one entry that takes two."""
        found = [s for entry in self.op.signature if not entry.startswith("d") for s in _slots(entry)]
        return found + ([Slot("cc", "carry")] if self.carry else [])

    @property
    def results(self) -> list[Slot]:
        """Output slots in order."""
        found: list[Slot] = []
        for entry in self.op.signature:
            role, _, _ = entry.partition(":")
            if role == "d":
                found += _slots(entry)
            elif role == "d|p":
                found += [*_slots("d:" + entry.partition(":")[2]), Slot("p", "pred")]
        return found + ([Slot("cc", "carry")] if self.carry else [])


def cases(target: str = "sm_90") -> Iterator[Case]:
    """All cases for an architecture up to `target`."""
    seen: set[str] = set()
    for op in pure():
        if int(op.target[3:]) > int(target[3:]):
            continue
        constants = LOP3_TABLES if "e:imm" in op.signature else (None,)
        for constant in constants:
            case = Case(op, constant)
            if case.key not in seen:
                seen.add(case.key)
                yield case


def width(slots: list[Slot]) -> int:
    """64-bit words that the slots take."""
    return sum(2 if SIZES.get(s.type, 4) == 16 else 1 for s in slots)


def inputs(case: Case, rows: int = ROWS) -> Slots:
    """rows x width(case.sources) operands: edge values, values near each other, random ones."""
    columns: list[Slots] = []
    previous: Slots | None = None
    for number, slot in enumerate(case.sources):
        seed = zlib.crc32(f"{number} {slot.type} {'.'.join(s.type for s in case.sources)}".encode())
        column = _column(slot.type, rows, seed)
        if previous is not None and slot.type == case.sources[number - 1].type and slot.type != "pred":
            column = _near(column, previous, slot.type, seed)
        previous = column[:, 0].copy()
        columns.append(column)
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def _slots(entry: str) -> list[Slot]:
    role, _, kind = entry.partition(":")
    role = role.removesuffix("?")
    if kind == "imm":
        return []
    if kind.startswith("v"):
        count, _, element = kind.partition(".")
        return [Slot(f"{role}{i}", element) for i in range(int(count[1:]))]
    return [Slot(role, kind)]


_F32 = (
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000,
    0x00800001, 0x00FFFFFF, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0xBF800000, 0x3F000000, 0xBF000000,
    0x3EFFFFFF, 0x3F000001, 0x3FC00000, 0x40200000, 0xBFC00000, 0x40000000, 0x40490FDB, 0x7F7FFFFF,
    0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF, 0xFFC12345, 0x7F812345, 0xFF800001,
    0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000,
    0xDF000000, 0x5F800000, 0x42FE0000, 0x42FF0000, 0x43000000, 0xC3000000, 0xC3010000, 0x437F0000,
    0x43800000, 0x46FFFE00, 0x47000000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x47800000, 0x33800000,
    0x33000000, 0x33000001, 0x38800000, 0x387FC000, 0x387FE000, 0x387FFFFF, 0x43E00000, 0x43E80000,
    0x43E80001, 0x47600000, 0x476FFFFF, 0x47700000, 0x3A800000, 0x3C800000, 0x37800000, 0x7E800000,
    0x7E800001, 0x7F000000, 0x3F808000, 0x3F818000, 0x3F801000, 0x3F803000, 0x3F801001, 0x7F7F8000,
    0x7F7FE000, 0x42FC0000, 0xC2FC0000, 0xC3150000, 0x43000001, 0x1F800000, 0x20000000, 0xCB000000,
    0x4B000001,
)  # fmt: skip
_F64 = (
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF,
    0x0010000000000000, 0x8010000000000000, 0x0010000000000001, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000000,
    0x3FF0000000000001, 0xBFF0000000000000, 0x3FE0000000000000, 0xBFE0000000000000, 0x3FF8000000000000,
    0x4004000000000000, 0xBFF8000000000000, 0x4000000000000000, 0x400921FB54442D18, 0x7FEFFFFFFFFFFFFF,
    0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000,
    0x7FFFFFFFFFFFFFFF, 0x7FF8000012345678, 0xFFF0000000000001, 0x7FF4000000000000, 0x41DFFFFFFFC00000,
    0x41E0000000000000, 0x41DFFFFFFFE00000, 0xC1E0000000000000, 0xC1E0000000200000, 0x41EFFFFFFFE00000,
    0x41F0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0xC3E0000000000000, 0x43EFFFFFFFFFFFFF,
    0x43F0000000000000, 0x405FC00000000000, 0x4060000000000000, 0x406FE00000000000, 0x40DFFFE000000000,
    0x40EFFFE000000000, 0x47EFFFFFE0000000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x47F0000000000000,
    0x36A0000000000000, 0x3690000000000000, 0x3690000000000001, 0x3810000000000000, 0x380FFFFFFFFFFFFF,
    0x380FFFFFE0000000, 0x3E70000000000000, 0x3E60000000000000, 0x3F0FFC0000000000, 0x40EFFC0000000000,
    0x40EFFE0000000000, 0x3FF0000010000000, 0x3FF0000030000000, 0x3FF0020000000000, 0x3FF0060000000000,
    0x7FD0000000000000, 0x0008000000000000, 0x3CA0000000000000, 0x4330000000000001, 0x4320000000000001,
)  # fmt: skip
_F16 = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x3BFF, 0x3C00, 0x3C01,
    0xBC00, 0x3800, 0xB800, 0x37FF, 0x3E00, 0x4100, 0xBE00, 0x4000, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
    0x7E00, 0x7FFF, 0xFE12, 0x7D01, 0x5BF8, 0x5C00, 0x57F0, 0x5800, 0x77FF, 0x7800, 0x5F00, 0x5F40,
    0x7B00, 0x7B80, 0x1400, 0x0200, 0x13FF, 0x2400,
)  # fmt: skip
_BF16 = (
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x0081, 0x3F7F, 0x3F80, 0x3F81,
    0xBF80, 0x3F00, 0xBF00, 0x3FC0, 0x4020, 0xBFC0, 0x4000, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0,
    0x7FFF, 0xFFC1, 0x7F81, 0x4F00, 0x4EFF, 0x4F80, 0x5F00, 0x42FE, 0x437F, 0x4780, 0x477F, 0x3380,
    0x3300, 0x3880, 0x3E80, 0x1F80, 0x2000, 0xC300,
)  # fmt: skip
_SMALL = (0, 1, 2, 3, 7, 8, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 300)


def _edges(kind: str, bits: int) -> list[int]:
    if kind == "f32":
        return list(_F32)
    if kind == "f64":
        return list(_F64)
    if kind in ("f16", "bf16"):
        return list(_F16 if kind == "f16" else _BF16)
    top = 1 << (bits - 1)
    every = (1 << bits) - 1
    pattern = 0xAAAAAAAAAAAAAAAA & every
    found = [
        *_SMALL,
        *(-x for x in _SMALL),
        top,
        top - 1,
        top + 1,
        every // 3,
        pattern,
        top >> 1,
        (top >> 1) - 1,
    ]
    return [x & every for x in found]


def _random(seed: int, count: int) -> Slots:
    """Random 64-bit words (splitmix64, written out so that no library's version matters)."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.arange(
            1, count + 1, dtype=np.uint64
        ) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _column(kind: str, rows: int, seed: int) -> Slots:
    if kind in ("pred", "carry"):
        return (_random(seed, rows) >> np.uint64(63)).reshape(-1, 1)
    if kind in ("f16x2", "bf16x2"):
        low, high = (_column(kind[:-2], rows, seed + i)[:, 0] for i in range(2))
        return (low | high << np.uint64(16)).reshape(-1, 1)
    bits = 8 * SIZES[kind]
    if bits == 128:
        return np.stack([_random(seed, rows), _random(seed + 1, rows)], axis=1)
    edges = np.array(_edges(kind, bits), dtype=np.uint64)
    choice, value = _random(seed, rows), _random(seed + 1, rows)
    column = edges[(value % np.uint64(len(edges))).astype(np.int64)]
    mask = np.uint64((1 << bits) - 1)
    # Half of the rows are edge values; a quarter random bits; a quarter of ordinary size (floats: around 1).
    how = choice % np.uint64(4)
    column = np.where(how == 2, value & mask, column)
    ordinary = {
        "f32": (value & np.uint64(0x8FFFFFFF)) | np.uint64(0x38000000),
        "f64": (value & np.uint64(0x803FFFFFFFFFFFFF)) | np.uint64(0x3FC0000000000000),
        "f16": (value & np.uint64(0x8FFF)) | np.uint64(0x3000),
        "bf16": (value & np.uint64(0x83FF)) | np.uint64(0x3E00),
    }.get(kind, value & mask >> (value >> np.uint64(58)))
    column = np.where(how == 3, ordinary & mask, column)
    return column.reshape(-1, 1)


def _near(column: Slots, other: Slots, kind: str, seed: int) -> Slots:
    """Makes an eighth of the values equal, opposite or next to the operand before."""
    if SIZES[kind] == 16:
        return column
    bits = 8 * SIZES[kind]
    mask, sign = np.uint64((1 << bits) - 1), np.uint64(1 << (bits - 1))
    if kind.endswith("x2"):
        sign = np.uint64(0x80008000)
    choice = _random(seed + 2, len(column)) % np.uint64(32)
    with np.errstate(over="ignore"):
        near = np.where(choice == 0, other, other ^ sign)
        near = np.where(choice == 2, other + np.uint64(1), near)
        near = np.where(choice == 3, (other ^ sign) - np.uint64(1), near)
    return np.where((choice < 4).reshape(-1, 1), (near & mask).reshape(-1, 1), column)
