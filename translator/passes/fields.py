"""Splits structs that a kernel takes by value into their fields, where only fields are ever named.

A struct with an array in it would otherwise be laid out in memory whole, its pointers as addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from translator.model.expr import Expr, Member, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.types import Struct
from translator.model.walk import fresh_uids, map_exprs, walk_exprs
from translator.passes.memory import has_array


def _only_by_field(f: Function, v: Var) -> bool:
    """Whether every mention of `v` is `v.field`."""
    mentions = fields = 0
    for e in walk_exprs(f.body):
        mentions += isinstance(e, VarRef) and e.var == v
        fields += isinstance(e, Member) and isinstance(e.object, VarRef) and e.object.var == v
    return mentions == fields


def split_parameters(model: KernelModel) -> KernelModel:
    """`model` whose kernel takes such structs field by field, in the same order of leaves."""
    kernel = model.kernel
    uids = fresh_uids(model)
    while True:
        found = next(
            (
                p
                for p in kernel.params
                if isinstance(p.type, Struct)
                and not p.ref
                and has_array(p.type)
                and _only_by_field(kernel, p)
            ),
            None,
        )
        if found is None:
            return model if kernel is model.kernel else replace(model, kernel=kernel)
        kernel = _split(kernel, found, uids)


def _split(kernel: Function, p: Var, uids: Iterator[int]) -> Function:
    assert isinstance(p.type, Struct)
    made = {
        f.name: Var(next(uids), f"{p.name}_{f.name}", f.type, "param", const=p.const, span=p.span)
        for f in p.type.fields
    }

    def visit(e: Expr) -> Expr:
        if isinstance(e, Member) and isinstance(e.object, VarRef) and e.object.var == p:
            return VarRef(made[e.name], e.span)
        return e

    at = kernel.params.index(p)
    params = (*kernel.params[:at], *made.values(), *kernel.params[at + 1 :])
    return replace(kernel, params=params, body=map_exprs(kernel.body, visit))
