"""Host expressions as Python over kernel parameters: `(n + 255) // 256`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from translator.frontend.host_expr import Name, Node, Num, Op, Opaque, show, value
from translator.model.kernel import HostExpr

_INFIX = {
    "+": "+", "-": "-", "*": "*", "/": "//", "%": "%", "<<": "<<", ">>": ">>", "&": "&", "|": "|", "^": "^",
    "<": "<", ">": ">", "<=": "<=", ">=": ">=", "==": "==", "!=": "!=", "&&": "and", "||": "or",
}  # fmt: skip


_SIZE = re.compile(r"^[\w.>-]+(\.|->)(size|length)\(\)$")


class _NotGivenError(Exception):
    """The expression needs something that no kernel argument gives."""


@dataclass(slots=True)
class Parameters:
    """What the launch passes: host variables and expressions by the kernel parameter that receives them."""

    keys: dict[str, str] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], args: Sequence[Node]) -> Parameters:
        made = cls()
        given = [(name, arg) for name, arg in zip(names, args, strict=False) if not _repeated(arg, args)]
        for name, arg in given:
            if isinstance(arg, Name):
                made.keys.setdefault(arg.key, name)
            if not isinstance(arg, Num) and value(arg) is None:
                made.expressions.setdefault(identity(arg), name)
        for name, arg in given:  # a launching function's own parameter stands for what it was given
            inner = arg.meaning if isinstance(arg, Name) else None
            while isinstance(inner, Name) and not _repeated(inner, args):
                made.keys.setdefault(inner.key, name)
                inner = inner.meaning
        return made

    def lookup(self, node: Node) -> str:
        if isinstance(node, Name):
            if node.key in self.keys:
                return self.keys[node.key]
            outer, _, path = node.key.partition(".")
            while path:  # a field of a struct passed by value, at any depth
                if outer in self.keys:
                    return f"{self.keys[outer]}_{path.replace('.', '_')}"
                member, _, path = path.partition(".")
                outer = f"{outer}.{member}"
        return self.expressions.get(identity(node), "")


def _repeated(node: Node, args: Sequence[Node]) -> bool:
    """Whether a macro is given for several parameters: then it stands for none of them."""
    return isinstance(node, Name) and node.is_macro and sum(node.key in _chain(a) for a in args) > 1


def _chain(node: Node | None) -> Iterator[str]:
    while isinstance(node, Name):
        yield node.key
        node = node.meaning


def identity(node: Node) -> str:
    """Text that is equal for expressions of the same value only: variables by identity, casts kept."""
    if isinstance(node, Name):
        known = node.meaning is not None and not _opaque(node.meaning)
        return identity(node.meaning) if known and node.meaning is not None else f"<{node.key}>"
    if isinstance(node, Op):
        return f"({node.op} {' '.join(identity(a) for a in node.args)})"
    if isinstance(node, Opaque) and "(" in node.text and not _SIZE.search(node.text):
        return f"?{id(node)}"  # two calls may give two values
    return show(node)


def _opaque(node: Node) -> bool:
    if isinstance(node, Name):
        return False  # by its own identity at worst
    return isinstance(node, Opaque) or (isinstance(node, Op) and any(_opaque(a) for a in node.args))


def python(node: Node | None, given: Parameters) -> str:
    """The expression in Python over parameter names, "" if they don't determine it."""
    if node is None:
        return ""
    try:
        return _render(node, given)[0]
    except _NotGivenError:
        return ""


def host_expr(node: Node, given: Parameters) -> HostExpr:
    """The expression as a model holds it."""
    known = value(node)
    return HostExpr(show(node), int(known) if known is not None else None, python(node, given))


def _render(node: Node, given: Parameters) -> tuple[str, bool]:
    """Text, and whether it needs parentheses inside another operator."""
    name = given.lookup(node)
    if name:
        return name, False
    if isinstance(node, Num):
        if node.value != int(node.value):
            raise _NotGivenError
        return str(int(node.value)), node.value < 0
    if isinstance(node, Name):
        if node.meaning is None:
            raise _NotGivenError
        return _render(node.meaning, given)
    if not isinstance(node, Op):
        raise _NotGivenError
    if not _mentions(node, given):
        known = value(node)
        if known is None or known != int(known):
            raise _NotGivenError
        return str(int(known)), known < 0
    return _operator(node, given)


def _operator(node: Op, given: Parameters) -> tuple[str, bool]:
    def part(n: Node) -> str:
        text, loose = _render(n, given)
        return f"({text})" if loose else text

    if node.op in ("ceil", "floor", "int"):
        return _rounded(node, given)
    if node.op in ("min", "max"):
        args = [_integral(a) for a in node.args]
        return f"{node.op}({', '.join(_render(a, given)[0] for a in args)})", False
    if node.float:
        return _render(_integral(node), given)
    if node.op == "?:":
        cond = _render(node.args[0], given)[0]
        return f"{part(node.args[1])} if {cond} else {part(node.args[2])}", True
    if len(node.args) == 1:
        word = "not " if node.op == "!" else node.op
        return f"{word}{part(node.args[0])}", True
    if node.op in _INFIX:
        if node.op in ("+", "-"):
            text = _sum(node, given)
            return text, not text.isidentifier()
        return f"{part(node.args[0])} {_INFIX[node.op]} {part(node.args[1])}", True
    raise _NotGivenError


