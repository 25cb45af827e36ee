"""An index of a translation unit's host code: launches, writes of variables, calls, device allocations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from clang.cindex import CursorKind as K

from translator.frontend import ast, clang, relations
from translator.frontend.relations import Cursor

Key: TypeAlias = str

_LOOPS = frozenset({K.FOR_STMT, K.WHILE_STMT, K.DO_STMT, K.CXX_FOR_RANGE_STMT})
_BRANCHES = frozenset({K.IF_STMT, K.SWITCH_STMT, K.CONDITIONAL_OPERATOR, K.CXX_TRY_STMT})
_LABELS = frozenset({K.CASE_STMT, K.DEFAULT_STMT})
_FUNCTIONS = frozenset({K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.DESTRUCTOR, K.CONVERSION_FUNCTION})
_TOP = _FUNCTIONS | {K.FUNCTION_TEMPLATE, K.VAR_DECL}
_WRAPPERS = frozenset({K.UNEXPOSED_EXPR, K.PAREN_EXPR})
_CASTS = frozenset(
    {K.CSTYLE_CAST_EXPR, K.CXX_STATIC_CAST_EXPR, K.CXX_REINTERPRET_CAST_EXPR, K.CXX_FUNCTIONAL_CAST_EXPR}
    | {K.CXX_CONST_CAST_EXPR}
)
_ALLOCATORS = frozenset(
    {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocHost", "cudaHostAlloc"}
)
_READS_ADDRESS = frozenset({"cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"})
_ZEROES = frozenset({"cudaMemset", "cudaMemsetAsync"})
_RESIZES = frozenset({"resize", "push_back", "emplace_back", "assign", "insert", "clear"})  # of a vector
_CONFIGURE = frozenset({"cudaConfigureCall", "__cudaPushCallConfiguration"})
_STEPS = frozenset({"++x", "--x", "x++", "x--"})
_COOPERATIVE = "cudaLaunchCooperativeKernel"
_LAUNCHERS = frozenset({"cudaLaunchKernel", _COOPERATIVE})


@dataclass(frozen=True, slots=True)
class Place:
    """A point of host code: preorder position, and the conditional or repeated scopes around it."""

    order: int
    scopes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """`variable = value`; value None where it can't be known (compound, `&x` passed on, `x++`)."""

    value: Cursor | None
    at: Place


@dataclass(frozen=True, slots=True)
class RawLaunch:
    """A launch as cursors; `config` is grid, block, shared bytes, stream (None where left out). The blocks of
    a `cooperative` one may wait for each other."""

    callee: Cursor
    config: tuple[Cursor | None, ...]
    args: tuple[Cursor, ...]
    at: Place
    cursor: Cursor
    cooperative: bool = False


@dataclass(slots=True)
class HostIndex:
    launches: list[RawLaunch] = field(default_factory=list)
    writes: dict[Key, list[Write]] = field(default_factory=dict)
    calls: dict[str, list[tuple[tuple[Cursor, ...], Place]]] = field(default_factory=dict)
    allocations: dict[Key, list[Write]] = field(default_factory=dict)
    fills: dict[Key, list[Write]] = field(default_factory=dict)  # memset's value; None where copied to
    named: dict[str, Cursor] = field(default_factory=dict)  # kernels referred to, by USR
    symbols: set[Key] = field(default_factory=set)  # globals filled by cudaMemcpyToSymbol
    loops: set[int] = field(default_factory=set)

    def reaching(self, key: Key, at: Place, *, is_global: bool = False) -> Write | None:
        """The one write whose value `key` holds at `at`, or None if that is not certain."""
        return self._reaching(self.writes.get(key, []), at, is_global)

    def allocation(self, key: Key, at: Place) -> Write | None:
        """The allocation that pointer `key` holds at `at`: the last before it, else the only one."""
        made = self.allocations.get(key, [])
        before = [w for w in made if w.at.order < at.order]
        return before[-1] if before else (made[0] if len(made) == 1 else None)

    def zeroed(self, key: Key, at: Place) -> bool:
        """Whether the memory that pointer `key` holds is surely zeros at `at`: a memset to zero filled it
        last, and nothing that could write it was launched or called since."""
        before = [w for w in self.fills.get(key, []) if w.at.order < at.order]
        last = before[-1] if before else None
        if last is None or last.value is None or ast.evaluate(last.value) != 0 or not self.surely(last, at):
            return False
        between = [(x.args, x.at) for x in self.launches] + [c for held in self.calls.values() for c in held]
        return not any(
            last.at.order < p.order < at.order and any(key_of(strip(a, casts=True)) == key for a in args)
            for args, p in between
        )

    def surely(self, made: Write, at: Place) -> bool:
        """Whether control comes to `at` only through `made`, if it comes before."""
        return at.scopes[: len(made.at.scopes)] == made.at.scopes

    def changed(self, key: Key, made: Write, at: Place) -> bool:
        """Whether a pointer that `made` allocated may hold another value at `at`."""
        loops = [s for s in at.scopes if s in self.loops and s not in made.at.scopes]
        later = [w for w in self.writes.get(key, []) if w.at.order > made.at.order]
        return any(w.at.order < at.order or any(s in w.at.scopes for s in loops) for w in later)

    def _reaching(self, writes: list[Write], at: Place, is_global: bool) -> Write | None:
        if is_global:
            return writes[0] if len(writes) == 1 and writes[0].value is not None else None
        before = [w for w in writes if w.at.order < at.order]
        if not before:
            return None
        last = before[-1]
        if last.value is None or at.scopes[: len(last.at.scopes)] != last.at.scopes:
            return None
        around = [s for s in at.scopes[len(last.at.scopes) :] if s in self.loops]
        if any(loop in w.at.scopes for loop in around for w in writes):
            return None  # a later round of the loop sees another value
        return last


