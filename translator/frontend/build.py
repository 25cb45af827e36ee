"""One kernel reading to one kernel model: lifted body, launches, device-only source."""

from __future__ import annotations

from hashlib import sha256

from translator.diag.diagnostic import Sink
from translator.frontend.host import index_of
from translator.frontend.lift_decl import lift_kernel
from translator.frontend.lift_launch import launches_of, written_by_host
from translator.frontend.project import KernelReading
from translator.frontend.slice import device_slice
from translator.model.kernel import KernelModel, Source


def build_model(reading: KernelReading, sink: Sink, *, sliced: bool = True) -> KernelModel | None:
    """The model of a reading, its diagnostics in `sink`; None if it can't be lifted or doesn't parse.

    Without `sliced` its device-only source is left out.

    What only weakens the model (no launch seen) leaves its mark there; what refuses the kernel is in `sink`.
    """
    for found in reading.diagnostics:
        if found not in sink.items:
            sink.items.append(found)
    if any(d.refuses for d in reading.diagnostics):
        return None
    unit = reading.unit
    cursor = reading.cursor
    lifted = lift_kernel(unit, cursor, sink)
    if lifted is None:
        return None
    return KernelModel(
        kernel=lifted.kernel,
        functions=lifted.functions,
        globals=written_by_host(index_of(unit), lifted.globals),
        launches=launches_of(unit, cursor),
        source=Source(
            reading.path, reading.unit_path, sha256(unit.source(reading.path)).hexdigest(), unit.std
        ),
        instantiation=reading.instantiation,
        device_slice=device_slice(unit, cursor) if sliced else "",
        cuda_name=reading.cuda_name,
    )
