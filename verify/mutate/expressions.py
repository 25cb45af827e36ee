"""Changes to expressions: comparisons, constants, operators, strides, choices, names of operations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from verify.mutate.place import RANGES, Place
from verify.mutate.scope import literal
from verify.mutate.text import OPERATORS, Change
from verify.mutate.types import FLOATS, INTS, last_name

# Comparison → its weaker or stronger neighbour, and the step of the bound that gives yet another one:
# `a < n + 1` is `a <= n`, so only `a < n - 1` is new.
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], int]] = {
    ast.Lt: (ast.LtE, -1),
    ast.LtE: (ast.Lt, +1),
    ast.Gt: (ast.GtE, +1),
    ast.GtE: (ast.Gt, -1),
    ast.Eq: (ast.NotEq, +1),
    ast.NotEq: (ast.Eq, +1),
}
_OPERATORS: Mapping[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,),
    ast.Mod: (ast.FloorDiv,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
}
_SWAPPED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)
_SWAPPED_CALLS = frozenset({"idiv", "irem"})
# Name of an operation → (another of the same signature, kind).
_NAMES: Mapping[str, tuple[str, str]] = {
    "fmax": ("fmin", "minmax"),
    "fmin": ("fmax", "minmax"),
    "max": ("min", "minmax"),
    "min": ("max", "minmax"),
    "maximum": ("minimum", "minmax"),
    "minimum": ("maximum", "minmax"),
    "atomic_max": ("atomic_min", "minmax"),
    "atomic_min": ("atomic_max", "minmax"),
    "atomic_fmax": ("atomic_fmin", "minmax"),
    "atomic_fmin": ("atomic_fmax", "minmax"),
    "atomic_add": ("atomic_max", "operator"),
    "atomic_and": ("atomic_or", "operator"),
    "atomic_or": ("atomic_and", "operator"),
    "atomic_xor": ("atomic_or", "operator"),
    "shuffle_sync_bfly": ("shuffle_sync_down", "shuffle"),
    "shuffle_sync_down": ("shuffle_sync_up", "shuffle"),
    "shuffle_sync_up": ("shuffle_sync_down", "shuffle"),
    "vote_any_sync": ("vote_all_sync", "vote"),
    "vote_all_sync": ("vote_any_sync", "vote"),
}
_ROOM = frozenset({"alloc_smem", "Array"})  # what is allocated here, in elements
_SPREAD = 8  # a power of two from here on starts a sequence of halves
_ABSORBS_ONE = 2.0**24  # a float32 of this size stays what it is when one is added


def comparisons(node: ast.expr, at: Place) -> Iterator[Change]:
    """`<` for `<=`, `==` for `!=` and the like; bounds that are no literals, plus or minus one."""
    if not isinstance(node, ast.Compare):
        return
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        if type(op) in _COMPARISONS:
            other, step = _COMPARISONS[type(op)]
            if not _picks_larger(node, at):
                start, end = at.text.between(left, right, OPERATORS[type(op)])
                what = f"{OPERATORS[type(op)]} → {OPERATORS[other]}"
                yield Change(start, end, OPERATORS[other], "compare", f"{at.text.of(node)}: {what}")
            if _countable(left, at) and _countable(right, at) and not _ends_in_number(right, at):
                yield at.change(right, at.joined(right, "+" if step > 0 else "-", "1", node), "bound")
        left = right


def _picks_larger(node: ast.Compare, at: Place) -> bool:
    """`a if a > b else b`, a clamp, `if a > b: b = a`: where the two are equal, both ways give the same."""
    around = at.parent(node)
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return False
    match around:
        case ast.IfExp(test=test, body=body, orelse=other) if test is node:
            while isinstance(other, ast.IfExp):
                other = other.orelse
            picked = {at.bare(body), at.bare(other)}
        case ast.If(test=test, body=[ast.Assign(targets=[target], value=value)], orelse=[]) if test is node:
            picked = {at.bare(target), at.bare(value)}
        case _:
            return False
    return picked == {at.bare(node.left), at.bare(node.comparators[0])}


def _is_the_neighbour(node: ast.expr, step: int, at: Place) -> bool:
    """True where the step turns `a < n - 1` into what `<=` makes of it, which has been or needs no try."""
    term = at.parent(node)
    if (
        not isinstance(term, ast.BinOp)
        or term.right is not node
        or not isinstance(term.op, ast.Add | ast.Sub)
    ):
        return False
    around = at.parent(term)
    if not isinstance(around, ast.Compare) or around.comparators != [term]:
        return False
    ordered = isinstance(around.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    moved = step if isinstance(term.op, ast.Add) else -step
    return ordered and moved == -_COMPARISONS[type(around.ops[0])][1]


def _ends_in_number(node: ast.expr, at: Place) -> bool:
    """A number, or something plus or minus one: `constants` changes it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        node = node.right
    return number_of(node, at) is not None


def _countable(node: ast.expr, at: Place) -> bool:
    return not at.types.is_float(node) and not at.types.is_pointer(node)


