"""The entries of the corpus: load, validate, iterate."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from corpus.entry import Entry, Proof
from corpus.problem import CorpusError, Problem

KERNELS = Path(__file__).parent / "kernels"
ENTRY, KERNEL, TWIN, REFERENCE, NOTES, SPEC = (
    "entry.toml",
    "kernel.py",
    "cuda.cu",
    "reference.py",
    "notes.md",
    "spec.toml",
)
FILES = (ENTRY, KERNEL, TWIN, REFERENCE, NOTES, SPEC)
# What a proof is about; inlined blocks are part of the kernel.
PROVEN = (KERNEL, TWIN, REFERENCE, SPEC)


@dataclass(frozen=True, slots=True)
class Item:
    """An entry and the folder that holds it."""

    folder: Path
    entry: Entry

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def hashes(self) -> dict[str, str]:
        """sha256 of what a proof is about, and of the variants' values."""
        found = {n: hashlib.sha256((self.folder / n).read_bytes()).hexdigest() for n in PROVEN}
        variants = repr([(v.name, sorted(v.values.items())) for v in self.entry.variant])
        return {**found, "variants": hashlib.sha256(variants.encode()).hexdigest()}

    def proofs(self) -> list[Proof]:
        """The proofs of the entry as it is now, one a device."""
        now, names = self.hashes(), [v.name for v in self.entry.variant]
        return [p for p in self.entry.verified if p.hashes == now and p.variants == names]

    def proof(self, device: str | None = None) -> Proof | None:
        """A proof of the entry as it is now: on `device`, or on any."""
        return next((p for p in self.proofs() if device in (None, p.device)), None)


def load_item(folder: Path) -> Item:
    """One entry. CorpusError with every problem: CP5001, CP5002."""
    lacking = [Problem("CP5002", folder, f"no {name}") for name in FILES if not (folder / name).is_file()]
    if any(p.message == f"no {ENTRY}" for p in lacking):
        raise CorpusError(lacking)
    path = folder / ENTRY
    try:
        entry = Entry.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as e:
        raise CorpusError([*lacking, Problem("CP5001", path, f"can't be read: {e}")]) from e
    except tomllib.TOMLDecodeError as e:
        m = re.search(r"at line (\d+)", str(e))
        told = Problem("CP5001", path, f"not valid TOML: {e}", int(m[1]) if m else 0)
        raise CorpusError([*lacking, told]) from e
    except ValidationError as e:
        told_all = [_problem(path, err) for err in e.errors()]
        raise CorpusError([*lacking, *told_all]) from e
    if (folder.parent.name, folder.name) != (entry.family, entry.id):
        words = f"family {entry.family}, id {entry.id}: the folder is {folder.parent.name}/{folder.name}"
        lacking.append(Problem("CP5001", path, words))
    if lacking:
        raise CorpusError(lacking)
    return Item(folder, entry)


def _problem(path: Path, err: object) -> Problem:
    assert isinstance(err, dict)
    where = ".".join(str(p) for p in err["loc"])
    what = str(err["msg"]).removeprefix("Value error, ")
    code = "CP5010" if where == "provenance.license" else "CP5001"
    return Problem(code, path, f"{where}: {what}" if where else what)


def folders(root: Path = KERNELS) -> Iterator[Path]:
    """Folders of entries, in order of family and id."""
    for family in sorted(p for p in root.glob("*") if p.is_dir() and p.name != "__pycache__"):
        yield from sorted(p for p in family.glob("*") if p.is_dir() and p.name != "__pycache__")


def load(root: Path = KERNELS) -> tuple[list[Item], list[Problem]]:
    """(entries that can be used, problems of the others)."""
    items: list[Item] = []
    problems: list[Problem] = []
    for folder in folders(root):
        try:
            items.append(load_item(folder))
        except CorpusError as e:
            problems += e.problems
    return items, problems


def find(name: str, items: list[Item]) -> Item:
    """The entry called `id` or `family/id`. CorpusError CP5011."""
    for item in items:
        if name in (item.entry.id, f"{item.entry.family}/{item.entry.id}"):
            return item
    known = ", ".join(i.entry.id for i in items) or "none"
    raise CorpusError([Problem("CP5011", Path(name), f"no entry is called that; there are: {known}")])


def retrievable(items: list[Item]) -> list[Item]:
    """Entries that are proven as they are now: only these may be learned from."""
    return [i for i in items if i.proof() is not None]
