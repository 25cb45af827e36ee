"""Element types as a table. Arrays travel in a numpy carrier; bf16 and fp8 have none, so their bits do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """`carrier` is a numpy dtype string; `bits_only` means the carrier holds bit patterns, not values.

    `eps` is the distance from 1.0 to the next value. `atol` (times the output's own scale) and `rtol` are the
    defaults of the port-against-original rule.
    """

    name: str
    carrier: str
    size: int  # bytes
    is_float: bool
    bits_only: bool = False
    eps: float = 0.0
    atol: float = 0.0
    rtol: float = 0.0


_TABLE = (
    DType("bool", "|u1", 1, False),
    DType("i8", "|i1", 1, False),
    DType("i16", "<i2", 2, False),
    DType("i32", "<i4", 4, False),
    DType("i64", "<i8", 8, False),
    DType("u8", "|u1", 1, False),
    DType("u16", "<u2", 2, False),
    DType("u32", "<u4", 4, False),
    DType("u64", "<u8", 8, False),
    DType("f16", "<f2", 2, True, False, 2.0**-10, 1e-3, 2e-3),
    DType("bf16", "<u2", 2, True, True, 2.0**-7, 8e-3, 1.6e-2),
    DType("f32", "<f4", 4, True, False, 2.0**-23, 1e-6, 1e-5),
    DType("f64", "<f8", 8, True, False, 2.0**-52, 1e-14, 1e-12),
    DType("f8e4m3", "|u1", 1, True, True, 2.0**-3, 0.1, 0.13),
    DType("f8e5m2", "|u1", 1, True, True, 2.0**-2, 0.2, 0.26),
)
DTYPES: dict[str, DType] = {t.name: t for t in _TABLE}
ALIASES: dict[str, str] = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int": "i32",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32",
    "float64": "f64", "double": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}  # fmt: skip


def lookup(name: str) -> DType:
    """The type called `name` (`f32` or `float32`). ValueError names the known ones."""
    found = DTYPES.get(ALIASES.get(name, name))
    if found is None:
        raise ValueError(f"unknown dtype '{name}'; known: {', '.join(DTYPES)} and {', '.join(ALIASES)}")
    return found
