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


_E: Literal["error"] = "error"
_W: Literal["warning"] = "warning"
_N: Literal["note"] = "note"

CODES: dict[str, Code] = {
    # ---- CP0001-0099: the tool itself, not one stage
    "CP0001": Code("error", "internal error: {what}"),
    "CP0002": Code(_E, "can't write {path}: {reason}"),
    "CP0003": Code(_E, "{path} was edited since it was generated"),
    "CP0004": Code(_E, "{what} took longer than {seconds} s"),
    "CP0005": Code(_E, "nested too deeply to be translated"),
    "CP0006": Code(_N, "{path} was edited and is kept as it is"),
    # ---- CP1000-1049: reading sources and choosing instantiations
    "CP1001": Code(_E, "no such file or folder: {path}"),
    "CP1002": Code(_E, "can't read {path}: {reason}"),
    "CP1003": Code(_E, "{path} is not text"),
    "CP1004": Code(_E, "{path} is empty"),
    "CP1005": Code(_E, "no CUDA kernel (__global__ function with a body) in {path}"),
    "CP1006": Code(_N, "{path} is not UTF-8; read as Latin-1"),
    "CP1007": Code(_E, "can't use compile commands {path}: {reason}"),
    "CP1008": Code(_E, "{kernel} doesn't parse: {errors} errors in it or in what it uses; first: {first}"),
    "CP1009": Code(_W, "header not found: {header}"),
    "CP1010": Code(_N, "no launch of template {kernel} seen; taken as {instantiation}"),
    "CP1011": Code(_E, "no instantiation of template {kernel} known; tried {tried}"),
    "CP1012": Code(_E, "--instantiate {text}: {reason}"),
    "CP1013": Code(_N, "{kernel} read through {unit}, which includes its file"),
    "CP1014": Code(_E, "{kernel} has template argument {index} that has no name here ({what})"),
    "CP1015": Code(_E, "no kernel named {kernel} was found"),
    "CP1016": Code(_E, "{path} could not be parsed: {reason}"),
    # mapping: builtins that have no CuTe DSL text, or an approximate one
    "CP2101": Code(_E, "`{what}` is not a CUDA builtin this tool knows, and its body was not found"),
    "CP2102": Code(_E, "`{what}`: the builtin is known, but not for these argument types"),
    "CP2103": Code(_E, "`{what}` can only be translated where an argument is a constant"),
    "CP2104": Code(_E, "`{what}`: textures and surfaces are not translated"),
    "CP2105": Code(_E, "`{what}`: CUB and Thrust are not translated"),
    "CP2106": Code(_E, "`{what}`: cuRAND's device functions are not translated"),
    "CP2107": Code(_E, "`{what}`: WMMA fragments are not translated"),
    "CP2108": Code(_E, "`{what}`: this cooperative-groups operation is not translated"),
    "CP2109": Code(_E, "`{what}`: memory allocated inside a kernel is not translated"),
    "CP2110": Code(_E, "`{what}`: launching kernels from a kernel is not translated"),
    "CP2111": Code(_E, "`{what}` is a warp operation without a mask, which GPUs since Volta don't have"),
    "CP2112": Code(_E, "`{what}`: asynchronous copies and pipelines are not translated"),
    "CP2113": Code(_E, "`{what}`: this builtin has no equivalent in CuTe DSL"),
    "CP2201": Code(_W, "`{what}` is only checked in a port compiled with --enable-assertions"),
    "CP2202": Code(_W, "`{what}` prints through the DSL: its return value is not available"),
}
