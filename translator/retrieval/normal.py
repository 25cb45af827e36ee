"""CUDA text in one normal form, so that one pattern finds an idiom however it is written.

Tokens are separated by one space, conversions and qualifiers are gone, numbers are decimal, and thread
coordinates carry the name of their role: `@tid` in the block, `@lane`, `@warp`, `@gtid` in the grid,
`@gwarp` warp of the grid, `@sublane` and `@gsub` for groups of fewer than 32 lanes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from translator.frontend.no_code import COMMENT_OR_STRING

_TOKEN = re.compile(
    r"(?:threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*[xyz]\b|[^\W\d]\w*|0[xX][0-9a-fA-F]+[uUlL]*"
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlLhH]*"
    r"|->|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|::|\S"
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\(([^)\n]*)\))?[ \t]*(.*)$", re.M)
_CONSTANT = re.compile(r"\b(?:constexpr|const)\s+[\w ]*?\b(\w+)\s*=\s*(\d+)\s*[;,]")


@cache
def _listed(name: str) -> frozenset[str]:
    """Words of a list in `cpp.toml`."""
    text = files("translator.retrieval").joinpath("cpp.toml").read_text(encoding="utf-8")
    return frozenset(w for line in tomllib.loads(text)[name] for w in line.split())


def tokens(text: str) -> list[str]:
    """Tokens of C++ without comments, strings and preprocessor lines; numbers in decimal."""
    text = COMMENT_OR_STRING.sub(lambda m: '""' if m[0].startswith('"') else " ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n?)*", "", text, flags=re.M)
    return [
        _number(t) if t[0].isdigit() or t[0] == "." else re.sub(r"\s", "", t) for t in _TOKEN.findall(text)
    ]


def _number(token: str) -> str:
    if not any(c.isdigit() for c in token):
        return token
    if token[:2] in ("0x", "0X"):
        return str(int(token.rstrip("uUlL"), 16))
    bare = token.rstrip("fFuUlLhH")
    return repr(float(bare)) if any(c in bare for c in ".eE") else bare


def macros(text: str) -> dict[str, tuple[list[str] | None, list[str]]]:
    """Name → (parameters, None for an object-like one; body), numeric constants of the file among them."""
    joined = re.sub(r"\\\r?\n", " ", text)
    found: dict[str, tuple[list[str] | None, list[str]]] = {}
    for m in _DEFINE.finditer(joined):
        params = [p.strip() for p in m[3].split(",")] if m[2] is not None else None
        found[m[1]] = params, tokens(m[4])
    for m in _CONSTANT.finditer(joined):
        found.setdefault(m[1], (None, [m[2]]))
    return found


_MOST = 200_000  # tokens that macros may grow to; what comes after is left out


def expanded(
    code: list[str], table: dict[str, tuple[list[str] | None, list[str]]], depth: int = 4
) -> list[str]:
    """`code` with macros replaced; a macro in its own body stays after a few rounds."""
    if not table or depth == 0:
        return code
    made: list[str] = []
    changed, k = False, 0
    while k < len(code) and len(made) < _MOST:
        entry = table.get(code[k])
        declared = entry is not None and k + 1 < len(code) and code[k + 1] == "="
        if entry is None or declared or (entry[0] is not None and code[k + 1 : k + 2] != ["("]):
            made.append(code[k])
            k += 1
            continue
        params, body = entry
        changed = True
        if params is None:
            made += body
            k += 1
            continue
        end = closing(code, k + 1)
        given = _split(code[k + 2 : end])
        values = dict(zip(params, given, strict=False))
        made += [t for b in body for t in values.get(b, [b])]
        k = end + 1
    return expanded(made, table, depth - 1) if changed else made


def closing(code: list[str], at: int) -> int:
    """The index of the bracket that closes the one at `at`; the last index where none does."""
    opening = code[at]
    other = {"(": ")", "{": "}", "[": "]", "<": ">"}[opening]
    depth = 0
    for k in range(at, len(code)):
        if code[k] == opening:
            depth += 1
        elif code[k] == other or (opening == "<" and code[k] == ">>"):
            depth -= 2 if code[k] == ">>" else 1
            if depth <= 0:
                return k
        elif opening == "<" and code[k] in (";", "{"):
            return at
    return len(code) - 1


def _split(code: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for t in code:
        depth += (t in "([{") - (t in ")]}")
        if t == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(t)
    return parts


def normal(code: Iterable[str], types: frozenset[str] = frozenset()) -> str:
    """The normal form of tokens; `types` are names of types beside C's own, such as template parameters."""
    text = " ".join(_converted(list(code), _listed("types") | types))
    text = f" {text} "
    for _ in range(3):
        text = re.sub(r"\( (\S+(?: \[ [^\[\]()]* \])?) \)", _unwrapped, text)
    return _roles(text)


def _unwrapped(m: re.Match[str]) -> str:
    """`( x )` as `x`, unless it is what a call or a condition has."""
    before = m.string[: m.start()].rsplit(None, 1)
    last = before[-1] if before else ""
    return m[0] if re.match(r"[\w>\]]", last[-1:]) and last != "return" else m[1]


