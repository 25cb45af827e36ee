"""Random expressions with defined values: masked shifts and divisors, indices inside, guarded conversions."""

from __future__ import annotations

import random
import re

from tests.differential.program_types import (
    BITS,
    FLOATS,
    INTS,
    Callee,
    Name,
    Scope,
    StructType,
    constant,
    promoted,
    signed,
    usual,
)


class Expressions:
    """Random expressions over the names of a scope."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.seed = seed
        self.structs: list[StructType] = []
        self.functions: list[Callee] = []
        self.fresh = 0
        self.nesting = 0  # indices within indices
        self.busy: set[str] = set()  # names that enclosing loops depend on to end

    # -- names -------------------------------------------------------------------------------------------

    def name(self, scope: Scope | None = None) -> str:
        """A new name, sometimes one that an outer block uses already."""
        if scope is not None and scope.depth and self.r.random() < 0.15:
            shadowed = [n.text for n in scope.names if n.text.isidentifier() and n.text not in self.busy]
            keep = [s for s in shadowed if s[0] in "vabs" and s[1:].isdigit() and s not in scope.here]
            if keep:
                return self.r.choice(keep)
        self.fresh += 1
        return f"{self.r.choice('vabs')}{self.fresh}"

    def add(self, scope: Scope, n: Name) -> None:
        scope.here.add(n.text)
        scope.names[:] = [o for o in scope.names if n.text not in re.split(r"\W+", o.text)]
        scope.names.append(n)

    def scalars(self, scope: Scope, types: tuple[str, ...], *, write: bool = False) -> list[str]:
        """Lvalues of the given scalar types."""
        found = []
        for n in scope.names:
            if write and (n.const or n.text in self.busy):
                continue
            found += [text for text, t in self.leaves(n) if t in types]
        return found

    def leaves(self, n: Name) -> list[tuple[str, str]]:
        if n.kind == "scalar":
            return [(n.text, str(n.type))]
        if n.kind in ("array", "pointer"):
            return [(f"{n.text}[{self.small_index(n.count)}]", str(n.type))]
        found: list[tuple[str, str]] = []
        text = n.text if n.kind == "struct" else f"{n.text}[{self.small_index(n.count)}]"
        assert isinstance(n.type, StructType)
        for f, t, count in n.type.fields:
            at = f"{text}.{f}" + (f"[{self.r.randrange(count)}]" if count else "")
            if isinstance(t, StructType):
                found += self.leaves(Name(at, "struct", t))
            else:
                found.append((at, str(t)))
        return found

    def small_index(self, count: int) -> str:
        """A constant index; `index` makes computed ones."""
        return str(self.r.randrange(count))

    # -- expressions -------------------------------------------------------------------------------------

    def literal(self, t: str) -> str:
        r = self.r
        if t == "bool":
            return r.choice(("true", "false"))
        top = (1 << (BITS[t] - 1)) - 1
        if t == "unsigned":
            return r.choice((f"{r.randrange(100)}u", "0xffffffffu", "0x80000000u", "2147483648u"))
        if t == "unsigned long long":
            return r.choice((f"{r.randrange(100)}ull", "0xffffffffffffffffull", "0x8000000000000000ull"))
        if t == "long long":
            return r.choice(
                (f"{r.randrange(-50, 99)}ll", "0x7fffffffffffffffll", "4294967296ll", "-3000000000ll")
            )
        value = r.choice((r.randrange(-9, 100), 0, 1, -1, top, -top - 1 if t != "int" else -top, 255, 128, 7))
        text = str(value)
        return f"({text})" if value < 0 else r.choice((text, text, hex(value), "'A'"))

    def integer(self, scope: Scope, d: int) -> tuple[str, str]:
        """(text, type) of an integer expression."""
        r = self.r
        if d <= 0 or r.random() < 0.2:
            return self.atom(scope)
        kind = r.choices(
            (
                "add",
                "bits",
                "div",
                "shift",
                "compare",
                "not",
                "unary",
                "choose",
                "cast",
                "logical",
                "call",
                "round",
                "builtin",
            ),
            (6, 4, 3, 4, 3, 1, 2, 3, 4, 2, 2, 1, 1),
        )[0]
        if kind == "compare":
            if r.random() < 0.3:
                return f"({self.real(scope, d - 1)} {self.comparison()} {self.real(scope, d - 1)})", "bool"
            return (
                f"({self.integer(scope, d - 1)[0]} {self.comparison()} {self.integer(scope, d - 1)[0]})",
                "bool",
            )
        if kind == "logical":
            op = r.choice(("&&", "||"))
            return f"({self.integer(scope, d - 1)[0]} {op} {self.integer(scope, d - 1)[0]})", "bool"
        if kind == "builtin":
            return self.builtin(scope, d)
        if kind == "not":
            return f"!{self.integer(scope, d - 1)[0]}", "bool"
        if kind == "call":
            return self.call(scope, d)
        if kind == "round":
            f = self.real(scope, d - 1)
            t = r.choice(("int", "long long", "unsigned char", "short"))
            low = "0" if t == "unsigned char" else "-100"
            return f"({f} > {low} && {f} < 100 ? ({t}){f} : ({t})7)", t
        a, ta = self.integer(scope, d - 1)
        if kind == "unary":
            op = r.choice("-~+")
            if op == "-" and signed(ta) and BITS[ta] >= 32:
                a = f"({a} >> 1)"  # never the least value
            return f"({op}{a})", promoted(ta)
        if kind == "cast":
            to = r.choice(INTS)
            return r.choice((f"({to}){a}", f"static_cast<{to}>({a})")), to
        b, tb = self.integer(scope, d - 1)
        t = usual(ta, tb)
        if kind == "add":
            if signed(t) and ((constant(a) and constant(b)) or r.random() < 0.3):
                a, b = f"({a} & 0x7fff)", f"({b} & 255)"
            return f"({a} {r.choice(('+', '-', '*'))} {b})", t
        if kind == "bits":
            return f"({a} {r.choice('&|^')} {b})", t
        if kind == "div":
            b = f"(({b} & 15) + {r.randrange(1, 5)})"
            if signed(t) and r.random() < 0.4:
                b = f"(-{b} - 1)"
            a = f"({a} >> 1)" if signed(t) else a  # never the least value by -1
            return f"({a} {r.choice('/%')} {b})", usual(promoted(ta), usual(tb, "int"))
        if kind == "shift":
            p = promoted(ta)
            count = f"({b} & {BITS[p] - 1})" if r.random() < 0.7 else str(r.randrange(BITS[p]))
            return f"({a} {r.choice(('<<', '>>'))} {count})", p
        c, _ = self.integer(scope, d - 1)
        return f"({c} ? {a} : {b})", t if ta != tb else ta

    def builtin(self, scope: Scope, d: int) -> tuple[str, str]:
        t = self.r.choice(("int", "unsigned", "long long", "unsigned long long"))
        a, b = (self.integer(scope, d - 1)[0] for _ in range(2))
        kind = self.r.choice(("min", "max", "template", "method"))
        if kind == "template":
            return f"spread<{t}>({a}, {b})", t
        found = [n for n in scope.names if n.kind == "struct" and n.type in self.structs]
        if kind == "method" and found:
            return f"{self.r.choice(found).text}.sum({a})", "int"
        return f"{kind if kind != 'method' else 'min'}(({t}){a}, ({t}){b})", t

    def comparison(self) -> str:
        return self.r.choice(("<", ">", "<=", ">=", "==", "!="))

    def atom(self, scope: Scope) -> tuple[str, str]:
        r = self.r
        if r.random() < 0.25:
            t = r.choice(INTS)
            text = self.literal(t)
            if t in ("signed char", "unsigned char", "short", "unsigned short"):
                return f"({t}){text}", t
            return (f"(int){text}", "int") if text == "'A'" else (text, t)
        found: list[tuple[str, str]] = []
        for _ in range(4):
            n = r.choice(scope.names)
            if n.kind in ("array", "pointer") and n.type in INTS:
                found = [(f"{n.text}[{self.index(scope, n.count)}]", str(n.type))]
            elif n.kind == "pointer" and n.type in INTS:
                found = [(f"*{n.text}", str(n.type))]
            else:
                found = [(text, t) for text, t in self.leaves(n) if t in INTS]
            if found:
                return r.choice(found)
        return ("n", "int") if scope.result is None else ("3", "int")

    def index(self, scope: Scope, count: int) -> str:
        """A computed index of an array of `count` (a power of two) elements."""
        if self.nesting > 3:
            return self.small_index(count)
        self.nesting += 1
        text, t = self.integer(scope, self.r.randrange(2))
        self.nesting -= 1
        if t == "bool":
            return f"{text}" if count > 1 else "0"
        cast = self.r.choice(("", "", "(unsigned)", "(unsigned char)", "(long long)", "(size_t)"))
        return f"{cast}({text} & {count - 1})"

    def real(self, scope: Scope, d: int) -> str:
        """A float or double expression."""
        r = self.r
        if d <= 0 or r.random() < 0.3:
            found = self.scalars(scope, FLOATS)
            if found and r.random() < 0.7:
                return r.choice(found)
            return r.choice(("0.1f", "0.1", "1.5f", "2.0", "(-3.25f)", "16777216.0f", "1e-3", "7.0f"))
        kind = r.choice(("op", "op", "op", "int", "choose", "negate", "cast"))
        if kind == "int":
            return f"({r.choice(FLOATS)}){self.integer(scope, d - 1)[0]}"
        if kind == "choose":
            return (
                f"({self.integer(scope, d - 1)[0]} ? {self.real(scope, d - 1)} : {self.real(scope, d - 1)})"
            )
        if kind == "negate":
            return f"(-{self.real(scope, d - 1)})"
        if kind == "cast":
            return f"({r.choice(FLOATS)}){self.real(scope, d - 1)}"
        other = self.real(scope, d - 1) if r.random() < 0.7 else self.integer(scope, d - 1)[0]
        return f"({self.real(scope, d - 1)} {r.choice('+-*/')} {other})"

    def call(self, scope: Scope, d: int) -> tuple[str, str]:
        usable = [f for f in self.functions if f.result in INTS and all(k == "value" for k, _ in f.params)]
        if not usable or scope.work > 64:
            return self.atom(scope)
        f = self.r.choice(usable)
        return f"{f.name}({', '.join(self.of_type(scope, t, d - 1) for _, t in f.params)})", str(f.result)

    def of_type(self, scope: Scope, t: object, d: int) -> str:
        """An expression that converts to `t`."""
        if isinstance(t, StructType):
            return self.struct_value(scope, t, d)
        if t in FLOATS:
            return self.real(scope, d)
        return self.integer(scope, d)[0]

    def struct_value(self, scope: Scope, t: StructType, d: int) -> str:
        have = [n.text for n in scope.names if n.kind == "struct" and n.type == t]
        have += [
            f"{n.text}[{self.index(scope, n.count)}]"
            for n in scope.names
            if n.kind == "structs" and n.type == t
        ]
        made = [f for f in self.functions if f.result == t and all(k == "value" for k, _ in f.params)]
        if made and self.r.random() < 0.3 and d > 0 and scope.work <= 64:
            f = self.r.choice(made)
            return f"{f.name}({', '.join(self.of_type(scope, p, d - 1) for _, p in f.params)})"
        if len(have) > 1 and self.r.random() < 0.2:
            return f"({self.integer(scope, 1)[0]} ? {have[0]} : {have[1]})"
        if have and self.r.random() < 0.8:
            return self.r.choice(have)
        return f"{t.name}{self.braces(scope, t)}"

    def braces(self, scope: Scope, t: StructType) -> str:
        parts = []
        for _, ft, count in t.fields:
            if isinstance(ft, StructType):
                parts.append(self.braces(scope, ft))
            elif count:
                parts.append(
                    "{"
                    + ", ".join(self.braced(scope, str(ft)) for _ in range(self.r.randrange(1, count + 1)))
                    + "}"
                )
            else:
                parts.append(self.braced(scope, str(ft)))
        keep = self.r.randrange(1, len(parts) + 1)
        return "{" + ", ".join(parts[:keep]) + "}"

    def braced(self, scope: Scope, t: str) -> str:
        return f"({t})({self.of_type(scope, t, 1)})"

    def condition(self, scope: Scope) -> str:
        r = self.r
        if r.random() < 0.25:  # with effects that the language orders
            writable = self.scalars(
                scope, ("int", "unsigned", "short", "unsigned char", "long long"), write=True
            )
            if writable:
                v = r.choice(writable)
                left = self.integer(scope, 1)[0]
                effect = r.choice(
                    (f"{v}++", f"++{v}", f"--{v}", f"({v} += 3)", f"({v} = {self.integer(scope, 1)[0]})")
                )
                shape = r.choice(
                    (
                        "({l}) && {e} > 2",
                        "({l}) || {e}",
                        "(({l}) ? {e} : 1) > 3",
                        "({l}, {e}) & 1",
                        "{e} < 50",
                    )
                )
                return shape.format(l=left, e=effect)
        return self.integer(scope, 2)[0]
