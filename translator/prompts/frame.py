"""What the frame of a port for given arguments is made of: all of a port but the kernel's body.

`templates/frame.py.j2` is its text. It passes verify's static stage and compiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from translator.prompts.brief import ArgumentLine, Brief
from translator.prompts.data import Safe

_KINDS = {
    "bool": "Boolean",
    "i8": "Int8", "i16": "Int16", "i32": "Int32", "i64": "Int64",
    "u8": "Uint8", "u16": "Uint16", "u32": "Uint32", "u64": "Uint64",
    "f16": "Float16", "bf16": "BFloat16", "f32": "Float32", "f64": "Float64",
    "f8e4m3": "Float8E4M3FN", "f8e5m2": "Float8E5M2",
}  # fmt: skip
_LONG = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int": "i32",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32",
    "float64": "f64", "double": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}  # fmt: skip
_TAKEN = {
    "functools", "Any", "cuda", "cutlass", "cute", "torch", "AddressSpace", "make_fake_stream", "make_ptr",
    "gmem", "device_pointer", "thread", "grid", "grid_x", "grid_y", "grid_z", "block", "smem", "stream",
    "tuple", *_KINDS.values(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter of the kernel: its type, a value to compile with, and how the entry makes it."""

    name: Safe
    annotation: Safe
    sample: Safe
    given: Safe


def frame_values(brief: Brief) -> Mapping[str, object] | None:
    """What the template prints; None where a name of the brief is one that the frame needs itself.

    Constants of the spec are Constexpr: they stand last in the kernel and the launch, and only `cute.compile`
    is given them.
    """
    if _TAKEN & {brief.entry, *(a.name for a in brief.arguments)}:
        return None
    plain = [a for a in brief.arguments if a.role != "constant"]
    constants = [a.name for a in brief.arguments if a.role == "constant"]
    return {
        "name": Safe(brief.entry),  # names are identifiers: the brief has seen to it
        "signature": Safe(brief.signature),
        "kinds": Safe(", ".join(sorted({kind_of(a.dtype) for a in plain} | {"Int32"}))),
        "parameters": [_parameter(a) for a in plain],
        "constants": [Safe(name) for name in constants],
        "names": Safe(", ".join([*(a.name for a in plain), *constants])),
    }


def kind_of(dtype: str) -> str:
    """The DSL's type for a spec's: `Float32` for `f32` or `float32`; bytes for what has none, as structs."""
    return _KINDS.get(_LONG.get(dtype, dtype), "Uint8")


def _parameter(a: ArgumentLine) -> _Parameter:
    kind = kind_of(a.dtype)
    told = [kind, f"{kind}(0)", f"{kind}({a.name})"]
    if a.role != "value":
        told = [
            f"cutlass.Pointer[{kind}, gmem]",
            f"device_pointer(16, {kind})",
            f"device_pointer({a.name}, {kind})",
        ]
    return _Parameter(*map(Safe, [a.name, *told]))
