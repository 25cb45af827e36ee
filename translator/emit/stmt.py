"""Statements as DSL text."""

from __future__ import annotations

from dataclasses import dataclass

from translator.emit.expr import Expressions
from translator.emit.literals import number, shape_text
from translator.emit.writer import Writer
from translator.model import expr as x
from translator.model import stmt as st
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function
from translator.model.stmt import Decl, ExprStmt, If, Stmt
from translator.model.types import Array, Pointer, Scalar, dimensions
from translator.model.walk import used, walk_expr, walk_exprs, walk_stmts
from translator.passes.loops import assigned


def _set_before_use(s: Decl, rest: tuple[Stmt, ...]) -> bool:
    """Whether a variable declared without a value gets one before anything else mentions it."""
    if s.init is not None or not isinstance(s.var.type, Scalar) or s.comments:
        return False
    for after in rest:
        e = after.expr if isinstance(after, ExprStmt) else None
        if isinstance(e, x.Assign) and isinstance(e.target, VarRef) and e.target.var == s.var:
            return s.var not in {n.var for n in walk_expr(e.value) if isinstance(n, VarRef)}
        if s.var in used((after,)):
            return False
    return False


@dataclass(slots=True)
class Statements:
    """Writes the body of one function."""

    out: Writer
    ex: Expressions
    function: Function
    seen: set[Var]

    def body(self, stmts: tuple[Stmt, ...]) -> None:
        start = len(self.out.lines)
        for k, s in enumerate(stmts):
            if not (isinstance(s, Decl) and _set_before_use(s, stmts[k + 1 :])):
                self.statement(s)
        if len(self.out.lines) == start:
            self.out.line("pass")

    def statement(self, s: Stmt) -> None:
        self.out.comment(getattr(s, "comments", ()))
        if isinstance(s, Decl):
            self.declare(s)
            self.ex.traced.written(s.var, s.init)
        elif isinstance(s, ExprStmt):
            self.effect(s)
        elif isinstance(s, If):
            self.branch(s)
        elif isinstance(s, st.ForRange):
            self.for_range(s)
        elif isinstance(s, st.While):
            self.ex.traced.now -= assigned(s.body)
            self.out.line(f"while {self.ex.text(s.cond)}:", s.span)
            with self.out.indented():
                self.body(s.body)
            self.ex.traced.now -= assigned(s.body)
        elif isinstance(s, st.Unpack):
            self.unpack(s)
        elif isinstance(s, st.VectorStore):
            self.ex.needs.helpers["store_vector"] = None
            values = ", ".join(self.ex.text(v) for v in s.values)
            comma = "," if len(s.values) == 1 else ""
            self.out.line(f"store_vector({self.ex.text(s.pointer)}, ({values}{comma}), {s.align})", s.span)
        elif isinstance(s, st.Return):
            self.out.line("return" if s.value is None else f"return {self.ex.text(s.value)}", s.span)
        else:
            self.ex.sink.report("CP4001", s.span, what=type(s).__name__)

    # -- declarations ------------------------------------------------------------------------------------

    def declare(self, s: Decl) -> None:
        v, t = s.var, s.var.type
        name = self.ex.var(v)
        if self.out.depth == 1:  # what is made in a branch does not exist after it
            self.seen.add(v)
        if v.storage == "dynamic_shared":
            assert isinstance(t, Pointer | Array)
            unit = t.to if isinstance(t, Pointer) else t.of
            kind = self.ex.dtype(unit)
            memory = f"cute.arch.get_dyn_smem({kind}, 16).llvm_ptr"
            self.out.line(f"{name} = cutlass.Pointer({memory}, dtype={kind})", s.span)
        elif isinstance(t, Array):
            self.out.line(f"{name} = {self.array(v, t)}", s.span)
        elif isinstance(t, Pointer):
            self.out.line(f"{name} = {self.pointer_start(s)}", s.span)
        elif s.init is None:
            assert isinstance(t, Scalar)
            zero = number(0.0 if t.is_float else 0, t)
            self.out.line(f"{name} = {self.ex.dtype(t)}({zero})", s.span)
        else:
            self.out.line(f"{name} = {self.ex.text(s.init)}", s.span)

    def array(self, v: Var, t: Array) -> str:
        shape, element = dimensions(t)
        kind, dims = self.ex.dtype(element), shape_text(shape)
        if v.storage == "shared":
            total = " * ".join(map(str, shape))
            memory = f"cute.arch.alloc_smem({kind}, {total}, {max(16, v.align)}).llvm_ptr"
            return f"cutlass.Array({memory}, shape={dims}, dtype={kind})"
        return f"cutlass.Array({kind}, {dims})"

    def pointer_start(self, s: Decl) -> str:
        """A pointer variable's first value; without one, the base of what it is assigned later."""
        null = isinstance(s.init, x.Literal) and s.init.value == 0
        if s.init is not None and not null:
            return self.ex.text(s.init)
        base = self.base_of(s.var, {s.var})
        kind = s.var.type
        assert isinstance(kind, Pointer)
        if base is None:
            self.ex.sink.report("CP4004", s.span, name=s.var.name)
            return "None"
        if null:
            return self.null(base, kind)
        return self.ex.text(base if base.type == kind else x.Cast(base, kind))

    def null(self, base: Expr, kind: Pointer) -> str:
        self.ex.needs.helpers["null_pointer"] = None
        return f"null_pointer({self.ex.text(base)}, {self.ex.dtype(kind.to)})"

    def base_of(self, v: Var, met: set[Var]) -> Expr | None:
        """A pointer that exists by now, into the memory that pointer variable `v` will walk in."""
        values = [
            e.value
            for e in walk_exprs(self.function.body)
            if isinstance(e, x.Assign) and isinstance(e.target, VarRef) and e.target.var == v
        ]
        values += [
            d.init for d in walk_stmts(self.function.body) if isinstance(d, Decl) and d.var == v and d.init
        ]
        while values:
            root = values.pop(0)
            while isinstance(root, x.PtrAdd) or (isinstance(root, x.Cast) and isinstance(root.type, Pointer)):
                root = root.pointer if isinstance(root, x.PtrAdd) else root.operand
            if isinstance(root, x.Conditional):
                values += [root.then, root.other]
            named = root.array if isinstance(root, x.Decay) else root
            if not isinstance(named, VarRef) or named.var in met:
                continue
            if named.var in self.seen:
                return root
            if isinstance(root, VarRef) and (found := self.base_of(named.var, met | {named.var})) is not None:
                return found
        return None

    # -- effects -----------------------------------------------------------------------------------------

    def effect(self, s: ExprStmt) -> None:
        e = s.expr
        if isinstance(e, x.Assign):
            self.assign(e, s)
        else:
            self.out.line(self.ex.text(e), s.span)

    def assign(self, e: x.Assign, s: ExprStmt) -> None:
        target = e.target
        if isinstance(target, VarRef):
            self.out.line(f"{self.ex.var(target.var)} = {self.ex.text(e.value)}", s.span)
            self.ex.traced.written(target.var, e.value)
            return
        value = self.ex.text(e.value)
        if isinstance(target, x.Index):
            t = target.base.type
            assert isinstance(t, Pointer)
            if t.volatile:
                self.out.line(f"{self.ex.address(target)}.store({value}, is_volatile=True)", s.span)
                return
        if self.ex.branches(target):
            held = self.ex.names.fresh("value")
            self.out.line(f"{held} = {value}", s.span)
            self.out.line(f"{self.place(target, s)} = {held}", s.span)
        else:
            self.out.line(f"{self.place(target, s)} = {value}", s.span)

    def place(self, target: Expr, s: ExprStmt) -> str:
        """An array or memory element as the target of `=`; the DSL allows no conditional expression in it."""

        def plain(e: Expr, name: str, text: str) -> str:
            if not self.ex.branches(e):
                return text
            held = self.ex.names.fresh(name)
            self.out.line(f"{held} = {self.ex.text(e)}", s.span)
            return held

        if isinstance(target, x.Index):
            base = plain(target.base, "place", self.ex.text(target.base, 12))
            return f"{base}[{plain(target.index, 'at', self.ex.index(target.index))}]"
        assert isinstance(target, x.Element)
        indices = [plain(i, "at", self.ex.index(i)) for i in target.indices]
        return f"{self.ex.var(target.var)}[{', '.join(indices)}]"

    def unpack(self, s: st.Unpack) -> None:
        targets = ", ".join(self.ex.text(t) for t in s.targets)
        v = s.value
        if isinstance(v, x.VectorLoad):
            helper = "ldg_vector" if self.ex.only_read(v.pointer) else "load_vector"
            self.ex.needs.helpers[helper] = None
            made = f"{helper}({self.ex.text(v.pointer)}, {v.count}, {v.align})"
        elif isinstance(v, x.Intrinsic) and (rule := self.ex.rule(v)) and rule.components == "vector":
            made = self.vector(v, len(s.targets))
        else:
            made = self.ex.text(v)
        self.out.line(f"{targets} = {made}", s.span)
        self.ex.traced.unpacked(s)

    def vector(self, v: x.Intrinsic, count: int) -> str:
        held = self.ex.names.fresh("vector")
        self.out.line(f"{held} = {self.ex.text(v)}", v.span)
        return ", ".join(f"{held}[{k}]" for k in range(count))

    # -- control -----------------------------------------------------------------------------------------

    def branch(self, s: If, word: str = "if") -> None:
        traced = self.ex.traced
        known, before = traced.maybe(s.cond), set(traced.now)
        self.out.line(f"{word} {self.ex.text(s.cond)}:", s.span)
        with self.out.indented():
            self.body(s.then)
        then, traced.now = traced.now, set(before)
        if len(s.other) == 1 and isinstance(s.other[0], If) and not s.other[0].comments:
            self.branch(s.other[0], "elif")
        elif s.other:
            self.out.line("else:")
            with self.out.indented():
                self.body(s.other)
        arms = then | traced.now
        traced.now = arms if known else before - assigned((*s.then, *s.other))

    def for_range(self, s: st.ForRange) -> None:
        name = self.ex.var(s.var)
        constant = all(isinstance(b, x.Literal) for b in (s.start, s.stop, s.step))
        hint = ""
        if s.unroll == 0:
            hint = ", unroll_full=True" if constant else ""
        elif s.unroll is not None:
            hint = f", unroll={s.unroll}"
        bounds = ", ".join(self.bound(b) for b in (s.start, s.stop, s.step))
        self.ex.traced.now -= assigned((s,))
        self.out.line(f"for {name} in cutlass.range({bounds}{hint}):", s.span)
        with self.out.indented():
            self.body(s.body)
        self.ex.traced.now -= assigned((s,))

    def bound(self, e: Expr) -> str:
        if isinstance(e, x.Literal) and e.type.size == 4:
            return self.ex.constant(e)
        return self.ex.text(e)
