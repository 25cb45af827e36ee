"""The device-only source of a kernel: the author's text of what it needs, self-contained for NVRTC."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clang.cindex import CursorKind as K

from translator.frontend import clang, slice_prelude
from translator.frontend.no_code import COMMENT_OR_STRING
from translator.frontend.preprocess import Macro, Order, Record, as_compiled, record_of
from translator.frontend.reach import Chunk, Chunks, host_only_bodies, location, reach, unannotated
from translator.frontend.relations import Cursor
from translator.frontend.slice_lines import DROPPED, name_of, plain, with_lines

_WORD = re.compile(r"[^\W\d]\w*")
_NOISE = re.compile(COMMENT_OR_STRING.pattern + r"|'(?:\\.|[^'\\\n])+'", re.S)
_CUB = re.compile(r"(Block|Warp)(Reduce|Scan|Load|Store|RadixSort|Exchange|Shuffle|Merge)")
_MARK = DROPPED.encode()
# What a lambda in device code is anyhow; the compiler takes it by an option of nvcc's only.
_LAMBDA = re.compile(rb"\[[\w\s,&=*]*\][ \t]*((?:__(?:host|device|forceinline)__[ \t]*)+)(?=[({])")
_LONG = frozenset({"int64_t", "uint64_t", "intptr_t", "uintptr_t"})
_CCCL = ("cub/", "cooperative_groups")
_KEPT = 3
_chunks: list[tuple[clang.Unit, Chunks]] = []


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text with marks for line breaks left out, which begins at a line of a file (0: nowhere)."""

    order: Order
    scopes: tuple[str, ...]
    text: str
    file: str = ""
    line: int = 0


def chunks_of(unit: clang.Unit) -> Chunks:
    """The top-level declarations of a unit; kept for the last few units."""
    for known, chunks in _chunks:
        if known is unit:
            return chunks
    made = Chunks(unit)
    _chunks.append((unit, made))
    del _chunks[:-_KEPT]
    return made


def device_slice(unit: clang.Unit, kernel: Cursor) -> str:
    """Self-contained device-only CUDA text with the kernel, which its `cuda_name` finds.

    Text is the author's, in the order it was compiled; `#if` is resolved as it was, namespaces are kept
    except anonymous ones, and a kernel or device variable loses `static` so that it can be looked up. A
    constexpr function without `__device__` gets it: NVRTC takes no function of the host's. Before each body
    `#line` says where it is in the author's files.
    """
    record = record_of(unit)
    chunks = chunks_of(unit)
    needed = reach(chunks, kernel)
    pieces = [_declaration(unit, record, chunk) for chunk in needed]
    pieces += _macros(record, needed)
    pieces.sort(key=lambda p: p.order)
    body = _join(pieces)
    pieces += _usings(unit, record, chunks, needed, body)
    pieces.sort(key=lambda p: p.order)
    return _prelude(record, _join(pieces)) + _join(pieces, location(kernel)[0])


# ---- declarations


def _declaration(unit: clang.Unit, record: Record, chunk: Chunk) -> _Piece:
    data = unit.source(chunk.file)
    start, end = chunk.start, _through_semicolon(data, chunk.end)
    edits = [
        (a, b, _MARK * data.count(b"\n", a, b)) for a, b in _statics(data, chunk) + host_only_bodies(chunk)
    ]
    edits += [(a, a, b"__host__ __device__ ") for a in unannotated(chunk)]
    edits += [(*m.span(1), b"") for m in _LAMBDA.finditer(data, start, end)]
    text = b""
    at = start
    for a, b, instead in sorted(edits):
        if a >= at:
            text += as_compiled(record, chunk.file, data, at, a) + instead
            at = b
    text += as_compiled(record, chunk.file, data, at, end)
    whole = text.decode("utf-8", "replace").replace("\r\n", "\n")
    shown = whole.strip()
    line = 1 + data.count(b"\n", 0, start) + whole[: len(whole) - len(whole.lstrip())].count("\n")
    if not shown.endswith((";", "}")):
        shown += ";" if _wants_semicolon(chunk) else ""
    return _Piece(record.order(chunk.file, chunk.start), _named(chunk.scopes), shown, chunk.file, line)


