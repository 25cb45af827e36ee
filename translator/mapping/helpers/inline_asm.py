"""A CUDA asm statement: PTX with operands by constraint letter."""

from typing import Any

from cutlass import BFloat16, Float16, Float32, Float64, Int32, Int64, Pointer, Uint16, Uint32, Uint64
from cutlass._mlir.dialects import llvm


def inline_asm(template: str, constraints: str, result: Any, volatile: bool, *args: Any) -> Any:
    """The value of the statement's output, of type `result`; None for a statement without one."""
    marks = [mark for mark in constraints.split(",") if mark]
    outs = [mark for mark in marks if mark.startswith("=")]
    registers = {"h": Uint16, "r": Uint32, "l": Uint64, "f": Float32, "d": Float64, "n": Int32}
    letters = [outs[int(m)].lstrip("=") if m.isdigit() else m for m in marks[len(outs) :]]
    operands = []
    for letter, arg in zip(letters, args, strict=True):
        kind = registers[letter]
        if isinstance(arg, Pointer):
            arg = Uint64(arg.toint())
        elif type(arg) in (Float16, BFloat16):
            arg = arg.bitcast(Uint16)
        elif not kind.is_float and getattr(type(arg), "signed", False):
            arg = Int64(arg)
        operands.append(kind(arg).ir_value())
    text = template.replace("$", "$$")
    for k in reversed(range(len(marks))):
        text = text.replace(f"%{k}", f"${k}")
    text = text.replace("%%", "%")
    letters_out = [registers[mark.lstrip("=")] for mark in outs]
    clobbers = ["~{memory}"] if volatile else []
    made = llvm.inline_asm(
        letters_out[0].mlir_type if outs else None,
        operands,
        text,
        ",".join(marks + clobbers),
        has_side_effects=volatile or not outs,
    )
    if not outs:
        return None
    value = letters_out[0](made)
    return value.bitcast(result) if result in (Float16, BFloat16) else result(value)
