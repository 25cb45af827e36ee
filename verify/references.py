"""Where right values come from: reference.py, or the original itself in double."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from verify.doubled import DoubleError, doubled
from verify.inputs import Bytes, lanes, view
from verify.judge import output_lanes
from verify.options import Options
from verify.original_side import build_original
from verify.right_values import Reference
from verify.sides import ORIGINAL, ChildSide, Inputs, Role, SideError
from verify.spec import Spec
from verify.spec_file import load_spec

REFERENCE = "reference.py"


@contextmanager
def reference_for(
    target: Path, spec: Spec, options: Options, numbers: ChildSide, role: Role, arch: str
) -> Iterator[Reference | None]:
    """What gives a target's right values, if anything does. reference.py runs in `numbers`; the original in
    double in a child of its own, in the given role. SideError CP7027 where there can be none in double."""
    if spec.tolerance.rule == "double":
        with _in_double(target, spec, options, role, arch) as reference:
            yield reference
    elif spec.tolerance.rule != "original" and (target / REFERENCE).exists():
        yield _from_file(numbers, target, options)
    else:
        yield None


@contextmanager
def own_reference(target: Path, spec: Spec, options: Options, arch: str) -> Iterator[Reference | None]:
    """As reference_for, on the GPU, in children that end with it: what is timed next has the GPU alone."""
    with (
        closing(ChildSide(ORIGINAL, {}, arch, options.timeout)) as numbers,
        reference_for(target, spec, options, numbers, ORIGINAL, arch) as reference,
    ):
        yield reference


def _from_file(child: ChildSide, target: Path, options: Options) -> Reference:
    def run(case: str, inputs: Inputs) -> dict[str, npt.NDArray[np.float64]]:
        with tempfile.TemporaryDirectory(prefix="cuteport-ref-") as out:
            job = {
                "do": "run_reference",
                "target": str(target.resolve()),
                "case": case,
                "inputs": inputs.files(),
                "out": out,
            }
            reply = child.once(job, options.timeout)
            return {n: np.fromfile(p, np.float64) for n, p in reply["outputs"].items()}

    return run


@contextmanager
def _in_double(target: Path, spec: Spec, options: Options, role: Role, arch: str) -> Iterator[Reference]:
    with (
        tempfile.TemporaryDirectory(prefix="cuteport-double-") as name,
        closing(ChildSide(role, {}, arch, options.timeout)) as side,
    ):
        folder = Path(name)
        try:
            doubled(target, spec, folder)
            built = build_original(side, str(folder), arch, folder)
        except (DoubleError, SideError) as e:
            raise SideError("refused", "CP7027", str(e)) from e
        wide = load_spec(folder)
        code = {"cubin": str(folder / "cubin"), "ptx": str(folder / "ptx")}
        side.reload({"target": str(folder), "names": built.names, **code})

        def run(case: str, inputs: Inputs) -> dict[str, npt.NDArray[np.float64]]:
            with tempfile.TemporaryDirectory(prefix="cuteport-wide-") as place:
                ran = side.run(case, Inputs(_widened(spec, wide, inputs.data), Path(place)), 0)
            values = {lane.name: view(ran.outputs[arg.name], lane) for arg, lane in output_lanes(wide)}
            return {n: v.astype(np.float64) for n, v in values.items()}

        yield run


def _widened(spec: Spec, wide: Spec, data: dict[str, Bytes]) -> dict[str, Bytes]:
    """The same numbers in the other spec's types."""
    made: dict[str, Bytes] = {}
    for before, after in zip(spec.buffers, wide.buffers, strict=True):
        if before.name not in data:
            continue
        if before.dtype == after.dtype:
            made[before.name] = data[before.name]
            continue
        (lane,), (wider,) = lanes(before), lanes(after)
        values = view(data[before.name], lane)
        made[before.name] = values.astype(wider.dtype.carrier).view(np.uint8)
    return made