def number_of(node: ast.expr, at: Place) -> int | float | None:
    """What a literal or a constant of the module is."""
    if isinstance(node, ast.Name):
        return at.numbers.get(node.id)
    return literal(node)


def constants(node: ast.expr, at: Place) -> Iterator[Change]:
    """Each number plus and minus one; masks also lose their lower half; truth values turn."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield at.change(node, str(not node.value), _constant_kind(node, at))
        return
    number = number_of(node, at) if isinstance(node, ast.Constant | ast.Name) else None
    if number is None:
        return
    kind = _constant_kind(node, at)
    if kind == "":
        return
    named = at.text.of(node) if isinstance(node, ast.Name) else None
    if isinstance(number, float):
        if number == 0.0 or abs(number) < _ABSORBS_ONE:
            yield at.change(node, at.joined(named, "+", "1.0", node) if named else repr(number + 1.0), kind)
        if number != 0.0:
            yield at.change(node, "0.0", kind)
        return
    for step in _steps(node, number, kind, at):
        if _is_the_neighbour(node, step, at):
            continue
        sign = "+" if step > 0 else "-"
        yield at.change(
            node, at.joined(named, sign, str(abs(step)), node) if named else str(number + step), kind
        )
    if kind == "mask" and number > 2:
        yield at.change(node, at.joined(named, ">>", "1", node) if named else hex(number >> 1), kind)


def _steps(node: ast.expr, number: int, kind: str, at: Place) -> tuple[int, ...]:
    around = at.parent(node)
    if kind == "mask":
        return (-1,)
    if isinstance(around, ast.Compare) and node in around.comparators and _countable(around.left, at):
        op = type(around.ops[around.comparators.index(node)])
        if op in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
            return (_COMPARISONS[op][1],)  # the other one is what `comparisons` does
        if number == 0:
            return (1,)  # nothing counted is below zero: that is the guard that never holds
    if isinstance(around, ast.Call):
        name = last_name(around.func)
        if number == 0 and name.startswith("Uint"):
            return (1,)
        if name in RANGES and kind == "step" and number == 1:
            return (1,)
    if kind == "room" or (kind == "stride" and _is_own_shape(around, at)):
        return (-1,) if number > 1 else ()  # more changes nothing
    if kind == "init" and number >= _SPREAD and number & (number - 1) == 0:
        return (-1, -number // 2)  # 17 spreads a butterfly's lanes as 16 does
    divides = isinstance(around, ast.BinOp) and isinstance(around.op, ast.FloorDiv | ast.Mod | ast.Div)
    if divides and number == 1 and node is not around.left:  # type: ignore[attr-defined]
        return (1,)  # not by zero
    return (1, -1)


def _constant_kind(node: ast.expr, at: Place) -> str:
    """What the number is there for; "" where changing it changes nothing."""
    around = at.parent(node)
    outer = at.parent(around) if around is not at.function else around
    if not isinstance(around, ast.Tuple | ast.keyword) and any(
        isinstance(n, ast.Call) and last_name(n.func) in _ROOM for n in (around, outer)
    ):
        return "room"
    if isinstance(around, ast.UnaryOp):
        around, outer = outer, at.parent(outer) if outer is not at.function else outer
    match around:
        case ast.keyword(arg="mask" | "membermask"):
            return "mask"
        case ast.keyword(arg="shape"):
            return ""  # of one dimension: no address depends on it
        case ast.Tuple() if _is_shape(around, at):
            return "" if around.elts[0] is node else "stride"
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
            return "mask"
        case ast.BinOp(op=ast.Mult()):
            return "constant" if isinstance(number_of(node, at), float) else "stride"
        case ast.Compare():
            return "bound"
        case ast.Call(func=func):
            name = last_name(func)
            if name in RANGES:
                return "step" if len(around.args) == 3 and around.args[2] is node else "bound"
            if name.startswith("shuffle_sync"):
                return "shuffle"
            if name in (*INTS, *FLOATS):
                return _cast_kind(around, outer, at)
    if isinstance(outer, ast.Assign) and _is_increment(outer, at):
        return "step"
    return "constant"


def _cast_kind(cast: ast.Call, outer: ast.AST, at: Place) -> str:
    """The kind of T(number), by where that stands."""
    match outer:
        case ast.Assign(targets=[ast.Name(id=name)]) if at.changes_later(name):
            return "init"
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor()):
            return "mask"
        case ast.BinOp(op=ast.Mult()):
            return "stride"
        case ast.Compare():
            return "bound"
        case ast.Call(func=func) if last_name(func).startswith("shuffle_sync"):
            return "shuffle"
    return "constant"


def _is_shape(node: ast.AST, at: Place) -> bool:
    if not isinstance(node, ast.Tuple):
        return False
    around = at.parent(node)
    if isinstance(around, ast.keyword):
        return around.arg == "shape"
    return isinstance(around, ast.Call) and last_name(around.func) == "Array"


def _is_own_shape(node: ast.AST, at: Place) -> bool:
    """The shape of an array of a thread's own, which gets the room that its shape asks for."""
    if not _is_shape(node, at):
        return False
    call = at.parent(node)
    return isinstance(call, ast.Call) and len(call.args) == 2 and last_name(call.args[0]) in (*INTS, *FLOATS)


