"""What the device reaches at most, measured once per run before the first times are taken."""

from __future__ import annotations

from contextlib import closing

from pydantic import ValidationError

from verify.facts import CeilingFacts
from verify.sides import ORIGINAL, ChildSide, SideError

_SECONDS = 120.0
_FOUND: dict[bool, CeilingFacts] = {}  # with matrix products, and without
_FAILED: dict[bool, str] = {}


def ceilings(arch: str, matrix: bool) -> tuple[CeilingFacts | None, str]:
    """The ceilings, or None and why there are none; in a process without a port. `matrix` asks for the rate
    of matrix products too, which needs torch. Nothing else may use the GPU now."""
    if matrix not in _FAILED and not {True, matrix} & _FOUND.keys():
        try:
            with closing(ChildSide(ORIGINAL, {}, arch, _SECONDS)) as child:
                reply = child.once({"do": "ceilings", "matrix": matrix}, _SECONDS)
            _FOUND[matrix] = CeilingFacts.model_validate(reply["ceilings"])
        except (SideError, ValidationError) as e:
            _FAILED[matrix] = f"the device's ceilings could not be measured: {str(e).splitlines()[0][:200]}"
    found = measured()
    return found, "" if found is not None else _FAILED[matrix]


def measured() -> CeilingFacts | None:
    """What was measured in this run so far."""
    return _FOUND.get(True, _FOUND.get(False))
