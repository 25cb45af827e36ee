"""The bundled targets: each spec reads, fits its CUDA source, and its reference gives what it says."""

from __future__ import annotations

import importlib.util
import re
from math import prod
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from verify.dtypes import lookup
from verify.inputs import decode, generate, lanes, view
from verify.resolve import Resolved, resolve
from verify.spec import Spec
from verify.spec_args import BufferArg, StructArg
from verify.spec_file import load_spec

TARGETS = Path(__file__).parents[2] / "targets"
FOLDERS = sorted(TARGETS.glob("cuteport__*"))
MEMORY_LIMIT = 2 << 30  # bytes a case may ask for
BANDWIDTH = 4e12  # bytes per second the large case is sized for
# long enough for their arithmetic, not their traffic
COMPUTE_BOUND = {"sgemm_tiled", "collatz", "probe_find"}


def source_of(folder: Path, spec: Spec) -> str:
    return (folder / "original" / f"{spec.name}.cu").read_text(encoding="utf-8")


def reference_of(folder: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(f"{folder.name}_reference", folder / "reference.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def kernel_params(source: str, kernel: str) -> list[str]:
    """Parameter names of the kernel in the order they are declared."""
    name = re.escape(kernel.split("<")[0])
    head = re.search(rf"__global__[^;{{]*?\b{name}\s*\(([^)]*)\)\s*\{{", source)
    assert head, f"no kernel {name}"
    return [re.findall(r"\w+", p)[-1] for p in head.group(1).split(",")]


def carrier_of(arg: BufferArg) -> np.dtype:
    """numpy has no bf16: references get it widened."""
    dtype = lookup(arg.dtype or "")
    return np.dtype("float32" if dtype.bits_only else dtype.carrier)


def reference_args(spec: Spec, case: Resolved) -> dict[str, np.ndarray | int | float]:
    """As verify passes them: scalars and struct fields (`arg.field`) as numbers, bf16 widened."""
    args: dict[str, np.ndarray | int | float] = dict(case.scalars)
    buffers = {a.name: a for a in spec.buffers}
    for name, data in generate(spec, case, seed=7, values="spec").items():
        for lane in lanes(buffers[name]):
            values = view(data, lane)
            args[lane.name] = decode(values, lane.dtype) if lane.dtype.bits_only else values
    return args


def test_there_are_enough() -> None:
    assert len(FOLDERS) >= 18


@pytest.fixture(params=FOLDERS, ids=lambda f: f.name.removeprefix("cuteport__"))
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_spec_fits_source(folder: Path) -> None:
    spec = load_spec(folder)
    source = source_of(folder, spec)
    assert folder.name == f"cuteport__{spec.name}" and spec.port.entry == spec.name
    symbols = {a.name: a.symbol for a in spec.buffers if a.symbol}
    in_order = [a.name for a in spec.arg if a.name not in symbols]
    assert in_order == kernel_params(source, spec.original.kernel)
    assert [a.name for a in spec.arg][len(in_order) :] == list(symbols), "globals come after the parameters"
    for symbol in symbols.values():
        assert re.search(rf"__(constant|device)__[^;]*\b{symbol}\b", source)
    for struct in (a for a in spec.arg if isinstance(a, StructArg)):
        for field in struct.fields:
            assert re.search(rf"\b{field.name};", source)


def test_source_can_be_launched(folder: Path) -> None:
    spec = load_spec(folder)
    source = source_of(folder, spec)
    assert "<<<" in source and "int main(" in source and re.search(r"cudaMalloc|cudaMallocManaged", source)
    uses_dynamic = "extern __shared__" in source
    assert all((resolve(spec, c).smem > 0) == uses_dynamic for c in spec.case)


def test_cases_cover_the_roles(folder: Path) -> None:
    spec = load_spec(folder)
    roles = [c.role for c in spec.case]
    first = roles.count("boundary")
    assert first >= 4 and roles == ["boundary"] * first + ["typical", "large"]
    for case in spec.case:
        done = resolve(spec, case)
        assert done.launchable and min(done.elems.values()) > 0
        assert done.grid[0] < 1 << 31 and max(done.grid[1:]) <= 65535
        in_bytes = {a.name: done.elems[a.name] * a.element_bytes for a in spec.buffers}
        assert sum(in_bytes.values()) < MEMORY_LIMIT
        if case.role == "large" and spec.name not in COMPUTE_BOUND:
            traffic = sum(in_bytes[a.name] * (2 if a.role == "inout" else 1) for a in spec.buffers)
            assert traffic / BANDWIDTH >= 50e-6, f"{traffic >> 20} MiB are over before they can be timed"


def test_cases_differ_from_block_multiples(folder: Path) -> None:
    """Some boundary case leaves threads of the last block without work."""
    spec = load_spec(folder)
    cases = [resolve(spec, c) for c in spec.case if c.role == "boundary"]
    assert any(max(done.elems.values()) % prod(done.block) for done in cases)


def test_reference_runs(folder: Path) -> None:
    spec = load_spec(folder)
    reference = reference_of(folder)
    outputs = {a.name: a for a in spec.buffers if a.role != "in"}
    for case in (c for c in spec.case if c.role == "boundary"):
        done = resolve(spec, case)
        args = reference_args(spec, done)
        before = {k: v.copy() for k, v in args.items() if isinstance(v, np.ndarray)}
        results = reference.reference(args, dict(case.sizes))
        assert results.keys() == outputs.keys()
        for name, values in results.items():
            carrier = carrier_of(outputs[name])
            assert values.shape == (done.elems[name],)
            assert values.dtype == (carrier if carrier.kind in "iu" else np.float64)
            assert np.isfinite(values).all()
        for name, values in before.items():
            assert np.array_equal(values, args[name]), f"the reference changed its input {name}"


def test_some_output_is_not_trivial(folder: Path) -> None:
    """Zeros or a constant must not pass for the typical case's result."""
    spec = load_spec(folder)
    done = resolve(spec, next(c for c in spec.case if c.role == "typical"))
    if sum(done.elems.values()) > 3_000_000:
        done = resolve(spec, [c for c in spec.case if c.role == "boundary"][-1])
    results = reference_of(folder).reference(reference_args(spec, done), dict(done.case.sizes))
    for name, values in results.items():
        assert np.any(values != 0), name
        assert values.size == 1 or np.ptp(values.astype(np.float64)) > 0, name
