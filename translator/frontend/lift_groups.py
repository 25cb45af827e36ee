"""Cooperative groups of threads of one block, in terms of thread indices, barriers and warp shuffles.

Groups have no fields in the model: a block and its tiles of 32 or fewer threads are known by their type.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from translator.diag.diagnostic import Span
from translator.frontend import ast, lift_call, lift_expr
from translator.frontend.convert import convert
from translator.frontend.lift_types import GROUP_OPERATIONS, GROUPS
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Callee, Scope
from translator.model.expr import (
    Assign,
    Binary,
    Call,
    Conditional,
    Construct,
    Expr,
    Intrinsic,
    Special,
    VarRef,
)
from translator.model.expr import Literal as Constant
from translator.model.kernel import Function
from translator.model.stmt import Decl, ExprStmt, For, Return
from translator.model.types import BOOL, I32, U32, U64, VOID, Scalar, Struct, Type

_TILE = re.compile(r"cooperative_groups::thread_block_tile<(\d+)")
_NAMES = {"plus": "sum", "less": "min", "greater": "max", "bit_and": "and", "bit_or": "or", "bit_xor": "xor"}
_SYMBOLS = {"plus": "+", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}

Axis = Literal["x", "y", "z"]
Base = Literal["threadIdx", "blockIdx", "blockDim", "gridDim"]
_AXES: tuple[Axis, ...] = ("x", "y", "z")


def call(scope: Scope, c: Any, target: Any) -> Expr:
    """A function or method of cooperative groups. Raises LiftError for what has no counterpart."""
    name = target.spelling
    span = ast.span(c)
    args = lift_call.arguments(c)
    if target._kind_id == ast.CXX_METHOD:
        if name.startswith("operator"):
            raise LiftError("CP1120", c, name=f"{name} of {target.semantic_parent.spelling}")
        return _method(scope, c, name, _object_type(scope, c), args, span)
    if name in ("this_thread_block", "this_grid", "tiled_partition"):
        t = scope.type_of(c)
        if isinstance(t, Struct) and not t.fields:
            return Construct(t, (), span)
    if name == "sync" and args:
        return _method(scope, c, "sync", scope.type_of(args[0]), [], span)
    if name == "reduce" and len(args) == 3:
        return _reduce(scope, c, args, span)
    raise LiftError("CP1120", c, name=name)


def _object_type(scope: Scope, c: Any) -> Type:
    callee = ast.operand_children(c)[0]
    while callee._kind_id in (ast.UNEXPOSED_EXPR, ast.PAREN_EXPR):
        callee = ast.operand_children(callee)[-1]
    inner = ast.operand_children(callee)
    if not inner:
        raise LiftError("CP1120", c, name=callee.spelling)
    return lift_expr.object_at(scope, inner[0]).type


def _method(scope: Scope, c: Any, name: str, group: Type, args: list[Any], span: Span) -> Expr:
    tile = _TILE.match(str(group))
    if tile:
        return _tile_method(scope, c, name, int(tile.group(1)), args, span)
    methods = {f"{GROUPS}thread_block": _block_method, f"{GROUPS}grid_group": _grid_method}
    method = methods.get(str(group))
    made = method(scope, name, span) if method is not None else None
    if made is None:
        raise LiftError("CP1120", c, name=f"{name}() of {str(group).removeprefix(GROUPS)}")
    t = scope.type_of(c)
    if isinstance(made, tuple) and isinstance(t, Struct):
        return Construct(t, made, span)
    assert not isinstance(made, tuple)
    return made if t == VOID else convert(made, t, span)


def _block_method(scope: Scope, name: str, span: Span) -> Expr | tuple[Expr, ...] | None:
    if name == "sync":
        return Intrinsic("__syncthreads", (), VOID, span)
    if name == "thread_rank":
        return thread_rank(scope, span)
    if name in ("size", "num_threads"):
        return _count("blockDim", span)
    triples: dict[str, Base] = {
        "group_index": "blockIdx",
        "thread_index": "threadIdx",
        "group_dim": "blockDim",
        "dim_threads": "blockDim",
    }
    return _three(triples[name], span) if name in triples else None


def _grid_method(scope: Scope, name: str, span: Span) -> Expr | tuple[Expr, ...] | None:
    if name == "block_rank":
        return _rank("blockIdx", "gridDim", span)
    if name == "num_blocks":
        return _count("gridDim", span)
    if name in ("group_dim", "dim_blocks"):
        return _three("gridDim", span)
    in_block = convert(_count("blockDim", span), U64, span)
    if name in ("size", "num_threads"):
        return _op("*", convert(_count("gridDim", span), U64, span), in_block, span)
    if name == "thread_rank":
        block = convert(_rank("blockIdx", "gridDim", span), U64, span)
        return _op("+", _op("*", block, in_block, span), convert(thread_rank(scope, span), U64, span), span)
    return None


def _op(op: str, a: Expr, b: Expr, span: Span) -> Expr:
    return Binary(op, a, b, a.type, span)


def _number(value: int, span: Span, t: Scalar = U32) -> Expr:
    return Constant(value, t, span)


def _three(base: Base, span: Span) -> tuple[Expr, ...]:
    return tuple(Special(base, a, U32, span) for a in _AXES)


def _rank(index: Base, extent: Base, span: Span) -> Expr:
    """The index of a thread in its block, or of a block in the grid, x fastest."""
    x, y, z = _three(index, span)
    nx, ny, _ = _three(extent, span)
    return _op("+", x, _op("*", nx, _op("+", y, _op("*", ny, z, span), span), span), span)


def _count(extent: Base, span: Span) -> Expr:
    x, y, z = _three(extent, span)
    return _op("*", _op("*", x, y, span), z, span)


# ---- what groups are made of, as functions of the model so that a port reads well


def _helper(scope: Scope, symbol: str, t: Type, value: Expr, span: Span) -> Expr:
    """A call of a function without parameters that gives `value`, made on first use."""
    functions = scope.lifting.functions
    key = ("group", symbol)
    if key not in functions:
        name = scope.lifting.symbol(symbol)
        functions[key] = Callee(Function(name, name, (), t, (Return(value, span),), span))
    return Call(functions[key].function.symbol, (), t, span)


def thread_rank(scope: Scope, span: Span) -> Expr:
    """The thread's index in its block, u32."""
    return _helper(scope, "block_thread_rank", U32, _rank("threadIdx", "blockDim", span), span)


