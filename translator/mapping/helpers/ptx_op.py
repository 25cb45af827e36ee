"""One PTX instruction with a result and no side effect, for what the DSL has no function for."""

from typing import Any

from cutlass import Numeric, Uint16
from cutlass._mlir.dialects import llvm


def ptx_op(instruction: str, result: Any, *args: Numeric) -> Numeric:
    """`instruction result, args…;` with operands in registers of their own types; halves go as their bits."""
    half = result.is_float and result.width == 16
    raw = Uint16 if half else result
    values = [a.bitcast(Uint16) if type(a).is_float and a.width == 16 else a for a in args]
    floats, integers = {32: "f", 64: "d"}, {16: "h", 32: "r", 64: "l"}
    kinds = [raw, *(type(v) for v in values)]
    letters = [(floats if k.is_float else integers)[k.width] for k in kinds]
    operands = ", ".join(f"${i}" for i in range(len(kinds)))
    made = llvm.inline_asm(
        raw.mlir_type,
        [v.ir_value() for v in values],
        f"{instruction} {operands};",
        ",".join(["=" + letters[0], *letters[1:]]),
        has_side_effects=False,
    )
    return raw(made).bitcast(result) if half else raw(made)
