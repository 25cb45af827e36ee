"""Kernels of CUDA files and the twins of corpus entries, read the same way: by model, else by text."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from corpus.catalog import SPEC, TWIN, Item
from corpus.expand import spec_of
from corpus.problem import CorpusError
from translator.diag.diagnostic import Sink
from translator.frontend.build import build_model
from translator.frontend.inputs import Inputs, ReadOptions, UnitInput, collect, read_text
from translator.frontend.no_code import COMMENT
from translator.frontend.project import KernelReading, read_units
from translator.model.kernel import KernelModel
from translator.retrieval.device_text import TextKernel, kernels
from translator.retrieval.facts import Facts, of_model, of_normal

# A template of which no instantiation could be made is still looked at as text.
_NOT_NEEDED = frozenset({"CP1011"})


@dataclass(frozen=True, slots=True)
class Query:
    """A kernel for which entries are sought. `text` is its device code with the author's comments."""

    path: str
    facts: Facts
    text: str

    @property
    def kernel(self) -> str:
        return self.facts.kernel


def queries(inputs: Inputs, options: ReadOptions, sink: Sink) -> list[Query]:
    """The kernels of collected units, one query each, in the frontend's order.

    `sink` gets what concerns files and names (CP1001 to CP1018); what is wrong with one kernel is no error
    here: its facts come from its text then. Nothing is found where `sink` refuses.
    """
    own = Sink()
    readings = read_units(inputs, options, own)
    for d in own.items:
        if d.code not in _NOT_NEEDED:
            sink.items.append(d)
    if sink.refused:
        return []
    texts: dict[str, list[TextKernel]] = {}
    found: dict[tuple[str, str], Query] = {}
    for reading in readings:
        key = reading.path, reading.name
        model, codes = _model(reading)
        if key in found and (model is None or found[key].facts.origin == "model"):
            continue  # another instantiation of it
        if (made := _query(reading.path, reading.name, model, codes, texts)) is not None:
            found[key] = made
    for d in own.items:
        if d.code == "CP1011":
            name = dict(d.args)["kernel"].rpartition("::")[2]
            made = _query(d.span.path, name, None, ("CP1011",), texts)
            if made is not None:
                found.setdefault((d.span.path, name), made)
    return list(found.values())


def query_of(
    path: str, kernel: str, options: ReadOptions | None = None, sink: Sink | None = None
) -> Query | None:
    """One kernel of one file by its name, with or without namespaces; None where it has none, and `sink` says
    why. Reads in this process: for sources that were read before."""
    sink = Sink() if sink is None else sink
    options = replace(options or ReadOptions(), kernels=(kernel,))
    found = queries(collect([path], options, sink), options, sink)
    return found[0] if found else None


def of_text(kernel: str, source: str, path: str = "") -> Query | None:
    """A query from text alone; None where the text has no kernel of that name."""
    return _of_source(path, kernel, None, (), source, kernels(source))


def _query(
    path: str,
    kernel: str,
    model: KernelModel | None,
    codes: tuple[str, ...],
    texts: dict[str, list[TextKernel]],
) -> Query | None:
    read = read_text(path, Sink())
    source = read.data.decode("utf-8", "replace") if read is not None else ""
    if path not in texts:
        texts[path] = kernels(source)
    return _of_source(path, kernel, model, codes, source, texts[path])


def _of_source(
    path: str,
    kernel: str,
    model: KernelModel | None,
    codes: tuple[str, ...],
    source: str,
    known: list[TextKernel],
) -> Query | None:
    own = next((k for k in known if k.name == kernel), None)
    if model is None and own is None:
        return None
    text = " ".join(own.words) if own is not None else source
    text = "\n".join([_said(source, kernel, len(known)), text])
    if model is not None:
        return Query(path, of_model(model), text)
    assert own is not None
    return Query(path, of_normal(kernel, own.body, "text", codes, source), text)


def _said(source: str, kernel: str, others: int) -> str:
    """The comments of a file with one kernel, else those between a kernel and what is before it."""
    if others > 1:
        head = re.search(rf"__global__[^;{{}}]*\b{re.escape(kernel)}\s*\(", source)
        before = source[: head.start()] if head else ""
        source = before[max(before.rfind("}"), before.rfind(";")) + 1 :]
    return "\n".join(COMMENT.findall(source))


def _model(reading: KernelReading) -> tuple[KernelModel | None, tuple[str, ...]]:
    """The model of a reading, or the codes that refuse it; a bug of the frontend refuses only the model."""
    sink = Sink()
    try:
        model = build_model(reading, sink, sliced=False)
    except RecursionError:
        return None, ("CP0005",)
    refused = tuple(dict.fromkeys(d.code for d in sink.items if d.refuses))
    return (None, refused) if refused else (model, ())


def twin(item: Item) -> Query:
    """The CUDA twin of an entry, as its first variant; kept for the process while its text is the same."""
    return _twin(item.folder, item.text(TWIN), _instantiation(item))


def _instantiation(item: Item) -> str:
    """The twin's kernel as the first variant's spec names it, `k<float>`; "" where it can't be told."""
    try:
        text = spec_of(item, item.entry.variant[0]) if item.entry.variant else item.text(SPEC)
        return str(tomllib.loads(text)["original"]["kernel"])
    except (CorpusError, tomllib.TOMLDecodeError, KeyError, TypeError):
        return ""


@lru_cache(maxsize=512)
def _twin(folder: Path, source: str, instantiation: str) -> Query:
    path = str(folder / TWIN)
    name = instantiation.partition("<")[0].rpartition("::")[2]
    options = ReadOptions(instantiate=(instantiation,) if "<" in instantiation else ())
    unit = UnitInput(path, std=options.std, named=True)
    known = kernels(source)
    codes: tuple[str, ...] = ()
    for reading in read_units(Inputs([unit]), options, Sink()):
        if name in ("", reading.name):
            model, codes = _model(reading)
            if model is not None and (made := _of_source(path, reading.name, model, (), source, known)):
                return made
    name = name or (known[0].name if known else "")
    made = _of_source(path, name, None, codes, source, known)
    return made or Query(path, Facts(name, (), (), ("none",), (), origin="text"), source)
