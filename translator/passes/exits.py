"""Removes `break`, `continue`, `switch` and inner `return`: CuTe DSL has single-exit control flow.

The common shapes need no flag: after `if (c) return;` the rest of the body becomes the else branch, and
the same for `continue`. Otherwise a flag says that control has left, and what follows is guarded by it.
Threads that leave early skip barriers exactly as threads that returned do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from translator.diag.diagnostic import NOWHERE, Span
from translator.model import expr as x
from translator.model import stmt as st
from translator.model.expr import Expr, Var, VarRef
from translator.model.kernel import Function, KernelModel
from translator.model.stmt import Decl, ExprStmt, If, Stmt
from translator.model.types import BOOL, VOID
from translator.model.walk import fresh_uids, walk_expr, walk_stmts
from translator.passes.loops import counted

Kind = str  # "break", "continue", "return"
TRUE, FALSE = x.Literal(True, BOOL), x.Literal(False, BOOL)
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


# Asked again at each level of an `else if` chain; kept for one model at a time.
_seen: dict[int, tuple[Stmt, frozenset[Kind]]] = {}


def exits(s: Stmt) -> frozenset[Kind]:
    """How control may leave `s` other than by its end."""
    if isinstance(s, st.Break):
        return frozenset({"break"})
    if isinstance(s, st.Continue):
        return frozenset({"continue"})
    if isinstance(s, st.Return):
        return frozenset({"return"})
    if isinstance(s, If):
        known = _seen.get(id(s))
        if known is None or known[0] is not s:
            known = _seen[id(s)] = (s, exits_of(s.then) | exits_of(s.other))
        return known[1]
    if isinstance(s, st.Switch):
        return frozenset().union(*(exits_of(c.body) for c in s.cases)) - {"break"}
    if isinstance(s, st.For | st.While | st.DoWhile):
        return exits_of(s.body) - {"break", "continue"}
    return frozenset()


def exits_of(body: tuple[Stmt, ...]) -> frozenset[Kind]:
    return frozenset().union(*(exits(s) for s in body))


def always_exits(body: tuple[Stmt, ...]) -> bool:
    """Whether control never reaches the end of `body` (without looking into loops)."""
    for s in body:
        if isinstance(s, st.Break | st.Continue | st.Return):
            return True
        if isinstance(s, If) and s.other and always_exits(s.then) and always_exits(s.other):
            return True
    return False


def negate(e: Expr) -> Expr:
    """not e; comparisons of integers and pointers are turned round (floats keep `not`: NaN)."""
    if isinstance(e, x.Unary) and e.op == "!":
        return e.operand
    if isinstance(e, x.Binary) and e.op in _NEGATED and not getattr(e.left.type, "is_float", False):
        return replace(e, op=_NEGATED[e.op])
    if isinstance(e, x.Literal):
        return replace(e, value=not e.value)
    if isinstance(e, x.Logical):
        return replace(e, op="||" if e.op == "&&" else "&&", left=negate(e.left), right=negate(e.right))
    return x.Unary("!", e, BOOL, e.span)


def make_if(cond: Expr, then: list[Stmt], other: list[Stmt], like: If) -> list[Stmt]:
    if not then and not other:
        return []
    if not then:
        cond, then, other = negate(cond), other, []
    return [replace(like, cond=cond, then=tuple(then), other=tuple(other))]


@dataclass(slots=True)
class Target:
    """What `break` (and `continue`) refer to; its flags exist once asked for."""

    running: Var | None = None  # false once a `break` was taken
    skip: Var | None = None  # true once a `continue` was taken in this iteration


@dataclass(frozen=True, slots=True)
class Context:
    """Where a statement list stands. `tail` holds the exits that are done by reaching the list's end."""

    tail: frozenset[Kind]
    breaks: Target | None = None
    continues: Target | None = None