def strip(cursor: Cursor, *, casts: bool = False) -> Cursor:
    """The expression inside implicit conversions and parentheses, and inside casts if asked."""
    while cursor.kind in _WRAPPERS or (casts and cursor.kind in _CASTS):
        inner = [c for c in ast.children(cursor) if c.kind.is_expression()]
        if len(inner) != 1:
            break
        cursor = inner[0]
    return cursor


def key_of(cursor: Cursor) -> Key | None:
    """Identity of a named lvalue: a variable, or members of one (`hash:name.member`)."""
    cursor = strip(cursor)
    if cursor.kind == K.DECL_REF_EXPR:
        return declaration_key(cursor.referenced)
    if cursor.kind == K.MEMBER_REF_EXPR:
        base = ast.children(cursor)
        outer = key_of(base[0]) if base and base[0].kind.is_expression() else "this"
        return f"{outer}.{cursor.spelling}" if outer else None
    if cursor.kind in (K.VAR_DECL, K.PARM_DECL):
        return declaration_key(cursor)
    return None


def declaration_key(declaration: Cursor | None) -> Key | None:
    if declaration is None or declaration.kind not in (K.VAR_DECL, K.PARM_DECL, K.FIELD_DECL):
        return None
    first = declaration.canonical
    return f"{first.hash}:{first.location.offset}:{first.spelling}"


def is_kernel(function: Cursor) -> bool:
    return any(c.kind == K.CUDAGLOBAL_ATTR for c in ast.children(function))


def initializer(variable: Cursor) -> Cursor | None:
    """The initialiser expression of a variable that is not an array, or None."""
    if variable.type.get_canonical().kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY"):
        lists = [c for c in ast.children(variable) if c.kind == K.INIT_LIST_EXPR]
        return lists[-1] if lists else None
    values = [c for c in ast.children(variable) if c.kind.is_expression()]
    return values[-1] if values else None


def build(unit: clang.Unit) -> HostIndex:
    """Walk every host function of the user's files, and the template instantiations they reach."""
    return _Walk(unit).run()


_KEPT = 4
_indices: list[tuple[clang.Unit, HostIndex]] = []  # the last few units asked for


def index_of(unit: clang.Unit) -> HostIndex:
    """The host index of a unit; kept for the last few units."""
    for known, index in _indices:
        if known is unit:
            return index
    made = build(unit)
    _indices.append((unit, made))
    del _indices[:-_KEPT]
    return made


