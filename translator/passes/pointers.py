"""Keeps a pointer to a row, a column or a slice as one value.

`float* r = out + row * n; for (…) r[c] = …;` adds the row's place up once. Where `r` is used once, the DSL's
optimiser puts it back: each access is to `out` at the 64-bit index `row * n + c`, from which no part that
the unrolled copies of the loop share is taken out again (a layer norm ran at 0.85 of its speed). Such a
pointer is therefore hidden from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from translator.diag.diagnostic import NOWHERE
from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, DoWhile, For, ForRange, Stmt, While
from translator.model.types import Pointer
from translator.model.walk import bodies, map_expr, map_functions, map_stmts, operands, stmt_exprs, walk_expr
from translator.passes.guards import OPAQUE
from translator.passes.loops import assigned, invariant

Loop = For | ForRange | While | DoWhile


@dataclass
class _Uses:
    """Where a function declares and uses its pointers; a use that is not `p[index]` has no index."""

    declared: dict[Var, tuple[Decl, tuple[Loop, ...]]] = field(default_factory=dict)
    used: dict[Var, list[tuple[Expr | None, tuple[Loop, ...]]]] = field(default_factory=dict)
    moved: set[Var] = field(default_factory=set)  # used as `p + index`

    def read(self, body: tuple[Stmt, ...], loops: tuple[Loop, ...] = ()) -> None:
        for s in body:
            within = (*loops, s) if isinstance(s, Loop) else loops
            if isinstance(s, Decl) and isinstance(s.var.type, Pointer):
                self.declared[s.var] = s, loops
            for e in stmt_exprs(s):
                self.expression(e, loops if isinstance(s, ForRange) else within)
            for inner in bodies(s):
                self.read(inner, within)

    def expression(self, e: Expr, loops: tuple[Loop, ...]) -> None:
        if isinstance(e, VarRef):
            self.used.setdefault(e.var, []).append((None, loops))
        elif (access := _access(e)) is not None:
            self.used.setdefault(access[0], []).append((access[1], loops))
            if isinstance(e, x.PtrAdd):
                self.moved.add(access[0])
            self.expression(access[1], loops)
        else:
            for inner in operands(e):
                self.expression(inner, loops)


def _access(e: Expr) -> tuple[Var, Expr] | None:
    """(p, index) of `p[index]` or `p + index`."""
    if isinstance(e, x.Index) and isinstance(e.base, VarRef):
        return e.base.var, e.index
    if isinstance(e, x.PtrAdd) and isinstance(e.pointer, VarRef):
        return e.pointer.var, e.offset
    return None


def _chain(e: Expr) -> Iterator[Expr]:
    """A pointer expression and what it is an offset to."""
    while True:
        yield e
        if isinstance(e, x.PtrAdd):
            e = e.pointer
        elif isinstance(e, x.Cast):
            e = e.operand
        elif isinstance(e, x.Intrinsic) and e.name == OPAQUE:
            e = e.args[0]
        else:
            return


def origin(e: Expr) -> Expr:
    """What the pointer `e` is an offset to, however it is cast or hidden on the way."""
    *_, root = _chain(e)
    return root


def _folds(s: Decl, loops: tuple[Loop, ...], uses: _Uses) -> bool:
    """Whether the optimiser would add up the pointer `s` anew for each element."""
    if s.init is None or not _offset(s.init) or not _in_global(s.init, uses):
        return False
    used = uses.used.get(s.var, [])
    places = [(index, within) for index, within in used if index is not None]
    if not places or len(places) < len(used):
        return False
    index, within = places[0]
    inner = within[len(loops) :]
    if s.var in uses.moved and not any(isinstance(w, ForRange) for w in inner[-1:]):
        # `p + index`, a vector's address: one addition a round either way where nothing is unrolled. An RMS
        # norm lost 4 % by keeping the pointer alive.
        return False
    if not inner or any(_plain(i) != _plain(index) or w != within for i, w in places):
        return False  # of two different accesses the optimiser keeps what they share
    return not invariant(index, assigned(inner[:1])) and not _constant(index, inner)


def _constant(index: Expr, loops: tuple[Loop, ...]) -> bool:
    """Whether unrolling makes `index` a constant, which is part of the instruction that loads or stores."""
    known = {
        s.var
        for s in loops
        if isinstance(s, ForRange) and isinstance(s.start, x.Literal) and isinstance(s.stop, x.Literal)
    }
    leaves = (e for e in walk_expr(index) if not operands(e))
    return all(isinstance(e, x.Literal) or (isinstance(e, VarRef) and e.var in known) for e in leaves)


def _offset(e: Expr) -> bool:
    """Whether the pointer is a place that only the running kernel knows, apart from its base."""
    return any(isinstance(p, x.PtrAdd) and not isinstance(p.offset, x.Literal) for p in _chain(e))


def _in_global(e: Expr, uses: _Uses) -> bool:
    """Whether the pointer starts at a parameter (a device function's may still be shared memory)."""
    root = origin(e)
    if not isinstance(root, VarRef) or not isinstance(root.type, Pointer):
        return False
    if root.var in uses.declared:
        start = uses.declared[root.var][0].init
        return start is not None and _in_global(start, uses)
    return root.var.storage == "param"


def _plain(e: Expr) -> Expr:
    """`e` without its places in the source."""
    return map_expr(e, lambda inner: replace(inner, span=NOWHERE))


def keep_whole(model: KernelModel) -> KernelModel:
    """`model` with the pointers hidden that the optimiser would fold into a loop."""

    def function(f: Function) -> Function:
        uses = _Uses()
        uses.read(f.body)
        folded = {v for v, (s, loops) in uses.declared.items() if _folds(s, loops, uses)}

        def hide(s: Stmt) -> Stmt:
            if not isinstance(s, Decl) or s.var not in folded or s.init is None:
                return s
            return replace(s, init=x.Intrinsic(OPAQUE, (s.init,), s.var.type, s.span))

        body = map_stmts(f.body, hide)
        return f if body is f.body else replace(f, body=body)

    return map_functions(model, function)
