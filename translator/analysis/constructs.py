"""Which constructs a kernel uses, callees included, and the tier that follows: the census of one kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from translator.mapping.rule import load_rules
from translator.model import expr as x
from translator.model import stmt as s
from translator.model.kernel import Function, KernelModel
from translator.model.types import BF16, F16, F64, Array, Pointer, Scalar, Struct, Type, uniform_scalar
from translator.model.walk import declared, walk_exprs, walk_stmts

# Construct → tier: a kernel is in the highest tier of what it uses, at least 1.
TIERS: dict[str, int] = {
    "loop": 1,
    "early return": 1,
    "double": 1,
    "math": 1,
    "while loop": 2,
    "break or continue": 2,
    "device function": 2,
    "half or bfloat16": 2,
    "pointer variable": 2,
    "global variable": 2,
    "assignment as value": 2,
    "static shared memory": 3,
    "dynamic shared memory": 3,
    "barrier": 3,
    "warp operation": 3,
    "atomic": 3,
    "local array": 3,
    "vector type": 4,
    "reinterpreted pointer": 4,
    "reference or pointer parameter": 4,
    "address of a variable": 4,
    "struct": 4,
    "switch": 4,
    "struct pointer": 5,
    "printf": 5,
}

_STATEMENTS: dict[type, str] = {
    s.For: "loop",
    s.While: "while loop",
    s.DoWhile: "while loop",
    s.Break: "break or continue",
    s.Continue: "break or continue",
    s.Switch: "switch",
}
_GROUPS = {"atomic": "atomic", "warp": "warp operation", "sync": "barrier", "math": "math"}


def census(model: KernelModel) -> dict[str, int]:
    """Construct → how often, in the order of the table; of a model as lifted, before any pass."""
    found: Counter[str] = Counter()
    for function in (model.kernel, *model.functions):
        found.update(_of_function(function))
    found["global variable"] += len(model.globals)
    return {name: found[name] for name in TIERS if found[name]}


def tier(constructs: dict[str, int]) -> int:
    """1 flat, 2 structured, 3 block, 4 memory and types, 5 objects."""
    return max((TIERS[name] for name in constructs), default=1)


def _of_function(f: Function) -> Iterator[str]:
    if not f.is_kernel:
        yield "device function"
        yield from (
            "reference or pointer parameter" for p in f.params if p.ref or isinstance(p.type, Pointer)
        )
    for p in f.params:
        yield from _of_type(p.type, parameter=True)
    for var in declared(f.body):
        yield from _of_variable(var)
    last = f.body[-1] if f.body else None
    for statement in walk_stmts(f.body):
        if type(statement) in _STATEMENTS:
            yield _STATEMENTS[type(statement)]
        if isinstance(statement, s.Return) and statement is not last:
            yield "early return"
    statements = {id(st.expr) for st in walk_stmts(f.body) if isinstance(st, s.ExprStmt)}
    steps = {id(st.step) for st in walk_stmts(f.body) if isinstance(st, s.For)}
    for e in walk_exprs(f.body):
        if isinstance(e, x.Assign | x.IncDec) and id(e) not in statements | steps:
            yield "assignment as value"
        yield from _of_expression(e)


def _of_variable(var: x.Var) -> Iterator[str]:
    if var.storage == "shared":
        yield "static shared memory"
    elif var.storage == "dynamic_shared":
        yield "dynamic shared memory"
    elif isinstance(var.type, Array):
        yield "local array"
    elif isinstance(var.type, Pointer):
        yield "pointer variable"
    yield from _of_type(var.type)


def _of_type(t: Type, parameter: bool = False) -> Iterator[str]:
    if isinstance(t, Array):
        yield from _of_type(t.of)
    elif isinstance(t, Pointer):
        if isinstance(t.to, Struct) and uniform_scalar(t.to) is None:
            yield "struct pointer"
        else:
            yield from _of_type(t.to)
    elif isinstance(t, Struct):
        yield "struct" if uniform_scalar(t) is None or parameter else "vector type"
    elif t in (F16, BF16):
        yield "half or bfloat16"
    elif t == F64:
        yield "double"


def _of_expression(e: x.Expr) -> Iterator[str]:
    if isinstance(e, x.AddrOf) and isinstance(e.lvalue, x.VarRef):
        yield "address of a variable"
    elif isinstance(e, x.Cast) and isinstance(e.type, Pointer) and isinstance(e.operand.type, Pointer):
        if e.explicit and _other_type(e.type.to, e.operand.type.to):
            yield "reinterpreted pointer"
    elif isinstance(e, x.Intrinsic):
        if e.name in ("printf", "assert"):
            yield "printf"
        elif (group := _group_of(e.name)) in _GROUPS:
            yield _GROUPS[group]


def _other_type(a: Type, b: Type) -> bool:
    return a != b and not (isinstance(a, Scalar) and isinstance(b, Scalar) and a.bits == b.bits == 0)


@cache
def _groups() -> dict[str, str]:
    return {name: rule.group for rule in load_rules() for name in rule.names}


def _group_of(name: str) -> str:
    """The mapping table that knows the builtin `name`, "" if none does."""
    return _groups().get(name, "")
