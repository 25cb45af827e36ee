"""Which arguments `compile_<entry>` of a port gets. Imports nothing heavy: a child that compiles uses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class BindError(Exception):
    """The port's parameters are not those of the spec."""


def specialisations(build: Callable[..., Any], known: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """The arguments of `compile_<entry>` for each of several `known_when_compiled`, without repetitions.

    It gets what its parameters name, by position, as entries call it: a cache on it then meets the same key.
    A parameter that nothing here names keeps its default. BindError where it has none.
    """
    found: dict[tuple[Any, ...], None] = {}
    parameters = inspect.signature(build).parameters
    for values in known:
        chosen = []
        for name, parameter in parameters.items():
            if name not in values and parameter.default is parameter.empty:
                raise BindError(f"nothing in the spec says what {name} of {build.__name__} is")
            value = values.get(name, parameter.default)
            chosen.append(tuple(value) if name == "block" and name in values else value)
        found[tuple(chosen)] = None
    return list(found)
