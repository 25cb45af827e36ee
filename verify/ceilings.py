"""What the device reaches at most, measured once per run before the first times are taken."""

from __future__ import annotations

from contextlib import closing

from pydantic import ValidationError

from verify.facts import CeilingFacts
from verify.sides import ORIGINAL, ChildSide, SideError

_SECONDS = 120.0
_MEASURED: dict[bool, tuple[CeilingFacts | None, str]] = {}


def ceilings(arch: str, matrix: bool) -> tuple[CeilingFacts | None, str]:
    """The ceilings, or None and why there are none; in a process without a port. `matrix` asks for the rate
    of matrix products too, which needs torch. Nothing else may use the GPU now."""
    if True in _MEASURED or matrix in _MEASURED:
        return _MEASURED.get(True) or _MEASURED[matrix]
    try:
        with closing(ChildSide(ORIGINAL, {}, arch, _SECONDS)) as child:
            reply = child.once({"do": "ceilings", "matrix": matrix}, _SECONDS)
        found: tuple[CeilingFacts | None, str] = (CeilingFacts.model_validate(reply["ceilings"]), "")
    except (SideError, ValidationError) as e:
        found = None, f"the device's ceilings could not be measured: {str(e).splitlines()[0][:200]}"
    _MEASURED[matrix] = found
    return found


def measured() -> CeilingFacts | None:
    """What was measured in this run so far."""
    return (_MEASURED.get(True) or _MEASURED.get(False) or (None, ""))[0]
