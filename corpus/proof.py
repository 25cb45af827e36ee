"""Proofs in `entry.toml`: the part below a marker line belongs to the tool, which alone writes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from corpus.catalog import ENTRY, Item, entry_of
from corpus.entry import Entry, Proof
from corpus.files import alone, write
from corpus.problem import CorpusError, Problem

MARKER = "# Written by `cuteport corpus check`; not by hand."
_MARKER = re.compile(rf"^{re.escape(MARKER)}$", re.MULTILINE)


def with_proof(text: str, proofs: list[Proof]) -> str:
    """The text of entry.toml with these proofs in place of those it has."""
    own = _MARKER.split(text, maxsplit=1)[0].rstrip("\n")
    parts = [own, "\n\n", MARKER, "\n"] if proofs else [own, "\n"]
    for p in sorted(proofs, key=lambda p: p.device):
        parts.append("\n[[verified]]\n")
        for key, value in p.model_dump(exclude_none=True).items():
            if key == "hashes":
                inner = ", ".join(f"{quoted(k)} = {quoted(v)}" for k, v in sorted(value.items()))
                parts.append(f"hashes = {{ {inner} }}\n")
            else:
                parts.append(f"{key} = {quoted(value)}\n")
    return "".join(parts)


def quoted(value: object) -> str:
    """Text, lists of it or a number as TOML, which has no pairs of surrogates, and no DEL as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def record(item: Item, proof: Proof) -> None:
    """Write the proof into the entry; it replaces that of the same device, and what is out of date goes. The
    entry is read anew, since another process may have written a proof of another device meanwhile.

    CorpusError, and nothing is written: CP5005 where the entry is not what was proven any more, CP5001 where
    something else than proofs stands below the marker and would be lost, or a proof above it.
    """
    place = item.folder / ENTRY
    with alone(item.folder):
        text = item.text(ENTRY)
        entry = entry_of(text, place)
        if Item(item.folder, entry).hashes() != proof.hashes:
            raise CorpusError([Problem("CP5005", item.folder, "changed while it was judged")])
        others = [p for p in entry.verified if p.device != proof.device and p.hashes == proof.hashes]
        proofs = sorted([*others, proof], key=lambda p: p.device)
        made = with_proof(text, proofs)
        if not _says(made, entry.model_copy(update={"verified": proofs}), place):
            words = f"proofs stand below {MARKER!r}, and nothing else does: it would be lost"
            raise CorpusError([Problem("CP5001", place, words)])
        write(place, made)


def _says(made: str, meant: Entry, place: Path) -> bool:
    try:
        return entry_of(made, place) == meant
    except CorpusError:
        return False
