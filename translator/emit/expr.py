"""Expressions as DSL text. Every text evaluates to exactly the DSL type of its C type."""

from __future__ import annotations

from dataclasses import dataclass, field

from translator.diag.diagnostic import Sink
from translator.emit.literals import bare_fits, number
from translator.emit.names import Names, python_name
from translator.emit.printf import printf_call
from translator.emit.traced import Traced
from translator.mapping import resolve as rows
from translator.mapping.ptx import admitted
from translator.mapping.resolve import DSL_TYPES
from translator.mapping.rule import Rule
from translator.model import expr as x
from translator.model.expr import Expr, Var
from translator.model.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    U64,
    VOID,
    Array,
    Pointer,
    Scalar,
    Type,
)
from translator.model.walk import walk_expr
from translator.passes.guards import OPAQUE
from translator.passes.ranges import Range, is_index, is_special_only

# Python's precedences, loosest first.
_IF, _OR, _AND, _NOT, _CMP, _BOR, _XOR, _BAND, _SHIFT, _ADD, _MUL, _UNARY, _ATOM = range(13)
_LEVEL = {
    "|": _BOR,
    "^": _XOR,
    "&": _BAND,
    "<<": _SHIFT,
    ">>": _SHIFT,
    "+": _ADD,
    "-": _ADD,
    "*": _MUL,
    "/": _MUL,
    "%": _MUL,
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), _CMP),
}
_FLOATS = (F16, BF16, F32, F64)
_SPECIALS = {"threadIdx": "tid", "blockIdx": "bid", "blockDim": "bdim", "gridDim": "gdim"}
# Helpers where the DSL's own function is wrong at the largest size.
SPECIAL_CALLS = {
    "threadIdx": "cute.arch.thread_idx",
    "blockIdx": "cute.arch.block_idx",
    "blockDim": "block_extent",
    "gridDim": "grid_extent",
}


@dataclass(slots=True)
class Needs:
    """What the module has to provide for the emitted text."""

    types: set[str] = field(default_factory=set)
    helpers: dict[str, None] = field(default_factory=dict)
    libdevice: dict[str, Rule] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)  # named literals


