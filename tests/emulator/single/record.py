"""What hardware gave, small enough to commit: per case a digest of all rows, and the first rows.

Approximate opcodes keep all rows, since the emulator's bits are others. Values are stored in their own width.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.emulator.single.cases import ROWS, Case, Slots
from verify.emulator.ptx.module import SIZES

HEAD = 128  # rows kept in full
RECORDED = Path(__file__).with_name("h200.npz")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case on hardware: `digest` of all ROWS rows, the first rows; or why it was refused."""

    digest: int
    rows: Slots
    refused: str = ""


def digest(outputs: Slots) -> int:
    """64 bits of a hash over rows of slots."""
    return int.from_bytes(hashlib.blake2b(outputs.astype("<u8").tobytes(), digest_size=8).digest(), "little")


def widths(case: Case) -> list[int]:
    """Bytes that each word of a result takes in the file."""
    found: list[int] = []
    for slot in case.results:
        size = SIZES.get(slot.type, 4)
        found += [8, 8] if size == 16 else [max(size, 2)]
    return found


def kept(case: Case) -> int:
    """Rows in the file."""
    return ROWS if case.op.approximate else HEAD


def write(
    path: Path, outcomes: dict[str, Slots], refused: dict[str, str], every: list[Case], about: Any
) -> None:
    """Writes the file. `about` says date, device and versions."""
    bodies: list[bytes] = []
    digests: list[int] = []
    keys: list[str] = []
    for case in every:
        if case.key in outcomes:
            rows = outcomes[case.key]
            keys.append(case.key)
            digests.append(digest(rows))
            for column, size in enumerate(widths(case)):
                bodies.append(rows[: kept(case), column].astype(f"<u{size}").tobytes())
    meta = json.dumps({"about": about, "keys": keys, "refused": refused}).encode()
    np.savez_compressed(
        path,
        meta=np.frombuffer(meta, dtype=np.uint8),
        digests=np.array(digests, dtype="<u8"),
        rows=np.frombuffer(b"".join(bodies), dtype=np.uint8),
    )


def read(path: Path, every: list[Case]) -> tuple[dict[str, Outcome], Any]:
    """The recorded outcomes by key, and what the file says about itself. A case that is new has none."""
    with np.load(path) as file:
        meta = json.loads(file["meta"].tobytes())
        digests, body = file["digests"], file["rows"].tobytes()
    by_key = {case.key: case for case in every}
    outcomes = {key: Outcome(0, np.zeros((0, 1), np.uint64), why) for key, why in meta["refused"].items()}
    at = 0
    for key, recorded in zip(meta["keys"], digests, strict=True):
        # The order and the widths are those of the cases that were recorded: a removed case ends the reading.
        case = by_key[key]
        columns = []
        for size in widths(case):
            end = at + size * kept(case)
            columns.append(np.frombuffer(body[at:end], dtype=f"<u{size}").astype(np.uint64))
            at = end
        outcomes[key] = Outcome(int(recorded), np.stack(columns, axis=1))
    return outcomes, meta["about"]
