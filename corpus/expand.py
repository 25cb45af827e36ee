"""An entry's variants as target folders: `${name}` in spec.toml becomes the variant's value."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from corpus.catalog import KERNEL, REFERENCE, SPEC, TWIN, Item
from corpus.entry import Variant
from corpus.files import write_bytes
from corpus.problem import CorpusError, Problem

_PLACE = re.compile(r"\$\{(\w*)\}")


def spec_of(item: Item, variant: Variant) -> str:
    """The text of a variant's spec.toml. CorpusError CP5001 for a place without a value, or a value without a
    place."""
    text, path = item.text(SPEC), item.folder / SPEC
    named = {m[1] for m in _PLACE.finditer(text)}
    who = f"variant {variant.name} of entry.toml"
    wrong = [f"{who} has no value for ${{{n}}}" for n in sorted(named - set(variant.values))]
    wrong += [f"{who}: nothing uses {n}" for n in sorted(set(variant.values) - named)]
    if wrong:
        raise CorpusError([Problem("CP5001", path, w) for w in wrong])
    return _PLACE.sub(lambda m: variant.values[m[1]], text)


def expand(item: Item, variant: Variant, into: Path) -> Path:
    """The target folder `into/<id>__<variant>` with the entry's files as they are now. A verdict that lies
    there stays if they are as they were, and what else lies there is left alone. OSError passes."""
    text = spec_of(item, variant)
    target = into / f"{item.entry.id}__{variant.name}"
    if target.is_symlink():  # to a folder that was not meant to be written into
        raise FileExistsError(errno.EEXIST, "a link lies there", str(target))
    target.mkdir(parents=True, exist_ok=True)
    files = {name: (item.folder / name).read_bytes() for name in (KERNEL, TWIN, REFERENCE)}
    files[SPEC] = text.encode("utf-8")
    if any(not _holds(target / name, data) for name, data in files.items()):
        (target / "verdict.json").unlink(missing_ok=True)
        for name, data in files.items():
            write_bytes(target / name, data)
    return target


def _holds(path: Path, data: bytes) -> bool:
    """Whether a file is there, and no link, with these bytes."""
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data
