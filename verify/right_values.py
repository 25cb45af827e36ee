"""Right values of one case, from what knows better than the original: where they are asked for, and that
they fit its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from verify.judge import Outputs, output_lanes
from verify.resolve import Resolved
from verify.sides import Inputs, SideError
from verify.spec import Spec

# Above this many elements in one case reference.py is left out: float64 copies of everything take minutes.
# The original in double runs where the original does, and only the copies are to be made.
_REFERENCE_ELEMENTS, _DOUBLE_ELEMENTS = 1 << 25, 1 << 28
Doubles: TypeAlias = npt.NDArray[np.float64]
Reference: TypeAlias = Callable[[str, Inputs], dict[str, Doubles]]


def fits(spec: Spec, resolved: Resolved) -> bool:
    """Whether a case is small enough for a reference."""
    most = _DOUBLE_ELEMENTS if spec.tolerance.rule == "double" else _REFERENCE_ELEMENTS
    return sum(resolved.elems.values()) <= most


def right_values(
    spec: Spec, case: str, reference: Reference, inputs: Inputs, original: Outputs
) -> dict[str, Doubles]:
    """What a reference says of the lanes that it knows, in its own order. SideError, CP7019 where it has not
    as many elements as the original's outputs."""
    found = reference(case, inputs)
    for arg, lane in output_lanes(spec):
        count = len(original[arg.name]) // lane.stride
        if lane.name in found and len(found[lane.name]) != count:
            words = f"{lane.name} has {len(found[lane.name])} elements, not {count}"
            raise SideError("refused", "CP7019", words)
    return found
