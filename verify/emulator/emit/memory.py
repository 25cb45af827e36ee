"""Loads, stores, atomics and address arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.emulator.emit.opcode import Parts, parts
from verify.emulator.emit.operands import C_TYPES
from verify.emulator.emit.provenance import origin
from verify.emulator.ops import Op
from verify.emulator.ptx.module import SIZES, Addr, Imm, Instr, Operand, PtxError, Reg, Sym, Vec

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting

_SPACE_NAMES = {
    "global": "GLOBAL",
    "shared": "SHARED",
    "local": "LOCAL",
    "param": "PARAM",
    "const": "CONST",
    "generic": "GENERIC",
}


def space_of(p: Parts) -> str:
    """The suffix of the runtime's access macros."""
    return "CLUSTER" if p.cluster else _SPACE_NAMES[p.space]


def _items(o: Operand | None, count: int) -> list[Operand | None]:
    items: list[Operand | None] = list(o.items) if isinstance(o, Vec) else [o]
    if len(items) != count:
        raise PtxError("CP7101", f"{len(items)} registers for {count} values")
    return items


def _in_param(e: Emitting, o: Operand | None, p: Parts) -> None:
    """PtxError where an access to a parameter at a constant offset leaves it: no check sees that later."""
    if p.space != "param" or not isinstance(o, Addr) or not isinstance(o.base, Sym):
        return
    size, at = e.param_bytes(o.base.name), o.base.offset + o.offset
    if size is not None and not 0 <= at <= size - SIZES[p.type] * p.vector:
        raise PtxError("CP7101", f"byte {at} of parameter {o.base.name}, which has {size}")


def through_register(i: Instr) -> bool:
    """Whether an access to the space of parameters has its address in a register."""
    if i.op.split(".")[0] not in ("ld", "st") or parts(i.op).space != "param":
        return False
    address = i.operands[1 if i.op.startswith("ld") else 0]
    return isinstance(address, Addr) and isinstance(address.base, Reg)


def _address(e: Emitting, i: Instr, o: Operand | None, p: Parts, site: int) -> str:
    """The address of a load or store, checked where nothing later does."""
    _in_param(e, o, p)
    address, size = e.names.address(o), SIZES[p.type] * p.vector
    if through_register(i):
        return f"PARAM_AT({address}, {size}, {site}, params_)"
    if p.space == "shared" and not p.cluster and (of := origin(o, e.origins, e.layout)):
        return f"IN_VARIABLE({address}, {size}, {of.start}, {of.stop}, {site})"
    return address


