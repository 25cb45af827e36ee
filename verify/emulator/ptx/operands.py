"""Operands of instructions, and the scopes that say what their names mean."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from verify.emulator.ptx.constants import expression, number
from verify.emulator.ptx.lexical import NAME, brief, split
from verify.emulator.ptx.module import Addr, Imm, Operand, Pair, PtxError, Reg, Special, Sym, Vec

_AXES = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
SPECIALS: frozenset[str] = frozenset(
    (
        *(f"%{name}{part}" for name in _AXES for part in ("", ".x", ".y", ".z", ".w")),
        *(f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")),
        *(f"%envreg{i}" for i in range(32)),
        *(f"%pm{i}" for i in range(8)),
        *(f"%pm{i}_64" for i in range(8)),
        *(f"%reserved_smem_offset_{which}" for which in ("begin", "end", "cap", "0", "1")),
        *("%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster"),
        *("%cluster_ctarank", "%cluster_nctarank", "%clock", "%clock_hi", "%clock64"),
        *("%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%current_graph_exec"),
        *("%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size", "WARP_SZ"),
    )
)

_NAME = re.compile(NAME, re.ASCII)
_BASED = re.compile(rf"({NAME})\s*+([+-].*)?", re.ASCII | re.DOTALL)
_PAIR = re.compile(rf"({NAME}|_)\s*+\|\s*+({NAME}|_)", re.ASCII)
_SELECTED = re.compile(rf"{NAME}\.[bhxyzw]\d?", re.ASCII)
_MAX_DIGITS = 9  # of the number in a register's name


class Names:
    """All names of one function: keeps them unique, and the types of the registers that it mentions."""

    def __init__(self, module: Container[str]) -> None:
        self.module = module
        self.taken: set[str] = set()
        self.regs: dict[str, str] = {}
        self.scopes = 0

    def unique(self, name: str, scope: int) -> str:
        """`name`, or with a suffix in an inner scope or where it is taken."""
        found = f"{name}__{scope}" if scope else name
        while found in self.taken or found in self.module:
            found += "_"
        self.taken.add(found)
        return found


def _numbered(name: str) -> Iterator[tuple[str, int]]:
    """Every way to read `name` as a stem and a number without leading zeros: `%r12` is %r 12, %r1 2."""
    for cut in range(len(name) - 1, max(0, len(name) - _MAX_DIGITS - 1), -1):
        if not "0" <= name[cut] <= "9":
            return
        if name[cut] != "0" or cut == len(name) - 1:
            yield name[:cut], int(name[cut:])


class Scope:
    """What the names between one pair of braces mean."""

    def __init__(self, names: Names, parent: Scope | None) -> None:
        self.all = names
        self.parent = parent
        self.number = names.scopes
        names.scopes += 1
        self.names: dict[str, Reg | Sym] = {}
        self.ranges: dict[str, tuple[int, str]] = {}  # prefix: (how many, type) of `.reg .f32 %f<5>`
        self.first: dict[
            str, int
        ] = {}  # stem: the lowest number of a `stem`N that no range of this stem declared
        self.cache: dict[str, Operand | None] = {"_": None}

    def add_symbol(self, name: str) -> str:
        """Declares a variable or label; its unique name."""
        unique = self.all.unique(name, self.number)
        self._add(name, Sym(unique))
        return unique

    def add_register(self, name: str, kind: str) -> None:
        """Declares one register."""
        unique = self.all.unique(name, self.number)
        self._add(name, Reg(unique))
        self.all.regs[unique] = kind

    def add_registers(self, prefix: str, count: int, kind: str) -> None:
        """Declares `prefix`0 … `prefix`count-1. They get into `regs` when they are mentioned."""
        lowest = {stem: 10 * index for stem, index in _numbered(prefix) if index}  # %r1<…> begins with %r10
        taken = any(stem in self.ranges and low < self.ranges[stem][0] for stem, low in lowest.items())
        if taken or prefix in self.ranges or self.first.get(prefix, count) < count:
            raise PtxError("CP7101", f"a register of {prefix}<{count}> is declared twice")
        self.ranges[prefix] = (count, kind)
        for stem, low in lowest.items():
            self.first[stem] = min(low, self.first.get(stem, low))
        self.cache = {"_": None}

    def find(self, name: str) -> Reg | Sym | None:
        """What a name means here: a register, or a symbol of the function or the module. None: undeclared."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name) or scope._ranged(name)
            if found is not None:
                return found
            scope = scope.parent
        return Sym(name) if name in self.all.module else None

    def operand(self, text: str) -> Operand | None:
        """An operand; None: the sink `_`. PtxError CP7101: malformed or undeclared; CP7103: unsupported."""
        found = self.cache.get(text)
        if found is None and text != "_":
            found = self.cache[text] = self._parse(text)
        return found

    def _add(self, name: str, meaning: Reg | Sym) -> None:
        if name in self.names or self._ranged(name) or name in SPECIALS:
            raise PtxError("CP7101", f"{name} is declared twice")
        self.names[name] = meaning
        for stem, index in _numbered(name):
            self.first[stem] = min(index, self.first.get(stem, index))
        if len(self.cache) > 1:
            self.cache = {"_": None}

    def _ranged(self, name: str) -> Reg | None:
        for stem, index in _numbered(name):
            declared = self.ranges.get(stem)
            if declared and index < declared[0]:
                unique = self.all.unique(name, self.number)
                self.all.regs[unique] = declared[1]
                register = self.names[name] = Reg(unique)
                return register
        return None

    def _parse(self, text: str) -> Operand:
        if not text:
            raise PtxError("CP7101", "an operand is missing")
        first = text[0]
        if first == "[":
            return self._address(text)
        if first == "{":
            return self._vector(text)
        if "|" in text and (pair := _PAIR.fullmatch(text)):
            return self._pair(*pair.groups())
        if _NAME.fullmatch(text):
            found = self.find(text)
            if found is not None:
                return found
            if text in SPECIALS:
                return Special(text)
            raise PtxError("CP7101", f"{brief(text)} is not declared")
        if first == "!":
            return self._negated(text)
        if text in SPECIALS:
            return Special(text)
        constant = number(text)
        if constant is not None:
            return constant
        computed = expression(text)
        if computed is not None:
            return Imm(computed)
        base, offset = self._based(text)
        if isinstance(base, Sym):
            return Sym(base.name, offset)
        raise PtxError("CP7101", f"a register with an offset is no operand: {brief(text)}")

    def _negated(self, text: str) -> Reg:
        name = text[1:].strip()
        found = self.find(name)
        if not isinstance(found, Reg) or self.all.regs[found.name] != "pred":
            raise PtxError("CP7101", f"{brief(text)} negates something that is no predicate")
        return Reg(found.name, negated=True)

    def _based(self, text: str) -> tuple[Reg | Sym, int]:
        """`name`, `name+4`, `name+-4` or `name-4`: what is named, and the offset."""
        found = _BASED.fullmatch(text)
        if not found:
            if _SELECTED.fullmatch(text):
                raise PtxError("CP7103", f"parts of registers are not supported: {brief(text)}")
            raise PtxError("CP7101", f"not an operand: {brief(text)}")
        base = self.find(found[1])
        if base is None:
            what = "has no offsets" if found[1] in SPECIALS else "is not declared"
            raise PtxError("CP7101", f"{brief(found[1])} {what}")
        if not found[2]:
            return base, 0
        offset = expression(found[2])
        if offset is None:
            raise PtxError("CP7101", f"{brief(found[2])} is no offset")
        return base, offset

    def _address(self, text: str) -> Addr:
        if text[-1] != "]" or "[" in text[1:] or "]" in text[:-1]:
            raise PtxError("CP7101", f"not an address: {brief(text)}")
        first, *rest = split(text[1:-1]) or [""]
        coords: tuple[Operand, ...] = ()
        if rest:
            if len(rest) > 1 or not rest[0].startswith("{"):
                raise PtxError("CP7103", f"this form of address is not supported: {brief(text)}")
            items = self._vector(rest[0]).items
            coords = tuple(item for item in items if item is not None)
            if len(coords) != len(items):
                raise PtxError("CP7101", f"a coordinate is missing: {brief(text)}")
        absolute = expression(first)
        if absolute is not None:
            return Addr(None, absolute, coords)
        base, offset = self._based(first)
        return Addr(base, offset, coords)

    def _vector(self, text: str) -> Vec:
        items = split(text[1:-1]) if text[-1] == "}" else []
        if not items or any(item[:1] in ("{", "[") for item in items):
            raise PtxError("CP7101", f"not a vector: {brief(text)}")
        return Vec(tuple(self.operand(item) for item in items))

    def _pair(self, *parts: str) -> Pair:
        first, second = (self.operand(part) for part in parts)
        if not all(one is None or isinstance(one, Reg) for one in (first, second)):
            raise PtxError("CP7101", f"not a pair of registers: {' | '.join(parts)}")
        return Pair(first, second)
