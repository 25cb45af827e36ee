"""Which top-level declarations of the user's files a kernel needs, directly or through others."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clang.cindex import CursorKind as K

from translator.frontend import ast, clang, relations
from translator.frontend.relations import Cursor

_CONTAINERS = frozenset({K.NAMESPACE, K.LINKAGE_SPEC, K.UNEXPOSED_DECL})
_PREPROCESSING = frozenset(
    {K.MACRO_DEFINITION, K.MACRO_INSTANTIATION, K.INCLUSION_DIRECTIVE, K.PREPROCESSING_DIRECTIVE}
)
_CLASSES = frozenset({K.STRUCT_DECL, K.CLASS_DECL, K.CLASS_TEMPLATE, K.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION})
_INNER = frozenset({K.PARM_DECL, K.TEMPLATE_TYPE_PARAMETER, K.TEMPLATE_NON_TYPE_PARAMETER})
_SPACES = frozenset({K.CUDADEVICE_ATTR, K.CUDAGLOBAL_ATTR, K.CUDAHOST_ATTR})
_METHODS = frozenset({K.CXX_METHOD, K.CONSTRUCTOR, K.DESTRUCTOR, K.CONVERSION_FUNCTION})
_ATTRIBUTED = _CLASSES | {K.FUNCTION_DECL, K.FUNCTION_TEMPLATE, K.VAR_DECL}
_ATTRIBUTE = re.compile(r"(?:__launch_bounds__|__align__|alignas|__maxnreg__)\s*\(([^;{]*?)\)")
_NAME = re.compile(r"[^\W\d]\w*")
_REFERRING = frozenset(
    {K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.TYPE_REF, K.TEMPLATE_REF, K.NAMESPACE_REF, K.CALL_EXPR}
    | {K.MEMBER_REF, K.OVERLOADED_DECL_REF, K.CXX_BASE_SPECIFIER, K.VARIABLE_REF}
)


@dataclass(slots=True)
class Chunk:
    """A top-level declaration: bytes [start, end) of `file`, inside `scopes` (`namespace a`, `extern "C"`).

    Declarations that share text (`int a, b;`, `typedef struct {…} S;`) are one chunk with all their cursors.
    """

    file: str
    start: int
    end: int
    scopes: tuple[str, ...]
    cursors: list[Cursor] = field(default_factory=list)


class Chunks:
    """All top-level declarations of a unit's user files, found by place and by identity."""

    def __init__(self, unit: clang.Unit) -> None:
        self.unit = unit
        self.all: list[Chunk] = []
        self._by_file: dict[str, list[Chunk]] = {}
        self._redeclared: dict[str, list[Chunk]] = {}
        self._references: dict[tuple[int, int], list[Cursor]] = {}
        self._collect(unit.top_level, ())
        for file, chunks in self._by_file.items():
            self._by_file[file] = _merged(chunks)
        self.all = [c for chunks in self._by_file.values() for c in chunks]
        for chunk in self.all:
            for cursor in chunk.cursors:
                self._identify(cursor, chunk)
        self._starts = {f: [c.start for c in chunks] for f, chunks in self._by_file.items()}

    def at(self, file: str, offset: int) -> Chunk | None:
        chunks = self._by_file.get(file, [])
        where = bisect_right(self._starts.get(file, []), offset)
        # Chunks don't overlap, but a macro may put several at one place: the last is as good as any.
        return chunks[where - 1] if where and chunks[where - 1].end > offset else None

    def of(self, declaration: Cursor) -> list[Chunk]:
        """Chunks of a declaration, its definition, other declarations and specialisations."""
        found: list[Chunk] = []
        pattern = relations.specialized_template(declaration)
        for d in (declaration, pattern, declaration.get_definition(), pattern and pattern.get_definition()):
            if d is None:
                continue
            file, offset = location(d)
            chunk = self.at(file, offset)
            if chunk is not None:
                found.append(chunk)
            found += self._redeclared.get(d.canonical.get_usr(), [])
        return list({id(c): c for c in found}.values())

    def referred(self, root: Cursor) -> list[Cursor]:
        """User declarations that the subtree of `root` refers to."""
        key = (root.hash, root.location.offset)
        if key not in self._references:
            self._references[key] = list(_referred(root))
        return self._references[key]

    def named_in_attributes(self, declaration: Cursor) -> list[Cursor]:
        """Constants named in `__launch_bounds__(…)` and the like, which the tree leaves out."""
        if declaration.kind not in _ATTRIBUTED:
            return []
        head = clang.text_of(self.unit, declaration).partition("{")[0]
        names = {n for m in _ATTRIBUTE.finditer(head) for n in _NAME.findall(m[1])}
        return [c for chunk in self.all for c in chunk.cursors if c.spelling in names] if names else []

    def _collect(self, siblings: Iterable[Cursor], scopes: tuple[str, ...]) -> None:
        for child in siblings:
            if child.kind in _PREPROCESSING or not relations.is_user(child):
                continue
            if child.kind in _CONTAINERS and self._opens(child):
                self._collect(ast.children(child), (*scopes, self._opening(child)))
            else:
                self._add(child, scopes)

    def _opens(self, container: Cursor) -> bool:
        if container.kind == K.NAMESPACE:
            return True
        if container.kind == K.UNEXPOSED_DECL and not clang.text_of(self.unit, container).startswith(
            "extern"
        ):
            return False  # a variable template
        return any(c.kind.is_declaration() for c in ast.children(container))

    def _opening(self, container: Cursor) -> str:
        if container.kind == K.NAMESPACE:
            inline = "inline " if clang.text_of(self.unit, container).startswith("inline") else ""
            return f"{inline}namespace {container.spelling}".rstrip() if container.spelling else "namespace"
        return 'extern "C"'

    def _add(self, declaration: Cursor, scopes: tuple[str, ...]) -> None:
        file, start, end = ast.offsets(declaration)
        if not file:
            return
        self._by_file.setdefault(file, []).append(Chunk(file, start, end, scopes, [declaration]))

    def _identify(self, declaration: Cursor, chunk: Chunk) -> None:
        identity = declaration.canonical.get_usr()
        if identity:
            self._redeclared.setdefault(identity, []).append(chunk)
        primary = relations.specialized_template(declaration)
        if primary is not None:
            self._redeclared.setdefault(primary.canonical.get_usr(), []).append(chunk)