def load(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    to, address = i.operands[0], _address(e, i, i.operands[1], p, site)
    space, size = space_of(p), SIZES[p.type]
    if p.vector == 1 and size <= 8:
        c = C_TYPES[size]
        if p.order:
            value = f"LDO_{space}({c}, {address}, {site}, {p.order}{p.scope}{e.strong(i)})"
        elif p.has("nc"):
            value = f"LDO_{space}({c}, {address}, {site}, ORD_CONST)"
        else:
            value = f"LD_{space}({c}, {address}, {site})"
        return e.names.assign(to, value, p.type)
    n = size * p.vector
    lines = [f"u8 v_[{n}] __attribute__((aligned(16)));"]
    order = f"{p.order}{p.scope}{e.strong(i)}" if p.order else "ORD_CONST" if p.has("nc") else ""
    if order:
        lines.append(f"LDO_{space}_N({n}, {address}, {site}, v_, {order});")
    else:
        lines.append(f"LD_{space}_N({n}, {address}, {site}, v_);")
    for k, item in enumerate(_items(to, p.vector)):
        if item is not None:
            lines.append(e.names.assign(item, f"*({C_TYPES[size]}*)(v_ + {k * size})", p.type))
    return f"{{ {' '.join(lines)} }}"


def store(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    address, value = _address(e, i, i.operands[0], p, site), i.operands[1]
    space, size = space_of(p), SIZES[p.type]
    order = f"{p.order}{p.scope}{e.strong(i)}" if p.order else ""
    if p.vector == 1 and size <= 8:
        what = f"{C_TYPES[size]}, {address}, {e.names.bits(value, p.type)}, {site}"
        return f"STO_{space}({what}, {order});" if order else f"ST_{space}({what});"
    n = size * p.vector
    lines = [f"u8 v_[{n}] __attribute__((aligned(16)));"]
    for k, item in enumerate(_items(value, p.vector)):
        lines.append(f"*({C_TYPES[size]}*)(v_ + {k * size}) = {e.names.bits(item, p.type)};")
    if order:
        lines.append(f"STO_{space}_N({n}, {address}, {site}, v_, {order});")
    else:
        lines.append(f"ST_{space}_N({n}, {address}, {site}, v_);")
    return f"{{ {' '.join(lines)} }}"


_LOGIC = {"and": "&", "or": "|", "xor": "^"}


def _updated(what: str, space: str, t: str, x: str, y: str, z: str) -> str:
    """The new value of an atomic as bits: `x` what memory holds, `y` and `z` the operands."""
    c = C_TYPES[SIZES[t]]
    s = f"s{8 * SIZES[t]}" if t[0] == "s" else c
    if what in _LOGIC:
        return f"({x} {_LOGIC[what]} {y})"
    if what == "exch":
        return y
    if what == "cas":
        return f"({x} == {y} ? {z} : {x})"
    if what == "add" and t == "f32" and space != "shared":
        # Addition of f32 flushes denormals in global memory and keeps them in shared memory.
        return f"atom_add_f32_ftz({x}, {y})" if space == "global" else f"atom_add_f32_at_(t, a_, {x}, {y})"
    if t in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2"):
        return f"atom_{what}_{t}({x}, {y})"
    if what == "add":
        return f"({c})({x} + {y})"
    if what in ("min", "max"):
        sign = "<" if what == "min" else ">"
        return f"(({s}){x} {sign} ({s}){y} ? {x} : {y})"
    if what == "inc":
        return f"({x} >= {y} ? 0 : {x} + 1)"
    if what == "dec":
        return f"({x} == 0 || {x} > {y} ? {y} : {x} - 1)"
    raise PtxError("CP7103", f"atomic operation {what}.{t}")


def looks(i: Instr) -> bool:
    """Whether an atomic only looks at memory: how a kernel waits for another thread's news, as in
    atomicAdd(p, 0) or a compare-and-swap that fails."""
    p = parts(i.op)
    if p.has("cas") or p.has("exch"):
        return True
    value = i.operands[-1]
    same = -1 if p.has("and") else 0
    neutral = any(p.has(w) for w in ("add", "or", "xor", "and"))
    size = 8 * SIZES[p.type]
    return neutral and isinstance(value, Imm) and (value.value - same) % (1 << size) == 0


_ATOMICS = ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")


def _atomic(e: Emitting, i: Instr, site: int, returns: bool) -> str:
    p = parts(i.op)
    what = next(w for w in p.words[1:] if w in _ATOMICS)
    operands = list(i.operands)
    to = operands.pop(0) if returns else None
    address = _address(e, i, operands.pop(0), p, site)
    order = f"{p.order or 'ORD_RELAXED'}{p.scope}"
    size, n = SIZES[p.type], SIZES[p.type] * p.vector
    c = C_TYPES[size]
    lines = [f"u64 a_ = {address}; u8 *p_ = AT_{space_of(p)}({n}, a_, {site}, {order});"]
    values = _items(operands[0], p.vector)
    results = _items(to, p.vector) if returns and to is not None else [None] * p.vector
    for k, (value, result) in enumerate(zip(values, results, strict=True)):
        x, y, z = f"o{k}_", f"x{k}_", f"z{k}_"
        lines.append(f"{c} {y} = {e.names.bits(value, p.type)};")
        if what == "cas":
            lines.append(f"{c} {z} = {e.names.bits(operands[1], p.type)};")
        lines.append(f"{c} {x} = *({c}*)(p_ + {k * size});")
        lines.append(f"*({c}*)(p_ + {k * size}) = {_updated(what, p.space, p.type, x, y, z)};")
        if result is not None:
            lines.append(e.names.assign(result, x, p.type))
    if returns and looks(i):
        lines.append(f"spin_yield(t, {site});")
    return f"{{ {' '.join(lines)} }}"


def atom(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return _atomic(e, i, site, returns=True)


def red(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return _atomic(e, i, site, returns=False)


def cvta(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """Generic addresses are host addresses; only shared memory has a window of its own."""
    p = parts(i.op)
    t = p.type
    source = e.names.bits(i.operands[1], t)
    if p.space == "shared":
        base = "(u64)t->shared"
        if p.cluster:
            source = f"cluster_to_shared(t, {source})" if p.has("to") else f"cluster_to_generic(t, {source})"
        else:
            source = f"({source} - {base})" if p.has("to") else f"({source} + {base})"
    return e.names.assign(i.operands[0], source, t)


def isspacep(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    address = e.names.bits(i.operands[1], "b64")
    return e.names.assign(i.operands[0], f"is_{'cluster' if p.cluster else p.space}(t, {address})", "pred")


def nothing(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """Hints that change no value: prefetches, cache policies."""
    return ";"


def mapa(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """The address of the same shared variable in another block of the cluster."""
    p = parts(i.op)
    address, rank = e.names.bits(i.operands[1], p.type), e.names.bits(i.operands[2], "b32")
    kind = "shared" if p.space == "shared" else "generic"
    return e.names.assign(i.operands[0], f"mapa_{kind}(t, {address}, {rank})", p.type)


def literal(o: Operand | None) -> int:
    """A constant operand."""
    if not isinstance(o, Imm):
        raise PtxError("CP7103", f"a constant is expected, not {o}")
    return o.value
