"""How a port's functions are called from the spec: its names bound to their signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from verify.dtypes import lookup
from verify.inputs import scalar_value
from verify.resolve import Resolved
from verify.spec import LAUNCH, Spec
from verify.spec_args import BufferArg, PointerField, ScalarArg, StructArg
from verify.specialise import BindError


def values_of(spec: Spec, resolved: Resolved, addresses: Mapping[str, Any]) -> dict[str, Any]:
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
    entry: Callable[..., Any],
    spec: Spec,
    resolved: Resolved,
    addresses: Mapping[str, Any],
    stream: Any,
    without: Collection[str] = (),
) -> Callable[[], None]:
    """A call of the port for this case, ready to repeat. BindError where its signature does not fit.

    By name where the names fit; otherwise by position, since a port may have to rename a parameter. Grid,
    block and dynamic shared memory are passed where the entry takes them, but those it is called `without`:
    a port may choose its own. The stream is always passed, as its raw handle, an int; constants of the spec
    by keyword.
    """
    values = values_of(spec, resolved, addresses)
    known = set(inspect.signature(entry).parameters)
    constants = spec.port.constants
    parameters = [p for p in inspect.signature(entry).parameters if p not in LAUNCH and p not in constants]
    launch = {
        k: v
        for k, v in {
            "grid": resolved.grid,
            "block": resolved.block,
            "smem": resolved.smem,
            "stream": int(stream),
        }.items()
        if k in known and k not in without
    }
    if "stream" not in launch:
        raise BindError(f"the entry lacks the parameter stream; it has {sorted(known)}")
    if unknown := sorted(set(constants) - known):
        raise BindError(f"the entry has no parameter for the constants {', '.join(unknown)}")
    fixed = {**constants, **launch}
    if set(parameters) == set(values):
        named = {**values, **fixed}
        return lambda: entry(**named)
    if len(parameters) != len(values):
        raise BindError(f"the entry takes {parameters}, the spec gives {list(values)}")
    ordered = list(values.values())
    return lambda: entry(*ordered, **fixed)


def known_when_compiled(spec: Spec, resolved: Resolved) -> dict[str, Any]:
    """What a case says to `compile_<entry>`, as JSON values by parameter: block and dynamic shared memory
    of the launch, constants of the spec, scalars of the case."""
    scalars = {
        name: value
        for name, value in values_of(spec, resolved, dict.fromkeys(resolved.elems, 0)).items()
        if name in _scalar_names(spec)
    }
    return {**scalars, **spec.port.constants, "block": list(resolved.block), "smem": resolved.smem}


def _scalar_names(spec: Spec) -> set[str]:
    found: set[str] = set()
    for arg in spec.arg:
        name = arg.port_name or arg.name
        if isinstance(arg, ScalarArg):
            found.add(name)
        elif isinstance(arg, StructArg):
            found |= {f"{name}_{f.name}" for f in arg.scalars}
    return found
