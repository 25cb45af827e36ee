"""Which float types code names and rounds to, read from its PTX."""

from __future__ import annotations

import re

# Types by how much they hold, most first.
RANK = {
    "f64": 0,
    "f32": 1,
    "tf32": 2,
    "f16": 3,
    "bf16": 3,
    "e4m3": 4,
    "e5m2": 4,
    "e3m2": 5,
    "e2m3": 5,
    "e2m1": 6,
}
_TYPE = r"(f64|f32|tf32|bf16|f16|e4m3|e5m2|e3m2|e2m3|e2m1)(?:x[248])?"
_CONVERSION = re.compile(rf"\bcvt(?:\.[a-z][\w:]*)*?\.{_TYPE}\.{_TYPE}\b")
_PRODUCT = re.compile(r"\b(?:wmma|mma|wgmma|tcgen05)\.[\w.:]+")
_NAMED = re.compile(rf"(?:\.|::){_TYPE}\b")
_COMMENT = re.compile(r"//[^\n]*")


def floats(ptx: str) -> list[str]:
    """All float types that the PTX names."""
    return sorted({m.group(1) for m in _NAMED.finditer(_COMMENT.sub("", ptx))})


def narrowings(ptx: str) -> list[str]:
    """Types that wider floats are rounded to, and those that tensor cores multiply."""
    code = _COMMENT.sub("", ptx)
    found = {to for to, source in _CONVERSION.findall(code) if RANK[to] > RANK[source]}
    for product in _PRODUCT.finditer(code):
        found |= {m.group(1) for m in _NAMED.finditer(product.group())}
    return sorted(found)
