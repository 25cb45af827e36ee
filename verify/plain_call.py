"""A port called as its users call it: with tensors, and without a launch where it has one of its own. Child
side only."""

from __future__ import annotations

import ast
import ctypes
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from verify.dtypes import lookup
from verify.resolve import Resolved
from verify.spec import LAUNCH, Spec

MakeTensor = Callable[[int, int], Any]  # a tensor of bytes from an address and a size
_TORCH = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip


def tensors(
    spec: Spec, resolved: Resolved, addresses: Mapping[str, int], wrap: MakeTensor | None = None
) -> dict[str, Any]:
    """What a user would pass for each buffer: a tensor of its elements. Structs, globals and what has no
    element or no type in torch stay addresses. ValueError where tensors can't be made here."""
    import torch

    wrap = wrap or on_host
    found: dict[str, Any] = dict(addresses)
    for arg in spec.buffers:
        count = resolved.elems[arg.name]
        dtype = getattr(torch, _TORCH[lookup(arg.dtype).name], None) if arg.dtype is not None else None
        if dtype is not None and count and not arg.symbol:
            found[arg.name] = wrap(addresses[arg.name], count * arg.element_bytes).view(dtype)
    return found


def on_host(address: int, size: int) -> Any:
    """Bytes of the emulator's memory as a tensor that says it lies in GPU memory, as its users' would."""
    import torch

    class OnDevice(torch.Tensor):  # type: ignore[misc]
        is_cuda = property(lambda _: True)
        device = property(lambda _: torch.device("cuda", 0))

    held = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
    return torch.from_numpy(held).as_subclass(OnDevice)


def on_gpu(address: int, size: int) -> Any:
    """Bytes of GPU memory as a tensor. ValueError where torch has no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise ValueError("this torch has no GPU")

    class Memory:
        __cuda_array_interface__ = {  # noqa: RUF012  torch reads it from the object
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3,
        }  # fmt: skip

    return torch.as_tensor(Memory(), device="cuda")


def left_out(entry: Callable[..., Any], resolved: Resolved, path: Path) -> set[str]:
    """Which of grid, block and smem a user may leave out and get the case's own: those with a fitting
    default, and a grid that the entry works out from its arguments."""
    known = {n: p.default for n, p in inspect.signature(entry).parameters.items()}
    own = {"block": resolved.block, "smem": resolved.smem}
    found = {n for n, value in own.items() if n in known and _axes(known[n]) == _axes(value)}
    follows = "block" in found or "block" not in known
    if follows and known.get("grid", 0) is None and _works_out(path, entry.__name__, "grid"):
        found.add("grid")
    return found


def _axes(value: Any) -> tuple[Any, ...]:
    held = tuple(value) if isinstance(value, tuple | list) else (value,)
    return (*held, 1, 1)[: max(3, len(held))]


def _works_out(path: Path, entry: str, name: str) -> bool:
    """Whether a function makes `name` from its arguments where that is None. A constant in its place is the
    launch of the original's own sizes: no one can ask more of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry), None)
    if function is None:
        return False
    a = function.args
    arguments = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)} - set(LAUNCH)
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp) and (op := _none_test(node.test, name)) is not None:
            branch = node.body if isinstance(op, ast.Is) else node.orelse
            parts = branch if isinstance(branch, list) else [branch]
            used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
            if used & arguments:
                return True
    return False


def _none_test(test: ast.expr, name: str) -> ast.cmpop | None:
    """The operator of `name is None` or `name is not None`; None for another test."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or test.left.id != name:
        return None
    none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    return test.ops[0] if none and isinstance(test.ops[0], ast.Is | ast.IsNot) else None