class _Walk:
    def __init__(self, unit: clang.Unit) -> None:
        self.unit = unit
        self.index = HostIndex()
        self.order = 0
        self.scope = 0
        self.queue: list[Cursor] = []
        self.walked: set[str] = set()
        self.patterns: list[Cursor] = []
        self.instantiated: set[str] = set()

    def run(self) -> HostIndex:
        for declaration in self._top(self.unit.top_level):
            if declaration.kind in _FUNCTIONS:
                self.queue.append(declaration)
            elif declaration.kind == K.FUNCTION_TEMPLATE:
                self.patterns.append(declaration)
            elif declaration.kind == K.VAR_DECL:
                self._variable(declaration, Place(self._next(), ()))
        self._drain()
        for pattern in self.patterns:
            if pattern.canonical.get_usr() not in self.instantiated and not _device_only(pattern):
                self.queue.append(pattern)
        self._drain()
        return self.index

    def _top(self, siblings: Iterable[Cursor]) -> Iterator[Cursor]:
        for child in siblings:
            if child.kind in (K.NAMESPACE, K.LINKAGE_SPEC, K.UNEXPOSED_DECL):
                if relations.is_user(child):
                    yield from self._top(ast.children(child))
            elif child.kind in (K.STRUCT_DECL, K.CLASS_DECL):
                if relations.is_user(child):
                    yield from (c for c in ast.children(child) if c.kind in _FUNCTIONS)
            elif child.kind in _TOP and relations.is_user(child):
                yield child

    def _next(self) -> int:
        self.order += 1
        return self.order

    def _drain(self) -> None:
        while self.queue:
            function = self.queue.pop(0)
            usr = function.get_usr()
            if usr in self.walked or not (function.is_definition() or _has_body(function)):
                continue
            self.walked.add(usr)
            if not _device_only(function):
                self._body(function)

    def _body(self, function: Cursor) -> None:
        stack: list[tuple[Cursor, tuple[int, ...]]] = [(c, ()) for c in reversed(ast.children(function))]
        while stack:
            cursor, scopes = stack.pop()
            kind = cursor.kind
            at = Place(self._next(), scopes)
            children = ast.children(cursor)
            self._visit(cursor, kind, children, at)
            stack += reversed(self._scoped(kind, children, scopes))

    def _scoped(
        self, kind: Any, children: list[Cursor], scopes: tuple[int, ...]
    ) -> list[tuple[Cursor, tuple[int, ...]]]:
        """Children with their scopes: each branch of a condition and each part of a loop is its own."""
        if kind in _LOOPS:
            self.scope += 1
            loop = self.scope
            self.index.loops.add(loop)
            parts = []
            for child in children:
                self.scope += 1
                # The body needs no scope of its own; a header's write must not seem to reach the body surely.
                inner = (*scopes, loop) if child is children[-1] else (*scopes, loop, self.scope)
                parts.append((child, inner))
            return parts
        if kind in _BRANCHES or kind == K.LAMBDA_EXPR:
            parts = []
            for child in children:
                self.scope += 1
                parts.append((child, (*scopes, self.scope)))
            return parts
        if kind == K.COMPOUND_STMT and any(c.kind in _LABELS for c in children):
            return self._labelled(children, scopes)
        return [(c, scopes) for c in children]

    def _labelled(
        self, children: list[Cursor], scopes: tuple[int, ...]
    ) -> list[tuple[Cursor, tuple[int, ...]]]:
        """The body of a switch: statements after a label belong to it, not to the labels before."""
        parts = []
        inner = scopes
        for child in children:
            if child.kind in _LABELS:
                self.scope += 1
                inner = (*scopes, self.scope)
            parts.append((child, inner))
        return parts

    def _visit(self, cursor: Cursor, kind: Any, children: list[Cursor], at: Place) -> None:
        if kind == K.VAR_DECL:
            self._variable(cursor, at)
        elif kind == K.CALL_EXPR:
            self._call(cursor, children, at)
        elif kind == K.BINARY_OPERATOR:
            if ast.binary_operator(cursor) == "=" and len(children) == 2:
                self._write(key_of(children[0]), children[1], at)
        elif kind == K.COMPOUND_ASSIGNMENT_OPERATOR:
            self._write(key_of(children[0]), None, at)
        elif kind == K.UNARY_OPERATOR:
            if children and ast.unary_operator(cursor) in _STEPS:
                self._write(key_of(children[0]), None, at)
        elif kind == K.DECL_REF_EXPR:
            self._reference(cursor)

    def _reference(self, cursor: Cursor) -> None:
        target = cursor.referenced
        if target is None or target.kind not in _FUNCTIONS or not relations.is_user(target):
            return
        if is_kernel(target):
            self.index.named.setdefault(target.get_usr(), target)
        self._reach(target)

    def _reach(self, target: Cursor) -> None:
        pattern = relations.specialized_template(target)
        if pattern is not None:
            self.instantiated.add(pattern.canonical.get_usr())
            self.queue.append(target)

    def _variable(self, variable: Cursor, at: Place) -> None:
        value = initializer(variable)
        if value is not None:
            self._write(declaration_key(variable), value, at)

    def _write(self, key: Key | None, value: Cursor | None, at: Place) -> None:
        if key is None:
            return
        self.index.writes.setdefault(key, []).append(Write(value, at))
        if value is not None:
            inner = strip(value, casts=True)
            made: Cursor | None = inner if inner.kind == K.CXX_NEW_EXPR else None
            if inner.kind == K.CALL_EXPR and inner.spelling == "malloc":
                made = next(iter(inner.get_arguments()), None)
            if made is not None:
                self.index.allocations.setdefault(key, []).append(Write(made, at))

    def _call(self, cursor: Cursor, children: list[Cursor], at: Place) -> None:
        name = cursor.spelling
        target = cursor.referenced
        args = tuple(cursor.get_arguments())
        configured = next((c for c in children if c.kind == K.CALL_EXPR and c.spelling in _CONFIGURE), None)
        if configured is not None and children:
            config = tuple(configured.get_arguments())
            self.index.launches.append(RawLaunch(_callee(children[0]), _given(config), args, at, cursor))
            return
        if name in _LAUNCHERS and len(args) >= 4:
            self._launcher(cursor, args, at)
        elif name == "operator=" and len(args) == 2:
            self._write(key_of(args[0]), args[1], at)
        elif name in _ALLOCATORS and len(args) >= 2:
            pointer = strip(args[0], casts=True)
            inner = ast.children(pointer)
            if pointer.kind == K.UNARY_OPERATOR and inner:
                key = key_of(inner[0])
                if key is not None:
                    self.index.allocations.setdefault(key, []).append(Write(args[1], at))
        elif name in _ZEROES and len(args) >= 3:
            self._fill(args[0], args[1], at)
        elif name in _RESIZES and children and (owner := next(iter(ast.children(children[0])), None)):
            self._write(key_of(owner), None, at)
        elif name in ("cudaMemcpy", "cudaMemcpyAsync") and args:
            self._fill(args[0], None, at)
        elif name not in _READS_ADDRESS:
            for arg in args:
                self._escapes(arg, at)
        elif name.startswith("cudaMemcpyToSymbol") and args:
            symbol = key_of(strip(args[0], casts=True))
            if symbol is not None:
                self.index.symbols.add(symbol)
        if target is not None and target.kind in _FUNCTIONS and relations.is_user(target):
            self.index.calls.setdefault(target.get_usr(), []).append((args, at))
            self._reach(target)
            self._by_reference(target, args, at)

    def _fill(self, pointer: Cursor, value: Cursor | None, at: Place) -> None:
        key = key_of(strip(pointer, casts=True))
        if key is not None:
            self.index.fills.setdefault(key, []).append(Write(value, at))

    def _escapes(self, arg: Cursor, at: Place) -> None:
        inner = strip(arg, casts=True)
        parts = ast.children(inner)
        if inner.kind == K.UNARY_OPERATOR and parts and ast.unary_operator(inner) == "&":
            self._write(key_of(parts[0]), None, at)

    def _by_reference(self, target: Cursor, args: tuple[Cursor, ...], at: Place) -> None:
        for param, arg in zip(target.get_arguments(), args, strict=False):
            kind = param.type.get_canonical()
            if kind.kind.name == "LVALUEREFERENCE" and not kind.get_pointee().is_const_qualified():
                self._write(key_of(arg), None, at)

    def _launcher(self, cursor: Cursor, args: tuple[Cursor, ...], at: Place) -> None:
        """`cudaLaunchKernel((void*)k, grid, block, pointers, shared, stream)`."""
        values: list[Cursor] = []
        key = key_of(strip(args[3], casts=True))
        for write in self.index.writes.get(key or "", []):
            if write.value is not None and write.value.kind == K.INIT_LIST_EXPR:
                values = [_pointed(c) for c in ast.children(write.value)]
        config = (args[1], args[2], args[4] if len(args) > 4 else None, args[5] if len(args) > 5 else None)
        cooperative = cursor.spelling == _COOPERATIVE
        self.index.launches.append(
            RawLaunch(_callee(args[0]), config, tuple(values), at, cursor, cooperative)
        )


def _callee(cursor: Cursor) -> Cursor:
    inner = strip(cursor, casts=True)
    if inner.kind == K.UNARY_OPERATOR:
        parts = ast.children(inner)
        inner = strip(parts[0], casts=True) if parts else inner
    return inner.referenced if inner.referenced is not None else inner


def _pointed(cursor: Cursor) -> Cursor:
    inner = strip(cursor, casts=True)
    parts = ast.children(inner)
    return parts[0] if inner.kind == K.UNARY_OPERATOR and parts else inner


def _given(config: tuple[Cursor, ...]) -> tuple[Cursor | None, ...]:
    """Defaulted arguments of the configuration have an empty extent."""
    given = [c if c.extent.start.offset or c.extent.end.offset else None for c in config]
    return tuple((given + [None] * 4)[:4])


def _has_body(function: Cursor) -> bool:
    return any(c.kind == K.COMPOUND_STMT for c in ast.children(function))


def _device_only(function: Cursor) -> bool:
    kinds = {c.kind for c in ast.children(function)}
    return K.CUDAGLOBAL_ATTR in kinds or (K.CUDADEVICE_ATTR in kinds and K.CUDAHOST_ATTR not in kinds)