def _converted(code: list[str], types: frozenset[str]) -> list[str]:
    """Without qualifiers and conversions; the types of declarations stay."""
    made: list[str] = []
    qualifiers = _listed("qualifiers")
    k = 0
    while k < len(code):
        t, following = code[k], code[k + 1 : k + 2]
        if t in ("static_cast", "reinterpret_cast", "const_cast") and following == ["<"]:
            k = closing(code, k + 1) + 1
        elif t in qualifiers or t == "::" or (t in types and following == ["("]):
            k += 1
        elif t == "(" and (end := _cast(code, k, types)):
            k = end
        else:
            made.append(t)
            k += 1
    return made


def _cast(code: list[str], at: int, types: frozenset[str]) -> int:
    """The index after `(T)` or `(T*)` at `at` where it converts what follows, else 0."""
    k, qualifiers = at + 1, _listed("qualifiers")
    while k < len(code) and (code[k] in types or code[k] in qualifiers or code[k] in ("*", "&")):
        k += 1
    if k >= len(code) - 1 or code[k] != ")" or not any(t in types for t in code[at + 1 : k]):
        return 0
    after, before = code[k + 1], code[at - 1] if at else ""
    is_value = after[0].isalnum() or after[0] in "_(&*-.~!"
    return k + 1 if (is_value and not re.match(r"[A-Za-z_]\w*$|[\])]", before)) or before == "return" else 0


# ---- roles of thread coordinates

_N = r"(?:\d+|[A-Z]\w*)"
_ROLES = tuple(
    (re.compile(pattern), role)
    for pattern, role in (
        (r"\bblock_thread_rank \( \)|\bthreadIdx\.x", "@tid"),
        (r"@tid (?:& 31\b|% 32\b|% warpSize|& \( 32 - 1 \))", "@lane"),
        (r"@tid (?:>> 5\b|/ 32\b|/ warpSize)", "@warp"),
        (r"@tid (?:% (?:2|4|8|16)\b|& (?:1|3|7|15)\b)", "@sublane"),
        (r"@tid / (?:2|4|8|16)\b", "@subwarp"),
        (rf"blockIdx\.x \* (?:blockDim\.x|{_N}) \+ @tid", "@gtid"),
        (r"blockDim\.x \* blockIdx\.x \+ @tid", "@gtid"),
        (r"@tid \+ blockIdx\.x \* blockDim\.x|@tid \+ blockDim\.x \* blockIdx\.x", "@gtid"),
        (r"(?<![\w\]>)] )\( (@\w+) \)", r"\1"),
        (r"@gtid (?:/ 32\b|>> 5\b|/ warpSize)", "@gwarp"),
        (r"@gtid / (?:2|4|8|16)\b", "@gsub"),
        (r"blockIdx\.x \* \( blockDim\.x (?:/ 32|>> 5|/ warpSize) \) \+ @warp", "@gwarp"),
        (rf"blockIdx\.x \* (?:blockDim\.y|{_N}|\w+) \+ (?:@warp|threadIdx\.y)", "@gwarp"),
        (r"blockIdx\.x \* \w+ \+ @subwarp", "@gsub"),
    )
)
_DEFINITION = re.compile(r"\b(\w+) = ((?:[^;,(){}]|\((?:[^();]|\([^();]*\))*\))+) (?=[;,])")
_TILE = re.compile(r"\b(?:thread_block_tile < (\d+) > (\w+)|(\w+) = (?:\w+ )?tiled_partition < (\d+) >)")


def _roles(text: str) -> str:
    for m in _TILE.finditer(text):
        name, size = m[2] or m[3], int(m[1] or m[4])
        role = "@lane" if size == 32 else "@sublane"
        text = re.sub(rf"\b{name} \. thread_rank \( \)", role, text)
        text = re.sub(rf"\b{name} \. meta_group_rank \( \)", "@warp", text)
        text = re.sub(rf"\b{name} \. (?:size|num_threads) \( \)", str(size), text)
    text = re.sub(r"\bgrid \. thread_rank \( \)", "@gtid", text)
    text = re.sub(r"\bblockIdx\.x \* \w+ \. meta_group_size \( \) \+ @warp", "@gwarp", text)
    for _ in range(3):
        before = text
        text = _named(text)
        for name, meaning in _definitions(text).items():
            text = re.sub(rf"(?<![@\w]){name}\b(?! = )", meaning, text)
        if text == before:
            break
    return text


def _named(text: str) -> str:
    for pattern, role in _ROLES:
        text = pattern.sub(role, text)
    return text


def _definitions(text: str) -> dict[str, str]:
    """Names that stand for a role from their one definition on, and never change."""
    found: dict[str, str] = {}
    for m in _DEFINITION.finditer(text):
        name, meaning = m[1], m[2].strip()
        if not re.fullmatch(r"@\w+|blockIdx\.[xyz]|threadIdx\.y|blockDim\.x", meaning):
            continue
        assigned = rf"\b{name} (?:[-+*/%&|^]|<<|>>)?= (?!{re.escape(meaning)} [;,])"
        counted = rf"\b{name} (?:\+\+|--)|(?:\+\+|--) {name}\b"
        if not re.search(f"{assigned}|{counted}", text):
            found[name] = meaning
    return found
