"""Python names for the author's names: kept where Python and CuTe DSL allow, else a stable rename."""

from __future__ import annotations

import builtins
import keyword
import unicodedata

from translator.mapping.resolve import DSL_TYPES

# Names the generated module uses itself.
_MODULE = {
    "cutlass",
    "cute",
    "torch",
    "functools",
    "arith",
    "llvm",
    "nvvm",
    "cuda",
    "gmem",
    "grid",
    "block",
    "smem",
    "stream",
    "make_ptr",
    "make_fake_stream",
    "Numeric",
}
RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *DSL_TYPES.values(), *_MODULE, "self"}
)


OPERATORS = {
    "operator()": "call",
    "operator[]": "item",
    "operator+": "add",
    "operator-": "sub",
    "operator*": "mul",
}
OPERATORS |= {"operator/": "div", "operator<": "less", "operator==": "equal", "operator+=": "add_to"}


def python_name(name: str) -> str:
    """`name` as a Python identifier that hides nothing the port needs.

    In the form that Python compares names in: C++ tells `ﬁ` from `fi`, Python does not.
    """
    normal = unicodedata.normalize("NFKC", OPERATORS.get(name, name))
    clean = "".join(c if f"_{c}".isidentifier() else "_" for c in normal) or "_"
    if clean[0].isdigit():
        clean = f"_{clean}"
    while clean.startswith("__"):  # Python mangles these in classes and reserves them elsewhere
        clean = clean[1:]
    return f"{clean}_" if clean in RESERVED else clean


def symbol_name(name: str) -> str:
    """`name` in ASCII, as names of device symbols must be: without accents, other letters by number."""
    letters = (c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "".join(c if c.isascii() else f"u{ord(c):04x}" for c in letters)


class Names:
    """Hands out names unique within one function (and distinct from the module's)."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.taken = set(taken or ())
        self.given: dict[int, str] = {}
        self.constants: set[str] = set()  # names of the module's constants used here

    def fresh(self, wanted: str) -> str:
        base = python_name(wanted)
        name, k = base, 0
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name

    def of(self, uid: int, wanted: str) -> str:
        """The name of variable `uid`, the same each time."""
        if uid not in self.given:
            self.given[uid] = self.fresh(wanted)
        return self.given[uid]
