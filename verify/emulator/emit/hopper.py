"""Asynchronous copies, mbarriers, bulk copies, wgmma, clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verify.emulator.emit.operands import C_TYPES
from verify.emulator.emit.tensor import ELEMENT_BITS, array, assigned, items, shape
from verify.emulator.ops import Op
from verify.emulator.ptx.module import (
    SIZES,
    Addr,
    Function,
    Imm,
    Instr,
    Label,
    Operand,
    Pair,
    PtxError,
    Reg,
    Vec,
)

if TYPE_CHECKING:
    from verify.emulator.emit.function import Emitting


def _constant(o: Operand | None) -> int:
    if not isinstance(o, Imm) or o.kind != "int":
        raise PtxError("CP7101", f"a constant is expected, not {o}")
    return o.value


def _shared(e: Emitting, o: Operand | None, space: str, site: int) -> str:
    """A shared::cluster address as u32; `space` is empty for generic addresses."""
    address = e.names.address(o)
    return f"(u32){address}" if space else f"cluster_address(t, {address}, {site})"


# ---- cp.async


def cp_async(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """`[to], [from], bytes {, bytes that are read | do not read} {, cache policy}`."""
    to, source, size, *rest = i.operands
    bytes_ = _constant(size)
    if bytes_ not in ((16,) if op.fields["cache"] == "cg" else (4, 8, 16)):
        raise PtxError("CP7101", f"cp.async of {bytes_} bytes")
    if op.fields.get("hint"):
        rest = rest[:-1]
    read = str(bytes_)
    if rest:
        o = rest[0]
        if isinstance(o, Reg) and e.names.is_predicate(o):
            read = f"({e.names.predicate(o)} ? 0 : {bytes_})"
        else:
            read = e.names.bits(o, "b32")
    return f"cp_async(t, (u32){e.names.address(to)}, {e.names.address(source)}, {bytes_}, {read}, {site});"


def cp_async_group(e: Emitting, i: Instr, op: Op, site: int) -> str:
    group = op.fields["group"]
    if group == "wait_group":
        return f"cp_async_wait(t, {_constant(i.operands[0])});"
    return "cp_async_commit(t);" if group == "commit_group" else "cp_async_wait_all(t);"


def cp_async_mbarrier(e: Emitting, i: Instr, op: Op, site: int) -> str:
    at = _shared(e, i.operands[0], op.fields["space"], site)
    return f"cp_async_mbarrier(t, {at}, {int(bool(op.fields.get('noinc')))}, {site});"


# ---- mbarriers


def mbarrier(e: Emitting, i: Instr, op: Op, site: int) -> str:
    f = op.fields
    what = f["what"]
    operands = list(i.operands)
    if what == "pending_count":
        count = f"mbarrier_pending_count({e.names.bits(operands[1], 'b64')})"
        return e.names.assign(operands[0], count, "b32")
    to = operands.pop(0) if not isinstance(operands[0], Addr) else None
    at = _shared(e, operands.pop(0), f["space"], site)
    if what == "init":
        return f"mbarrier_init(t, {at}, {e.names.bits(operands[0], 'b32')}, {site});"
    if what == "inval":
        return f"mbarrier_inval(t, {at}, {site});"
    if what in ("expect_tx", "complete_tx"):
        return f"mbarrier_{what}(t, {at}, {e.names.bits(operands[0], 'b32')}, {site});"
    flags = ["MBARRIER_RELAXED"] if f.get("order") == "relaxed" else []
    if what in ("test_wait", "try_wait"):
        flags += ["MBARRIER_PARITY"] if f["parity"] else []
        flags += ["MBARRIER_TRY"] if what == "try_wait" else []
        state = e.names.bits(operands[0], "b32" if f["parity"] else "b64")
        call = f"mbarrier_test(t, {at}, {state}, {' | '.join(flags) or '0'}, {site})"
        return e.names.assign(to, call, "pred")
    flags += ["MBARRIER_DROP"] if what == "arrive_drop" else []
    count, size = "1", "0"
    if f.get("expect") == "expect_tx":
        flags.append("MBARRIER_EXPECT")
        size = e.names.bits(operands[0], "b32")
    elif operands:
        count = e.names.bits(operands[0], "b32")
    flags += ["MBARRIER_NO_COMPLETE"] if f.get("expect") == "noComplete" else []
    call = f"mbarrier_arrive(t, {at}, {count}, {size}, {' | '.join(flags) or '0'}, {site})"
    return e.names.assign(to, call, "b64")


# ---- bulk copies


def bulk_group(e: Emitting, i: Instr, op: Op, site: int) -> str:
    if op.fields["group"] == "commit_group":
        return "bulk_commit(t);"
    return f"bulk_wait(t, {_constant(i.operands[0])}, {int(bool(op.fields.get('read')))});"


def _tail(op: Op, rest: list[Operand | None]) -> list[Operand | None]:
    """Optional operands without the cache policy."""
    return rest[:-1] if op.fields.get("hint") else rest


def _multicast(e: Emitting, op: Op, rest: list[Operand | None]) -> str:
    if not op.fields.get("multicast"):
        return "NO_MULTICAST"
    return f"(s32){e.names.bits(rest[0], 'b16')}"


def bulk(e: Emitting, i: Instr, op: Op, site: int) -> str:
    to, source, size, *rest = i.operands
    bytes_ = e.names.bits(size, "b32")
    if op.fields["to"] == "global":
        return f"bulk_store(t, {e.names.address(to)}, (u32){e.names.address(source)}, {bytes_}, {site});"
    at, barrier = f"(u32){e.names.address(to)}", f"(u32){e.names.address(rest[0])}"
    if op.fields["from"] != "global":
        from_ = f"(u32){e.names.address(source)}"
        return f"bulk_to_cluster(t, {at}, {from_}, {bytes_}, {barrier}, {site});"
    blocks = _multicast(e, op, _tail(op, rest[1:]))
    return f"bulk_load(t, {at}, {e.names.address(source)}, {bytes_}, {barrier}, {blocks}, {site});"


_REDUCED = {"b32": "u32", "b64": "u64"}


def bulk_reduce(e: Emitting, i: Instr, op: Op, site: int) -> str:
    to, source, size, *_ = i.operands
    what, type_ = op.fields["op"], op.fields["type"]
    if type_ in ("f32", "f64") and what != "add":
        raise PtxError("CP7103", f"{i.op} is not in PTX")
    kind = f"REDUCE_{what}, REDUCE_{_REDUCED.get(type_, type_)}"
    place = f"{e.names.address(to)}, (u32){e.names.address(source)}, {e.names.bits(size, 'b32')}"
    return f"bulk_reduce(t, {place}, {kind}, {site});"


def _box(e: Emitting, o: Operand | None, op: Op) -> str:
    """The map's address, the rank, the coordinates."""
    if op.fields["mode"].startswith("im2col"):
        raise PtxError("CP7110", "im2col copies are not emulated")
    rank = int(op.fields["dim"][0])
    if not isinstance(o, Addr) or len(o.coords) != rank:
        raise PtxError("CP7101", f"{rank} coordinates are expected")
    coords = ", ".join(f"(s32){e.names.bits(c, 'b32')}" for c in o.coords)
    return f"{e.names.address(o)}, {rank}, (const s32[]){{ {coords} }}"


