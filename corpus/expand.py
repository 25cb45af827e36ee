"""An entry's variants as target folders: `${name}` in spec.toml becomes the variant's value."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from corpus.catalog import KERNEL, REFERENCE, SPEC, TWIN, Item
from corpus.entry import Variant
from corpus.problem import CorpusError, Problem

_PLACE = re.compile(r"\$\{(\w*)\}")


def spec_of(item: Item, variant: Variant) -> str:
    """The text of a variant's spec.toml. CorpusError CP5001 for a place without a value, or a value without a
    place."""
    text, path = item.text(SPEC), item.folder / SPEC
    named = {m[1] for m in _PLACE.finditer(text)}
    wrong = [f"variant {variant.name} has no value for ${{{n}}}" for n in sorted(named - set(variant.values))]
    wrong += [f"variant {variant.name}: nothing uses {n}" for n in sorted(set(variant.values) - named)]
    if wrong:
        raise CorpusError([Problem("CP5001", path, w) for w in wrong])
    return _PLACE.sub(lambda m: variant.values[m[1]], text)


def expand(item: Item, variant: Variant, into: Path) -> Path:
    """The target folder `into/<id>__<variant>`, written anew."""
    text = spec_of(item, variant)
    target = into / f"{item.entry.id}__{variant.name}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in (KERNEL, TWIN, REFERENCE):
        shutil.copyfile(item.folder / name, target / name)
    (target / SPEC).write_text(text, encoding="utf-8")
    return target
