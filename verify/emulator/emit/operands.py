"""Operands as C expressions: bits of a given width."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping

from verify.emulator.ptx.module import SIZES, Addr, Imm, Operand, PtxError, Reg, Special, Sym

C_TYPES: Mapping[int, str] = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u128"}
_FLOATS = {"f32": "<f", "f64": "<d", "tf32": "<f"}

# Special registers and constants, as C over the thread `t`.
SPECIALS: Mapping[str, str] = {
    **{f"%tid.{a}": f"t->tid[{i}]" for i, a in enumerate("xyz")},
    **{f"%ntid.{a}": f"t->launch->block[{i}]" for i, a in enumerate("xyz")},
    **{f"%ctaid.{a}": f"t->block->ctaid[{i}]" for i, a in enumerate("xyz")},
    **{f"%nctaid.{a}": f"t->launch->grid[{i}]" for i, a in enumerate("xyz")},
    "%laneid": "t->lane",
    "%warpid": "warp_index(t)",
    "%nwarpid": "nwarpid_(t)",
    "%smid": "(t->block->linear % 132u)",
    "%nsmid": "132u",
    "%gridid": "1ull",
    "%lanemask_eq": "(1u << t->lane)",
    "%lanemask_lt": "((1u << t->lane) - 1u)",
    "%lanemask_le": "((2u << t->lane) - 1u)",
    "%lanemask_gt": "(~((2u << t->lane) - 1u))",
    "%lanemask_ge": "(~((1u << t->lane) - 1u))",
    "%clock": "clock_now(t)",
    "%clock64": "clock_now(t)",
    "%clock_hi": "(clock_now(t) >> 32)",
    "%globaltimer": "clock_now(t)",
    "%globaltimer_lo": "clock_now(t)",
    "%globaltimer_hi": "(clock_now(t) >> 32)",
    "%dynamic_smem_size": "t->launch->dynamic_shared",
    "%total_smem_size": "t->launch->total_shared",
    "%is_explicit_cluster": "(CLUSTER_SIZE(t) > 1)",
    **{f"%clusterid.{a}": f"(t->block->ctaid[{i}] / t->launch->cluster[{i}])" for i, a in enumerate("xyz")},
    **{f"%nclusterid.{a}": f"(t->launch->grid[{i}] / t->launch->cluster[{i}])" for i, a in enumerate("xyz")},
    **{
        f"%cluster_ctaid.{a}": f"(t->block->ctaid[{i}] % t->launch->cluster[{i}])"
        for i, a in enumerate("xyz")
    },
    **{f"%cluster_nctaid.{a}": f"t->launch->cluster[{i}]" for i, a in enumerate("xyz")},
    "%cluster_ctarank": "CLUSTER_RANK(t)",
    "%cluster_nctarank": "CLUSTER_SIZE(t)",
    # What a driver passes to cooperative groups: where the blocks of a cooperative launch meet.
    "%envreg1": "(u32)(t->launch->workspace >> 32)",
    "%envreg2": "(u32)t->launch->workspace",
    "WARP_SZ": "32u",
}


def identifier(name: str, prefix: str) -> str:
    """A C identifier for a PTX name; different names give different ones."""
    return prefix + re.sub(r"[^A-Za-z0-9]", lambda m: "_" if m[0] == "_" else f"_{ord(m[0]):x}_", name)


def immediate(value: Imm, type_: str) -> str:
    """A constant as bits of `type_`."""
    size = SIZES[type_]
    bits = value.value
    if type_ in _FLOATS:
        if value.kind == "int":
            bits = int.from_bytes(struct.pack(_FLOATS[type_], float(value.value)), "little")
        elif value.kind != ("f64" if type_ == "f64" else "f32"):
            raw = bits.to_bytes(8 if value.kind == "f64" else 4, "little")
            number = struct.unpack(_FLOATS[value.kind], raw)[0]
            bits = int.from_bytes(struct.pack(_FLOATS[type_], number), "little")
    bits &= (1 << 8 * size) - 1
    if size == 16:
        return f"((u128){bits >> 64:#x}ull << 64 | {bits & (1 << 64) - 1:#x}ull)"
    return f"(({C_TYPES[size]}){bits:#x}{'ull' if size == 8 else 'u'})"


class Names:
    """How the operands of one function read: its registers, and where each variable lies."""

    def __init__(self, regs: Mapping[str, str], places: Mapping[str, str]) -> None:
        """`places` maps a variable's name to the C expression of its address in its own space."""
        self.regs = regs
        self.places = places

    def size(self, reg: Reg) -> int:
        """Bytes of a register."""
        return SIZES[self.regs[reg.name]]

    def is_predicate(self, reg: Reg) -> bool:
        return self.regs[reg.name] == "pred"

    def register(self, reg: Reg) -> str:
        """The C variable of a register."""
        return identifier(reg.name.lstrip("%"), "r_")

    def predicate(self, o: Operand | None) -> str:
        """A predicate operand, maybe negated, as 0 or 1."""
        match o:
            case Reg(_, negated):
                return ("!" if negated else "") + self.register(o)
            case Imm(value):
                return str(int(value != 0))
            case Special(name) if name in SPECIALS:
                return SPECIALS[name]
        raise PtxError("CP7101", f"{o} is no predicate")

    def bits(self, o: Operand | None, type_: str) -> str:
        """An operand as bits of `type_`: the low bits of a wider register, zeros above a narrower one."""
        if type_ == "pred":
            return self.predicate(o)
        size = SIZES[type_]
        match o:
            case Reg():
                name = self.register(o)
                if self.is_predicate(o):
                    raise PtxError("CP7101", f"predicate {o.name} where {type_} is expected")
                return name if self.size(o) == size else f"(({C_TYPES[size]}){name})"
            case Imm():
                return immediate(o, type_)
            case Special(name):
                if name not in SPECIALS:
                    raise PtxError("CP7103", f"special register {name} is not supported")
                return f"(({C_TYPES[size]})({SPECIALS[name]}))"
            case Sym(name, offset):
                return f"(({C_TYPES[size]})({self.place(name)} + ({offset})))"
        raise PtxError("CP7101", f"operand {o} where {type_} is expected")

    def place(self, name: str) -> str:
        """The address of a variable in its own space."""
        if name not in self.places:
            raise PtxError("CP7101", f"{name} is no variable that is known here")
        return self.places[name]

    def address(self, o: Operand | None) -> str:
        """`[base+offset]` as u64."""
        if not isinstance(o, Addr):
            raise PtxError("CP7101", f"{o} is no address")
        if o.base is None:
            return f"((u64){o.offset & (1 << 64) - 1:#x}ull)"
        base = self.bits(o.base, "b64")
        return f"({base} + ({o.offset}ll))" if o.offset else base

    def assign(self, o: Operand | None, value: str, type_: str) -> str:
        """A statement that puts bits of `type_` into a register, extended to its width as the type says."""
        if o is None:
            return f"(void)({value});"
        if not isinstance(o, Reg):
            raise PtxError("CP7101", f"{o} can't be written")
        name = self.register(o)
        if self.is_predicate(o) or type_ == "pred":
            return f"{name} = ({value}) != 0;" if type_ != "pred" else f"{name} = ({value});"
        have, size = self.size(o), SIZES[type_]
        if have == size:
            return f"{name} = ({value});"
        if type_[0] == "s":
            return f"{name} = ({C_TYPES[have]})(s{8 * have})(s{8 * size})({value});"
        return f"{name} = ({C_TYPES[have]})({C_TYPES[size]})({value});"
