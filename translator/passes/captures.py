"""Makes what a function uses from outside a parameter.

`__device__` globals become pointer parameters of the kernel; `__shared__` variables of device functions
are declared by the kernel (C++ has one buffer per function, CuTe DSL one per inlined call) and passed down
as pointers. `__constant__` globals stay: the port has constant memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from translator.model.expr import AddrOf, Call, Deref, Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, Stmt
from translator.model.types import Pointer
from translator.model.walk import declared, fresh_uids, map_exprs, map_stmts, walk_exprs

_OUTSIDE = ("device", "shared", "dynamic_shared")


def capture(model: KernelModel) -> KernelModel:
    """`model` with explicit captures; globals keep their order after the kernel's own parameters."""
    fresh = fresh_uids(model)
    needs = _needs(model)
    functions = tuple(_close(f, needs, fresh) for f in model.functions)
    return replace(model, functions=functions, kernel=_close_kernel(model, needs, fresh))


def _needs(model: KernelModel) -> dict[str, list[Var]]:
    """Per function symbol, the outside variables it needs, callees' needs included, in first-use order."""
    needs: dict[str, list[Var]] = {}
    for f in model.functions:
        found: dict[Var, None] = {}
        for e in walk_exprs(f.body):
            if isinstance(e, VarRef) and e.var.storage in _OUTSIDE:
                found[e.var] = None
            elif isinstance(e, Call):
                found.update(dict.fromkeys(needs.get(e.symbol, ())))
        needs[f.symbol] = list(found)
    return needs


def _pointer_to(v: Var, uid: int) -> Var:
    return Var(uid, v.name, Pointer(v.type), "param", span=v.span)


def _rewrite(
    body: tuple[Stmt, ...], stand_in: dict[Var, Expr], needs: dict[str, list[Var]]
) -> tuple[Stmt, ...]:
    def visit(e: Expr) -> Expr:
        if isinstance(e, VarRef):
            return stand_in.get(e.var, e)
        if isinstance(e, Call) and needs.get(e.symbol):
            extra = tuple(_address(stand_in.get(v) or VarRef(v, e.span)) for v in needs[e.symbol])
            return replace(e, args=(*e.args, *extra))
        return e

    return map_exprs(body, visit)


def _address(e: Expr) -> Expr:
    return e.pointer if isinstance(e, Deref) else AddrOf(e, Pointer(e.type), e.span)


def _close(f: Function, needs: dict[str, list[Var]], fresh: Iterator[int]) -> Function:
    outside = needs[f.symbol]
    if not outside:
        return f
    params = {v: _pointer_to(v, next(fresh)) for v in outside}
    stand_in: dict[Var, Expr] = {v: Deref(VarRef(p), v.type) for v, p in params.items()}
    kept = map_stmts(f.body, lambda s: () if isinstance(s, Decl) and s.var in params else s)
    return replace(f, params=(*f.params, *params.values()), body=_rewrite(kept, stand_in, needs))


def _close_kernel(model: KernelModel, needs: dict[str, list[Var]], fresh: Iterator[int]) -> Function:
    kernel = model.kernel
    wanted: dict[Var, None] = {}
    for e in walk_exprs(kernel.body):
        if isinstance(e, VarRef) and e.var.storage in _OUTSIDE:
            wanted[e.var] = None
        elif isinstance(e, Call):
            wanted.update(dict.fromkeys(needs.get(e.symbol, ())))
    order = {g.var: k for k, g in enumerate(model.globals)}
    global_vars = sorted((v for v in wanted if v.storage == "device"), key=lambda v: order.get(v, 0))
    params = {v: _pointer_to(v, next(fresh)) for v in global_vars}
    stand_in: dict[Var, Expr] = {v: Deref(VarRef(p), v.type) for v, p in params.items()}
    at_home = set(declared(kernel.body))
    hoisted = tuple(
        Decl(v, span=v.span) for v in wanted if v.storage in ("shared", "dynamic_shared") and v not in at_home
    )
    body = _rewrite(kernel.body, stand_in, needs)
    return replace(kernel, params=(*kernel.params, *params.values()), body=hoisted + body)
