"""The table of diagnostic codes: never renumbered, never reused.

CP1xxx frontend, CP2xxx mapping, CP3xxx analysis and passes, CP4xxx emit. `verify` has its own table
(CP6xxx to CP9xxx). An error refuses the kernel; a warning or a note leaves a trace in the port.
Each code has a page in `pages/`, printed by `cuteport explain CODE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Code:
    severity: Literal["error", "warning", "note"]
    message: str


_E, _W, _N = "error", "warning", "note"

CODES: dict[str, Code] = {
    "CP0001": Code("error", "internal error: {what}"),
}
