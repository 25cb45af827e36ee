"""A spec's expressions made numbers for one case."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from verify.expr import ExprError, Number, evaluate, evaluate_int
from verify.spec import Case, Spec
from verify.spec_args import BufferArg, ScalarArg, StructArg

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Resolved:
    """`scalars` holds scalar arguments by name and struct fields as `arg.field`; `elems` counts elements."""

    case: Case
    scalars: dict[str, Number]
    elems: dict[str, int]
    grid: Dim3
    block: Dim3
    smem: int
    names: dict[str, Number]

    @property
    def launchable(self) -> bool:
        """False where the original's own launch would be refused because a grid side is 0."""
        return min(self.grid) > 0

    @property
    def threads(self) -> int:
        return prod(self.grid) * prod(self.block)


def resolve(spec: Spec, case: Case) -> Resolved:
    """All numbers of `case`. ExprError names the argument or dimension at fault."""
    names: dict[str, Number] = dict(case.sizes)
    scalars: dict[str, Number] = {}
    for arg in spec.arg:
        if isinstance(arg, ScalarArg):
            scalars[arg.name] = names[arg.name] = _at(f"value of '{arg.name}'", arg.value, names, case)
        elif isinstance(arg, StructArg):
            for f in arg.scalars:
                key = f"{arg.name}.{f.name}"
                scalars[key] = names[key] = _at(f"value of '{key}'", f.value, names, case)
    elems = {a.name: _count(a, names, case) for a in spec.buffers}
    grid = _dims("grid", case.grid or spec.launch.grid, names, case)
    block = _dims("block", case.block or spec.launch.block, names, case)
    if min(block) < 1 or prod(block) > 1024:
        raise ExprError(f"case '{case.name}': block {block} is not 1 to 1024 threads")
    if min(grid) < 0:
        raise ExprError(f"case '{case.name}': grid {grid} is negative")
    smem = _int("smem", spec.launch.smem, names, case)
    return Resolved(case, scalars, elems, grid, block, smem, names)


def _at(what: str, text: bool | int | float | str, names: dict[str, Number], case: Case) -> Number:
    try:
        return evaluate(text, names)
    except ExprError as e:
        raise ExprError(f"case '{case.name}', {what}: {e}") from e


def _int(what: str, text: int | float | str, names: dict[str, Number], case: Case) -> int:
    try:
        value = evaluate_int(text, names)
    except ExprError as e:
        raise ExprError(f"case '{case.name}', {what}: {e}") from e
    if value < 0:
        raise ExprError(f"case '{case.name}', {what}: '{text}' is {value}")
    return value


def _count(arg: BufferArg, names: dict[str, Number], case: Case) -> int:
    return _int(f"elems of '{arg.name}'", arg.elems, names, case)


def _dims(what: str, texts: list[int | float | str], names: dict[str, Number], case: Case) -> Dim3:
    x, y, z = (_int(f"{what}[{i}]", t, names, case) for i, t in enumerate(texts))
    return x, y, z
