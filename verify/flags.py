"""Which flags of the original's own build its compiler is given here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

# Never given: the original is built for the GPU at hand, and a debug build is no opponent.
_NEVER = re.compile(
    r"--?(?:gpu-arch.*|arch.*|gencode.*|generate-code.*|gpu-code.*|code.*|device-debug|debug)|-G|-g"
)
# What only nvcc takes; it changes nothing in device code.
_HOST = re.compile(
    r"-O\d|--optimize.*|-Xcompiler.*|--compiler-options.*|-Xlinker.*|--linker-options.*|-rdc.*|"
    r"--relocatable-device-code.*|-dc|-c|-w|-lineinfo|-l.*|-L.*|--expt-.*|--extended-lambda"
)
# Flags whose value may be the next word, and how flag and value are written in one.
_JOINED = {
    "-Xptxas": "--ptxas-options=",
    "--ptxas-options": "--ptxas-options=",
    "-maxrregcount": "--maxrregcount=",
    "--maxrregcount": "--maxrregcount=",
    "-std": "--std=",
    "--std": "--std=",
    "-D": "-D",
    "-U": "-U",
    "-I": "-I",
}
_VALUE_FOLLOWS = re.compile(
    r"-arch|--gpu-architecture|-gencode|--generate-code|-code|--gpu-code|-Xcompiler|--compiler-options|-Xlinker|"
    r"--linker-options|-l|-L|-O|--optimize|-rdc|--relocatable-device-code"
)


def slowed(build: Sequence[str]) -> str:
    """The flag that keeps the assembler from its default optimisation; "" where none does."""
    return next((f for f in build if re.search(r"(?:^|[=, ])-?-?O[012]\b", f) and "ptxas" in f), "")


def given(flags: Sequence[str], compiler: Literal["nvrtc", "nvcc"]) -> tuple[list[str], list[str]]:
    """(flags that the compiler is given, those that it is not). A value written as a word of its own stays
    with its flag."""
    kept: list[str] = []
    dropped: list[str] = []
    words = iter(flags)
    for flag in words:
        if flag in _JOINED:
            kept.append(_JOINED[flag] + next(words, ""))
            continue
        whole = [flag, next(words, "")] if _VALUE_FOLLOWS.fullmatch(flag) else [flag]
        never = _NEVER.fullmatch(flag) or (compiler == "nvrtc" and _HOST.fullmatch(flag))
        (dropped if never else kept).extend([" ".join(whole)] if never else whole)
    return kept, dropped