def bulk_tensor(e: Emitting, i: Instr, op: Op, site: int) -> str:
    if op.fields["to"] == "global":
        box, source = _box(e, i.operands[0], op), e.names.address(i.operands[1])
        return f"tensor_store(t, {box}, (u32){source}, REDUCE_NONE, {site});"
    to, map_, barrier, *rest = i.operands
    box, blocks = _box(e, map_, op), _multicast(e, op, _tail(op, rest))
    at, done = f"(u32){e.names.address(to)}", f"(u32){e.names.address(barrier)}"
    return f"tensor_load(t, {at}, {box}, {done}, {blocks}, {site});"


def bulk_tensor_reduce(e: Emitting, i: Instr, op: Op, site: int) -> str:
    box, source = _box(e, i.operands[0], op), e.names.address(i.operands[1])
    return f"tensor_store(t, {box}, (u32){source}, REDUCE_{op.fields['op']}, {site});"


def store_async(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """st.async and red.async: a value, and the mbarrier that its bytes complete at."""
    f = op.fields
    to, value, barrier = i.operands
    values = items(value, int(f.get("vec", "")[1:] or 1))
    size = SIZES[f["type"]]
    what = f"REDUCE_{f['op']}" if "op" in f else "REDUCE_NONE"
    kind = f"REDUCE_{_REDUCED.get(f['type'], f['type'])}" if "op" in f else "REDUCE_u32"
    data = ", ".join(e.names.bits(v, f["type"]) for v in values)
    place = f"(u32){e.names.address(to)}, v_, {size * len(values)}, {what}, {kind}"
    call = f"store_async(t, {place}, (u32){e.names.address(barrier)}, {site});"
    return f"{{ {C_TYPES[size]} v_[] = {{ {data} }}; {call} }}"


# ---- wgmma


def wgmma(e: Emitting, i: Instr, op: Op, site: int) -> str:
    """`d, a, b, scale-d {, scale-a, scale-b {, major-a}, major-b}`; a is a descriptor or registers."""
    f = op.fields
    m, n, k = shape(f["shape"])
    d, a, b, scale, *rest = i.operands
    registers = isinstance(a, Vec)
    integer, has_major = f["d"] == "s32", f["a"] in ("f16", "bf16")
    flags = [_constant(o) for o in rest]
    expected = 0 if integer else 2 + (has_major * (1 if registers else 2))
    if len(flags) != expected:
        raise PtxError("CP7101", f"{i.op} with {len(flags)} flags, {expected} are expected")
    if any(x not in (1, -1) for x in flags[:2]) or any(x not in (0, 1) for x in flags[2:]):
        raise PtxError("CP7101", f"{i.op} with the flags {flags}")
    negated = [int(x < 0) for x in flags[:2]] or [0, 0]
    major = flags[2:] if not registers else [0, *flags[2:]]
    major_a, major_b = major if len(major) == 2 else (0, 0)
    count = m * n * ELEMENT_BITS[f["d"]] // 32 // 128
    kind = (
        f".n = {n}, .k = {k}, .a = ELEMENT_{f['a']}, .b = ELEMENT_{f['b']}, .d = ELEMENT_{f['d']}, "
        f".saturate = {int(bool(f.get('sat')))}, .negate_a = {negated[0]}, .negate_b = {negated[1]}, "
        f".mn_major_a = {major_a}, .mn_major_b = {major_b}, .from_registers = {int(registers)}"
    )
    lines = [f"static const WgmmaKind kind_ = {{ {kind} }};", array(e, "d_", d, count, 32)]
    lines.append(array(e, "a_", a, 4, 32) if registers else f"u64 a_[1] = {{ {e.names.bits(a, 'b64')} }};")
    call = f"wgmma(t, &kind_, d_, a_, {e.names.bits(b, 'b64')}, {e.names.predicate(scale)}, {site});"
    return f"{{ {' '.join([*lines, call, *assigned(e, 'd_', d, count, 32)])} }}"


def wgmma_registers(f: Function, first: int) -> dict[str, tuple[int, ...]]:
    """Registers of wgmmas, with the sites of those of which they are accumulators; `first` is the site of
    the function's first instruction."""
    found: dict[str, tuple[int, ...]] = {}
    site = first
    for line in f.body:
        if isinstance(line, Label):
            continue
        if isinstance(line, Instr) and line.op.startswith("wgmma.mma_async"):
            for k, o in enumerate(line.operands[:2]):
                for r in o.items if isinstance(o, Vec) else ():
                    if isinstance(r, Reg):
                        found[r.name] = (*found.get(r.name, ()), *((site,) if k == 0 else ()))
        site += 1
    return found


def _registers(o: Operand | None) -> Iterator[str]:
    match o:
        case Reg(name):
            yield name
        case Vec(items=parts):
            for part in parts:
                yield from _registers(part)
        case Pair(first, second):
            yield from _registers(first)
            yield from _registers(second)


def wgmma_touched(e: Emitting, i: Instr, site: int) -> str:
    """What goes before an ordinary instruction that uses registers of wgmmas.

    Moves are left out: the compilers place them after the fence, and ptxas makes one register of both sides.
    """
    if i.op.startswith(("wgmma.", "mov.")):
        return ""
    written = bool(i.operands) and any(r in e.wgmma for r in _registers(i.operands[0]))
    used = sorted({s for o in i.operands for r in _registers(o) for s in e.wgmma.get(r, ())})
    if not used and not written:
        return ""
    sites = ", ".join(map(str, used)) or "0"
    call = f"wgmma_touched(t, w_, {len(used)}, {int(written)}, {site});"
    return f"{{ static const u32 w_[] = {{ {sites} }}; {call} }} "


def wgmma_fence(e: Emitting, i: Instr, op: Op, site: int) -> str:
    return f"wgmma_fence(t, {site});"


def wgmma_group(e: Emitting, i: Instr, op: Op, site: int) -> str:
    if op.fields["group"] == "commit_group":
        return f"wgmma_commit(t, {site});"
    return f"wgmma_wait(t, {_constant(i.operands[0])}, {site});"


# ---- clusters


def getctarank(e: Emitting, i: Instr, op: Op, site: int) -> str:
    kind = "shared" if op.fields["space"] else "generic"
    address = e.names.bits(i.operands[1], op.fields["type"])
    return e.names.assign(i.operands[0], f"getctarank_{kind}(t, {address})", "b32")
