"""The entries of the corpus: load, validate, iterate."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from corpus.entry import LEAST_RATIO, LEAST_SCORE, Entry, Proof
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

    def recorded(self) -> list[Proof]:
        """What is recorded of the entry as it is now, whether it proves it or not."""
        now, names = self.hashes(), [v.name for v in self.entry.variant]
        return [p for p in self.entry.verified if p.hashes == now and p.variants == names]

    def wanting(self) -> list[Problem]:
        """CP5007, CP5008 for what is recorded and proves nothing, whoever wrote it."""
        return self._wanting(self.recorded())

    def _wanting(self, every: list[Proof]) -> list[Problem]:
        found = []
        for p in every:
            if p.mutation is not None and p.mutation < LEAST_SCORE:
                found.append(
                    Problem("CP5007", self.folder, f"{p.device}: a score of {p.mutation:g} is recorded")
                )
            if p.ratio is not None and p.ratio < LEAST_RATIO:
                words = f"{p.device}: {p.ratio:g} of its CUDA twin's speed is recorded"
                found.append(Problem("CP5008", self.folder, words))
        if every and all(p.mutation is None for p in every):
            found.append(Problem("CP5007", self.folder, "no score of changed kernels is recorded"))
        return found

    def lacking(self) -> list[Problem]:
        """Why an entry without a proof has none: what is recorded proves nothing, or is about other files."""
        if problems := self.wanting():
            return problems
        had = ", ".join(p.device for p in self.entry.verified)
        words = f"changed since it was proven ({had})" if had else "was never proven"
        return [Problem("CP5005", self.folder, words)]

    def proofs(self) -> list[Proof]:
        """The proofs of the entry as it is now, one a device; none where one of them proves nothing."""
        every = self.recorded()  # which reads all files
        return [] if self._wanting(every) else every

    def proof(self, device: str | None = None) -> Proof | None:
        """A proof of the entry as it is now: on `device`, or on any."""
        return next((p for p in self.proofs() if device in (None, p.device)), None)


def load_item(folder: Path) -> Item:
    """One entry. CorpusError with every problem: CP5001, CP5002."""
    try:
        lacking = [Problem("CP5002", folder, f"no {name}") for name in FILES if not (folder / name).is_file()]
    except OSError as e:  # not even what is in it can be seen
        raise CorpusError([Problem("CP5002", folder, f"can't be read: {e.strerror}")]) from e
    if any(p.message == f"no {ENTRY}" for p in lacking):
        raise CorpusError(lacking)
    lacking += [p for name in FILES if name != ENTRY for p in unreadable(folder / name)]
    path = folder / ENTRY
    try:
        entry = entry_of(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as e:
        raise CorpusError([*lacking, Problem("CP5001", path, f"can't be read: {e}")]) from e
    except CorpusError as e:
        raise CorpusError([*lacking, *e.problems]) from e
    if (folder.parent.name, folder.name) != (entry.family, entry.id):
        words = f"family {entry.family}, id {entry.id}: the folder is {folder.parent.name}/{folder.name}"
        lacking.append(Problem("CP5001", path, words))
    if lacking:
        raise CorpusError(lacking)
    return Item(folder, entry)


def entry_of(text: str, path: Path) -> Entry:
    """The text of an entry.toml, read. CorpusError CP5001, CP5010 about `path`."""
    try:
        return Entry.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        m = re.search(r"at line (\d+)", str(e))
        told = Problem("CP5001", path, f"not valid TOML: {e}", int(m[1]) if m else 0)
        raise CorpusError([told]) from e
    except ValidationError as e:
        raise CorpusError([_problem(path, err) for err in e.errors()]) from e
    except (ValueError, RecursionError) as e:  # a number of thousands of digits, thousands of brackets
        raise CorpusError([Problem("CP5001", path, f"can't be read: {e}")]) from e


def unreadable(path: Path) -> list[Problem]:
    """CP5002 for a file that is there and is no text: told when an entry is loaded, not where it is used."""
    try:
        if path.is_file():
            path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        return [Problem("CP5002", path, f"can't be read: {e}")]
    return []


def _problem(path: Path, err: object) -> Problem:
    assert isinstance(err, dict)
    where = ".".join(str(p) for p in err["loc"])
    what = str(err["msg"]).removeprefix("Value error, ")
    code = "CP5010" if where == "provenance.license" else "CP5001"
    return Problem(code, path, f"{where}: {what}" if where else what)


def folders(root: Path = KERNELS, problems: list[Problem] | None = None) -> Iterator[Path]:
    """Folders of entries, in order of family and id; not those that editors and Python leave there. What
    can't be looked into goes to `problems` as CP5002, or is an OSError without them."""
    for family in _below(root, problems):
        yield from _below(family, problems)


def _below(folder: Path, problems: list[Problem] | None) -> list[Path]:
    try:
        found = sorted(p for p in folder.iterdir() if p.is_dir())
    except OSError as e:
        if problems is None:
            raise
        problems.append(Problem("CP5002", folder, f"can't be read: {e.strerror}"))
        return []
    return [p for p in found if p.name != "__pycache__" and not p.name.startswith(".")]


def load(root: Path = KERNELS) -> tuple[list[Item], list[Problem]]:
    """(entries that can be used, problems of the others). Of two with one id neither can be used: one would
    be taken for the other."""
    items: list[Item] = []
    problems: list[Problem] = []
    every = list(folders(root, problems))
    entries = {f for f in every if _holds_entry(f)}  # what a branch left behind is none
    times = Counter(f.name for f in entries)
    for folder in every:
        if times[folder.name] > 1 and folder in entries:
            others = ", ".join(str(f) for f in every if f.name == folder.name and f != folder)
            words = f"{others} has the same id; an id is unique over all families"
            problems.append(Problem("CP5001", folder, words))
        try:
            item = load_item(folder)
        except CorpusError as e:
            problems += e.problems
        else:
            items += [item] if times[folder.name] == 1 else []
    return items, problems


def _holds_entry(folder: Path) -> bool:
    try:
        return (folder / ENTRY).exists()
    except OSError:
        return True  # for all that can be seen


def named(name: str, root: Path = KERNELS) -> list[Path]:
    """The folders that have an id, in whichever families: usable or not."""
    return [f for f in folders(root) if f.name == name] if root.is_dir() else []


def find(name: str, items: list[Item], problems: Iterable[Problem] = ()) -> Item:
    """The entry called `id` or `family/id`. CorpusError with those of `problems` that are about it, where it
    is there and can't be used, else CP5011."""
    for item in items:
        if name in (item.entry.id, f"{item.entry.family}/{item.entry.id}"):
            return item
    if own := [p for p in problems if _is_of(name, p.path)]:
        raise CorpusError(own)
    ids = [i.entry.id for i in items]
    near = difflib.get_close_matches(name.rpartition("/")[2].lower(), ids)
    words = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(ids) or 'none'}"
    raise CorpusError([Problem("CP5011", Path(name), f"no entry is called that; {words}")])


def _is_of(name: str, path: Path) -> bool:
    """Whether a problem's place is the folder of that entry, or a file in it."""
    folder = path if path.is_dir() else path.parent
    return name in (folder.name, f"{folder.parent.name}/{folder.name}")


def retrievable(items: list[Item]) -> list[Item]:
    """Entries that are proven as they are now: only these may be learned from."""
    return [i for i in items if i.proof() is not None]