def _named(scopes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s for s in scopes if s != "namespace")


def _through_semicolon(data: bytes, end: int) -> int:
    """Past the `;` that ends a declaration; the extent of `int n(4)` stops before its parenthesis."""
    found = re.compile(rb"[\s)]*;").match(data, end)
    return found.end() if found else end


def _wants_semicolon(chunk: Chunk) -> bool:
    return any(c.kind in (K.VAR_DECL, K.TYPEDEF_DECL, K.TYPE_ALIAS_DECL, K.ENUM_DECL) for c in chunk.cursors)


def _statics(data: bytes, chunk: Chunk) -> list[tuple[int, int]]:
    """Places of `static` before a kernel's or device variable's name."""
    found: list[tuple[int, int]] = []
    for cursor in chunk.cursors:
        attributes = {c.kind for c in cursor.get_children()}
        if not attributes & {K.CUDAGLOBAL_ATTR, K.CUDACONSTANT_ATTR, K.CUDADEVICE_ATTR}:
            continue
        if cursor.kind != K.VAR_DECL and K.CUDAGLOBAL_ATTR not in attributes:
            continue
        _, name = location(cursor)
        head = data[chunk.start : max(name, chunk.start)]
        found += [
            (chunk.start + m.start(), chunk.start + m.end()) for m in re.finditer(rb"\bstatic\s+", head)
        ]
    return sorted(set(found))


# ---- macros


def _macros(record: Record, needed: list[Chunk]) -> list[_Piece]:
    """The macros that the chunks use and those these use in turn, each where it was defined."""
    found: dict[Macro, None] = {}
    for chunk in needed:
        for offset, macro in record.uses.get(chunk.file, []):
            if chunk.start <= offset < chunk.end:
                _take(record, macro, record.order(chunk.file, offset), found)
    inside = [
        (record.order(c.file, c.start), record.order(c.file, c.end), c) for c in needed
    ]  # a macro defined inside a declaration is in its text already
    pieces = []
    seen: set[str] = set()
    for macro in sorted(found, key=lambda m: (m.order, m.name)):
        if any(a < macro.order < b for a, b, _ in inside if macro.order):
            continue
        text = re.sub(r"\r\n", "\n", macro.text)
        again = macro.name in seen or macro.name in slice_prelude.MACROS
        seen.add(macro.name)
        undefine = f"#undef {macro.name}\n" if again else ""
        pieces.append(_Piece(macro.order, (), f"{undefine}#define {text}"))
    return pieces


def _take(record: Record, macro: Macro, before: Order, found: dict[Macro, None]) -> None:
    if macro in found:
        return
    found[macro] = None
    for word in _words(macro.text.partition(macro.name)[2]):
        inner = record.named(word, before)
        if inner is not None and inner.name != macro.name:
            _take(record, inner, before, found)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_NOISE.sub(" ", text)))


# ---- using


def _usings(unit: clang.Unit, record: Record, chunks: Chunks, needed: list[Chunk], body: str) -> list[_Piece]:
    """`using` lines whose names exist in the slice."""
    words = _words(body)
    spaces = {s.removeprefix("inline ").removeprefix("namespace ") for c in needed for s in c.scopes}
    groups = words & {
        "this_thread_block",
        "this_grid",
        "thread_block",
        "tiled_partition",
        "coalesced_threads",
    }
    pieces = []
    for chunk in chunks.all:
        if chunk in needed:
            continue
        cursor = chunk.cursors[0]
        text = clang.text_of(unit, cursor).strip()
        if cursor.kind == K.USING_DIRECTIVE:
            target = text.removeprefix("using").strip().removeprefix("namespace").strip(" ;")
            last = target.split("::")[-1]
            known = last in spaces or (last == "std" and _bare_std(body))
            known = known or (target == "cooperative_groups" and bool(groups))
            known = known or (target.startswith("nvcuda") and bool(words & {"fragment", "wmma"}))
            known = known or (target == "cub" and any(_CUB.match(w) for w in words))
        elif cursor.kind == K.USING_DECLARATION:
            known = text.rstrip(" ;").split("::")[-1] in words
        else:
            continue
        if known:
            order = record.order(chunk.file, chunk.start)
            pieces.append(_Piece(order, _named(chunk.scopes), text.rstrip(";") + ";"))
    return pieces


