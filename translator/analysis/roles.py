"""What a kernel does with the memory it is given: reads, writes, or both, per pointer parameter and global.

Flow-insensitive: where a pointer variable may point is the union of all it is ever given.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from translator.analysis.fields import Leaf, leaves, pointer_leaves
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, Return
from translator.model.types import Array, Pointer, Scalar
from translator.model.walk import operands, stmt_exprs, walk_exprs, walk_stmts

Role: TypeAlias = Literal["in", "out", "inout"]

_READS = re.compile(r"__ld\w+|tex\w+|memcmp")
_WRITES = re.compile(r"__st\w+|memset")
_ATOMIC = re.compile(r"atomic\w+")
_ASM = re.compile(r"asm( volatile)?")
_COPIES = frozenset({"memcpy", "__pipeline_memcpy_async"})


class Aliases:
    """For each variable that holds an address (pointer or reference), the variables it may point into."""

    def __init__(self, model: KernelModel) -> None:
        self.model = model
        self.functions = {f.symbol: f for f in model.functions}
        self.of: dict[Var, set[Var]] = {}
        self.returned: dict[str, set[Var]] = {}
        self.fields: dict[Var, list[Leaf]] = {}  # the pointers in a struct parameter
        for p in model.kernel.params:
            if _holds_pointer(p):
                self.of[p] = {p}
            if inner := [leaf for leaf in leaves(p) if isinstance(leaf.type, Pointer)]:
                self.of[p] = {p}
                self.fields[p] = inner
        everything = [model.kernel, *model.functions]
        while sum(self._round(f) for f in everything):  # each function every round: no short cut
            pass

    def roots(self, e: Expr) -> set[Var]:
        """The variables whose memory the address (or lvalue) `e` may be in."""
        if isinstance(e, x.VarRef):
            if e.var in self.of:
                return self.of[e.var]
            return {e.var} if not isinstance(e.var.type, Pointer) and not e.var.ref else set()
        if isinstance(e.type, Pointer) and isinstance(e, x.Member | x.Index):
            return self._pointers_in(e)
        if isinstance(e, x.Index):
            return self.roots(e.base)
        if isinstance(e, x.Deref | x.PtrAdd):
            return self.roots(e.pointer)
        if isinstance(e, x.Member):
            return self.roots(e.object)
        if isinstance(e, x.AddrOf):
            return self.roots(e.lvalue)
        if isinstance(e, x.Decay):
            return self.roots(e.array)
        if isinstance(e, x.Cast | x.Bitcast):
            return self.roots(e.operand)
        if isinstance(e, x.Conditional):
            return self.roots(e.then) | self.roots(e.other)
        if isinstance(e, x.Comma):
            return self.roots(e.right)
        if isinstance(e, x.Assign | x.IncDec):
            return self.roots(e.target)
        if isinstance(e, x.Call):
            return self.returned.get(e.symbol, set())
        return set()

    def places(self, e: Expr) -> set[Var]:
        """The variables in whose memory lvalue `e` itself lies."""
        if isinstance(e.type, Pointer) and isinstance(e, x.Member | x.Index):
            return self.roots(_holder(e)[0])
        return self.roots(e)

    def _pointers_in(self, e: Expr) -> set[Var]:
        """Where a pointer that lies in a struct or an array may point."""
        holder, wanted = _holder(e)
        found: set[Var] = set()
        for root in self.roots(holder):
            inside = self.fields.get(root, [])
            named = [leaf.var for leaf in inside if f"_{wanted}_" in f"_{leaf.name}_"]
            # a copy of a part of the struct has shorter paths, a struct around it longer ones
            found |= set(named or [leaf.var for leaf in inside]) or {root}
        return found

    def _round(self, f: Function) -> bool:
        changed = False
        for s in walk_stmts(f.body):
            if isinstance(s, Decl) and s.init is not None and (_holds_pointer(s.var) or s.var.ref):
                changed |= self._add(s.var, self._inside(s.init))
            if isinstance(s, Return) and s.value is not None and _is_address(s.value):
                known = self.returned.setdefault(f.symbol, set())
                before = len(known)
                known |= self.roots(s.value)
                changed |= len(known) != before
        for e in walk_exprs(f.body):
            if isinstance(e, x.Assign) and isinstance(e.target.type, Pointer):
                target = _base_var(e.target)
                if target is not None:
                    changed |= self._add(target, self.roots(e.value))
            elif isinstance(e, x.Call) and e.symbol in self.functions:
                for p, a in zip(self.functions[e.symbol].params, e.args, strict=False):
                    if _holds_pointer(p) or p.ref:
                        changed |= self._add(p, self._inside(a))
        return changed

    def _inside(self, e: Expr) -> set[Var]:
        """Roots of an initialiser; a struct's may hold pointers in several fields."""
        if isinstance(e, x.InitList | x.Construct):
            return {r for o in operands(e) for r in self._inside(o)}
        return self.roots(e)

    def _add(self, var: Var, roots: set[Var]) -> bool:
        known = self.of.setdefault(var, set())
        before = len(known)
        known |= roots
        return len(known) != before


def _holder(e: Expr) -> tuple[Expr, str]:
    """What a pointer is a part of, and the flattened name of the part."""
    path: list[str] = []
    while isinstance(e, x.Member | x.Index | x.Decay | x.Deref):
        if isinstance(e, x.Member):
            path.insert(0, e.name)
            e = e.object
        elif isinstance(e, x.Decay):
            e = e.array
        else:
            e = e.base if isinstance(e, x.Index) else e.pointer
    return e, "_".join(path)