def _first_lane(scope: Scope, size: int, span: Span) -> Expr:
    """The lane of the first thread of the caller's tile."""
    lane = _op("%", thread_rank(scope, span), _number(32, span), span)
    rounded = _op("-", lane, _op("%", lane, _number(size, span), span), span)
    return _helper(scope, f"tile{size}_first_lane", U32, rounded, span)


def _mask(scope: Scope, size: int, span: Span) -> Expr:
    """The lanes of the caller's tile."""
    if size == 32:
        return _number(0xFFFFFFFF, span)
    lanes = _op("<<", _number((1 << size) - 1, span), _first_lane(scope, size, span), span)
    return _helper(scope, f"tile{size}_mask", U32, lanes, span)


_SHUFFLES = {
    "shfl": ("__shfl_sync", I32),
    "shfl_xor": ("__shfl_xor_sync", I32),
    "shfl_up": ("__shfl_up_sync", U32),
    "shfl_down": ("__shfl_down_sync", U32),
}


def _tile_method(scope: Scope, c: Any, name: str, size: int, args: list[Any], span: Span) -> Expr:
    width = _number(size, span)
    if name == "thread_rank":
        return _op("%", thread_rank(scope, span), width, span)
    if name in ("size", "num_threads"):
        return width
    if name == "meta_group_rank":
        return _op("/", thread_rank(scope, span), width, span)
    if name == "meta_group_size":
        return _op("/", _op("+", _count("blockDim", span), _number(size - 1, span), span), width, span)
    if name == "sync":
        return Intrinsic("__syncwarp", (_mask(scope, size, span),), VOID, span)
    if name in _SHUFFLES and len(args) == 2:
        function, offset_type = _SHUFFLES[name]
        t = scope.type_of(c)
        value = lift_expr.value_of(scope, args[0], t)
        offset = convert(lift_expr.lift(scope, args[1]), offset_type, span)
        return Intrinsic(
            function, (_mask(scope, size, span), value, offset, _number(size, span, I32)), t, span
        )
    if name in ("any", "all", "ballot") and len(args) == 1:
        test = lift_expr.value_of(scope, args[0], I32)
        if name != "ballot":
            return Intrinsic(f"__{name}_sync", (_mask(scope, size, span), test), I32, span)
        votes = Intrinsic("__ballot_sync", (_mask(scope, size, span), test), U32, span)
        return votes if size == 32 else _op(">>", votes, _first_lane(scope, size, span), span)
    raise LiftError("CP1120", c, name=f"{name}() of a tile of {size}")


def _reduce(scope: Scope, c: Any, args: list[Any], span: Span) -> Expr:
    """`reduce(tile, value, op)`: a call of a butterfly over the tile, made once per type and operation."""
    tile = _TILE.match(str(scope.type_of(args[0])))
    operation = str(scope.type_of(args[2])).removeprefix(GROUPS).split("<")[0]
    t = scope.type_of(c)
    if tile is None or operation not in GROUP_OPERATIONS or not isinstance(t, Scalar) or t == BOOL:
        raise LiftError("CP1120", c, name="reduce over this group, type or operation")
    size = int(tile.group(1))
    value = lift_expr.value_of(scope, args[1], t)
    key = ("reduce", operation, t, size)
    functions = scope.lifting.functions
    if key not in functions:
        functions[key] = Callee(_butterfly(scope, operation, t, size, span))
    return Call(functions[key].function.symbol, (value,), t, span)


def _butterfly(scope: Scope, operation: str, t: Scalar, size: int, span: Span) -> Function:
    lifting = scope.lifting
    mask = _mask(scope, size, span)
    symbol = lifting.symbol(f"tile{size}_{_NAMES[operation]}_{t.name}")
    value = lifting.new_var("value", t, "param", span=span)
    offset = lifting.new_var("offset", I32, span=span)
    other = lifting.new_var("other", t, span=span)
    here, step, there = VarRef(value, span), VarRef(offset, span), VarRef(other, span)
    shuffle = Intrinsic("__shfl_xor_sync", (mask, here, step, _number(size, span, I32)), t, span)
    combined: Expr
    if operation in _SYMBOLS:
        combined = Binary(_SYMBOLS[operation], here, there, t, span)
    else:
        a, b = (there, here) if operation == "less" else (here, there)
        combined = Conditional(Binary("<", a, b, BOOL, span), there, here, t, span)
    loop = For(
        (Decl(offset, _number(size // 2, span, I32), span),),
        Binary(">", step, _number(0, span, I32), BOOL, span),
        Assign(step, ">>", _number(1, span, I32), I32, span, I32),
        (Decl(other, shuffle, span), ExprStmt(Assign(here, "", combined, t, span), span)),
        0,
        span,
    )
    return Function(symbol, symbol, (value,), t, (loop, Return(here, span)), span)
