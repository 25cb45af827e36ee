"""How much work a kernel's port is, from what refuses it: the classes of `cuteport analyze`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal

Effort = Literal["automatic", "minutes", "hours", "redesign"]
EFFORTS: tuple[Effort, ...] = ("automatic", "minutes", "hours", "redesign")
_UNLISTED: Effort = "hours"


@cache
def table() -> dict[str, Effort]:
    """Refusing code → effort, from `effort.toml`."""
    read = tomllib.loads(files("translator.analysis").joinpath("effort.toml").read_text(encoding="utf-8"))
    return {code: effort for effort in EFFORTS for code in read.get(effort, ())}


def effort_of(refusing: Iterable[str]) -> Effort:
    """The class of a kernel that these codes refuse: that of the hardest; automatic without any."""
    found = [table().get(code, _UNLISTED) for code in refusing]
    return max(found, key=EFFORTS.index, default="automatic")
