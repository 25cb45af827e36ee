"""Operands of instructions, and the scopes that say what their names mean."""

from __future__ import annotations

import re
from collections.abc import Container

from verify.emulator.ptx.lexical import NAME, brief, integer, number, split
from verify.emulator.ptx.module import Addr, Operand, Pair, PtxError, Reg, Special, Sym, Vec

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
_OFFSET = re.compile(rf"({NAME})\s*+(?:([+-])\s*+(-?\s*+\w+))?", re.ASCII)
_DIGITS = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


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


class Scope:
    """What the names between one pair of braces mean."""

    def __init__(self, names: Names, parent: Scope | None) -> None:
        self.all = names
        self.parent = parent
        self.number = names.scopes
        names.scopes += 1
        self.names: dict[str, Reg | Sym] = {}
        self.ranges: dict[str, tuple[int, str]] = {}  # prefix: (how many, type) of `.reg .f32 %f<5>`
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
        for other in self.ranges:
            short, long = sorted((prefix, other), key=len)
            if long.startswith(short) and (long == short or long[len(short) :].isdigit()):
                raise PtxError("CP7101", f"the registers {prefix}<…> are declared twice")
        if any(self._in_range(name, prefix, count) for name in self.names):
            raise PtxError("CP7101", f"a register of {prefix}<…> is declared twice")
        self.ranges[prefix] = (count, kind)
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
        if len(self.cache) > 1:
            self.cache = {"_": None}

    @staticmethod
    def _in_range(name: str, prefix: str, count: int) -> bool:
        digits = name[len(prefix) :]
        return bool(name.startswith(prefix) and _DIGITS.fullmatch(digits) and int(digits) < count)

    def _ranged(self, name: str) -> Reg | None:
        for cut in range(len(name) - 1, 0, -1):
            if not "0" <= name[cut] <= "9":
                return None
            declared = self.ranges.get(name[:cut])
            if declared and self._in_range(name, name[:cut], declared[0]):
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
        if "|" in text:
            return self._pair(text)
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
        found = _OFFSET.fullmatch(text)
        if not found:
            if re.match(rf"{NAME}\.[bh]\d|.*[*/()<>&^~?]|.*\d\s*[+-]", text, re.ASCII):
                raise PtxError("CP7103", f"expressions and selectors are not supported: {brief(text)}")
            raise PtxError("CP7101", f"not an operand: {brief(text)}")
        base = self.find(found[1])
        if base is None:
            what = "has no offsets" if found[1] in SPECIALS else "is not declared"
            raise PtxError("CP7101", f"{brief(found[1])} {what}")
        if not found[2]:
            return base, 0
        offset = integer(found[3])
        if offset is None:
            raise PtxError("CP7101", f"{brief(found[3])} is no offset")
        return base, -offset if found[2] == "-" else offset

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
        absolute = integer(first)
        if absolute is not None:
            return Addr(None, absolute, coords)
        base, offset = self._based(first)
        return Addr(base, offset, coords)

    def _vector(self, text: str) -> Vec:
        items = split(text[1:-1]) if text[-1] == "}" else []
        if not items or any(item[:1] in ("{", "[") for item in items):
            raise PtxError("CP7101", f"not a vector: {brief(text)}")
        return Vec(tuple(self.operand(item) for item in items))

    def _pair(self, text: str) -> Pair:
        parts = text.split("|")
        if len(parts) != 2:
            raise PtxError("CP7101", f"not a pair: {brief(text)}")
        first, second = (self.operand(part.strip()) for part in parts)
        for one in (first, second):
            if not (one is None or isinstance(one, Reg)):
                raise PtxError("CP7101", f"not a pair of registers: {brief(text)}")
        return Pair(first, second)
