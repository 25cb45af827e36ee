"""Answers that are the same for every mutant, asked for once: the original's outputs, reference.py's.

Several threads may ask: who answers is one process, which serves one of them at a time.
"""

from __future__ import annotations

from threading import Lock
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from verify.right_values import Reference
from verify.sides import Inputs, Side, SideError, SideRan

_MOST_BYTES = 1 << 26  # outputs of one run that are kept
_Numbers: TypeAlias = dict[str, npt.NDArray[np.float64]]


class Remembered:
    """A side that runs each case once on the same inputs; its failures are remembered too."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._ran: dict[tuple[str, int, bytes], SideRan | SideError] = {}
        self._alone = Lock()

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        key = (case, repeat, inputs.key())
        with self._alone:
            found = self._ran.get(key)
            if found is None:
                try:
                    found = self._side.run(case, inputs, repeat)
                except SideError as e:
                    found = e
                if isinstance(found, SideError) or sum(map(len, found.outputs.values())) <= _MOST_BYTES:
                    self._ran[key] = found
        if isinstance(found, SideError):
            raise found
        return found

    def restart(self) -> None:
        with self._alone:
            self._side.restart()


def remembered(reference: Reference) -> Reference:
    """The same numbers without asking twice."""
    kept: dict[tuple[str, bytes], _Numbers] = {}
    alone = Lock()

    def ask(case: str, inputs: Inputs) -> _Numbers:
        key = (case, inputs.key())
        with alone:
            if key not in kept:
                kept[key] = reference(case, inputs)
            return kept[key]

    return ask
