"""Names declared outside the function: `__constant__` and `__device__` variables, file-scope shared
arrays, and constants that the compiler can compute."""

from __future__ import annotations

from typing import Any

from clang.cindex import StorageClass

from translator.frontend import ast
from translator.frontend.convert import wrap
from translator.frontend.lift_types import is_const, is_reference
from translator.frontend.refusal import LiftError
from translator.frontend.scope import Lifting, Scope
from translator.model.expr import Construct, Expr, Literal, Storage, Var, VarRef
from translator.model.kernel import Global
from translator.model.types import BOOL, I32, Array, Pointer, Scalar, Struct, Type, leaf_scalars


def reference(scope: Scope, c: Any, declaration: Any) -> Expr:
    """What the name of a variable that is not local stands for."""
    span = ast.span(c)
    if declaration.data[0] in scope.refused:
        raise LiftError("")
    if "(lambda at" in declaration.type.get_canonical().spelling:
        t = scope.type_of(declaration)
        assert isinstance(t, Struct)
        return Construct(t, (), span)
    if declaration._kind_id == ast.PARM_DECL or not ast.has_global_storage(declaration):
        raise LiftError("CP1122", c, what=f"it captures {c.spelling}")
    if declaration.spelling == "warpSize":
        return Literal(32, I32, span, "warpSize")
    storage = _storage(declaration)
    if storage in ("shared", "dynamic_shared"):
        return VarRef(_shared(scope, declaration, storage), span)
    t = scope.type_of(declaration)
    if storage is None and isinstance(t, Scalar) and not is_reference(declaration.type):
        value = ast.evaluate(declaration)
        if isinstance(value, int | float):
            return Literal(_typed(value, t), t, span, declaration.spelling)
    return VarRef(_global(scope.lifting, declaration, storage or "constant", t), span)


def _typed(value: int | float, t: Scalar) -> int | float | bool:
    if t == BOOL:
        return bool(value)
    return float(value) if t.is_float else int(value)


def _storage(declaration: Any) -> Storage | None:
    kinds = {x._kind_id for x in ast.children(declaration)}
    if ast.CUDASHARED_ATTR in kinds:
        return "dynamic_shared" if declaration.storage_class == StorageClass.EXTERN else "shared"
    if ast.CUDACONSTANT_ATTR in kinds:
        return "constant"
    return "device" if ast.CUDADEVICE_ATTR in kinds else None


def _shared(scope: Scope, declaration: Any, storage: Storage) -> Var:
    """A shared variable of file scope: declared once in the model, and at the top of each user."""
    known = scope.lifting.global_vars
    key = declaration.canonical.data[0]
    if key not in known:
        known[key] = scope.lifting.new_var(
            declaration.spelling, scope.type_of(declaration), storage, span=ast.span(declaration)
        )
    if known[key] not in scope.hoisted:
        scope.hoisted.append(known[key])
    return known[key]


def _global(lifting: Lifting, declaration: Any, storage: Storage, t: Type) -> Var:
    definition = declaration.get_definition() or declaration
    key = declaration.canonical.data[0]
    if key in lifting.globals:
        return lifting.globals[key].var
    if is_reference(declaration.type):
        raise LiftError("CP1129", declaration, what=f"an object of file scope: {declaration.spelling}")
    var = lifting.new_var(
        declaration.spelling,
        t,
        storage,
        const=is_const(declaration.type) or storage == "constant",
        span=ast.span(declaration),
    )
    lifting.checked[key] = (declaration.spelling, definition)
    lifting.globals[key] = Global(var, initial_values(definition, t, declaration.spelling))
    return var


def initial_values(declaration: Any, t: Type, name: str) -> tuple[int | float, ...] | None:
    """The leaves of a variable's constant initialiser in order; None if it has none or is all zero."""
    init = ast.var_initializer(declaration)
    if init is None:
        return None
    if isinstance(t, Scalar | Pointer):
        value = ast.evaluate(declaration)
        if not isinstance(value, int | float):
            raise LiftError("CP1132", declaration, name=name)
        return None if value == 0 else (value,)
    leaves = leaf_scalars(t)
    if leaves is None:
        raise LiftError("CP1132", declaration, name=name)
    values: list[int | float] = []
    _flatten(init, t, values, name)
    values += [0] * (len(leaves) - len(values))
    return tuple(values) if any(values) else None


def _flatten(c: Any, t: Type, values: list[int | float], name: str) -> None:
    """Append the leaves of initialiser `c` of an object of type `t`, zeros where it is silent."""
    while c._kind_id in (ast.PAREN_EXPR, ast.UNEXPOSED_EXPR) and not isinstance(t, Scalar | Pointer):
        inner = ast.operand_children(c)
        if len(inner) != 1:
            break
        c = inner[0]
    if isinstance(t, Scalar | Pointer):
        value = ast.evaluate(c)
        if not isinstance(value, int | float):
            raise LiftError("CP1132", c, name=name)
        is_integer = isinstance(t, Scalar) and t.is_integer and t != BOOL
        values.append(wrap(int(value), t) if is_integer and isinstance(t, Scalar) else value)
        return
    size = len(leaf_scalars(t) or ())
    start = len(values)
    if c._kind_id == ast.INIT_LIST_EXPR:
        _flatten_list(list(ast.operand_children(c)), t, values, name)
    elif c._kind_id == ast.CALL_EXPR and not list(c.get_arguments()):
        pass  # value-initialised by a trivial constructor
    else:
        raise LiftError("CP1132", c, name=name)
    values += [0] * (start + size - len(values))


def _flatten_list(items: list[Any], t: Type, values: list[int | float], name: str) -> None:
    """Consume items for the elements of `t`; inner braces may be left out."""
    parts: list[Type] = [t.of] * (t.count or 0) if isinstance(t, Array) else []
    if isinstance(t, Struct):
        parts = [f.type for f in t.fields]
        if items and ast.designated(items[0]):
            by_name = dict(filter(None, map(ast.designated, items)))
            items.clear()
            for f in t.fields:
                if f.name in by_name:
                    _flatten(by_name[f.name], f.type, values, name)
                else:
                    values += [0] * len(leaf_scalars(f.type) or ())
            return
    for part in parts:
        if not items:
            return
        if isinstance(part, Array | Struct) and items[0]._kind_id not in _AGGREGATES:
            _flatten_list(items, part, values, name)
        else:
            start = len(values)
            _flatten(items.pop(0), part, values, name)
            size = len(leaf_scalars(part) or ())
            values += [0] * (start + size - len(values))


_AGGREGATES = frozenset({ast.INIT_LIST_EXPR, ast.CALL_EXPR, ast.UNEXPOSED_EXPR})
