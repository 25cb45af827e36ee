"""Names at the top of a port, and those of its parameters, as far as they follow from the kernel alone."""

from __future__ import annotations

from dataclasses import dataclass

from translator.emit.names import Names, symbol_name
from translator.mapping import resolve as rows
from translator.model.kernel import KernelModel


@dataclass(frozen=True, slots=True)
class PortNames:
    """What a port of a kernel is called, whoever writes it; see analysis.draft.Port."""

    entry: str
    renames: tuple[tuple[str, str], ...]  # (author's name, port's name) where they differ
    opt_level: int | None = None


def module_names(kernel: str) -> tuple[Names, str, str]:
    """Names taken at the top of the port of a kernel of this name, its entry, its kernel function."""
    top = Names({*rows.provided_names(), *rows.imported_names()})
    entry = top.fresh(symbol_name(kernel))
    kernel_name = top.fresh(f"{entry}_kernel")
    for fixed in (f"{entry}_launch", f"compile_{entry}"):
        top.taken.add(fixed)
    return top, entry, kernel_name


def names_for(model: KernelModel, opt_level: int | None = None) -> PortNames:
    """The names that a port of a lifted or partial model is asked to have: those that `emit` would give."""
    top, entry, _ = module_names(model.kernel.name)
    for f in model.functions:
        top.fresh(f.name)
    names = Names(top.taken - rows.imported_names())
    given = [(p.name, names.of(p.uid, p.name)) for p in model.kernel.params]
    return PortNames(entry, tuple((a, b) for a, b in given if a != b), opt_level)