def _merged(chunks: list[Chunk]) -> list[Chunk]:
    """Chunks by place, those that share text made one: `int a, b;`, a template and its instantiation."""
    made: list[Chunk] = []
    for chunk in sorted(chunks, key=lambda c: (c.start, -c.end)):
        if made and chunk.start < made[-1].end:
            made[-1].end = max(made[-1].end, chunk.end)
            made[-1].cursors += chunk.cursors
        else:
            made.append(chunk)
    return made


def location(declaration: Cursor) -> tuple[str, int]:
    """File and byte offset of a declaration's name; of one made by a macro, of the macro's use."""
    place = declaration.location
    return (place.file.name if place.file else "", place.offset)


def reach(chunks: Chunks, kernel: Cursor) -> list[Chunk]:
    """The chunks `kernel` needs, its own included, in the order they were found (not source order)."""
    found: dict[int, Chunk] = {}
    met: set[str] = set()
    queue = deque([kernel])
    while queue:
        declaration = queue.popleft()
        identity = declaration.get_usr() or f"{location(declaration)}"
        if identity in met:
            continue
        met.add(identity)
        if declaration.kind == K.CXX_METHOD or relations.specialized_template(declaration) is not None:
            queue += chunks.referred(declaration.get_definition() or declaration)
        for chunk in chunks.of(declaration):
            if id(chunk) in found:
                continue
            found[id(chunk)] = chunk
            for cursor in chunk.cursors:
                queue += chunks.referred(cursor)
                queue += chunks.named_in_attributes(cursor)
    return list(found.values())


