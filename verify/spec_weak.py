"""What a verdict on a spec would be worth less for, as far as reading tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from verify.expr import ExprError, names_of
from verify.files import read_bytes
from verify.inputs import lanes
from verify.resolve import Resolved, resolve
from verify.spec import Spec, Tolerance
from verify.spec_args import PointerField, ScalarArg, StructArg
from verify.spec_file import Lines
from verify.variants import fixed_whole_numbers, launch_parameters, other_launches

Weakness: TypeAlias = tuple[int, str, str | None]
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def weaknesses(target: Path, spec: Spec, lines: Lines) -> Iterator[Weakness]:
    """(line, what, code if it has one) of all that a verdict would be worth less for."""
    yield from ((line, what, None) for line, what in _thin(target, spec, lines))
    try:
        text = _COMMENT.sub(" ", read_bytes(target / spec.original.source).decode("utf-8", "replace"))
    except OSError:
        return
    takes = launch_parameters(target / spec.port.module, spec.port.entry)
    with suppress(ExprError):  # told as an error
        yield from _alike(spec, text, takes, lines)


def _alike(spec: Spec, text: str, takes: frozenset[str], lines: Lines) -> Iterator[Weakness]:
    """What all cases share that the original's text reads, and that no held-out run can change: a port may
    hold it itself."""
    cases = [resolve(spec, c) for c in spec.case]
    tried = [
        launch for c in spec.case if c.role != "large" for launch in other_launches(spec, c, takes, True)
    ]
    one_block = len({c.block for c in cases}) == 1 and not any(block for _, block in tried)
    if one_block and "blockDim" in text and "block" in takes:
        words = f"every case has blocks of {' x '.join(map(str, cases[0].block))}"
        yield lines.of(("launch", "block")), f"{words}, and the kernel reads blockDim", "CP6012"
    for i, name, _, value in fixed_whole_numbers(spec):
        if len(re.findall(rf"\b{re.escape(name.split('.')[-1])}\b", text)) > 1:
            yield lines.of(("arg", i)), f"'{name}' is {value} in every case", "CP6013"
    one_round = not any(map(_second_round, cases)) and not any(grid and not block for grid, block in tried)
    if one_round and "gridDim" in text and "grid" in takes:
        words = "the kernel reads gridDim, and no case has too few blocks for its sizes"
        yield lines.of(("launch", "grid")), words, "CP6014"


def _second_round(case: Resolved) -> bool:
    """Whether a loop over the grid may come to a second round: fewer threads than elements."""
    return case.launchable and case.threads < max(case.elems.values(), default=0)


def _thin(target: Path, spec: Spec, lines: Lines) -> Iterator[tuple[int, str]]:
    """Too few shapes, loosened tolerances, open questions."""
    for i, q in enumerate(spec.question):
        if not q.answer:
            yield lines.of(("question", i)), f"an open question forbids PASSED: {q.code}: {q.text}"
    used = _used(spec)
    for i, case in enumerate(spec.case):
        for size in case.sizes:
            if size not in used:
                yield lines.of(("case", i, "sizes")), f"case '{case.name}': no expression uses '{size}'"
    usual = Tolerance()
    for name in ("k", "atol", "rtol"):
        value, default = getattr(spec.tolerance, name), getattr(usual, name)
        if value is not None and value > (default or 0.0):
            yield lines.of(("tolerance", name)), f"{name} = {value:g} allows more than the default"
    if sum(c.role != "large" for c in spec.case) < 2:
        yield lines.of(("case", 0)), "one small case: what other shapes would show does not show"
    if not any(c.role == "boundary" for c in spec.case):
        yield lines.of(("case", 0)), "no boundary case: wrong masks and bounds may not show"
    if len({tuple(sorted(c.sizes.items())) for c in spec.case}) == 1 and len(spec.case) > 1:
        yield lines.of(("case", 0)), "all cases have the same sizes"
    floats = any(lane.dtype.is_float for a in spec.buffers if a.compared for lane in lanes(a))
    if floats and spec.tolerance.rule is None and not (target / "reference.py").exists():
        words = "no reference.py: float outputs are compared with the original's within a fixed tolerance"
        words += '; rule = "double" would take the original in double for one'
        yield lines.of(("tolerance",)), words


def _used(spec: Spec) -> set[str]:
    """Every name that an expression of the spec uses."""
    texts: list[Any] = [*spec.launch.grid, *spec.launch.block, spec.launch.smem]
    for case in spec.case:
        texts += [*(case.grid or []), *(case.block or [])]
    for arg in spec.arg:
        if isinstance(arg, ScalarArg):
            texts.append(arg.value)
        elif isinstance(arg, StructArg):
            texts += [f.buffer.elems if isinstance(f, PointerField) else f.value for f in arg.fields]
    for b in spec.buffers:
        texts.append(b.elems)
        inits = [b.init, *(f.init for f in b.fields)]
        texts += [t.removeprefix("index:") for t in inits if t.startswith("index:")]
    return {name for text in texts for name in names_of(text)}
