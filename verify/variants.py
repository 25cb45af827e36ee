"""A case under another launch or with other whole numbers: where the spec gives every case the same, a port
may hold them itself.

Both may be outside what the kernel is for. Another launch counts only where the original gives the same
values with it; other whole numbers only where the emulator sees the original do nothing wrong with them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod
from pathlib import Path

from verify.dtypes import lookup
from verify.expr import Number, evaluate, names_of
from verify.files import read_text
from verify.resolve import Dim3, resolve
from verify.spec import LAUNCH, Case, Spec
from verify.spec_args import Expr, Filled, Memory, ScalarArg, StructArg

Launches = list[tuple[Dim3 | None, Dim3 | None]]
_WARP = 32
_WHOLE = 3  # so many scalars at most, each in a run of its own


def launch_parameters(path: Path, entry: str) -> frozenset[str]:
    """Which of grid and block a port's entry takes; none where it can't be read."""
    try:
        tree = ast.parse(read_text(path))
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            a = node.args
            return frozenset(p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)) & set(LAUNCH)
    return frozenset()


def other_launches(spec: Spec, case: Case, takes: frozenset[str], emulated: bool) -> Launches:
    """(grid, block) to try with the sizes of `case`: fewer blocks, which a loop over the grid makes up for;
    blocks of half the size, as many of them or twice as many. The last is for the emulator only: an original
    that has a row per block leaves its buffers then. Empty where the spec's own cases differ so."""
    resolved = resolve(spec, case)
    (gx, gy, gz), (bx, by, bz) = resolved.grid, resolved.block
    found: Launches = []
    if "grid" in takes and gx > 1 and not _loops(spec):
        found.append((((gx + 1) // 2, gy, gz), None))
    blocks = {resolve(spec, c).block for c in spec.case}
    half = bx // 2
    if "block" in takes and len(blocks) == 1 and bx % 2 == 0 and prod((half, by, bz)) % _WARP == 0:
        found.append((None, (half, by, bz)))
        if emulated and "grid" in takes:
            found.append(((2 * gx, gy, gz), (half, by, bz)))
    return found


def _loops(spec: Spec) -> bool:
    """Whether some case has a grid of its own with fewer blocks than its sizes would have."""
    return any(
        c.grid is not None and prod(resolve(spec, c).grid) < prod(resolve(spec, _plain(c)).grid)
        for c in spec.case
    )


def _plain(case: Case) -> Case:
    return case.model_copy(update={"grid": None})


def other_whole_numbers(spec: Spec) -> Iterator[tuple[str, int]]:
    """Other values for whole numbers and truth values that every case has alike, and that decide no size and
    no launch: the next one; the other one."""
    for _, name, dtype, value in islice(fixed_whole_numbers(spec), _WHOLE):
        yield name, int(not value) if dtype == "bool" else int(value) + 1


def fixed_whole_numbers(spec: Spec) -> Iterator[tuple[int, str, str, Number]]:
    """(index of the argument, name, type, value) of scalars and members of structs that are whole, have one
    number in every case, and decide no size and no launch."""
    used = deciding(spec) | {n for c in spec.case for n in c.scalars}
    for i, arg in enumerate(spec.arg):
        held: list[tuple[str, str, bool | Expr]] = []
        if isinstance(arg, ScalarArg):
            held = [(arg.name, arg.dtype, arg.value)]
        elif isinstance(arg, StructArg):
            held = [(f"{arg.name}.{f.name}", f.dtype, f.value) for f in arg.scalars]
        for name, dtype, value in held:
            if name not in used and not lookup(dtype).is_float and not names_of(value):
                yield i, name, dtype, evaluate(value, {})


def deciding(spec: Spec) -> set[str]:
    """Names that launches, sizes of buffers, and what is in them depend on."""
    texts = [*spec.launch.grid, *spec.launch.block, spec.launch.smem]
    for case in spec.case:
        texts += [*(case.grid or ()), *(case.block or ())]
    for b in spec.buffers:
        texts += [b.elems, *(t for t in (b.count, b.within) if t is not None), *_inits(b)]
    for arg in spec.arg:  # and through other scalars
        texts += [arg.value] if isinstance(arg, ScalarArg) else []
        texts += [f.value for f in arg.scalars] if isinstance(arg, StructArg) else []
    return {n for t in texts for n in names_of(t)}


def _inits(memory: Memory) -> Iterator[str]:
    held: Sequence[Filled] = memory.fields or [memory]
    for f in held:
        if f.init.startswith("index:"):
            yield f.init.removeprefix("index:")
