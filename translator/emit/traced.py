"""Which values the DSL may still know while it traces, and would then compute with in Python.

`Float32(0.1)` is a Python number until it meets a value of the running kernel: `a = Float32(0.1)` followed
by `a + a` adds in double precision. Such operations have to be forced into the kernel (`runtime`). Loads,
coordinates, kernel parameters and what comes out of a branch or a loop are never known. Parameters and
results of device functions are known if an argument or a returned value anywhere may be; for variables the
writer says what it writes, in order.
"""

from __future__ import annotations

from translator.model import expr as x
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ExprStmt, Return, Unpack
from translator.model.types import F64, Scalar
from translator.model.walk import walk_exprs, walk_stmts


class Traced:
    """Variables and results of a model's functions that may be known while tracing."""

    def __init__(self, model: KernelModel) -> None:
        self._functions = (*model.functions, model.kernel)
        self._params = {f.symbol: f.params for f in model.functions}
        self._vars: set[Var] = set()
        self._results: set[str] = set()
        self.now: set[Var] = self._vars  # known at the place being looked at
        while sum(self._grow(f) for f in self._functions):
            pass

    # -- following the writer ----------------------------------------------------------------------------

    def enter(self, f: Function) -> None:
        self.now = {p for p in f.params if p in self._vars}

    def written(self, v: Var, value: Expr | None) -> None:
        """`v` gets `value` (None: nothing in particular)."""
        if value is not None and isinstance(v.type, Scalar) and self.maybe(value):
            self.now.add(v)
        else:
            self.now.discard(v)

    def unpacked(self, s: Unpack) -> None:
        values = s.value.items if isinstance(s.value, x.Tuple) else (s.value,) * len(s.targets)
        known = [self.maybe(v) for v in values]
        for target, value, is_known in zip(s.targets, values, known, strict=True):
            if isinstance(target, VarRef):
                self.written(target.var, value if is_known else None)

    # -- questions ---------------------------------------------------------------------------------------

    def maybe(self, e: Expr) -> bool:
        """Whether the value of `e` may be known while tracing."""
        if isinstance(e, x.Literal):
            return True
        if isinstance(e, VarRef):
            return e.var in self.now
        if isinstance(e, x.Unary | x.Cast | x.Bitcast):
            return self.maybe(e.operand) and not self.folds_wrong(e)
        if isinstance(e, x.Binary | x.Logical):
            return self.maybe(e.left) and self.maybe(e.right) and not self.folds_wrong(e)
        if isinstance(e, x.Conditional):
            return self.maybe(e.cond) and (self.maybe(e.then) or self.maybe(e.other))
        return isinstance(e, x.Call) and e.symbol in self._results

    def folds_wrong(self, e: Expr) -> bool:
        """Whether the DSL would compute `e` itself, wrongly: floats in double, 64-bit integers unwrapped."""
        t = e.type
        if not isinstance(t, Scalar):
            return False
        wide = t.bits == 64 and not t.is_float
        if isinstance(e, x.Binary) and (t.is_float or (wide and e.op in ("+", "-", "*", "<<"))):
            return self.maybe(e.left) and self.maybe(e.right)
        if isinstance(e, x.Unary):
            return wide and e.op != "!" and self.maybe(e.operand)
        if isinstance(e, x.Cast) and t.is_float and not isinstance(e.operand, x.Literal):
            inner = e.operand.type
            exact = t == F64 and isinstance(inner, Scalar) and not inner.is_float
            return not exact and self.maybe(e.operand)
        return False

    # -- parameters and results --------------------------------------------------------------------------

    def _add(self, v: Var) -> bool:
        if v in self._vars or not isinstance(v.type, Scalar):
            return False
        self._vars.add(v)
        return True

    def _grow(self, f: Function) -> bool:
        """One round over `f`; whether anything was new."""
        grew = False
        for s in walk_stmts(f.body):
            if isinstance(s, Decl):
                grew |= s.init is not None and self.maybe(s.init) and self._add(s.var)
            elif isinstance(s, ExprStmt) and isinstance(s.expr, x.Assign):
                target = s.expr.target
                grew |= isinstance(target, VarRef) and self.maybe(s.expr.value) and self._add(target.var)
            elif isinstance(s, Unpack):
                grew |= self._unpack(s)
            elif isinstance(s, Return) and s.value is not None and f.symbol not in self._results:
                values = s.value.items if isinstance(s.value, x.Tuple) else (s.value,)
                if any(self.maybe(v) for v in values):
                    self._results.add(f.symbol)
                    grew = True
        for e in walk_exprs(f.body):
            if isinstance(e, x.Call):
                for p, a in zip(self._params[e.symbol], e.args, strict=True):
                    grew |= self.maybe(a) and self._add(p)
        return grew

    def _unpack(self, s: Unpack) -> bool:
        count = len(s.targets)
        values = s.value.items if isinstance(s.value, x.Tuple) else (s.value,) * count
        grew = False
        for target, value in zip(s.targets, values, strict=True):
            grew |= isinstance(target, VarRef) and self.maybe(value) and self._add(target.var)
        return grew
