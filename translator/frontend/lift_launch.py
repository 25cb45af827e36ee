"""Launches of a kernel: grid, block, shared memory, arguments, and what the host allocated for pointers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clang.cindex import CursorKind as K

from translator.diag.diagnostic import NOWHERE
from translator.frontend import ast, clang
from translator.frontend.host import HostIndex, Place, RawLaunch, index_of, key_of, strip
from translator.frontend.host_expr import Lifter, Node, Num, Opaque, show, value
from translator.frontend.host_python import Parameters, host_expr, identity
from translator.frontend.host_struct import field_values
from translator.frontend.lift_allocation import allocation_of
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
        shared_bytes=host_expr(Num(0) if shared is None else lifter.lift(shared, raw.at), given),
        stream="" if stream is None else show(lifter.lift(stream, raw.at), resolve=False),
        args=tuple(show(a, resolve=False) for a in args),
        arg_values=tuple(value(a) for a in args),
        arg_fields=tuple(
            field_values(lifter, a, p.type, raw.at) for p, a in zip(params, raw.args, strict=False)
        ),
        arg_same=_same(args),
        allocations=tuple(
            allocation_of(lifter, index, p, a, raw.at, given) for p, a in zip(params, raw.args, strict=False)
        ),
        span=clang.span_of(raw.cursor),
        cooperative=raw.cooperative,
    )


def _same(args: Sequence[Node]) -> tuple[int, ...]:
    """For each argument the number of the first of the same value; constants, which say nothing, have their
    own."""
    told = [identity(a) if value(a) is None else f"#{k}" for k, a in enumerate(args)]
    return tuple(told.index(t) for t in told)


def _axes(
    lifter: Lifter, cursor: Cursor | None, at: Place, given: Parameters
) -> tuple[HostExpr, HostExpr, HostExpr]:
    axes = None if cursor is None else lifter.dim3(cursor, at)
    if axes is None:
        text = "" if cursor is None else show(lifter.lift(cursor, at), resolve=False)
        x, y, z = (host_expr(Opaque(f"{text}.{axis}"), given) for axis in "xyz")
    else:
        x, y, z = (host_expr(node, given) for node in axes)
    return x, y, z


def written_by_host(index: HostIndex, variables: tuple[Global, ...]) -> tuple[Global, ...]:
    """The globals, those marked that a cudaMemcpyToSymbol of the unit fills."""
    filled = {key.rpartition(":")[2] for key in index.symbols}
    return tuple(replace(g, written_by_host=True) if g.var.name in filled else g for g in variables)
