"""How a port's entry is called from the spec: names bound to its signature. Child side only."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from verify.dtypes import lookup
from verify.inputs import scalar_value
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg, PointerField, ScalarArg

_LAUNCH = ("grid", "block", "smem", "stream")


class BindError(Exception):
    """The port's parameters are not those of the spec."""


def values_of(spec: Spec, resolved: Resolved, addresses: dict[str, int]) -> dict[str, Any]:
    """Value by port parameter: structs flattened to `<arg>_<field>`, buffers as addresses, symbols last."""
    plain: dict[str, Any] = {}
    symbols: dict[str, Any] = {}
    for arg in spec.arg:
        name = arg.port_name or arg.name
        if isinstance(arg, ScalarArg):
            plain[name] = scalar_value(resolved.scalars[arg.name], lookup(arg.dtype))
        elif isinstance(arg, BufferArg):
            (symbols if arg.symbol else plain)[name] = addresses[arg.name]
        else:
            for f in arg.fields:
                held = f"{arg.name}.{f.name}"
                if isinstance(f, PointerField):
                    plain[f"{name}_{f.name}"] = addresses[held]
                else:
                    plain[f"{name}_{f.name}"] = scalar_value(resolved.scalars[held], lookup(f.dtype))
    return {**plain, **symbols}


def bind(
    entry: Callable[..., Any], spec: Spec, resolved: Resolved, addresses: dict[str, int], stream: Any
) -> Callable[[], None]:
    """A call of the port for this case, ready to repeat. BindError where its signature does not fit.

    By name where the names fit; otherwise by position, since a port may have to rename a parameter. The
    stream is passed as its raw handle, an int.
    """
    values = values_of(spec, resolved, addresses)
    parameters = [p for p in inspect.signature(entry).parameters if p not in _LAUNCH]
    known = set(inspect.signature(entry).parameters)
    launch = {
        k: v
        for k, v in {
            "grid": resolved.grid,
            "block": resolved.block,
            "smem": resolved.smem,
            "stream": int(stream),
        }.items()
        if k in known
    }
    if "stream" not in launch or "grid" not in launch:
        raise BindError(f"the entry lacks the launch parameters grid and stream; it has {sorted(known)}")
    if set(parameters) == set(values):
        named = {**values, **launch}
        return lambda: entry(**named)
    if len(parameters) != len(values):
        raise BindError(f"the entry takes {parameters}, the spec gives {list(values)}")
    ordered = list(values.values())
    return lambda: entry(*ordered, **launch)
