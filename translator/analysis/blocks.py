"""What a kernel whose launch isn't seen says of its block: threads per axis, dynamic shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from translator.analysis import values as v
from translator.analysis.bounds import Accesses
from translator.analysis.launch_shape import readable
from translator.analysis.poly import Poly
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import KernelModel
from translator.model.stmt import Decl
from translator.model.types import Array
from translator.model.walk import walk_exprs, walk_stmts

_MOST = 1024  # threads of a block
_AXIS = re.compile(r"k?_*(?:block|threads|b|t)_*(?:dim|size|threads)?_*(?P<axis>[xyz])", re.I)
_SIZE = re.compile(
    r"k?_*(?:bs|tpb|nt|nthreads|b_*size|(?:num|n)_*threads(?:_*per_*block)?|threads?(?:_*per_*block|_*count|s)?"
    r"|(?:thread)?_*block(?:_*(?:size|dim|threads|width))?|cta_*(?:size|threads)|wg_*size)_*",
    re.I,
)


def block_arguments(model: KernelModel) -> list[str] | None:
    """The block as template arguments give it, by their names or as lengths of shared arrays; else None."""
    given = {name: int(text) for name, text in model.kernel.template_args if re.fullmatch(r"\d+", text)}
    axes = {m["axis"].lower(): n for name, n in given.items() if (m := _AXIS.fullmatch(name))}
    if axes.keys() >= {"x", "y"}:
        made = [axes.get(a, 1) for a in "xyz"]
        return [str(n) for n in made] if 0 < made[0] * made[1] * made[2] <= _MOST else None
    sizes = [n for name, n in given.items() if _SIZE.fullmatch(name)] + list(axes.values())
    limit = model.kernel.max_threads
    sizes += [n for n in given.values() if n == limit or (n % 32 == 0 and n in _shared_lengths(model))]
    for n in sizes:
        if uses_axis(model, "y"):
            if 0 < n * n <= _MOST:
                return [str(n), str(n), "1"]
        elif 0 < n <= min(limit or _MOST, _MOST):
            return [str(n), "1", "1"]
    return None


def uses_axis(model: KernelModel, axis: str) -> bool:
    return any(
        isinstance(e, x.Special) and e.base == "threadIdx" and e.axis == axis for e in _expressions(model)
    )


def uses_dynamic_shared(model: KernelModel) -> bool:
    return bool(_dynamic(model))


def dynamic_shared_bytes(model: KernelModel, found: Accesses) -> str | None:
    """Bytes of dynamic shared memory that accesses reach, as an expression of a spec; None if not bounded."""
    roots = {f"{var.name}#{var.uid}" for var in _dynamic(model)}
    total: Poly | None = None
    for a in found.accesses:
        if a.root in roots or not a.root:
            last = a.offset.hi
            if last is None or not found.complete or a.root not in roots:
                return None
            end = last.plus(a.size)
            total = end if total is None else v.upper(total, end)
            if total is None:
                return None
    if total is None or not readable(total.text()):
        return None
    return total.text()


def _dynamic(model: KernelModel) -> set[Var]:
    held = {e.var for e in _expressions(model) if isinstance(e, x.VarRef)}
    return {var for var in held if var.storage == "dynamic_shared"}


def _shared_lengths(model: KernelModel) -> set[int]:
    declared = [
        s.var
        for f in (model.kernel, *model.functions)
        for s in walk_stmts(f.body)
        if isinstance(s, Decl) and s.var.storage == "shared"
    ]
    return {t.count for t in (var.type for var in declared) if isinstance(t, Array) and t.count}


def _expressions(model: KernelModel) -> Iterator[Expr]:
    for f in (model.kernel, *model.functions):
        yield from walk_exprs(f.body)