def _sum(node: Op, given: Parameters) -> str:
    """A sum with its constants added up: `n + 256 - 1` is `n + 255`."""
    constant = 0
    text = ""
    for sign, term in _terms(node, given, 1):
        known = None if _mentions(term, given) else value(term)
        if isinstance(known, int):
            constant += sign * known
            continue
        part, loose = _render(term, given)
        part = f"({part})" if loose and not (isinstance(term, Op) and term.op == "*") else part
        text = f"{text} {'+' if sign > 0 else '-'} {part}" if text else (part if sign > 0 else f"-{part}")
    if not text or constant == 0:
        return text or str(constant)
    return f"{text} {'+' if constant > 0 else '-'} {abs(constant)}"


def _terms(node: Node, given: Parameters, sign: int) -> list[tuple[int, Node]]:
    if isinstance(node, Name) and node.meaning is not None and not given.lookup(node):
        return _terms(node.meaning, given, sign)
    is_sum = isinstance(node, Op) and node.op in ("+", "-") and len(node.args) == 2 and not node.float
    if is_sum and isinstance(node, Op) and not given.lookup(node):
        right = sign if node.op == "+" else -sign
        return _terms(node.args[0], given, sign) + _terms(node.args[1], given, right)
    return [(sign, node)]


def _rounded(node: Op, given: Parameters) -> tuple[str, bool]:
    """`ceil`, `floor` and integer casts of a quotient of integers."""
    inner = node.args[0]
    while isinstance(inner, Name) and inner.meaning is not None and not given.lookup(inner):
        inner = inner.meaning
    while isinstance(inner, Op) and inner.op == "float":
        inner = inner.args[0]
    if isinstance(inner, Op) and inner.op == "/" and inner.float:
        top, bottom = (_integral(a) for a in inner.args)
        if node.op == "ceil":
            up = Op("-", (Op("+", (top, bottom)), Num(1)))
            return _render(Op("/", (up, bottom)), given)
        return _render(Op("/", (top, bottom)), given)
    if isinstance(inner, Op) and inner.float and inner.op not in ("ceil", "floor"):
        return _render(_integral(inner), given)
    return _render(inner, given)


def _integral(node: Node) -> Node:
    """The integer expression that a floating one is the exact value of."""
    if isinstance(node, Op) and node.op == "float":
        return _integral(node.args[0])
    if isinstance(node, Num) and node.value == int(node.value):
        return Num(int(node.value))
    if isinstance(node, Op) and node.float:
        if node.op in ("ceil", "floor", "min", "max", "int"):
            return node
        if node.op in ("+", "-", "*", "?:"):
            args = tuple(_integral(a) for a in node.args)
            if node.op == "*" and Num(1) in args:
                return args[1] if args[0] == Num(1) else args[0]
            return Op(node.op, args)
        raise _NotGivenError
    return node


def _mentions(node: Node, given: Parameters) -> bool:
    if given.lookup(node):
        return True
    if isinstance(node, Name):
        return node.meaning is not None and _mentions(node.meaning, given)
    return isinstance(node, Op) and any(_mentions(a, given) for a in node.args)


def elements(size: Node, item: int, given: Parameters) -> Node:
    """The number of `item`-byte elements in a byte count: `n * sizeof(T)` is `n`."""
    known = value(size)
    if known is not None and not _mentions(size, given):
        return Num(int(known) // item)
    inner = size
    while isinstance(inner, Name) and inner.meaning is not None and not given.lookup(inner):
        inner = inner.meaning
    if isinstance(inner, Op) and inner.op in ("+", "-") and len(inner.args) == 2:
        return Op(inner.op, tuple(elements(a, item, given) for a in inner.args))
    factors = _factors(inner, given)
    scale = 1
    rest: list[Node] = []
    for factor in factors:
        known = None if _mentions(factor, given) else value(factor)
        if isinstance(known, int):
            scale *= known
        else:
            rest.append(factor)
    if not rest:
        return Num(scale // item)
    product = rest[0]
    for factor in rest[1:]:
        product = Op("*", (product, factor))
    if scale % item == 0:
        return product if scale == item else Op("*", (product, Num(scale // item)))
    whole = product if scale == 1 else Op("*", (product, Num(scale)))
    return Op("/", (whole, Num(item)))


def _factors(node: Node, given: Parameters) -> list[Node]:
    while isinstance(node, Name) and node.meaning is not None and not given.lookup(node):
        node = node.meaning
    if isinstance(node, Op) and node.op == "*" and not node.float:
        return [f for a in node.args for f in _factors(a, given)]
    return [node]