@dataclass(slots=True)
class Expressions:
    """Writes the expressions of one function."""

    names: Names
    needs: Needs
    sink: Sink
    functions: dict[str, str]  # symbol → Python name
    known: dict[Var, Range]
    read_only: frozenset[Var]  # const __restrict__ kernel parameters
    traced: Traced  # what the DSL may compute in Python

    def dtype(self, t: Type) -> str:
        assert isinstance(t, Scalar)
        name = DSL_TYPES[t.name]
        self.needs.types.add(name)
        return name

    def var(self, v: Var) -> str:
        return self.names.of(v.uid, v.name)

    def special(self, base: str, axis: str) -> str:
        key = -(["threadIdx", "blockIdx", "blockDim", "gridDim"].index(base) * 3 + "xyz".index(axis) + 1)
        return self.names.of(key, f"{_SPECIALS[base]}{axis}")

    # -- text with precedence ----------------------------------------------------------------------------

    def text(self, e: Expr, level: int = _IF) -> str:
        """`e` as text that can stand where precedence `level` is needed."""
        made, own = self.write(e)
        return made if own >= level else f"({made})"

    def bare(self, e: Expr, beside: Type, level: int) -> str:
        """Like text, a literal without its type where the other operand gives it."""
        if isinstance(e, x.Literal) and isinstance(beside, Scalar) and bare_fits(e, beside):
            made = self.constant(e)
            return f"({made})" if made.startswith("-") and level > _ADD else made
        return self.text(e, level)

    def constant(self, e: x.Literal) -> str:
        """A literal's number, or the name it has in the source, defined at the top of the module."""
        assert isinstance(e.type, Scalar)
        plain = number(e.value, e.type)
        name = python_name(e.name) if e.name and e.name not in ("true", "false") else ""
        taken = name in rows.imported_names() or (
            name in self.names.taken and name not in self.names.constants
        )
        if not name or taken or self.needs.constants.setdefault(name, plain) != plain:
            return plain
        self.names.taken.add(name)
        self.names.constants.add(name)
        return name

    def write(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, x.Literal):
            return self.literal(e), _ATOM
        if isinstance(e, x.VarRef):
            if isinstance(e.var.type, Array):
                return f"{self.var(e.var)}.data_ptr()", _ATOM
            return self.var(e.var), _ATOM
        if isinstance(e, x.Special):
            name = self.special(e.base, e.axis)
            return (name, _ATOM) if e.type == I32 else (f"{self.dtype(e.type)}({name})", _ATOM)
        if isinstance(e, x.Unary):
            return self.unary(e)
        if isinstance(e, x.Binary):
            return self.binary(e)
        if isinstance(e, x.Logical):
            return self.logical(e)
        if isinstance(e, x.Conditional):
            then, other = self.text(e.then, _OR), self.text(e.other, _OR)
            return f"{then} if {self.text(e.cond, _OR)} else {other}", _IF
        if isinstance(e, x.Cast):
            return self.cast(e)
        if isinstance(e, x.Bitcast):
            return f"{self.text(e.operand, _ATOM)}.bitcast({self.dtype(e.type)})", _ATOM
        if isinstance(e, x.Index):
            return self.load(e), _ATOM
        if isinstance(e, x.Element):
            return f"{self.var(e.var)}[{', '.join(self.index(i) for i in e.indices)}]", _ATOM
        if isinstance(e, x.Decay):
            assert isinstance(e.array, x.VarRef)
            return f"{self.var(e.array.var)}.data_ptr()", _ATOM
        if isinstance(e, x.PtrAdd):
            return self.pointer_add(e), _ADD
        if isinstance(e, x.Call):
            args = ", ".join(self.text(a) for a in e.args)
            return f"{self.functions[e.symbol]}({args})", _ATOM
        if isinstance(e, x.Intrinsic):
            return self.intrinsic(e)
        if isinstance(e, x.Tuple):
            return ", ".join(self.text(i) for i in e.items), _IF
        self.sink.report(
            "CP4001", e.span, what="a string as a pointer" if isinstance(e, x.String) else type(e).__name__
        )
        return "None", _ATOM

    def literal(self, e: x.Literal) -> str:
        if isinstance(e.type, Pointer):
            if e.value != 0 or not isinstance(e.type.to, Scalar):
                self.sink.report("CP4002", e.span)
                return "None"
            self.needs.helpers["global_pointer"] = None
            return f"global_pointer(0, {self.dtype(e.type.to)})"
        if e.type == VOID:
            return "None"
        assert isinstance(e.type, Scalar)
        return f"{self.dtype(e.type)}({self.constant(e)})"

    def index(self, e: Expr) -> str:
        """An index; literals stand bare where the DSL takes them."""
        if isinstance(e, x.Literal) and -(1 << 31) <= int(e.value) < 1 << 31:
            return self.constant(e) if int(e.value) >= 0 else str(int(e.value))
        return self.text(e)

    def pointer_add(self, e: x.PtrAdd) -> str:
        base = self.text(e.pointer, _ADD)
        offset = e.offset
        if isinstance(offset, x.Literal):
            k = int(offset.value)
            if abs(k) >= 1 << 31:
                return f"{base} + {self.text(x.Literal(k, I64))}"
            return f"{base} + {k}" if k >= 0 else f"{base} - {-k}"
        if isinstance(offset, x.Unary) and offset.op == "-":
            return f"{base} - {self.text(offset.operand, _MUL)}"
        return f"{base} + {self.text(offset, _ADD)}"

    def address(self, e: Expr) -> str:
        """`p + i` of a load or store at Index `e`, as an atom."""
        assert isinstance(e, x.Index)
        if isinstance(e.index, x.Literal) and e.index.value == 0:
            return self.text(e.base, _ATOM)
        return f"({self.pointer_add(x.PtrAdd(e.base, e.index, e.base.type))})"

    def load(self, e: x.Index) -> str:
        t = e.base.type
        assert isinstance(t, Pointer)
        if t.volatile:
            return f"{self.address(e)}.load(is_volatile=True)"
        if self.only_read(e.base):
            self.needs.helpers["ldg"] = None
            base, index = (e.base, e.index)
            if isinstance(e.base, x.PtrAdd):
                return f"ldg({self.text(e.base)}, {self.index(index)})"
            return f"ldg({self.text(base)}, {self.index(index)})"
        return f"{self.text(e.base, _ATOM)}[{self.index(e.index)}]"

    def only_read(self, pointer: Expr) -> bool:
        """Whether what `pointer` points to is never written while the kernel runs."""
        while isinstance(pointer, x.PtrAdd):
            pointer = pointer.pointer
        return isinstance(pointer, x.VarRef) and pointer.var in self.read_only

    # -- operators ---------------------------------------------------------------------------------------

    def unary(self, e: x.Unary) -> tuple[str, int]:
        if e.op == "!":
            return f"not {self.text(e.operand, _NOT)}", _NOT
        if self.traced.folds_wrong(e):
            self.needs.helpers["runtime"] = None
            return f"{e.op}runtime({self.text(e.operand)})", _UNARY
        return f"{e.op}{self.text(e.operand, _UNARY)}", _UNARY

    def binary(self, e: x.Binary) -> tuple[str, int]:
        a, b, level = e.left, e.right, _LEVEL[e.op]
        if level == _CMP:
            return self.comparison(e), _CMP
        t = e.type
        assert isinstance(t, Scalar)
        if self.traced.folds_wrong(e):
            self.needs.helpers["runtime"] = None
            left = f"runtime({self.text(a)})"
        elif e.op in ("<<", ">>"):
            left = self.text(a, level)
        elif e.op in ("/", "%") and not t.is_float:
            return self.division(e, t)
        else:
            left = self.bare(a, b.type if not isinstance(b, x.Literal) else VOID, level)
        if e.op in ("<<", ">>"):
            if isinstance(b, x.Literal):
                right = str(int(b.value))
            elif b.type == t:
                right = self.text(b, level + 1)
            else:
                right = f"{self.dtype(t)}({self.text(b)})"
            return f"{left} {e.op} {right}", level
        right = self.bare(
            b, VOID if isinstance(a, x.Literal) and not left.startswith("runtime(") else a.type, level + 1
        )
        return f"{left} {e.op} {right}", level

    def division(self, e: x.Binary, t: Scalar) -> tuple[str, int]:
        """Integer `/` and `%`: C++ truncates, Python's operators floor."""
        op = {"/": "//", "%": "%"}[e.op]
        exact = not t.signed or (is_special_only(e) and is_index(e.left, {}) and is_index(e.right, {}))
        if exact and not (self.traced.maybe(e.left) and self.traced.maybe(e.right)):
            left = self.bare(e.left, e.right.type if not isinstance(e.right, x.Literal) else VOID, _MUL)
            return f"{left} {op} {self.bare(e.right, e.left.type, _MUL + 1)}", _MUL
        helper = "idiv" if e.op == "/" else "irem"
        self.needs.helpers[helper] = None
        return f"{helper}({self.text(e.left)}, {self.text(e.right)})", _ATOM

    def comparison(self, e: x.Binary) -> str:
        a, b = e.left, e.right
        if isinstance(a.type, Pointer) or isinstance(b.type, Pointer):
            return self.pointer_comparison(e)
        if a.type == BOOL and b.type == BOOL and e.op not in ("==", "!="):
            a, b = x.Cast(a, I32), x.Cast(b, I32)
        left = self.bare(a, b.type if not isinstance(b, x.Literal) else VOID, _CMP + 1)
        right = self.bare(b, a.type if not isinstance(a, x.Literal) else VOID, _CMP + 1)
        return f"{left} {e.op} {right}"

    def pointer_comparison(self, e: x.Binary) -> str:
        def side(p: Expr) -> str:
            return "0" if isinstance(p, x.Literal) else f"{self.text(p, _ATOM)}.toint()"

        return f"{side(e.left)} {e.op} {side(e.right)}"

    def logical(self, e: x.Logical) -> tuple[str, int]:
        """Eager `and`/`or` where the right side may be evaluated for nothing, else a lazy conditional."""
        word, level = ("and", _AND) if e.op == "&&" else ("or", _OR)
        if self.eager(e.right):
            return f"{self.text(e.left, level)} {word} {self.text(e.right, level + 1)}", level
        self.dtype(BOOL)
        left, right = self.text(e.left, _OR), self.text(e.right, _OR)
        if e.op == "&&":
            return f"{right} if {left} else Boolean(False)", _IF
        return f"Boolean(True) if {left} else {right}", _IF

    def branches(self, e: Expr) -> bool:
        """Whether the text of `e` holds a conditional expression."""
        return any(
            isinstance(n, x.Conditional) or (isinstance(n, x.Logical) and not self.eager(n.right))
            for n in walk_expr(e)
        )

    def eager(self, e: Expr) -> bool:
        """No load, call, trap or other effect in `e`: evaluating it when C++ would not is unobservable."""
        for n in walk_expr(e):
            if isinstance(n, x.Index | x.Element | x.Call | x.VectorLoad):
                return False
            if isinstance(n, x.Intrinsic):
                rule = self.rule(n)
                if rule is None or not rule.pure:
                    return False
            if isinstance(n, x.Binary) and n.op in ("/", "%") and n.type not in _FLOATS:
                divisor = n.right
                if not (isinstance(divisor, x.Literal) and divisor.value):
                    return False
        return True

    # -- conversions -------------------------------------------------------------------------------------

    def cast(self, e: x.Cast) -> tuple[str, int]:
        inner, to = e.operand, e.type
        if isinstance(to, Pointer):
            if isinstance(inner.type, Pointer) and inner.type.to == to.to:
                return self.write(inner)  # only its qualifiers change
            if inner.type == U64 and isinstance(to.to, Scalar):  # kept in memory as an address
                self.needs.helpers["global_pointer"] = None
                return f"global_pointer({self.text(inner)}, {self.dtype(to.to)})", _ATOM
            if not isinstance(inner.type, Pointer):
                self.sink.report("CP4002", e.span)
            return f"cutlass.Pointer({self.text(inner)}, dtype={self.dtype(to.to)})", _ATOM
        assert isinstance(to, Scalar)
        if isinstance(inner.type, Pointer):
            return f"{self.dtype(to)}({self.text(inner, _ATOM)}.toint())", _ATOM
        if to == VOID:
            return self.write(inner)
        if self.traced.folds_wrong(e):
            self.needs.helpers["runtime"] = None
            return f"{self.dtype(to)}(runtime({self.text(inner)}))", _ATOM
        return f"{self.dtype(to)}({self.widening(inner, to)})", _ATOM

    def widening(self, inner: Expr, to: Scalar) -> str:
        """The operand of a cast; a signed value is sign-extended before it becomes a wider unsigned."""
        t = inner.type
        assert isinstance(t, Scalar)
        if t.is_integer and t.signed and to.is_integer and not to.signed and t.bits < to.bits:
            step = DSL_TYPES[f"i{to.bits}"]
            self.needs.types.add(step)
            return f"{step}({self.text(inner)})"
        return self.text(inner)

    # -- builtins ----------------------------------------------------------------------------------------

    def rule(self, e: x.Intrinsic) -> Rule | None:
        return rows.resolve(e.name, self.c_types(e), e.type, consts=self.consts(e))

    def c_types(self, e: x.Intrinsic) -> tuple[Type, ...]:
        return e.arg_types or tuple(a.type for a in e.args)

    def consts(self, e: x.Intrinsic) -> tuple[int | float | None, ...]:
        return tuple(
            a.value if isinstance(a, x.Literal) and isinstance(a.type, Scalar) else None for a in e.args
        )

    def intrinsic(self, e: x.Intrinsic) -> tuple[str, int]:
        if e.name == OPAQUE:
            helper = "opaque_pointer" if isinstance(e.type, Pointer) else "opaque"
            self.needs.helpers[helper] = None
            return f"{helper}({self.text(e.args[0])})", _ATOM
        if e.name == "printf":
            return self.printf(e), _ATOM
        if e.name in ("asm", "asm volatile"):
            return self.inline_asm(e), _ATOM
        rule = self.rule(e)
        types, consts = self.c_types(e), self.consts(e)
        if rule is None:
            why = rows.refusal(e.name, types, consts=consts)
            self.sink.report(why.code, e.span, what=why.what, name=why.what, hint=why.hint)
            return "None", _ATOM
        if rule.code:
            self.sink.report(rule.code, e.span, what=e.name, hint=rule.hint or rule.caveat)
        for name in rule.helpers:
            self.needs.helpers[name] = None
        if rule.libdevice:
            self.needs.libdevice[rows.call_name(rule)] = rule
        args = [self.argument(a) for a in e.args]
        if rule.cute.startswith(("min(", "max(")) and not getattr(e.type, "signed", True):
            args = self.unsigned_extremes(e, args)
        if rule.components == "fields":
            fields = rows.render_fields(rule, args, types, e.type, consts)
            self.note_types("".join(fields.values()))
            return ", ".join(fields.values()), _IF
        made = rows.render(rule, args, types, e.type, consts)
        self.note_types(made)
        return self.converted(rule, made, types, e.type)

    def unsigned_extremes(
        self, e: x.Intrinsic, args: list[str | tuple[str, ...]]
    ) -> list[str | tuple[str, ...]]:
        """Python's min and max compare signed where the first operand is known while tracing."""
        made = list(args)
        for k, a in enumerate(e.args):
            if self.traced.maybe(a) and (k == 0 or getattr(e.type, "bits", 0) == 64):
                self.needs.helpers["runtime"] = None
                made[k] = f"runtime({args[k]})"
        return made

    def argument(self, e: Expr) -> str | tuple[str, ...]:
        if isinstance(e, x.Tuple):
            return tuple(self.text(i) for i in e.items)
        return repr(e.value) if isinstance(e, x.String) else self.text(e)

    def converted(self, rule: Rule, made: str, types: tuple[Type, ...], result: Type) -> tuple[str, int]:
        """The row's text with the DSL type of the C result."""
        level = _ATOM if _closed(made) else _IF
        if not isinstance(result, Scalar) or result == VOID or rule.outs or rule.components:
            return made, level
        if rows.result_type(rule, types, result) == DSL_TYPES[result.name]:
            return made, level
        return f"{self.dtype(result)}({made})", _ATOM

    def note_types(self, made: str) -> None:
        for name in DSL_TYPES.values():
            if name in made:
                self.needs.types.add(name)

    def inline_asm(self, e: x.Intrinsic) -> str:
        """One instruction of inline PTX, as it stands."""
        template, constraints, *operands = e.args
        assert isinstance(template, x.String) and isinstance(constraints, x.String)
        if not admitted(template.value, constraints.value):
            self.sink.report("CP1110", e.span, text=" ".join(template.value.split()))
        self.needs.helpers["inline_asm"] = None
        words = [repr(template.value), repr(constraints.value)]
        kind = "None" if e.type == VOID or not isinstance(e.type, Scalar) else self.dtype(e.type)
        args = [*words, kind, str(e.name == "asm volatile"), *(self.text(a) for a in operands)]
        return f"inline_asm({', '.join(args)})"

    def printf(self, e: x.Intrinsic) -> str:
        if not e.args or not isinstance(e.args[0], x.String):
            self.sink.report("CP4003", e.span)
            return "None"
        made = printf_call(e.args[0], e.args[1:], self.text)
        if made is None:
            self.sink.report("CP4001", e.span, what="a string as a value to print")
            return "None"
        return made


def _closed(text: str) -> bool:
    """Whether `text` is one call or name: safe in any place without parentheses."""
    depth = 0
    for k, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
            if depth == 0 and k + 1 < len(text) and text[k + 1] not in ".[(":
                return False
        elif depth == 0 and not (c.isalnum() or c in "._"):
            return False
    return True
