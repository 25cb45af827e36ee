"""Launches of a kernel: grid, block, shared memory, arguments, and what the host allocated for pointers."""

from __future__ import annotations

from dataclasses import replace

from clang.cindex import CursorKind as K

from translator.diag.diagnostic import NOWHERE
from translator.frontend import ast, clang
from translator.frontend.host import HostIndex, Place, RawLaunch, index_of, key_of, strip
from translator.frontend.host_expr import Lifter, Node, Num, Op, Opaque, show, value
from translator.frontend.host_python import Parameters, elements, python
from translator.frontend.host_struct import field_values
from translator.frontend.relations import Cursor
from translator.model.kernel import Global, HostExpr, Launch


def launches_of(unit: clang.Unit, kernel: Cursor) -> tuple[Launch, ...]:
    """Launches of exactly this kernel (this instantiation), in source order; equal ones once."""
    index = index_of(unit)
    lifter = Lifter(unit, index)
    usr = kernel.get_usr()
    found: list[Launch] = []
    plain: set[Launch] = set()
    for raw in index.launches:
        if usr not in _kernels(raw.callee, index):
            continue
        launch = _lift(lifter, index, raw, kernel)
        bare = replace(launch, span=NOWHERE)
        if bare not in plain:
            plain.add(bare)
            found.append(launch)
    return tuple(found)


def _kernels(callee: Cursor, index: HostIndex) -> set[str]:
    """USRs of the kernels a callee may be: itself, or all values given to a function pointer."""
    if callee.kind not in (K.VAR_DECL, K.PARM_DECL):
        return {callee.get_usr()}
    found: set[str] = set()
    values = [w.value for w in index.writes.get(key_of(callee) or "", [])]
    if callee.kind == K.PARM_DECL:
        function = callee.semantic_parent
        names = [p.spelling for p in function.get_arguments()]
        if callee.spelling in names:
            position = names.index(callee.spelling)
            sites = index.calls.get(function.get_usr(), [])
            values += [args[position] for args, _ in sites if position < len(args)]
    for given in values:
        inner = None if given is None else strip(given, casts=True)
        if inner is not None and inner.kind == K.UNARY_OPERATOR:
            inner = strip(next(iter(ast.children(inner))), casts=True)
        if inner is not None and inner.referenced is not None and inner.referenced.kind == K.FUNCTION_DECL:
            found.add(inner.referenced.get_usr())
    return found


def _lift(lifter: Lifter, index: HostIndex, raw: RawLaunch, kernel: Cursor) -> Launch:
    params = list(kernel.get_arguments())
    args = [lifter.lift(a, raw.at) for a in raw.args]
    given = Parameters.of([p.spelling for p in params], args)
    grid, block, shared, stream = raw.config
    return Launch(
        grid=_axes(lifter, grid, raw.at, given),
        block=_axes(lifter, block, raw.at, given),
        shared_bytes=_expr(Num(0) if shared is None else lifter.lift(shared, raw.at), given),
        stream="" if stream is None else show(lifter.lift(stream, raw.at), resolve=False),
        args=tuple(show(a, resolve=False) for a in args),
        arg_values=tuple(value(a) for a in args),
        arg_fields=tuple(
            field_values(lifter, a, p.type, raw.at) for p, a in zip(params, raw.args, strict=False)
        ),
        buffer_elements=tuple(
            _elements(lifter, index, p, a, raw.at, given) for p, a in zip(params, raw.args, strict=False)
        ),
        span=clang.span_of(raw.cursor),
    )


def _expr(node: Node, given: Parameters) -> HostExpr:
    known = value(node)
    return HostExpr(show(node), int(known) if known is not None else None, python(node, given))


def _axes(
    lifter: Lifter, cursor: Cursor | None, at: Place, given: Parameters
) -> tuple[HostExpr, HostExpr, HostExpr]:
    axes = None if cursor is None else lifter.dim3(cursor, at)
    if axes is None:
        text = "" if cursor is None else show(lifter.lift(cursor, at), resolve=False)
        x, y, z = (_expr(Opaque(f"{text}.{axis}"), given) for axis in "xyz")
    else:
        x, y, z = (_expr(node, given) for node in axes)
    return x, y, z


def _elements(
    lifter: Lifter, index: HostIndex, param: Cursor, arg: Cursor, at: Place, given: Parameters, depth: int = 0
) -> HostExpr | None:
    """How many elements of the parameter's pointee the host allocated for this argument."""
    pointee = param.type.get_canonical().get_pointee()
    item = pointee.get_size()
    inner = strip(arg, casts=True)
    if item <= 0 or depth > 8:
        return None
    if inner.kind == K.UNARY_OPERATOR and ast.unary_operator(inner) == "&":
        return None
    if inner.kind == K.CALL_EXPR and inner.spelling == "data":
        return _vector(lifter, index, inner, at, given)
    key = key_of(inner)
    if key is None:
        return None
    made = index.allocation(key, at)
    if made is None or made.value is None:
        return _elsewhere(lifter, index, param, inner, at, given, depth)
    source = made.value
    if source.kind == K.CXX_NEW_EXPR:
        counts = [c for c in ast.children(source) if c.kind.is_expression()]
        if not counts:
            return HostExpr("1", 1, "1")
        size = source.type.get_canonical().get_pointee().get_size()
        count = lifter.lift(counts[0], made.at)
        return _expr(count if size == item else _scaled(count, size, item, given), given)
    return _expr(elements(lifter.lift(source, made.at), item, given), given)


def _scaled(count: Node, size: int, item: int, given: Parameters) -> Node:
    return elements(Op("*", (count, Num(size))), item, given)


def _elsewhere(
    lifter: Lifter, index: HostIndex, param: Cursor, inner: Cursor, at: Place, given: Parameters, depth: int
) -> HostExpr | None:
    """A pointer that was copied from another, or passed to the launching function by its one caller."""
    declaration = inner.referenced
    if declaration is None:
        return None
    if declaration.kind == K.PARM_DECL:
        passed = lifter.passed(declaration)
        return None if passed is None else _elements(lifter, index, param, *passed, given, depth + 1)
    key = key_of(inner)
    write = index.reaching(key, at) if key else None
    if write is None or write.value is None or key_of(strip(write.value, casts=True)) is None:
        return None
    return _elements(lifter, index, param, write.value, write.at, given, depth + 1)


def _vector(lifter: Lifter, index: HostIndex, call: Cursor, at: Place, given: Parameters) -> HostExpr | None:
    """`v.data()` of a `std::vector` made with a length."""
    member = next(iter(ast.children(call)), None)
    owner = next(iter(ast.children(member)), None) if member is not None else None
    key = key_of(owner) if owner is not None else None
    writes = index.writes.get(key or "", [])
    if len(writes) != 1 or writes[0].value is None:
        return None
    made = strip(writes[0].value)
    args = list(made.get_arguments()) if made.kind == K.CALL_EXPR else []
    return _expr(lifter.lift(args[0], writes[0].at), given) if args else None


def written_by_host(index: HostIndex, variables: tuple[Global, ...]) -> tuple[Global, ...]:
    """The globals, those marked that a cudaMemcpyToSymbol of the unit fills."""
    filled = {key.rpartition(":")[2] for key in index.symbols}
    return tuple(replace(g, written_by_host=True) if g.var.name in filled else g for g in variables)