def _referred(root: Cursor) -> Iterator[Cursor]:
    """User declarations outside functions that the subtree of `root` refers to, each once."""
    seen: set[int] = set()
    for target in _targets(root):
        if target is None or target.hash in seen:
            continue
        seen.add(target.hash)
        if target.kind not in _INNER and relations.is_user(target):
            yield target


def host_only_bodies(chunk: Chunk) -> list[tuple[int, int]]:
    """Bytes of the methods with a body that only the host can call; device code does without them."""
    found = []
    stack = [c for c in chunk.cursors if c.kind in _CLASSES]
    while stack:
        for member in ast.children(stack.pop()):
            if member.kind in _CLASSES:
                stack.append(member)
            elif _is_host_only(member) or (member.kind == K.FRIEND_DECL and _befriends_host(member)):
                _, start, end = ast.offsets(member)
                found.append((start, end))
    return found


def unannotated(chunk: Chunk) -> list[int]:
    """Places where `__host__ __device__` makes a function with a body callable that has no such word."""
    found = []
    stack = list(chunk.cursors)
    while stack:
        cursor = stack.pop()
        kind = cursor.kind
        if kind in _CLASSES:
            stack += ast.children(cursor)
        elif kind in _METHODS or kind in (K.FUNCTION_DECL, K.FUNCTION_TEMPLATE):
            parts = ast.children(cursor)
            kinds = {c.kind for c in parts}
            if (
                kinds & _SPACES
                or K.COMPOUND_STMT not in kinds
                or (kind in _METHODS and _is_host_only(cursor))
            ):
                continue
            _, start, _ = ast.offsets(cursor)
            if kind == K.FUNCTION_TEMPLATE or relations.specialized_template(cursor) is not None:
                start = _after_template_head(cursor)
            if start >= 0:
                found.append(start)
    return found


def _after_template_head(cursor: Cursor) -> int:
    """Offset of the first token after `template <…>`; -1 if it can't be found."""
    depth = 0
    opened = False
    for token in cursor.get_tokens():
        if opened and depth == 0:
            return int(token.extent.start.offset)
        depth += {"<": 1, ">": -1, ">>": -2}.get(token.spelling, 0)
        opened = opened or depth > 0
    return -1


def _is_host_only(member: Cursor) -> bool:
    if member.kind not in _METHODS or K.CUDADEVICE_ATTR in {c.kind for c in ast.children(member)}:
        return False
    tokens = [t.spelling for t in member.get_tokens()]
    head = list(itertools.takewhile(lambda t: t != "{", tokens))
    return not {"constexpr", "default", "delete"} & set(head)


def _befriends_host(friend: Cursor) -> bool:
    functions = [c for c in ast.children(friend) if c.kind in (K.FUNCTION_DECL, K.FUNCTION_TEMPLATE)]
    return any(K.CUDADEVICE_ATTR not in {c.kind for c in ast.children(f)} for f in functions)


def _targets(root: Cursor) -> Iterable[Cursor | None]:
    stack = [root]
    while stack:
        cursor = stack.pop()
        kind = cursor.kind
        if (kind in _METHODS and _is_host_only(cursor)) or (
            kind == K.FRIEND_DECL and _befriends_host(cursor)
        ):
            continue
        if kind in _REFERRING:
            yield cursor.referenced
            if kind == K.OVERLOADED_DECL_REF:
                yield from relations.overloads(cursor)
        if kind in (K.VAR_DECL, K.PARM_DECL, K.FIELD_DECL):
            yield _type_declaration(cursor)
        stack += ast.children(cursor)


def _type_declaration(cursor: Cursor) -> Cursor | None:
    """The class behind an inferred type (`auto x = make()`), which no reference in the text names."""
    kind = cursor.type.get_canonical()
    while kind.kind.name in ("POINTER", "LVALUEREFERENCE", "CONSTANTARRAY"):
        kind = kind.get_array_element_type() if kind.kind.name == "CONSTANTARRAY" else kind.get_pointee()
    declaration = kind.get_declaration()
    return declaration if declaration.kind.is_declaration() and declaration.location.file else None
