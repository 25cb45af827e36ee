"""`emulate` of a whole CUDA file: of one that does not build for the device, what the kernel needs."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from translator.batch.fanout import run
from translator.diag.diagnostic import Sink
from translator.frontend.inputs import ReadOptions

if TYPE_CHECKING:
    from verify.emulate import Emulated, Request

_NOT_BUILT = "CP7001"
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Wanted:
    source: str
    kernel: str
    options: ReadOptions


def emulate(request: Request) -> Emulated:
    """verify.emulate of the request; of a file that does not build as it is, of its device part. Raises what
    that raises."""
    from verify.emulate import emulate as emulated

    found = emulated(request)
    if found.code != _NOT_BUILT:
        return found
    text, why = _device_part(request)
    if not text:
        return found.model_copy(update={"message": f"{found.message}\nits device part alone: {why}"})
    with tempfile.TemporaryDirectory(prefix="cuteport-slice-") as folder:
        part = Path(folder) / "device.cu"
        part.write_text(text, encoding="utf-8")
        again = emulated(replace(request, source=part))
    return again.model_copy(update={"source": str(request.source)})


def _device_part(request: Request) -> tuple[str, str]:
    """The text, or why there is none. The parser runs in a child: it may die of a hostile file."""
    from verify.spec_file import load_spec

    original = load_spec(request.target).original
    kernel = request.kernel or original.kernel
    options = ReadOptions(
        defines=tuple(original.defines),
        std=original.std,
        includes=tuple(f.removeprefix("-I") for f in original.flags if f.startswith("-I")),
        instantiate=(kernel,) if "<" in kernel else (),
    )
    (result,) = run([_Wanted(str(request.source), kernel, options)], _slice, jobs=1, timeout=_SECONDS)
    if isinstance(result, tuple):
        return result
    return "", result.text.strip().splitlines()[-1]


def _slice(wanted: _Wanted) -> tuple[str, str]:
    from translator.frontend.project import read
    from translator.frontend.slice import device_slice

    sink = Sink()
    name = wanted.kernel.replace(" ", "")
    for reading in read([wanted.source], wanted.options, sink):
        if name in (reading.cuda_name.replace(" ", ""), reading.instantiation.replace(" ", ""), reading.name):
            return device_slice(reading.unit, reading.cursor), ""
    said = next((f"{d.code} {d.message}" for d in sink.items if d.refuses), "")
    return "", said or f"there is no kernel {wanted.kernel} in it"
