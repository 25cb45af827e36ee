"""The spec of an entry, before anything runs: what keeps a variant from being judged, or from being judged as
the entry that it is."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from corpus.catalog import KERNEL, REFERENCE, SPEC, TWIN, Item
from corpus.entry import Variant
from corpus.expand import expand, spec_of
from corpus.problem import CorpusError, Problem
from verify.spec import Spec
from verify.spec_check import load_checked
from verify.spec_file import Lines, SpecError


def check_specs(item: Item) -> list[Problem]:
    """CP5001 for each fault of the entry's spec.toml, told once however many variants have it."""
    found: list[Problem] = []
    with tempfile.TemporaryDirectory(prefix="cuteport-spec-") as scratch:
        for variant in item.entry.variant:
            try:
                found += _faults(item, variant, Path(scratch))
            except CorpusError as e:
                found += e.problems
    return list(dict.fromkeys(found))


def _faults(item: Item, variant: Variant, scratch: Path) -> Iterator[Problem]:
    target, path = expand(item, variant, scratch), item.folder / SPEC
    try:
        spec = load_checked(target)
    except SpecError as e:
        for problem in e.problems:
            told = re.sub(rf"^{re.escape(str(target / SPEC))}:\s*", "", problem)
            line, _, what = told.partition(": ")
            yield (
                Problem("CP5001", path, what, int(line))
                if line.isdecimal()
                else Problem("CP5001", path, told)
            )
        return
    lines = Lines(spec_of(item, variant))
    yield from (Problem("CP5001", path, what, lines.of(at)) for at, what in _others(item, spec))


def _others(item: Item, spec: Spec) -> Iterator[tuple[tuple[str, str], str]]:
    """What would be judged in place of the entry's own files and function."""
    if spec.original.source != TWIN:
        yield (
            ("original", "source"),
            f"original.source is {spec.original.source!r}; it is {TWIN!r} in an entry",
        )
    if spec.port.module != KERNEL:
        yield ("port", "module"), f"port.module is {spec.port.module!r}; it is {KERNEL!r} in an entry"
    if spec.port.entry != item.entry.id:
        yield ("port", "entry"), f"port.entry is {spec.port.entry!r}; it is the entry's id, {item.entry.id!r}"
    if spec.tolerance.rule not in (None, "fp64"):
        words = f"tolerance.rule is {spec.tolerance.rule!r}: {REFERENCE} would never be asked"
        yield ("tolerance", "rule"), words
