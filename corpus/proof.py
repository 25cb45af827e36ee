"""Proofs in `entry.toml`: the part below a marker line belongs to the tool, which alone writes it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from corpus.catalog import ENTRY, Item
from corpus.entry import Proof

MARKER = "# Written by `cuteport corpus check`; not by hand."


def with_proof(text: str, proofs: list[Proof]) -> str:
    """The text of entry.toml with these proofs in place of those it has."""
    own = text.partition(MARKER)[0].rstrip("\n")
    parts = [own, "\n\n", MARKER, "\n"] if proofs else [own, "\n"]
    for p in sorted(proofs, key=lambda p: p.device):
        parts.append("\n[[verified]]\n")
        for key, value in p.model_dump(exclude_none=True).items():
            if key == "hashes":
                inner = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in sorted(value.items()))
                parts.append(f"hashes = {{ {inner} }}\n")
            else:
                parts.append(f"{key} = {json.dumps(value)}\n")
    return "".join(parts)


def record(item: Item, proof: Proof) -> None:
    """Write the proof into the entry; it replaces that of the same device, and what is out of date goes."""
    now = item.hashes()
    kept = [p for p in item.entry.verified if p.device != proof.device and p.hashes == now]
    write(item.folder / ENTRY, with_proof(item.text(ENTRY), [*kept, proof]))


def write(path: Path, text: str) -> None:
    """Write under a temporary name, then rename: nobody reads half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