def _is_increment(assign: ast.Assign, at: Place) -> bool:
    """`i = i + e` in a loop whose condition mentions i."""
    match assign:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same))) if name == same:
            loop = next((n for n in at.enclosing(assign) if isinstance(n, ast.While)), None)
            return loop is not None and any(
                isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop.test)
            )
    return False


def operators(node: ast.expr, at: Place) -> Iterator[Change]:
    """`+` for `-`, `*` for `+`, `&` for `|` and the like; operands exchanged; factors plus one."""
    if not isinstance(node, ast.BinOp):
        return
    left, right, old = node.left, node.right, OPERATORS.get(type(node.op), "")
    number = number_of(right, at)
    for other in _OPERATORS.get(type(node.op), ()):
        if other is ast.Mult and (at.types.is_pointer(left) or at.types.is_pointer(right)):
            continue
        if number == 0 and isinstance(node.op, ast.Add | ast.Sub | ast.LShift | ast.RShift):
            continue  # the same with either sign
        if number == 1 and other is ast.Mult and isinstance(node.op, ast.Add):
            continue  # the same as adding 0, which `constants` does
        new = at.joined(left, OPERATORS[other], right, node)
        yield at.change(node, new, "operator", f"{at.text.of(node)}: {old} → {OPERATORS[other]}")
    fixed = number is not None or number_of(left, at) is not None
    if isinstance(node.op, _SWAPPED) and not fixed:
        yield at.change(node, at.joined(right, old, left, node), "swap")
    if isinstance(node.op, ast.Mult) and not fixed and at.types.of(node) in INTS:
        yield at.change(right, at.joined(right, "+", "1", right), "stride")
    match node:
        case ast.BinOp(left=ast.BinOp(left=a, op=ast.Mult(), right=b), op=ast.Add(), right=c):
            same = ast.dump(a) == ast.dump(c)
            if at.types.of(node) in INTS and literal(a) is None and literal(c) is None and not same:
                product = f"{at.text.operand(c)} * {at.text.operand(b)}"
                yield at.change(node, at.joined(product, "+", a, node), "swap")


def conditions(node: ast.expr, at: Place) -> Iterator[Change]:
    """Parts of `and` and `or` dropped; `and` for `or`; the condition of a choice always or never so."""
    if isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        other = "or" if word == "and" else "and"
        parts = [at.text.operand(v) for v in node.values]
        yield at.change(node, at.enclosed(f" {other} ".join(parts), node), "operator")
        for k, part in enumerate(parts):
            left = parts[:k] + parts[k + 1 :]
            rest = at.enclosed(f" {word} ".join(left), node) if len(left) > 1 else left[0]
            yield at.change(node, rest, "guard" if word == "and" else "tail", f"without {part}")
    elif isinstance(node, ast.IfExp) and not isinstance(node.test, ast.Constant):
        yield at.change(node.test, "True", "guard")
        yield at.change(node.test, "False", "tail")
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and literal(node.operand) is None:
            yield at.change(node, at.text.operand(node.operand), "sign")
        elif isinstance(node.op, ast.Not | ast.Invert):
            yield at.change(node, at.text.operand(node.operand), "operator")


def names(node: ast.expr, at: Place) -> Iterator[Change]:
    """Another operation of the same signature; index operands exchanged."""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _NAMES:
            other, kind = _NAMES[name]
            end = at.text.span(node.func)[1]
            yield Change(end - len(name.encode()), end, other, kind, f"{name} → {other}")
        if name in _SWAPPED_CALLS and len(node.args) == 2 and not _number_like(node.args[1], at):
            yield _exchanged(node.args[0], node.args[1], at, "swap")
        if name in RANGES:
            yield from _range_bounds(node, at)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
        first, second = node.slice.elts[:2]
        if ast.dump(first) != ast.dump(second):
            yield _exchanged(first, second, at, "swap")


def _number_like(node: ast.expr, at: Place) -> bool:
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return number_of(node, at) is not None


def _range_bounds(call: ast.Call, at: Place) -> Iterator[Change]:
    for k, bound in enumerate(call.args[:2]):
        if number_of(bound, at) is None:
            only = len(call.args) == 1
            for sign in "+-" if only or k == 1 else "+":
                yield at.change(bound, at.joined(bound, sign, "1", bound), "bound")


def _exchanged(first: ast.expr, second: ast.expr, at: Place, kind: str) -> Change:
    """Two nodes that follow one another change places."""
    (start, middle), (late, end) = at.text.span(first), at.text.span(second)
    gap = at.text.raw[middle:late].decode()
    new = at.text.of(second) + gap + at.text.of(first)
    return Change(start, end, new, kind, f"{at.text.of(first)} ↔ {at.text.of(second)}")


RULES: tuple[Callable[[ast.expr, Place], Iterator[Change]], ...] = (
    comparisons,
    constants,
    operators,
    conditions,
    names,
)
