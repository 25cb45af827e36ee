"""What the host allocated for a pointer that it passes to a kernel, in elements of what that points to."""

from __future__ import annotations

from clang.cindex import CursorKind as K

from translator.frontend import ast, clang
from translator.frontend.host import HostIndex, Place, Write, key_of, strip
from translator.frontend.host_expr import Lifter, Node, Num, Op
from translator.frontend.host_python import Parameters, elements, host_expr
from translator.frontend.relations import Cursor
from translator.model.kernel import Allocation

_DEPTH = 8  # copies of a pointer, and functions it is passed through


def allocation_of(
    lifter: Lifter, index: HostIndex, param: Cursor, arg: Cursor, at: Place, given: Parameters, depth: int = 0
) -> Allocation | None:
    """The allocation behind argument `arg` of parameter `param` in a launch at `at`; None if not seen."""
    item = param.type.get_canonical().get_pointee().get_size()
    inner = strip(arg, casts=True)
    if item <= 0 or depth > _DEPTH:
        return None
    if (owner := _owner(inner)) is not None:
        return _vector(lifter, index, owner, item, given)
    if inner.kind in (K.UNARY_OPERATOR, K.CALL_EXPR):
        return None
    if (room := inner.type.get_canonical().get_array_size()) > 0 and inner.kind == K.DECL_REF_EXPR:
        size = inner.type.get_canonical().element_type.get_size() * room
        return Allocation(host_expr(Num(size // item), given), True, clang.span_of(inner.referenced))
    key = key_of(inner)
    if key is None:
        return None
    made = index.allocation(key, at)
    if made is None or made.value is None:
        return _elsewhere(lifter, index, param, inner, at, given, depth)
    counted = host_expr(_count(lifter, made, item, given), given)
    others = [w for w in index.allocations.get(key, []) if w is not made]
    same = all(host_expr(_count(lifter, w, item, given), given) == counted for w in others)
    certain = (same or index.surely(made, at)) and not index.changed(key, made, at)
    return Allocation(counted, certain, clang.span_of(made.value), index.zeroed(key, at))


def _count(lifter: Lifter, made: Write, item: int, given: Parameters) -> Node:
    """Elements of `item` bytes in an allocation: a byte count, or a `new`."""
    source = made.value
    assert source is not None
    if source.kind != K.CXX_NEW_EXPR:
        return elements(lifter.lift(source, made.at), item, given)
    counts = [c for c in ast.children(source) if c.kind.is_expression()]
    if not counts:
        return Num(1)
    size = source.type.get_canonical().get_pointee().get_size()
    count = lifter.lift(counts[0], made.at)
    return count if size == item else elements(Op("*", (count, Num(size))), item, given)


def _elsewhere(
    lifter: Lifter, index: HostIndex, param: Cursor, inner: Cursor, at: Place, given: Parameters, depth: int
) -> Allocation | None:
    """A pointer that was copied from another, or passed to the launching function by its one caller."""
    declaration = inner.referenced
    if declaration is None:
        return None
    if declaration.kind == K.PARM_DECL:
        passed = lifter.passed(declaration)
        return None if passed is None else allocation_of(lifter, index, param, *passed, given, depth + 1)
    key = key_of(inner)
    write = index.reaching(key, at) if key else None
    if write is None or write.value is None or key_of(strip(write.value, casts=True)) is None:
        return None
    return allocation_of(lifter, index, param, write.value, write.at, given, depth + 1)


def _vector(
    lifter: Lifter, index: HostIndex, owner: Cursor, item: int, given: Parameters
) -> Allocation | None:
    """The elements of a `std::vector` or `thrust::device_vector` made with a length that stays its length."""
    key = key_of(owner)
    writes = index.writes.get(key or "", [])
    if len(writes) != 1 or writes[0].value is None:
        return None
    made = strip(writes[0].value)
    args = list(made.get_arguments()) if made.kind == K.CALL_EXPR else []
    size = made.type.get_canonical().get_template_argument_type(0).get_size()
    if not args or size != item:
        return None
    return Allocation(host_expr(lifter.lift(args[0], writes[0].at), given), True, clang.span_of(made))


def _owner(arg: Cursor) -> Cursor | None:
    """`v` of `v.data()`, `&v[0]` and a `raw_pointer_cast` of these."""
    inner = strip(arg, casts=True)
    parts = ast.children(inner)
    if inner.kind == K.CALL_EXPR and inner.spelling == "raw_pointer_cast":
        given = list(inner.get_arguments())
        return _owner(given[0]) if len(given) == 1 else None
    if inner.kind == K.CALL_EXPR and inner.spelling == "data" and parts:
        return next(iter(ast.children(parts[0])), None)
    if inner.kind == K.UNARY_OPERATOR and ast.unary_operator(inner) == "&" and parts:
        element = strip(parts[0])
        picked = list(element.get_arguments()) if element.kind == K.CALL_EXPR else []
        if element.spelling == "operator[]" and len(picked) == 2 and ast.evaluate(picked[1]) == 0:
            return picked[0]
    return None
