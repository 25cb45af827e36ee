"""Barriers, warp-wide operations and fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.emulator.emit.opcode import parts
from verify.emulator.ops import Op
from verify.emulator.ptx.module import Instr, Operand, Pair, PtxError

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting

_SHUFFLES = {"up": "SHFL_UP", "down": "SHFL_DOWN", "bfly": "SHFL_BFLY", "idx": "SHFL_IDX"}
_REDUX = {"add": "REDUX_ADD", "and": "REDUX_AND", "or": "REDUX_OR", "xor": "REDUX_XOR"}


def pair(o: Operand | None) -> tuple[Operand | None, Operand | None]:
    """`d|p` as two destinations; the second is None where it is not written."""
    return (o.first, o.second) if isinstance(o, Pair) else (o, None)


def bar(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """bar and barrier: sync, arrive, red, warp.sync."""
    p = parts(i.op)
    operands = list(i.operands)
    if p.has("warp"):
        return f"bar_warp_sync(t, {e.names.bits(operands[0], 'b32')}, {site});"
    if p.has("cluster"):
        kind = "wait" if p.has("wait") else "arrive_relaxed" if p.has("relaxed") else "arrive"
        return f"cluster_{kind}(t, {site});"
    family = "bar" if p.words[0] == "bar" or p.has("aligned") else "barrier"
    if p.has("red"):
        to, operands = operands[0], operands[1:]
        predicate = e.names.predicate(operands[-1])
        count = e.names.bits(operands[1], "b32") if len(operands) == 3 else "0"
        what = "popc" if p.has("popc") else "and" if p.has("and") else "or"
        call = f"{family}_red_{what}(t, {e.names.bits(operands[0], 'b32')}, {count}, {predicate}, {site})"
        return e.names.assign(to, call, "u32" if what == "popc" else "pred")
    count = e.names.bits(operands[1], "b32") if len(operands) > 1 else "0"
    kind = "arrive" if p.has("arrive") else "sync"
    return f"{family}_{kind}(t, {e.names.bits(operands[0], 'b32')}, {count}, {site});"


def shfl(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    mode = next(_SHUFFLES[w] for w in p.words if w in _SHUFFLES)
    to, predicate = pair(i.operands[0])
    a, b, c, mask = (e.names.bits(o, "b32") for o in i.operands[1:5])
    tail = e.names.assign(predicate, "q_", "pred") if predicate is not None else ""
    value = e.names.assign(to, "v_", "b32") if to is not None else ""
    return f"{{ u8 q_; u32 v_ = shfl_sync(t, {mode}, {a}, {b}, {c}, {mask}, {site}, &q_); {value} {tail} }}"


def vote(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    what = next(w for w in p.words if w in ("ballot", "any", "all", "uni"))
    mask = e.names.bits(i.operands[2], "b32")
    call = f"vote_{what}(t, {e.names.predicate(i.operands[1])}, {mask}, {site})"
    return e.names.assign(i.operands[0], call, "b32" if what == "ballot" else "pred")


def match(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    width = p.type[1:]
    value, mask = e.names.bits(i.operands[1], p.type), e.names.bits(i.operands[2], "b32")
    to, predicate = pair(i.operands[0])
    if p.has("any"):
        return e.names.assign(to, f"match_any{width}(t, {value}, {mask}, {site})", "b32")
    lines = [f"u8 q_; u32 v_ = match_all{width}(t, {value}, {mask}, {site}, &q_);"]
    lines += [e.names.assign(to, "v_", "b32")] if to is not None else []
    lines += [e.names.assign(predicate, "q_", "pred")] if predicate is not None else []
    return f"{{ {' '.join(lines)} }}"


def redux(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    what = next(w for w in p.words if w in (*_REDUX, "min", "max"))
    name = _REDUX.get(what) or f"REDUX_{what.upper()}_{p.type.upper()}"
    value, mask = e.names.bits(i.operands[1], "b32"), e.names.bits(i.operands[2], "b32")
    return e.names.assign(i.operands[0], f"redux(t, {name}, {value}, {mask}, {site})", "b32")


def activemask(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return e.names.assign(i.operands[0], f"activemask(t, {site})", "b32")


def elect(e: Emitting, i: Instr, op: Op, site: int) -> str:
    to, predicate = pair(i.operands[0])
    mask = e.names.bits(i.operands[1], "b32")
    lines = [f"u8 q_; u32 v_ = elect(t, {mask}, {site}, &q_); (void)v_;"]
    lines += [e.names.assign(to, "v_", "b32")] if to is not None else []
    lines += [e.names.assign(predicate, "q_", "pred")] if predicate is not None else []
    return f"{{ {' '.join(lines)} }}"


_SCOPES = {
    "cta": "SCOPE_CTA",
    "cluster": "SCOPE_CLUSTER",
    "gpu": "SCOPE_GPU",
    "gl": "SCOPE_GPU",
    "sys": "SCOPE_SYS",
}


def fence(e: Emitting, i: Instr, op: Op, site: int) -> str:
    p = parts(i.op)
    if p.has("proxy"):
        return f"fence_proxy(t, {site});"
    scopes = [_SCOPES[w] for w in p.words[1:] if w in _SCOPES]
    if not scopes and p.words[0] == "membar":
        raise PtxError("CP7103", f"{i.op}: no scope")
    return f"fence(t, {scopes[0] if scopes else 'SCOPE_CTA'});"


def nanosleep(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return "nanosleep(t);"