@dataclass(slots=True)
class Structure:
    """Structures one function."""

    function: Function
    uids: Iterator[int]
    returned: Var | None = None
    results: list[Var] = field(default_factory=list)

    def flag(self, name: str) -> Var:
        return Var(next(self.uids), name, BOOL)

    def set(self, target: Var, value: Expr, span: Span = NOWHERE) -> ExprStmt:
        return ExprStmt(x.Assign(VarRef(target), "", value, target.type, span), span)

    # -- lists -----------------------------------------------------------------------------------------

    def seq(self, body: tuple[Stmt, ...], ctx: Context) -> list[Stmt]:
        out: list[Stmt] = []
        for k, s in enumerate(body):
            rest = body[k + 1 :]
            kinds = exits(s)
            if not kinds:
                out += self.plain(s, ctx)
                continue
            if isinstance(s, st.Break | st.Continue | st.Return):
                return out + self.leave(s, ctx)
            if isinstance(s, If):
                return out + self.branch(s, rest, kinds, ctx)
            inner = ctx if not rest else replace(ctx, tail=frozenset())
            out += self.switch(s, inner) if isinstance(s, st.Switch) else self.loop(s)
            if rest:
                out += self.guarded(kinds, rest, ctx, s.span)
            return out
        return out

    def branch(self, s: If, rest: tuple[Stmt, ...], kinds: frozenset[Kind], ctx: Context) -> list[Stmt]:
        then, other = always_exits(s.then), always_exits(s.other)
        if then and (other or not exits_of(s.other)):
            after = () if other else rest
            return make_if(s.cond, self.seq(s.then, ctx), self.seq((*s.other, *after), ctx), s)
        if other and not exits_of(s.then):
            return make_if(s.cond, self.seq((*s.then, *rest), ctx), self.seq(s.other, ctx), s)
        if not rest:
            return make_if(s.cond, self.seq(s.then, ctx), self.seq(s.other, ctx), s)
        inner = replace(ctx, tail=frozenset())
        made = make_if(s.cond, self.seq(s.then, inner), self.seq(s.other, inner), s)
        return made + self.guarded(kinds, rest, ctx, s.span)

    def guarded(self, kinds: frozenset[Kind], rest: tuple[Stmt, ...], ctx: Context, span: Span) -> list[Stmt]:
        """`rest`, run only if none of the exits `kinds` was taken."""
        tests: list[Expr] = []
        if "break" in kinds and ctx.breaks is not None and ctx.breaks.running is not None:
            tests.append(VarRef(ctx.breaks.running))
        if "continue" in kinds and ctx.continues is not None and ctx.continues.skip is not None:
            tests.append(x.Unary("!", VarRef(ctx.continues.skip), BOOL))
        if "return" in kinds and self.returned is not None:
            tests.append(x.Unary("!", VarRef(self.returned), BOOL))
        inner = self.seq(rest, ctx)
        if not tests or not inner:
            return inner
        test = tests[0]
        for t in tests[1:]:
            test = x.Logical("&&", test, t, BOOL)
        return [If(test, tuple(inner), (), span)]

    def leave(self, s: st.Break | st.Continue | st.Return, ctx: Context) -> list[Stmt]:
        if isinstance(s, st.Return):
            made = self.keep_result(s)
            if "return" not in ctx.tail:
                self.returned = self.returned or self.flag("returned")
                made.append(self.set(self.returned, TRUE, s.span))
            return made
        if isinstance(s, st.Continue):
            if "continue" in ctx.tail:
                return []
            assert ctx.continues is not None
            ctx.continues.skip = ctx.continues.skip or self.flag("skip")
            return [self.set(ctx.continues.skip, TRUE, s.span)]
        if "break" in ctx.tail:
            return []
        assert ctx.breaks is not None
        ctx.breaks.running = ctx.breaks.running or self.flag("running")
        return [self.set(ctx.breaks.running, FALSE, s.span)]

    def keep_result(self, s: st.Return) -> list[Stmt]:
        if s.value is None:
            return []
        values = s.value.items if isinstance(s.value, x.Tuple) else (s.value,)
        if not self.results:
            self.results = [Var(next(self.uids), "result", v.type) for v in values]
        if len(values) == 1:
            return [self.set(self.results[0], values[0], s.span)]
        return [st.Unpack(tuple(VarRef(v) for v in self.results), s.value, s.span)]

    # -- statements ------------------------------------------------------------------------------------

    def plain(self, s: Stmt, ctx: Context) -> list[Stmt]:
        """A statement that control leaves only by its end."""
        if isinstance(s, If):
            inner = replace(ctx, tail=frozenset())
            return make_if(s.cond, self.seq(s.then, inner), self.seq(s.other, inner), s)
        if isinstance(s, st.For | st.While | st.DoWhile):
            return self.loop(s)
        if isinstance(s, st.Switch):
            return self.switch(s, replace(ctx, tail=frozenset()))
        return [s]

    def loop(self, s: Stmt) -> list[Stmt]:
        assert isinstance(s, st.For | st.While | st.DoWhile)
        target = Target()
        ctx = Context(frozenset({"continue"}), target, target)
        if isinstance(s, st.For) and (simple := counted(s)) is not None:
            body = self.seq(simple.body, ctx)
            return [replace(simple, body=tuple(self.reset_skip(target, body)))]
        has_return = any(isinstance(n, st.Return) for n in walk_stmts(s.body))
        before: list[Stmt] = list(s.init) if isinstance(s, st.For) else []
        body = self.reset_skip(target, self.seq(s.body, ctx))
        if isinstance(s, st.DoWhile):
            return [*before, *self.do_while(s, target, body, has_return)]
        advance = list(s.advance) if isinstance(s, st.For) else []
        test = s.cond
        if target.running is not None or has_return:
            advance = self.only_if_running(target, has_return, advance, s)
            test = self.and_running(target, has_return, test)
        if target.running is not None:
            before.append(Decl(target.running, TRUE, s.span))
        if before:
            before[0] = replace(before[0], comments=s.comments)
        made = st.While(test or TRUE, (*body, *advance), s.unroll, s.span, () if before else s.comments)
        return [*before, made]

    def reset_skip(self, target: Target, body: list[Stmt]) -> list[Stmt]:
        return body if target.skip is None else [Decl(target.skip, FALSE), *body]

    def do_while(self, s: st.DoWhile, target: Target, body: list[Stmt], has_return: bool) -> list[Stmt]:
        leaves = target.running is not None or has_return
        running = target.running or self.flag("again")
        again: list[Stmt] = [*s.advance, self.set(running, s.cond, s.span)]
        if leaves:
            test = self.and_running(target, has_return, None)
            assert test is not None
            stop = [self.set(running, FALSE, s.span)] if has_return or target.running is None else []
            again = [If(test, tuple(again), tuple(stop), s.span)]
        start = Decl(running, TRUE, s.span, s.comments)
        return [start, st.While(VarRef(running), (*body, *again), None, s.span)]

    def and_running(self, target: Target, has_return: bool, test: Expr | None) -> Expr | None:
        parts: list[Expr] = []
        if target.running is not None:
            parts.append(VarRef(target.running))
        if has_return and self.returned is not None:
            parts.append(x.Unary("!", VarRef(self.returned), BOOL))
        if test is not None:
            parts.append(test)
        made: Expr | None = None
        for p in parts:
            made = p if made is None else x.Logical("&&", made, p, BOOL)
        return made

    def only_if_running(
        self, target: Target, has_return: bool, advance: list[Stmt], s: st.For | st.While
    ) -> list[Stmt]:
        """The loop's step, skipped after a `break` unless only the loop's own counter could tell."""
        own = {d.var for d in s.init if isinstance(d, Decl)} if isinstance(s, st.For) else set()
        harmless = all(
            isinstance(a, ExprStmt)
            and isinstance(a.expr, x.Assign)
            and isinstance(a.expr.target, VarRef)
            and a.expr.target.var in own
            and _always_defined(a.expr.value)
            for a in advance
        )
        if harmless or not advance:
            return advance
        test = self.and_running(target, has_return, None)
        return advance if test is None else [If(test, tuple(advance), (), s.span)]

    # -- switch ----------------------------------------------------------------------------------------

    def switch(self, s: st.Switch, ctx: Context) -> list[Stmt]:
        """An if chain; where cases fall through, a flag carries on into the next one."""
        target = Target()
        inner = Context(ctx.tail | {"break"}, target, ctx.continues)
        listed = [v for c in s.cases for v in c.values]
        falls = any(c.body and not always_exits(c.body) for c in s.cases[:-1])
        if not falls and not any(c.default and not c.body for c in s.cases[:-1]):
            return self.chain(s, inner, target)
        fall = self.flag("fall")
        inner = Context(frozenset({"break"}), target, ctx.continues)
        made: list[Stmt] = []
        for k, c in enumerate(s.cases):
            test = self.matches(s.value, c, listed)
            if k:
                test = x.Logical("||", VarRef(fall), test, BOOL)
            body = self.case_body(c, inner, target)
            ends = always_exits(c.body)
            last = k == len(s.cases) - 1
            after: list[Stmt] = [] if last else [self.set(fall, FALSE if ends else TRUE, c.span)]
            if not ends and not last and target.running is not None:
                after = [self.set(fall, VarRef(target.running), c.span)]
            if "return" in exits_of(c.body) and not last and self.returned is not None and not ends:
                still = x.Unary("!", VarRef(self.returned), BOOL)
                after = [
                    self.set(
                        fall,
                        x.Logical("&&", VarRef(target.running), still, BOOL) if target.running else still,
                    )
                ]
            if (
                "continue" in exits_of(c.body)
                and not last
                and not ends
                and ctx.continues
                and ctx.continues.skip
            ):
                after.append(If(VarRef(ctx.continues.skip), (self.set(fall, FALSE),)))
            made.append(If(test, (*body, *after), (), c.span))
        head: list[Stmt] = [Decl(fall, FALSE, s.span, s.comments)]
        if target.running is not None:
            head.append(Decl(target.running, TRUE, s.span))
        return head + made

    def case_body(self, c: st.Case, inner: Context, target: Target) -> list[Stmt]:
        before = target.running
        # A case that may or may not fall through has to say by a flag whether it broke.
        partial = "break" in exits_of(c.body) and not always_exits(c.body)
        made = self.seq(c.body, replace(inner, tail=frozenset()) if partial else inner)
        if partial and before is not None:
            made = [self.set(before, TRUE), *made]
        return made

    def chain(self, s: st.Switch, inner: Context, target: Target) -> list[Stmt]:
        default: list[Stmt] = []
        arms: list[tuple[Expr, list[Stmt], Span]] = []
        waiting: tuple[int, ...] = ()
        for c in s.cases:
            body = self.seq(c.body, inner)
            if not c.body and c is not s.cases[-1]:
                waiting += c.values  # labels that share the next body
                continue
            if c.default:
                default = body  # its other labels need no test: they come here anyway
            else:
                values = (*waiting, *c.values)
                arms.append((self.matches(s.value, replace(c, values=values), []), body, c.span))
            waiting = ()
        made = default
        for test, body, span in reversed(arms):
            made = make_if(test, body, made, If(test, (), (), span))
        if target.running is not None:
            made = [Decl(target.running, TRUE, s.span), *made]
        if made and s.comments:
            made[0] = replace(made[0], comments=s.comments)
        return made

    def matches(self, value: Expr, c: st.Case, listed: list[int]) -> Expr:
        def one(op: str, v: int) -> Expr:
            return x.Binary(op, value, x.Literal(v, value.type), BOOL)

        if c.default:
            test: Expr = TRUE
            for v in (v for v in listed if v not in c.values):
                differs = one("!=", v)
                test = differs if test is TRUE else x.Logical("&&", test, differs, BOOL)
            return test
        tests = [one("==", v) for v in c.values] or [FALSE]
        test = tests[0]
        for t in tests[1:]:
            test = x.Logical("||", test, t, BOOL)
        return test

    # -- function --------------------------------------------------------------------------------------

    def run(self) -> Function:
        f = self.function
        returns = [s for s in walk_stmts(f.body) if isinstance(s, st.Return)]
        last = f.body[-1] if f.body else None
        ctx = Context(frozenset({"return"}))
        if f.result != VOID and len(returns) == 1 and last is returns[0]:
            return replace(f, body=(*self.seq(f.body[:-1], ctx), last))
        body = self.seq(f.body, ctx)
        head: list[Stmt] = [Decl(v, None) for v in self.results]
        if self.returned is not None:
            head.append(Decl(self.returned, FALSE))
        tail: list[Stmt] = []
        if self.results:
            refs = tuple(VarRef(v) for v in self.results)
            tail = [st.Return(refs[0] if len(refs) == 1 else x.Tuple(refs, f.result))]
        return replace(f, body=(*head, *body, *tail))


def _always_defined(e: Expr) -> bool:
    """Whether `e` may be evaluated anywhere: it loads nothing, calls nothing and divides by no variable."""
    for n in walk_expr(e):
        if isinstance(n, x.Index | x.Element | x.Call | x.Intrinsic):
            return False
        if isinstance(n, x.Binary) and n.op in ("/", "%") and not isinstance(n.right, x.Literal):
            return False
    return True


def structure(model: KernelModel) -> KernelModel:
    """`model` with single-exit control flow only."""
    _seen.clear()
    uids = fresh_uids(model)
    functions = tuple(Structure(f, uids).run() for f in model.functions)
    return replace(model, functions=functions, kernel=Structure(model.kernel, uids).run())
