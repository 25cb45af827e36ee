"""How each variable of a function is kept: in registers, as a struct's leaves, or in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from translator.diag.diagnostic import Sink
from translator.mapping.resolve import resolve
from translator.mapping.rule import Rule
from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, Stmt
from translator.model.types import SCALARS, Array, Pointer, Struct, Type, uniform_scalar
from translator.model.walk import root_var, walk_exprs, walk_stmts
from translator.passes import memory as m

Body = list[Stmt]


@dataclass(frozen=True, slots=True)
class Binding:
    """What became of a variable: one register/array, the leaves of a struct, or a place in memory."""

    one: Var | None = None
    split: tuple[Var, ...] = ()
    place: m.Memory | None = None


class Variables:
    """The variables of one function."""

    def __init__(self, function: Function, model: KernelModel, sink: Sink, uids: Iterator[int]) -> None:
        self.function, self.model, self.sink, self.uids = function, model, sink, uids
        self.bindings: dict[Var, Binding] = {}
        self.addressed = self._addressed()
        self.out: Body = []
        self.span = function.span

    # -- variables ---------------------------------------------------------------------------------

    def _addressed(self) -> set[Var]:
        """Variables that need memory: their address is taken or a reference is bound to them."""
        found: set[Var] = set()

        def take(e: Expr) -> None:
            for inner in referred(e):
                take(inner)
            root = root_var(e)
            if root is not None and not isinstance(root.type, Array):
                found.add(root)

        for e in walk_exprs(self.function.body):
            if isinstance(e, x.AddrOf):
                take(e.lvalue)
            elif isinstance(e, x.Call):
                for param, arg in zip(self.model.function(e.symbol).params, e.args, strict=True):
                    if param.ref and not self.by_value(e.symbol, param):
                        take(arg)
        for s in walk_stmts(self.function.body):
            if isinstance(s, Decl) and s.var.ref and s.init is not None:
                take(s.init)
        for e in walk_exprs(self.function.body):  # outs of an intrinsic go back into registers
            if isinstance(e, x.Intrinsic) and self._outs(e):
                for arg in e.args:
                    if isinstance(arg, x.AddrOf) and isinstance(arg.lvalue, VarRef):
                        found.discard(arg.lvalue.var)
        return found

    def _rule(self, e: x.Intrinsic) -> Rule | None:
        consts = tuple(a.value if isinstance(a, x.Literal) else None for a in e.args)
        return resolve(e.name, tuple(a.type for a in e.args), e.type, consts=consts)

    def _outs(self, e: x.Intrinsic) -> list[int]:
        """Positions of the arguments an intrinsic writes through."""
        rule = self._rule(e)
        return [k for k, a in enumerate(rule.args) if a.name in rule.outs] if rule is not None else []

    def by_value(self, symbol: str, param: Var) -> bool:
        """Whether a `const T&` parameter may be passed as a value: nothing the callee writes can alias it."""
        if not (param.ref and param.const) or isinstance(param.type, Array):
            return False
        callee = self.model.function(symbol)
        return not any(
            (p.ref and not p.const) or (isinstance(p.type, Pointer) and not p.type.const)
            for p in callee.params
        )

    def fresh(self, name: str, t: Type) -> Var:
        return Var(next(self.uids), name, t, span=self.span)

    def bind(self, v: Var) -> Binding:
        """Decides, once, how `v` is kept."""
        if v not in self.bindings:
            self.bindings[v] = self._bind(v)
        return self.bindings[v]

    def _bind(self, v: Var) -> Binding:
        if isinstance(v.type, Array):
            if v.type.count is None:  # extern __shared__: a pointer to the launch's dynamic memory
                base = replace(v, type=Pointer(m.unit_of(v.type)))
                return Binding(place=m.Memory(VarRef(base), m.unit_of(v.type), v.type, small=True))
            flat = m.lowered(v.type)
            if flat is v.type:
                return Binding(v)
            return Binding(place=self._box(v, v.type))
        shared = v.storage in ("shared", "constant")  # kept in memory, scalars too
        if isinstance(v.type, Struct):
            if shared or v in self.addressed or m.has_array(v.type):
                return Binding(place=self._box(v, v.type))
            return Binding(
                split=tuple(
                    Var(
                        next(self.uids), f"{v.name}_{leaf.path}", m.lowered(leaf.type), v.storage, span=v.span
                    )
                    for leaf in m.leaves(v.type)
                )
            )
        if shared or v in self.addressed:
            return Binding(place=self._box(v, v.type))
        return Binding(replace(v, type=m.lowered(v.type), ref=False))

    def _box(self, v: Var, t: Type) -> m.Memory:
        unit = m.unit_of(t)
        if unit.size < t.align and not (isinstance(t, Struct | Array) and uniform_scalar(t)):
            # A byte-addressed object is declared in words of its alignment, so that its leaves are aligned.
            width = min(t.align, 8)
            words = SCALARS[f"u{8 * width}"]
            array = Var(v.uid, v.name, Array(words, -(-t.size // width)), v.storage, span=v.span)
            base: Expr = x.Cast(x.Decay(VarRef(array), Pointer(words)), Pointer(unit))
        else:
            array = Var(v.uid, v.name, Array(unit, max(1, t.size // unit.size)), v.storage, span=v.span)
            base = x.Decay(VarRef(array), Pointer(unit))
        return m.Memory(base, unit, t, small=True)


def referred(e: Expr) -> tuple[Expr, ...]:
    """The lvalue that `e` names, where `e` is an lvalue but not a plain one."""
    if isinstance(e, x.Assign) or (isinstance(e, x.IncDec) and e.prefix):
        return (e.target,)
    if isinstance(e, x.Comma) and (isinstance(e.right, x.LVALUES) or referred(e.right)):
        return (e.right,)
    return ()
