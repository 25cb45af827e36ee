"""A kernel model from CUDA text, for the tests of the analyses."""

from __future__ import annotations

from pathlib import Path

from translator.diag.diagnostic import Sink
from translator.frontend.build import build_model
from translator.frontend.project import ReadOptions, read
from translator.model.kernel import KernelModel


def model_of(folder: Path, text: str, name: str = "k") -> KernelModel:
    """The model of kernel `name` in `text`; fails if it is refused."""
    file = folder / "a.cu"
    file.write_text(text, "utf-8")
    readings = read([str(file)], ReadOptions(kernels=(name,)), Sink())
    sink = Sink()
    model = build_model(readings[0], sink)
    assert model is not None, [str(d) for d in sink.items]
    return model
