"""A spec's expressions made numbers for one case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from verify.expr import ExprError, Number, evaluate, evaluate_int
from verify.spec import Case, Spec
from verify.spec_args import BufferArg, Expr, ScalarArg, StructArg

Dim3 = tuple[int, int, int]
_MOST_BYTES = 1 << 40  # of one buffer: no device has as much
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)  # of CUDA's grids; a block has fewer threads anyhow


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
    """All numbers of `case`. ExprError names what is at fault, and its place in the spec."""
    names: dict[str, Number] = dict(case.sizes)
    scalars: dict[str, Number] = {}
    elems: dict[str, int] = {}
    at = spec.case.index(case) if case in spec.case else 0
    for i, arg in enumerate(spec.arg):
        if isinstance(arg, ScalarArg):
            with _told(f"case '{case.name}', value of '{arg.name}'", "arg", i, "value"):
                value = case.scalars.get(arg.name, arg.value)
                scalars[arg.name] = names[arg.name] = evaluate(value, names)
        elif isinstance(arg, StructArg):
            for f in arg.scalars:
                key = f"{arg.name}.{f.name}"
                with _told(f"case '{case.name}', value of '{key}'", "arg", i, "fields"):
                    scalars[key] = names[key] = evaluate(case.scalars.get(key, f.value), names)
    for i, arg in enumerate(spec.arg):
        held = [arg] if isinstance(arg, BufferArg) else arg.buffers if isinstance(arg, StructArg) else []
        for b in held:
            with _told(f"case '{case.name}', elems of '{b.name}'", "arg", i, "elems"):
                elems[b.name] = _count(b.elems, names)
                if elems[b.name] * b.element_bytes > _MOST_BYTES:
                    raise ExprError(f"'{b.elems}' is {elems[b.name]}: more memory than there is")
    dims: list[Dim3] = []
    for what, own, common in (
        ("grid", case.grid, spec.launch.grid),
        ("block", case.block, spec.launch.block),
    ):
        loc = ("launch", what) if own is None else ("case", at, what)
        dims.append(_dims(f"case '{case.name}', {what}", own or common, names, loc))
    grid, block = dims
    if min(block) < 1 or prod(block) > 1024:
        loc = ("launch", "block") if case.block is None else ("case", at, "block")
        raise ExprError(f"case '{case.name}': block {block} is not 1 to 1024 threads", loc)
    with _told(f"case '{case.name}', smem", "launch", "smem"):
        smem = _count(spec.launch.smem, names)
    return Resolved(case, scalars, elems, grid, block, smem, names)


@contextmanager
def _told(what: str, *loc: str | int) -> Iterator[None]:
    try:
        yield
    except ExprError as e:
        raise ExprError(f"{what}: {e}", loc) from e


def _count(text: Expr, names: dict[str, Number]) -> int:
    value = evaluate_int(text, names)
    if value < 0:
        raise ExprError(f"'{text}' is {value}")
    return value


def _dims(what: str, texts: list[Expr], names: dict[str, Number], loc: tuple[str | int, ...]) -> Dim3:
    found = []
    for i, text in enumerate(texts):
        with _told(f"{what}[{i}]", *loc):
            found.append(_count(text, names))
        if found[-1] > _MOST_BLOCKS[i]:
            raise ExprError(f"{what}[{i}] is {found[-1]}, more than {_MOST_BLOCKS[i]}", loc)
    x, y, z = found
    return x, y, z
