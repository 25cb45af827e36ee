"""Structs passed by value, leaf by leaf: each scalar or pointer in one is a parameter of its own."""

from __future__ import annotations

from dataclasses import dataclass

from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import KernelModel
from translator.model.types import Array, Pointer, Scalar, Struct, Type
from translator.model.walk import walk_exprs


@dataclass(frozen=True, slots=True)
class Leaf:
    """`name` is flattened (`in`, `m_0`, `inner_y`), `members` are the fields on the way to it.

    `var` stands for it as a parameter called `<struct>_<name>`, equal whenever it is asked for.
    """

    name: str
    offset: int  # bytes from the start of the struct
    type: Scalar | Pointer
    members: frozenset[str]
    var: Var


def leaves(p: Var) -> list[Leaf]:
    """The leaves of struct parameter `p`, none for another one."""
    if not isinstance(p.type, Struct):
        return []
    found = []
    for k, (name, offset, t, members) in enumerate(_parts(p.type, "", 0, frozenset())):
        var = Var(-((p.uid << 16) + k) - 1, f"{p.name}_{name}", t, "param", span=p.span)  # no uid is negative
        found.append(Leaf(name, offset, t, members, var))
    return found


def _parts(
    t: Type, prefix: str, offset: int, members: frozenset[str]
) -> list[tuple[str, int, Scalar | Pointer, frozenset[str]]]:
    def below(name: str) -> str:
        return f"{prefix}_{name}" if prefix else name

    if isinstance(t, Struct):
        return [
            p for f in t.fields for p in _parts(f.type, below(f.name), offset + f.offset, members | {f.name})
        ]
    if isinstance(t, Array):
        return [
            p
            for k in range(t.count or 0)
            for p in _parts(t.of, below(str(k)), offset + k * t.of.size, members)
        ]
    return [(prefix, offset, t, members)]


def field_names(t: Type) -> list[str]:
    """Names of the leaves of a struct, flattened."""
    return [name for name, *_ in _parts(t, "", 0, frozenset())]


def pointer_leaves(model: KernelModel) -> list[Leaf]:
    """The pointers inside the kernel's struct parameters."""
    return [leaf for p in model.kernel.params for leaf in leaves(p) if isinstance(leaf.type, Pointer)]


def changed_members(model: KernelModel) -> frozenset[str]:
    """Names of fields that some code assigns: what a struct holds in one is no longer the argument's.

    A struct that is assigned as a whole is there as `name#uid`.
    """
    found: set[str] = set()
    for f in (model.kernel, *model.functions):
        for e in walk_exprs(f.body):
            if isinstance(e, x.Assign | x.IncDec):
                _note(e.target, found)
            elif isinstance(e, x.AddrOf):
                _note(e.lvalue, found)
    return frozenset(found)


def _note(target: Expr, found: set[str]) -> None:
    if isinstance(target, x.VarRef) and isinstance(target.var.type, Struct):
        found.add(f"{target.var.name}#{target.var.uid}")
    while isinstance(target, x.Member | x.Index | x.Decay):
        if isinstance(target, x.Member):
            found.add(target.name)
            target = target.object
        else:
            target = target.base if isinstance(target, x.Index) else target.array
            if isinstance(target, x.Member) and isinstance(target.type, Pointer):
                return  # what the field points to is changed, not the field