def roles(model: KernelModel) -> dict[Var, Role]:
    """Role of each pointer parameter, pointer in a struct parameter (`Leaf.var`) and global of the model.

    A parameter that nothing reads or writes is "in". Memory that is both read and written is "inout", also
    where each read comes after a write.
    """
    aliases = Aliases(model)
    read: set[Var] = set()
    written: set[Var] = set()
    for f in (model.kernel, *model.functions):
        for s in walk_stmts(f.body):
            skipped = isinstance(s, Decl) and s.var.ref
            for e in stmt_exprs(s):
                if skipped:
                    _address(e, aliases, read, written)
                else:
                    _value(e, aliases, read, written)
    found: dict[Var, Role] = {}
    watched = [p for p in model.kernel.params if _holds_pointer(p)] + [g.var for g in model.globals]
    watched += [leaf.var for leaf in pointer_leaves(model)]
    for v in watched:
        found[v] = ("inout" if v in read else "out") if v in written else "in"
    return found


def _value(e: Expr, aliases: Aliases, read: set[Var], written: set[Var]) -> None:
    """Notes what evaluating `e` reads and writes."""
    if isinstance(e, x.Assign):
        written |= aliases.places(e.target) if _in_memory(e.target) else set()
        if e.op and _in_memory(e.target):
            read |= aliases.places(e.target)
        _address(e.target, aliases, read, written)
        _value(e.value, aliases, read, written)
    elif isinstance(e, x.IncDec):
        if _in_memory(e.target):
            written |= aliases.places(e.target)
            read |= aliases.places(e.target)
        _address(e.target, aliases, read, written)
    elif isinstance(e, x.AddrOf):
        _address(e.lvalue, aliases, read, written)
    elif isinstance(e, x.Decay):
        _address(e.array, aliases, read, written)
    elif isinstance(e, x.Index | x.Deref | x.Member | x.VarRef):
        if _in_memory(e) and not isinstance(e.type, Array):
            read |= aliases.places(e)
        _address(e, aliases, read, written)
    elif isinstance(e, x.Intrinsic):
        _intrinsic(e, aliases, read, written)
    elif isinstance(e, x.Call):
        params = aliases.functions[e.symbol].params if e.symbol in aliases.functions else ()
        for position, a in enumerate(e.args):
            by_reference = position < len(params) and params[position].ref
            (_address if by_reference else _value)(a, aliases, read, written)
    else:
        for o in operands(e):
            _value(o, aliases, read, written)


def _address(e: Expr, aliases: Aliases, read: set[Var], written: set[Var]) -> None:
    """Notes what finding the place of lvalue `e` reads: indices and pointers on the way, not `e` itself."""
    if isinstance(e, x.Index):
        _value(e.base, aliases, read, written)
        _value(e.index, aliases, read, written)
    elif isinstance(e, x.Deref):
        _value(e.pointer, aliases, read, written)
    elif isinstance(e, x.Member):
        _address(e.object, aliases, read, written)
    elif not isinstance(e, x.VarRef):
        _value(e, aliases, read, written)


def _intrinsic(e: x.Intrinsic, aliases: Aliases, read: set[Var], written: set[Var]) -> None:
    for position, a in enumerate(e.args):
        _value(a, aliases, read, written)
        if not isinstance(a.type, Pointer):
            continue
        roots = aliases.roots(a)
        if e.name in _COPIES:
            (written if position == 0 else read).update(roots)
        elif _READS.fullmatch(e.name):
            read |= roots
        elif _WRITES.fullmatch(e.name):
            written |= roots
        else:  # atomics, and whatever else takes an address
            read |= roots
            if not (_ASM.fullmatch(e.name) and a.type.const):  # the author gave PTX what it is to read
                written |= roots


def _in_memory(e: Expr) -> bool:
    """True where the lvalue may lie outside the function's own variables."""
    if isinstance(e, x.VarRef):
        return e.var.ref or e.var.storage in ("device", "constant")
    if isinstance(e, x.Member):
        return _in_memory(e.object) if isinstance(e.object, x.LVALUES) else False
    return isinstance(e, x.Index | x.Deref)


def _base_var(e: Expr) -> Var | None:
    while isinstance(e, x.Member):
        e = e.object
    return e.var if isinstance(e, x.VarRef) else None


def _holds_pointer(v: Var) -> bool:
    t = v.type
    if isinstance(t, Array):
        t = t.of
    if isinstance(t, Pointer):
        return True
    return hasattr(t, "fields") and any(isinstance(f.type, Pointer) for f in t.fields)


def _is_address(e: Expr) -> bool:
    return isinstance(e.type, Pointer)


def only_atomics(model: KernelModel, var: Var) -> bool:
    """True where the kernel touches a buffer through atomics alone: an accumulator, which starts at zero."""
    bodies = [f.body for f in (model.kernel, *model.functions)]
    touched = [e for b in bodies for e in walk_exprs(b) if isinstance(e, x.Intrinsic | x.Assign | x.IncDec)]
    atomics = [e for e in touched if isinstance(e, x.Intrinsic) and _ATOMIC.fullmatch(e.name) and e.args]
    if not atomics:
        return False
    aliases = Aliases(model)
    plain = [e.target for e in touched if isinstance(e, x.Assign | x.IncDec) and _in_memory(e.target)]
    return any(var in aliases.roots(e.args[0]) for e in atomics) and not any(
        var in aliases.roots(target) for target in plain
    )


def float_atomics(model: KernelModel) -> bool:
    for f in (model.kernel, *model.functions):
        for e in walk_exprs(f.body):
            is_atomic = isinstance(e, x.Intrinsic) and _ATOMIC.fullmatch(e.name) is not None
            if is_atomic and isinstance(e.type, Scalar) and e.type.is_float:
                return True
    return False
