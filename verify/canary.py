"""Canaries: kernels that an assembler is known to get wrong, and what this machine makes of them.

Each is a target folder in verify/canaries with the PTX that its compiler once made of it. That PTX says
whether the emulator is right; machine code made here says whether the installed assemblers are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from verify.levels import DEFAULT, LEVELS

_VALUES = tuple(range(156, 188))  # one per thread; 187 is the value that the canaries' stories tell
_SECONDS = 60.0
_SHOWN = 187


class CanaryError(Exception):
    """A canary gave a wrong value where none is excused, or could not be run; the text says which."""


@dataclass(frozen=True, slots=True)
class Canary:
    """`side` is the one that comes out wrong."""

    name: str
    side: str


ORIGINAL = Canary("select_loop", "original")
PORT = Canary("countdown_select", "port")


@contextmanager
def folder(canary: Canary) -> Iterator[Path]:
    """The canary's target folder."""
    with as_file(files("verify").joinpath("canaries", canary.name)) as found:
        yield found


def expected(place: Path) -> list[int]:
    """What each thread must give, by the canary's reference.py."""
    from verify.jobs import load_module

    total: Callable[[int], int] = load_module(place / "reference.py", f"_canary_{place.name}").total
    return [total(v) for v in _VALUES]


def check_emulator() -> None:
    """Run the PTX of both canaries in the emulator. CanaryError where it gives a wrong value."""
    for canary in (ORIGINAL, PORT):
        with folder(canary) as place:
            _check_meaning(canary, (place / f"{canary.side}.ptx").read_text(encoding="utf-8"), place)


def _check_meaning(canary: Canary, ptx: str, place: Path) -> None:
    found, wanted = meaning(ptx), expected(place)
    if found != wanted:
        at = _first_wrong(found, wanted)
        raise CanaryError(
            f"in the emulator {canary.name} makes {found[at]} of {_VALUES[at]}, not {wanted[at]}"
        )


def meaning(ptx: str) -> list[int]:
    """What the one kernel of a canary's PTX gives in the emulator."""
    import numpy as np

    from verify.emulator.device import EmulatedDevice
    from verify.emulator.launch import LaunchShape
    from verify.emulator.opening import open_program, parameter_sizes

    device, program = EmulatedDevice(), open_program(ptx)
    (kernel,) = [f.name for f in program.module.functions.values() if f.entry]
    values = np.array(_VALUES, np.int32).view(np.uint8)
    source, out = device.alloc(len(values), "values"), device.alloc(len(values), "sums")
    device.upload(source, values)
    device.fill(out, 0xAA, len(values))
    params = [source.to_bytes(8, "little"), out.to_bytes(8, "little"), len(_VALUES).to_bytes(4, "little")]
    params = params[: len(parameter_sizes(program, kernel))]
    program.run(kernel, LaunchShape((1, 1, 1), (len(_VALUES), 1, 1)), params, device.memory)
    found: list[int] = device.download(out, len(values)).view(np.int32).tolist()
    return found


def check_machine_code(canary: Canary, arch: str) -> tuple[bool, str]:
    """(right at the default level, in words at which it is) for machine code made and run here, on the GPU.
    CanaryError where its PTX is wrong already or no level is right; SideError where it can't be run."""
    with folder(canary) as place, tempfile.TemporaryDirectory(prefix="cuteport-canary-") as scratch:
        sides = _original_sides if canary.side == "original" else _port_sides
        wanted = expected(place)
        first = ""
        for level, found in sides(canary, place, Path(scratch), arch):
            if found == wanted:
                asked = _option(canary, level)
                return not first, f"{first}; right at {asked}" if first else f"right at {asked}, the default"
            at = _VALUES.index(_SHOWN) if found[-1] != wanted[-1] else _first_wrong(found, wanted)
            wrong = f"of {_VALUES[at]} it makes {found[at]}, not {wanted[at]}"
            first = first or f"wrong at {_option(canary, level)}: {wrong}"
        raise CanaryError(f"{first}; and so at every level")


def _option(canary: Canary, level: int) -> str:
    return f"ptxas -O{level}" if canary.side == "original" else f"--opt-level {level}"


def _first_wrong(found: list[int], wanted: list[int]) -> int:
    return next(k for k, (f, w) in enumerate(zip(found, wanted, strict=True)) if f != w)


_Results = Iterator[tuple[int, list[int]]]


def _original_sides(canary: Canary, place: Path, scratch: Path, arch: str) -> _Results:
    """(level, what its machine code gives), from the default level downwards."""
    from verify import sides
    from verify.original_side import build_original

    with closing(sides.ChildSide(sides.ORIGINAL, {}, arch, _SECONDS)) as side:
        for level in LEVELS:
            out = scratch / str(level)
            out.mkdir()
            built = build_original(side, str(place), arch, out, level=level)
            if level == DEFAULT:
                _check_meaning(canary, (out / "ptx").read_text(encoding="utf-8"), place)
            side.reload({"target": str(place), "cubin": str(out / "cubin"), "names": built.names})
            yield level, _run(side, place, scratch)


def _port_sides(canary: Canary, place: Path, scratch: Path, arch: str) -> _Results:
    """As _original_sides. One child, since importing the DSL takes seconds."""
    from verify import sides

    module = str(place / "port.py")
    with closing(sides.ChildSide(sides.PORT, {}, arch, _SECONDS)) as side:
        job = {"do": "compile", "id": 0, "module": module, "entry": canary.name, "out": str(scratch)}
        side.once({**job, "known": {"block": [len(_VALUES), 1, 1]}}, _SECONDS)
        _check_meaning(canary, (scratch / "ptx").read_text(encoding="utf-8"), place)
        for level in LEVELS:
            side.reload({"target": str(place), "module": module, "level": level})
            yield level, _run(side, place, scratch)


def _run(side: Any, place: Path, scratch: Path) -> list[int]:
    import numpy as np

    from verify.sides import Inputs
    from verify.spec_file import load_spec

    # The case is the one of as many threads as there are values, or the next larger one.
    case = next(c for c in load_spec(place).case if c.sizes.get("n", len(_VALUES)) >= len(_VALUES))
    values: Any = np.resize(np.array(_VALUES, np.int32), case.sizes.get("n", len(_VALUES)))
    ran = side.run(case.name, Inputs({"values": values.view(np.uint8)}, scratch), 0)
    found: list[int] = ran.outputs["sums"].view(np.int32)[: len(_VALUES)].tolist()
    return found
