"""Arithmetic: the C of a table's template with the instruction's operands in it."""

from __future__ import annotations

from verify.emulator.emit.operands import C_TYPES, Names, immediate
from verify.emulator.ops import Op
from verify.emulator.ptx.module import SIZES, Imm, Instr, Operand, Pair, PtxError, Vec


def shape_of(i: Instr) -> str:
    """What tells opcodes of one name apart by their operands: mov packs and unpacks vectors."""
    if i.op.startswith("mov.") and len(i.operands) == 2:
        to, source = i.operands
        if isinstance(source, Vec):
            return f"pack{len(source.items)}"
        if isinstance(to, Vec):
            return f"unpack{len(to.items)}"
    return ""


def pure(names: Names, i: Instr, op: Op) -> str:
    """The statement of one arithmetic instruction. PtxError where the operands are not the opcode's."""
    values: dict[str, str] = {}
    writes: list[tuple[Operand | None, str, str]] = []  # destination, C value, type
    second: Operand | None = None
    rest = list(i.operands)
    for entry in op.signature:
        role, _, type_ = entry.partition(":")
        if not rest:
            if role.endswith("?"):
                continue
            raise PtxError("CP7101", f"{i.op} has too few operands")
        o = rest.pop(0)
        if role.startswith("d"):
            if isinstance(o, Pair) and "|" not in role:
                raise PtxError("CP7101", f"{i.op} has one destination")
            first = o.first if isinstance(o, Pair) else o
            second = o.second if isinstance(o, Pair) else None
            writes += _destinations(first, type_)
        else:
            _source(names, values, role.rstrip("?"), type_, o)
    if rest:
        raise PtxError("CP7101", f"{i.op} has {len(rest)} operands too many")
    return _statement(names, op, values, writes, second)


def _destinations(o: Operand | None, type_: str) -> list[tuple[Operand | None, str, str]]:
    count, _, element = type_.rpartition(".")
    if not count:
        return [(o, "x_", type_)]
    items = o.items if isinstance(o, Vec) else ()
    if len(items) != int(count[1:]):
        raise PtxError("CP7101", f"{count[1:]} destinations are expected")
    return [(item, f"x{k}_", element) for k, item in enumerate(items)]


def _source(names: Names, values: dict[str, str], role: str, type_: str, o: Operand | None) -> None:
    count, _, element = type_.rpartition(".")
    if type_ == "imm":
        if not isinstance(o, Imm):
            raise PtxError("CP7101", f"a constant is expected, not {o}")
        values[role] = immediate(o, "b32")
    elif count:
        items = o.items if isinstance(o, Vec) else ()
        if len(items) != int(count[1:]):
            raise PtxError("CP7101", f"a vector of {count[1:]} is expected")
        values.update({f"{role}{k}": names.bits(item, element) for k, item in enumerate(items)})
    else:
        values[role] = names.bits(o, type_)


def _statement(
    names: Names,
    op: Op,
    values: dict[str, str],
    writes: list[tuple[Operand | None, str, str]],
    second: Operand | None,
) -> str:
    if not op.statement and second is None and len(writes) == 1:
        to, _, type_ = writes[0]
        return names.assign(to, op.text(values), type_)
    # Into temporaries first: a destination may be a source as well.
    lines = [f"{C_TYPES[SIZES[t]]} {x};" for _, x, t in writes]
    if op.statement:
        places = {"d": "x_", **{f"d{k}": x for k, (_, x, _) in enumerate(writes)}}
        lines.append(op.text({**values, **places}) + ";")
    else:
        lines.append(f"x_ = {op.text(values)};")
    if second is not None:
        lines += [f"u8 y_ = {op.second_text(values)};", names.assign(second, "y_", "pred")]
    lines += [names.assign(to, x, t) for to, x, t in writes]
    return f"{{ {' '.join(lines)} }}"
