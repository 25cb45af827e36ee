"""The cases as PTX: a kernel each that loads a row of slots per thread, so that nothing can be folded."""

from __future__ import annotations

from tests.emulator.single.cases import Case, Slot, width
from verify.emulator.ptx.module import SIZES

GROUP = 60  # kernels of a module


def module(chosen: list[tuple[int, Case]], version: str = "8.8", target: str = "sm_90a") -> str:
    """A PTX module with entry `op_<number>(in, out, rows)` for each case."""
    return f".version {version}\n.target {target}\n.address_size 64\n" + "".join(
        entry(number, case) for number, case in chosen
    )


def entry(number: int, case: Case) -> str:
    """One kernel: thread i takes row i of `in` and writes row i of `out`."""
    registers, lines, places = [], [], {}
    at = 0
    for slot in case.sources:
        name, size = f"%s_{slot.place}", SIZES.get(slot.type, 4)
        places[slot.place] = name
        registers.append(f".reg .{_register(slot)} {name};")
        if slot.type == "pred":
            registers.append(f".reg .b32 {name}i;")
            lines += [f"ld.global.b32 {name}i, [%in+{8 * at}];", f"setp.ne.b32 {name}, {name}i, 0;"]
        elif size == 16:
            registers.append(f".reg .b64 {name}l, {name}h;")
            lines += [
                f"ld.global.b64 {name}l, [%in+{8 * at}];",
                f"ld.global.b64 {name}h, [%in+{8 * at + 8}];",
            ]
            lines.append(f"mov.b128 {name}, {{{name}l, {name}h}};")
            at += 1
        else:
            lines.append(f"ld.global.b{8 * size} {name}, [%in+{8 * at}];")
        at += 1
    for slot in case.results:
        registers.append(f".reg .{_register(slot)} %r_{slot.place};")
        places["r" + slot.place] = f"%r_{slot.place}"
    lines += _instruction(case, places)
    at = 0
    for slot in case.results:
        name, size = f"%r_{slot.place}", SIZES.get(slot.type, 4)
        if slot.type == "pred":
            registers.append(f".reg .b32 {name}i;")
            lines += [f"selp.b32 {name}i, 1, 0, {name};", f"st.global.b32 [%out+{8 * at}], {name}i;"]
        elif size == 16:
            registers.append(f".reg .b64 {name}l, {name}h;")
            lines.append(f"mov.b128 {{{name}l, {name}h}}, {name};")
            lines += [
                f"st.global.b64 [%out+{8 * at}], {name}l;",
                f"st.global.b64 [%out+{8 * at + 8}], {name}h;",
            ]
            at += 1
        else:
            stored = 2 if size == 1 and not _is_vector(case, slot) else size
            lines.append(f"st.global.b{8 * stored} [%out+{8 * at}], {name};")
        at += 1
    body = "\n    ".join(registers + _PROLOGUE + _rows(case) + lines)
    parameters = ".param .u64 in, .param .u64 out, .param .u32 rows"
    return f"\n// {case.key}\n.visible .entry op_{number}({parameters})\n{{\n    {body}\nend:\n    ret;\n}}\n"


_PROLOGUE = """.reg .b64 %in, %out;
.reg .b32 %i, %n, %rows;
.reg .pred %past;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
ld.param.u32 %rows, [rows];
mov.u32 %i, %ctaid.x;
mov.u32 %n, %ntid.x;
mul.lo.u32 %i, %i, %n;
mov.u32 %n, %tid.x;
add.u32 %i, %i, %n;
setp.ge.u32 %past, %i, %rows;
@%past bra end;""".splitlines()


def _rows(case: Case) -> list[str]:
    strides = (("%in", width(case.sources)), ("%out", width(case.results)))
    lines = [".reg .b64 %stride;"]
    for pointer, words in strides:
        lines += [f"mul.wide.u32 %stride, %i, {8 * words};", f"add.s64 {pointer}, {pointer}, %stride;"]
    return lines


def _is_vector(case: Case, slot: Slot) -> bool:
    return slot.place not in ("d", "a", "b", "c", "e", "f")


def _register(slot: Slot) -> str:
    if slot.type == "pred":
        return "pred"
    if slot.type == "carry":
        return "b32"
    # Registers of PTX have at least 16 bits, but for the elements of mov's vectors.
    size = SIZES[slot.type]
    return f"b{8 * size}" if size > 1 or len(slot.place) > 1 else "b16"


def _operand(entry_text: str, case: Case, places: dict[str, str]) -> str:
    role, _, kind = entry_text.partition(":")
    role = role.removesuffix("?")
    if kind == "imm":
        return str(case.constant)
    result = "r" if role.startswith("d") else ""
    if kind.startswith("v"):
        return "{" + ", ".join(places[f"{result}{role}{i}"] for i in range(int(kind[1]))) + "}"
    if role == "d|p":
        return f"{places['rd']}|{places['rp']}"
    return places[result + role]


def _instruction(case: Case, places: dict[str, str]) -> list[str]:
    operands = ", ".join(_operand(entry_text, case, places) for entry_text in case.op.signature)
    lines = [f"{case.op.name} {operands};"]
    # The flag can't be read or written but by the next carry instruction of its family.
    if case.carry == "add":
        lines.insert(0, f".reg .b32 %drop;\nadd.cc.u32 %drop, {places['cc']}, 0xffffffff;")
        lines.append(f"addc.u32 {places['rcc']}, 0, 0;")
    elif case.carry == "sub":
        lines.insert(0, f".reg .b32 %drop;\nsub.cc.u32 %drop, 0, {places['cc']};")
        lines.append(f"subc.u32 {places['rcc']}, 0, 0;\nneg.s32 {places['rcc']}, {places['rcc']};")
    return lines
