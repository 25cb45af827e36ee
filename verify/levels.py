"""Optimisation levels of the step from PTX to machine code, which no compiler's PTX depends on.

The original's is an option of ptxas. A port's is the DSL's `--opt-level`; in a child it can be set from
outside, whatever the port itself asks for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LEVELS = (3, 2, 1, 0)
DEFAULT = 3  # of ptxas and of the DSL


def below(level: int | None) -> tuple[int, ...]:
    """The levels under `level` (None: the default), highest first."""
    return tuple(v for v in LEVELS if v < (DEFAULT if level is None else level))


def ptxas_option(level: int) -> str:
    """What makes NVRTC and nvcc assemble at a level."""
    return f"--ptxas-options=-O{level}"


class _At:
    """cute.compile at one level: the last word on it is ours. Child side only."""

    def __init__(self, inner: Any, level: int) -> None:
        self._inner = inner
        self._level = level

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        said = kwargs.get("options")
        if isinstance(said, str) and said.strip():
            return self._inner(*args, **{**kwargs, "options": f"{said} --opt-level {self._level}"})
        return self._inner[self._option()](*args, **kwargs)

    def __getitem__(self, options: Any) -> Any:
        several = options if isinstance(options, tuple) else (options,)
        return self._inner[(*several, self._option())]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _option(self) -> Any:
        import cutlass.cute

        return cutlass.cute.OptLevel(self._level)


def compile_at(level: int | None) -> None:
    """From now on this process compiles ports at `level`; None: as they ask. Child side only."""
    if level is None and "cutlass.cute" not in sys.modules:
        return  # nothing to take back, and loading the DSL takes seconds
    import cutlass.cute

    inner = cutlass.cute.compile
    if isinstance(inner, _At):
        inner = inner._inner
    cutlass.cute.compile = inner if level is None else _At(inner, level)


@contextmanager
def compiling_at(level: int | None) -> Iterator[None]:
    """`compile_at` for the time of a block."""
    compile_at(level)
    try:
        yield
    finally:
        compile_at(None)
