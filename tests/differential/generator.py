"""Random single-thread CUDA kernels with defined behaviour, from a seed.

Defined: shift counts and divisors are masked, array indices stay inside, loops end, conversions of floats to
integers are guarded, no object is changed and read in one expression unless the language orders the two.
Signed overflow is left to wrap (the original is built with -fwrapv).
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace

BITS = {"bool": 1, "signed char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32}
BITS |= {"unsigned": 32, "long long": 64, "unsigned long long": 64}
INTS = tuple(BITS)
FLOATS = ("float", "double")
SLOTS = 24  # results of one thread
THREADS = 4


def signed(t: str) -> bool:
    return t in ("signed char", "short", "int", "long long")


def promoted(t: str) -> str:
    return "int" if BITS[t] < 32 else t


def usual(a: str, b: str) -> str:
    """The type of an arithmetic operation on two integers."""
    a, b = promoted(a), promoted(b)
    if BITS[a] != BITS[b]:
        return a if BITS[a] > BITS[b] else b
    return a if not signed(a) else b


def constant(text: str) -> bool:
    """Whether `text` mentions no variable: the front end may evaluate it, where overflow has no value."""
    return re.search(r"\b(?:[vabs]\d+|[xyuhfg]\[|[tn]\b|p\d)", text) is None


@dataclass(frozen=True)
class StructType:
    name: str
    fields: tuple[tuple[str, object, int], ...]  # name, scalar type or StructType, array count (0: none)


@dataclass(frozen=True)
class Name:
    """Something in scope. `kind`: scalar, array, struct, structs (an array of them), pointer."""

    text: str
    kind: str
    type: object
    count: int = 0
    const: bool = False


@dataclass(frozen=True)
class Callee:
    name: str
    result: object  # scalar type, StructType or "void"
    params: tuple[tuple[str, object], ...]  # kind (value, ref, pointer), type


@dataclass
class Scope:
    names: list[Name] = field(default_factory=list)
    loop: bool = False
    breakable: bool = False
    result: object = None  # of the device function; None in the kernel
    depth: int = 0
    work: int = 1  # iterations that enclosing loops make at most
    here: set[str] = field(default_factory=set)  # names declared in this very block


class Program:
    """One kernel with its device functions and structs, as text."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.seed = seed
        self.structs: list[StructType] = []
        self.functions: list[Callee] = []
        self.fresh = 0
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
        scope.names[:] = [o for o in scope.names if o.text.split(".")[0].split("[")[0] != n.text]
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
            ),
            (6, 4, 3, 4, 3, 1, 2, 3, 4, 2, 2, 1),
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
        if kind == "not":
            return f"!{self.integer(scope, d - 1)[0]}", "bool"
        if kind == "call":
            return self.call(scope, d)
        if kind == "round":
            f = self.real(scope, d - 1)
            t = r.choice(("int", "long long", "unsigned char", "short"))
            low = "0" if t == "unsigned char" else "-100"
            return f"({f} > {low} && {f} < 100 ? ({t}){f} : ({t})7)", t if BITS[t] >= 32 else t
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
            if signed(t) and (constant(a) and constant(b) or r.random() < 0.3):
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
        text, t = self.integer(scope, self.r.randrange(2))
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

    # -- statements --------------------------------------------------------------------------------------

    def block(self, scope: Scope, count: int) -> list[str]:
        inner = replace(scope, names=list(scope.names), depth=scope.depth + 1, here=set())
        made: list[str] = []
        for _ in range(count):
            made += self.statement(inner)
        return made

    def nested(self, scope: Scope, **changes: object) -> list[str]:
        return ["    " + line for line in self.block(replace(scope, **changes), self.r.randrange(1, 4))]  # type: ignore[arg-type]

    def statement(self, scope: Scope) -> list[str]:
        r = self.r
        deep = scope.depth >= 4
        choices = {
            "declare": 5, "assign": 8, "compound": 6, "step": 3, "out": 4, "chain": 2, "effects": 2,
            "array": 1.5, "struct": 2, "copy": 2, "pointer": 1.5, "reference": 1.5, "procedure": 2,
            "if": 0 if deep else 6, "loop": 0 if deep or scope.work > 100 else 5, "switch": 0 if deep else 3,
            "scope": 0 if deep else 1,
            "leave": 2.5 if scope.loop or scope.breakable or scope.result is not None else 0.4,
        }  # fmt: skip
        kind = r.choices(list(choices), list(choices.values()))[0]
        made: list[str] = getattr(self, f"do_{kind}")(scope)
        return made

    def do_declare(self, scope: Scope) -> list[str]:
        t = self.r.choice((*INTS, *FLOATS, "int", "unsigned", "float"))
        value = self.literal(t) if t in INTS and self.r.random() < 0.3 else self.of_type(scope, t, 2)
        if t in FLOATS and self.r.random() < 0.3:
            value = self.real(Scope(), 0)
        text = self.name(scope)
        if text in value:  # the new variable would be read before it has a value
            text = self.name()
        const = self.r.random() < 0.2
        self.add(scope, Name(text, "scalar", t, const=const))
        return [f"{'const ' if const else ''}{t} {text} = {value};"]

    def do_assign(self, scope: Scope) -> list[str]:
        t = self.r.choice((*INTS, *FLOATS))
        found = self.scalars(scope, (t,), write=True)
        arrays = [n for n in scope.names if n.kind in ("array", "pointer") and n.type == t and not n.const]
        if arrays and self.r.random() < 0.6:
            n = self.r.choice(arrays)
            return [f"{n.text}[{self.index(scope, n.count)}] = {self.of_type(scope, t, 2)};"]
        if not found:
            return self.do_declare(scope)
        return [f"{self.r.choice(found)} = {self.of_type(scope, t, 3)};"]

    def do_compound(self, scope: Scope) -> list[str]:
        r = self.r
        if r.random() < 0.2 and (found := self.scalars(scope, FLOATS, write=True)):
            return [f"{r.choice(found)} {r.choice('+-*/')}= {self.real(scope, 2)};"]
        t = r.choice(INTS)
        found = self.scalars(scope, (t,), write=True)
        if not found:
            return self.do_declare(scope)
        v = r.choice(found)
        e, et = self.integer(scope, 2)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"))
        if op in ("<<", ">>"):
            e = f"({e} & {BITS[promoted(t)] - 1})"
        elif op in ("/", "%"):
            e = f"(({e} & 7) + 2)"
        return [f"{v} {op}= {e};"]

    def do_step(self, scope: Scope) -> list[str]:
        found = self.scalars(scope, tuple(t for t in INTS if t != "bool") + FLOATS, write=True)
        if not found:
            return self.do_declare(scope)
        v = self.r.choice(found)
        return [self.r.choice((f"{v}++;", f"++{v};", f"{v}--;", f"--{v};"))]

    def do_out(self, scope: Scope) -> list[str]:
        if scope.result is not None:
            return self.do_assign(scope)
        slot = self.r.randrange(SLOTS)
        if self.r.random() < 0.2:
            return [f"fout[t * {SLOTS} + {slot}] {self.r.choice(('=', '+='))} {self.real(scope, 2)};"]
        return [f"out[t * {SLOTS} + {slot}] {self.r.choice(('=', '+=', '^='))} {self.integer(scope, 2)[0]};"]

    def do_chain(self, scope: Scope) -> list[str]:
        found = self.scalars(scope, ("int", "unsigned char", "short", "long long", "unsigned"), write=True)
        pair = self.r.sample(found, 2) if len(found) > 1 else []
        if not pair or pair[0] == pair[1]:
            return self.do_declare(scope)
        return [f"{pair[0]} = {pair[1]} {self.r.choice(('=', '+=', '^='))} {self.integer(scope, 2)[0]};"]

    def do_effects(self, scope: Scope) -> list[str]:
        """An index or operand that changes a variable, which nothing else in the expression reads."""
        r = self.r
        found = self.scalars(scope, ("int", "unsigned", "unsigned char", "long long"), write=True)
        arrays = [n for n in scope.names if n.kind == "array" and n.type in INTS and not n.const]
        plain = [f for f in found if f.isidentifier()]
        if not plain or not arrays:
            return self.do_declare(scope)
        v, a = r.choice(plain), r.choice(arrays)
        known = [n for n in scope.names if n.text in ("n", "t")]
        if not known:
            return self.do_declare(scope)
        rest = replace(scope, names=known)
        if "&" in v or any(n.text == v and n.kind != "scalar" for n in scope.names):
            return self.do_declare(scope)
        step = r.choice((f"{v}++", f"++{v}", f"{v}--"))
        mask = a.count - 1
        e = self.integer(rest, 1)[0]
        return [
            r.choice(
                (
                    f"{a.text}[{step} & {mask}] = {e};",
                    f"{a.text}[{step} & {mask}] += {e};",
                    f"{a.text}[{v} & {mask}] = {v}++;",  # the right side first
                    f"{a.text}[{v} & {mask}] = ({v} = {e});",
                    f"{a.text}[({e}) & {mask}] = ({e}) + {step};",
                    f"{v} = (({e}), {v} + 1);",
                )
            )  # fmt: skip
        ]

    def do_array(self, scope: Scope) -> list[str]:
        t, count = self.r.choice((*INTS, "float", "int")), self.r.choice((2, 4, 8))
        text = self.name()
        items = ", ".join(self.braced(scope, t) for _ in range(self.r.randrange(1, count + 1)))
        self.add(scope, Name(text, "array", t, count))
        return [f"{t} {text}[{count}] = {{{items}}};"]

    def do_struct(self, scope: Scope) -> list[str]:
        if not self.structs:
            return self.do_array(scope)
        t = self.r.choice(self.structs)
        text = self.name()
        if self.r.random() < 0.2:
            count = self.r.choice((2, 4))
            items = ", ".join(self.braces(scope, t) for _ in range(self.r.randrange(1, count + 1)))
            self.add(scope, Name(text, "structs", t, count))
            return [f"{t.name} {text}[{count}] = {{{items}}};"]
        value = self.struct_value(scope, t, 2)
        self.add(scope, Name(text, "struct", t))
        return [f"{t.name} {text} = {value};"]

    def do_copy(self, scope: Scope) -> list[str]:
        targets = [n for n in scope.names if n.kind in ("struct", "structs") and not n.const]
        if not targets:
            return self.do_struct(scope)
        n = self.r.choice(targets)
        assert isinstance(n.type, StructType)
        at = n.text if n.kind == "struct" else f"{n.text}[{self.index(scope, n.count)}]"
        return [f"{at} = {self.struct_value(scope, n.type, 2)};"]

    def do_pointer(self, scope: Scope) -> list[str]:
        arrays = [n for n in scope.names if n.kind == "array" and n.count >= 4 and not n.const]
        if not arrays:
            return self.do_array(scope)
        n = self.r.choice(arrays)
        text = self.name()
        half = n.count // 2
        start = self.r.choice(
            (f"{n.text} + {self.index(scope, half)}", f"&{n.text}[{self.index(scope, half)}]", n.text)
        )
        made = [f"{n.type} *{text} = {start};"]
        if start == n.text and self.r.random() < 0.5:
            made.append(self.r.choice((f"{text}++;", f"{text} += {self.index(scope, half)};")))
        self.add(scope, Name(text, "pointer", n.type, half))
        return made

    def do_reference(self, scope: Scope) -> list[str]:
        text = self.name()
        names = [
            n
            for n in scope.names
            if not n.const and n.text not in self.busy and n.kind in ("scalar", "array", "struct")
        ]
        if not names:
            return self.do_declare(scope)
        n = self.r.choice(names)
        if n.kind == "array":
            at = f"{n.text}[{self.index(scope, n.count)}]"
            self.add(scope, Name(text, "scalar", n.type))
            return [f"{n.type} &{text} = {at};"]
        if n.kind == "struct":
            assert isinstance(n.type, StructType)
            if self.r.random() < 0.5:
                self.add(scope, Name(text, "struct", n.type))
                return [f"{n.type.name} &{text} = {n.text};"]
            at, t = self.r.choice(self.leaves(n))
            self.add(scope, Name(text, "scalar", t))
            return [f"{t} &{text} = {at};"]
        self.add(scope, Name(text, "scalar", n.type))
        return [f"{n.type} &{text} = {n.text};"]

    def do_procedure(self, scope: Scope) -> list[str]:
        """A call with reference or pointer parameters, as a statement."""
        usable = [f for f in self.functions if any(k != "value" for k, _ in f.params)]
        if not usable or scope.work > 64:
            return self.do_assign(scope)
        f = self.r.choice(usable)
        args: list[str] = []
        for kind, t in f.params:
            if kind == "value":
                args.append(self.of_type(scope, t, 1))
                continue
            if kind == "pointer":
                found = [
                    n.text
                    for n in scope.names
                    if n.kind == "array" and n.type == t and n.count >= 4 and not n.const
                ]
            elif isinstance(t, StructType):
                found = [n.text for n in scope.names if n.kind == "struct" and n.type == t and not n.const]
            else:
                found = self.scalars(scope, (str(t),), write=True)
            if not found:
                return self.do_assign(scope)
            args.append(self.r.choice(found))
        call = f"{f.name}({', '.join(args)})"
        if f.result in INTS:
            held = self.name()
            self.add(scope, Name(held, "scalar", f.result))
            return [f"{f.result} {held} = {call};"]
        return [f"{call};"]

    def do_if(self, scope: Scope) -> list[str]:
        made = [f"if ({self.condition(scope)}) {{", *self.nested(scope), "}"]
        if self.r.random() < 0.3:
            made[-1] = f"}} else if ({self.condition(scope)}) {{"
            made += [*self.nested(scope), "}"]
        if self.r.random() < 0.5:
            made[-1] = "} else {"
            made += [*self.nested(scope), "}"]
        return made

    def do_scope(self, scope: Scope) -> list[str]:
        return ["{", *self.nested(scope), "}"]

    def do_leave(self, scope: Scope) -> list[str]:
        ways = ["break;"] * scope.breakable + ["continue;"] * scope.loop
        if scope.result is not None:
            value = "" if scope.result == "void" else f" {self.of_type(scope, scope.result, 2)}"
            ways.append(f"return{value};")
        else:
            ways.append("return;")
        way = self.r.choice(ways)
        if self.r.random() < 0.85:
            return [f"if ({self.condition(scope)}) {way}"]
        return [way]

    def do_loop(self, scope: Scope) -> list[str]:
        r = self.r
        kind = r.choice(
            ("up", "up", "up", "down", "unsigned", "while", "do", "ever", "after", "bound", "two", "narrow")
        )
        i = self.name()
        self.busy.add(i)
        inner = replace(scope, names=list(scope.names), loop=True, breakable=True, work=scope.work * 6)
        bound = f"({self.integer(scope, 1)[0]} & 7)"
        step = r.choice(("++{i}", "{i}++", "{i} += 2", "{i} += 3")).format(i=i)
        before: list[str] = []
        after: list[str] = []
        counter = Name(i, "scalar", "int", const=True)
        if kind == "up":
            t = r.choice(("int", "unsigned", "long long", "size_t", "int"))
            compare = r.choice((f"{i} < {bound}", f"{i} <= {bound}", f"{bound} > {i}", f"{i} != 6"))
            if "!=" in compare:
                step = f"{i} += {r.choice((1, 2))}"
            head = f"for ({t} {i} = {r.choice((0, 0, 2))}; {compare}; {step}) {{"
            counter = replace(counter, type={"size_t": "unsigned long long"}.get(t, t))
        elif kind == "narrow":
            t = r.choice(("unsigned char", "short", "signed char"))
            head = f"for ({t} {i} = 0; {i} < {bound}; {step}) {{"
            counter = replace(counter, type=t)
        elif kind == "down":
            head = f"for (int {i} = {bound}; {i} {r.choice(('>', '>='))} 0; {i} -= {r.choice((1, 2))}) {{"
        elif kind == "unsigned":
            head = r.choice((
                f"for (unsigned {i} = {bound}; {i}-- > 0;) {{",
                f"for (unsigned {i} = {bound}; {i} < 8u; --{i}) {{",
            ))  # fmt: skip
            counter = replace(counter, type="unsigned")
        elif kind == "while":
            before = [f"int {i} = {bound};"]
            head = r.choice(
                (f"while ({i}-- > 0) {{", f"while (--{i} >= 0) {{", f"while (({i} = {i} - 1) > 0) {{")
            )
        elif kind == "do":
            before = [f"int {i} = 0;"]
            head = "do {"
        elif kind == "ever":
            before = [f"unsigned {i} = 0;"]
            head = r.choice(("for (;;) {", "while (true) {", "while (1) {"))
            counter = replace(counter, type="unsigned")
        elif kind == "after":  # the counter lives on
            before = [f"int {i};"]
            head = f"for ({i} = 0; {i} < {bound}; {step}) {{"
        elif kind == "bound":  # the bound changes
            m = self.name()
            self.busy.add(m)
            before = [f"int {m} = {bound};"]
            head = f"for (int {i} = 0; {i} < {m}; {i}++) {{"
            inner.names.append(Name(m, "scalar", "int", const=True))
        else:
            j = self.name()
            self.busy.add(j)
            head = f"for (int {i} = 0, {j} = {bound}; {i} < {j}; {i}++, {j}--) {{"
            inner.names.append(Name(j, "scalar", "int", const=True))
        inner.names.append(counter)
        body = self.nested(inner)
        if kind == "ever":
            body.insert(0, f"    if ({i}++ >= {r.randrange(1, 6)}) break;")
        if (
            kind in ("up", "after")
            and step != f"{i} += {r.choice((1, 2))}"
            and r.random() < 0.15
            and "!=" not in head
        ):
            body.insert(
                r.randrange(len(body) + 1) if len(body) == 1 else 0,
                f"    if ({self.integer(scope, 1)[0]}) {i}++;",
            )
        if kind == "bound":
            body.insert(0, f"    if ({self.integer(scope, 1)[0]}) {m}--;")
        tail = [f"}} while (++{i} < {bound});"] if kind == "do" else ["}"]
        if kind == "do":
            body.insert(0, f"    if ({i} > 7) break;")
        self.busy.discard(i)
        if before and kind not in ("bound",) and before[0].split()[0] in ("int", "unsigned"):
            self.add(scope, Name(i, "scalar", before[0].split()[0]))
        return [*before, head, *body, *tail, *after]

    def do_switch(self, scope: Scope) -> list[str]:
        r = self.r
        found = self.scalars(scope, ("int", "unsigned char", "long long", "unsigned"), write=True)
        value, _ = self.integer(scope, 2)
        made = [f"switch ({r.choice(found) if found and r.random() < 0.4 else f'(int)({value} & 3)'}) {{"]
        labels = r.sample((0, 1, 2, 3, 5, 100), r.randrange(1, 5))
        default = r.randrange(len(labels) + 2)
        inner = replace(scope, breakable=True)
        for k, label in enumerate(labels):
            if k == default:
                made.append("default:")
            made.append(f"case {label}:")
            if r.random() < 0.15:
                continue
            made += ["    {", *("    " + s for s in self.nested(inner)), "    }"]
            if r.random() < 0.7:
                made.append("    break;")
        if default == len(labels):
            made += ["default:", "    {", *("    " + s for s in self.nested(inner)), "    }"]
        if made[-1].endswith(":"):
            made.append("    ;")
        return [*made, "}"]

    # -- the whole ---------------------------------------------------------------------------------------

    def struct(self) -> str:
        name = f"S{self.seed}_{len(self.structs)}"
        fields: list[tuple[str, object, int]] = []
        for k in range(self.r.randrange(1, 5)):
            if self.structs and self.r.random() < 0.25:
                fields.append((f"m{k}", self.r.choice(self.structs), 0))
            else:
                t = self.r.choice((*INTS, *FLOATS, "int", "float"))
                fields.append((f"m{k}", t, self.r.choice((0, 0, 0, 2, 3))))
        self.structs.append(StructType(name, tuple(fields)))
        lines = [
            f"    {t.name if isinstance(t, StructType) else t} {f}{f'[{c}]' if c else ''};"
            for f, t, c in fields
        ]
        return f"struct {name} {{\n" + "\n".join(lines) + "\n};\n"

    def function(self) -> str:
        r = self.r
        name = f"f{self.seed}_{len(self.functions)}"
        result: object = r.choice((*INTS, "int", "void", *self.structs))
        scope = Scope(result=result, work=8)
        params: list[tuple[str, object]] = []
        texts: list[str] = []
        for k in range(r.randrange(1, 4)):
            kind = r.choice(("value", "value", "ref", "pointer"))
            p = f"p{k}"
            t: object = r.choice((*INTS, "int", "float"))
            if kind == "pointer":
                t = r.choice(("int", "unsigned char", "short"))
                scope.names.append(Name(p, "pointer", t, 4))
                texts.append(f"{t} *{p}")
            else:
                if self.structs and r.random() < 0.3:
                    t = r.choice(self.structs)
                word = t.name if isinstance(t, StructType) else t
                scope.names.append(Name(p, "struct" if isinstance(t, StructType) else "scalar", t))
                texts.append(f"{word} {'&' if kind == 'ref' else ''}{p}")
            params.append((kind, t))
        body = ["    " + line for line in self.block(scope, r.randrange(2, 6))]
        if result != "void":
            body.append(f"    return {self.of_type(scope, result, 2)};")
        word = result.name if isinstance(result, StructType) else result
        self.functions.append(Callee(name, result, tuple(params)))
        return f"__device__ {word} {name}({', '.join(texts)})\n{{\n" + "\n".join(body) + "\n}\n"

    def text(self, statements: int = 14) -> str:
        r = self.r
        parts = [self.struct() for _ in range(r.randrange(3))]
        parts += [self.function() for _ in range(r.randrange(4))]
        scope = Scope()
        scope.names = [
            Name("n", "scalar", "int", const=True),
            Name("t", "scalar", "int", const=True),
            Name("x", "array", "int", 32, const=True),
            Name("y", "array", "unsigned char", 32, const=True),
            Name("u", "array", "unsigned long long", 16, const=True),
            Name("h", "array", "short", 16, const=True),
            Name("f", "array", "float", 16, const=True),
            Name("g", "array", "double", 16, const=True),
        ]
        body: list[str] = []
        for _ in range(4):
            body += self.do_declare(scope)
        for _ in range(statements):
            body += self.statement(scope)
        for k, (v, t) in enumerate(
            (n.text, n.type) for n in scope.names if n.kind == "scalar" and n.text not in "nt"
        ):
            which = "fout" if t in FLOATS else "out"
            body.append(f"{which}[t * {SLOTS} + {k % SLOTS}] += {v};")
        params = (
            "long long *out, double *fout, const int *x, const unsigned char *y, const unsigned long long *u, "
            "const short *h, const float *f, const double *g, int n"
        )
        lines = ["    int t = threadIdx.x;", *("    " + line for line in body)]
        parts.append(f"__global__ void k{self.seed}({params})\n{{\n" + "\n".join(lines) + "\n}\n")
        return "\n".join(parts)


def source(seeds: range) -> str:
    """A file with one kernel `k<seed>` per seed."""
    return "#include <cuda_runtime.h>\n\n" + "\n".join(Program(s).text() for s in seeds)
