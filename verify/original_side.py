"""Building the CUDA original in a child."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from verify.cubin import facts
from verify.facts import CompileFacts
from verify.sides import ChildSide

_BUILD_SECONDS = 400.0


@dataclass(frozen=True, slots=True)
class BuiltOriginal:
    """`names` as in original.Built; `words` say what built it, `options` what it was given, compiler first,
    `dropped` which flags of the spec it was not given."""

    names: dict[str, str]
    facts: CompileFacts
    words: str
    options: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def build_original(
    child: ChildSide,
    place: str,
    arch: str,
    folder: Path,
    *,
    lines: bool = False,
    level: int | None = None,
    original: Mapping[str, str] | None = None,
    disassemble: bool = False,
) -> BuiltOriginal:
    """Build the original in `child`; cubin and PTX go to `folder`. SideError where it does not build.

    `original` replaces keys of the spec's [original]: another source, another kernel. `level` is that of the
    machine code, `disassemble` says what instructions that has.
    """
    job = {"do": "build_original", "target": place, "arch": arch, "out": str(folder), "lines": lines}
    job |= {"level": level, "original": dict(original or {})}
    reply = child.once(job, _BUILD_SECONDS)
    ptx, cubin = (folder / "ptx").read_text(encoding="utf-8"), (folder / "cubin").read_bytes()
    words = "; ".join([reply["builder"], *(f"not by {t.splitlines()[0][:200]}" for t in reply["tried"])])
    options = (reply["builder"].partition(" (")[0], *reply["options"])
    found = facts(arch, reply["seconds"], ptx, cubin, disassemble=disassemble)
    return BuiltOriginal(reply["names"], found, words, options, tuple(reply["dropped"]))