def _bare_std(body: str) -> bool:
    names = "|".join(n for n in slice_prelude.STD if n not in ("min", "max"))
    return re.search(rf"(?<!::)\b({names})\b", _NOISE.sub(" ", body)) is not None


# ---- assembly


def _join(pieces: list[_Piece], own: str = "") -> str:
    """The pieces in their namespaces; with `own`, the kernel's file, bodies say where they are from."""
    lines: list[str] = []
    opened: tuple[str, ...] = ()
    for piece in pieces:
        if piece.scopes != opened:
            lines += _close(opened)
            lines += [f"{scope} {{" for scope in piece.scopes]
            opened = piece.scopes
        text = plain(piece.text)
        long = "\n" in text
        if own and piece.line and "{" in text:
            text = with_lines(piece.text, piece.line, name_of(piece.file, own))
        lines += [text, ""] if long else [text]
    lines += _close(opened)
    return "\n".join(lines).rstrip() + "\n"


def _close(scopes: tuple[str, ...]) -> list[str]:
    return ["}" for _ in scopes]


def _prelude(record: Record, body: str) -> str:
    words = _words(body)
    headers = _headers(record, words)
    lines = [f"#include <{name}>" for name in headers]
    own = any(h.startswith(_CCCL) for h in headers)  # whose 64-bit integers are long long for NVRTC
    types = [t for t in slice_prelude.TYPES if t in words]
    qualified = set(re.findall(r"\bstd\s*::\s*(\w+)", body))
    std = slice_prelude.needed_std(qualified | _using_std(body))
    math = sorted(qualified & slice_prelude.MATH)
    std_types = [t for t in (*types, *slice_prelude.BUILT_IN_TYPES) if t in qualified]
    asserts = re.search(r"\bassert\s*\(", body) is not None
    if types or std or math or std_types or asserts:
        lines.append("#ifdef __CUDACC_RTC__")
        fixed = [t for t in types if own and t in _LONG]
        lines += ["#include <cuda/std/cstdint>"] if fixed else []
        lines += [f"typedef {slice_prelude.TYPES[t]} {t};" for t in types if t not in fixed]
        if std or math or std_types:
            lines.append("namespace std {")
            lines += [f"using ::{t};" for t in std_types]
            lines += [f"using ::{m};" for m in math]
            lines += [slice_prelude.STD[name][1] for name in std]
            lines.append("}")
        lines.append("#else")
        hosts = {slice_prelude.STD[name][0] for name in std} | ({"cmath"} if math else set())
        hosts |= {"cstdint", "sys/types.h"} if types else set()
        hosts |= {"cstddef"} if std_types else set()
        hosts |= {"cassert"} if asserts else set()
        lines += [f"#include <{h}>" for h in sorted(hosts)]
        lines.append("#endif")
    for name, value in slice_prelude.MACROS.items():
        if name in words:
            lines += [f"#ifndef {name}", f"#define {name} {value}", "#endif"]
    return "\n".join(lines) + "\n\n" if lines else ""


def _using_std(body: str) -> set[str]:
    if not re.search(r"\busing\s+namespace\s+std\b", body):
        return set()
    return _words(body) & set(slice_prelude.STD)


def _headers(record: Record, words: set[str]) -> list[str]:
    found = []
    for header, pattern in slice_prelude.HEADERS:
        used = {w for w in words if re.fullmatch(pattern, w)}
        only_half = used <= {"half", "half2"}  # as likely a variable's name
        wanted = not header.startswith("cub/") or any(h.startswith("cub/") for h in record.includes)
        wanted = wanted and (not only_half or header != "cuda_fp16.h" or header in record.includes)
        if used and wanted:
            found.append(header)
    return found + [
        h for h in slice_prelude.INCLUDED_TOO if h in record.includes and "cooperative_groups.h" in found
    ]
