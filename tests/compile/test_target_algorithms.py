"""The targets' ports have their originals' algorithms, and the comparison says where a port has not."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from verify.algorithm import AlgorithmDiff
from verify.algorithm_rows import difference
from verify.compile import compile_ports, job_of
from verify.disassembly import find_nvdisasm
from verify.facts import CompileFacts
from verify.original_side import build_original
from verify.sides import ORIGINAL, ChildSide
from verify.spec_file import load_spec

pytest.importorskip("cutlass")
pytest.importorskip("cuda.bindings.nvrtc")
pytestmark = pytest.mark.dsl
ARCH = "sm_90a"
TARGETS = sorted(p.parent for p in (Path(__file__).parent.parent.parent / "targets").glob("*/spec.toml"))


def ports(folders: list[Path]) -> dict[str, CompileFacts]:
    found = compile_ports([job_of(t, load_spec(t)) for t in folders], ARCH)
    return {Path(r.target).name: r.compile for r in found if r.compile is not None}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CompileFacts]:
    found: dict[str, CompileFacts] = {}
    with closing(ChildSide(ORIGINAL, {}, ARCH, 60.0)) as builder:
        for target in TARGETS:
            folder = tmp_path_factory.mktemp("built")
            found[target.name] = build_original(builder, str(target.resolve()), ARCH, folder).facts
    return found


@pytest.fixture(scope="module")
def diffs(originals: dict[str, CompileFacts]) -> dict[str, AlgorithmDiff]:
    compiled = ports(TARGETS)
    return {t.name: difference(originals[t.name], compiled[t.name]) for t in TARGETS}


def values(diff: AlgorithmDiff, *keys: str) -> list[tuple[str, object, object]]:
    return [(r.key, r.original, r.port) for r in diff.rows if r.key in keys]


def test_no_port_lost_its_originals_algorithm(diffs: dict[str, AlgorithmDiff]) -> None:
    assert len(diffs) == 24
    assert {n: [r.telling for r in d.telling] for n, d in diffs.items() if d.telling} == {}


def test_a_tiled_product(diffs: dict[str, AlgorithmDiff]) -> None:
    assert values(diffs["cuteport__sgemm_tiled"], "barriers", "shared_load_width", "arithmetic_f32") == [
        ("shared_load_width", 32, 128),
        ("barriers", 2, 2),
        ("arithmetic_f32", 288, 288),
    ]


@pytest.mark.skipif(find_nvdisasm() is None, reason="no nvdisasm")
def test_machine_code_is_taken_apart_where_it_is_asked_for(tmp_path: Path) -> None:
    target = TARGETS[0].parent / "cuteport__sgemm_tiled"
    job = job_of(target, load_spec(target), disassemble=True)
    (found,) = compile_ports([job], ARCH)
    assert found.compile is not None
    with closing(ChildSide(ORIGINAL, {}, ARCH, 60.0)) as builder:
        original = build_original(builder, str(target.resolve()), ARCH, tmp_path, disassemble=True).facts
    diff = difference(original, found.compile)
    # PTX of the original loads 32 bits at a time; its assembler knows better.
    assert values(diff, "machine_LDS", "machine_LDG") == [
        ("machine_LDG", "24 of 32 bits", "24 of 32 bits"),
        ("machine_LDS", "32 of 128 bits", "32 of 128 bits"),
    ]
    (total,) = [r for r in diff.rows if r.key == "machine_instructions"]
    assert isinstance(total.original, int)
    assert isinstance(total.port, int)
    assert 500 < total.port < total.original < 700


def test_vector_accesses(diffs: dict[str, AlgorithmDiff]) -> None:
    assert values(diffs["cuteport__hardswish_f4"], "load_width", "store_width") == [
        ("load_width", 128, 128),
        ("store_width", 128, 128),
    ]


def test_atomics_shuffles_and_shared_memory(diffs: dict[str, AlgorithmDiff]) -> None:
    assert values(diffs["cuteport__dot_atomic"], "atomics", "shuffles", "shared") == [
        ("atomics", "global add f32", "global add f32"),
        ("shuffles", 5, 5),
    ]
    assert values(diffs["cuteport__histogram256"], "atomics") == [
        ("atomics", "global add b32, shared add b32", "global add b32, shared add b32")
    ]
    assert values(diffs["cuteport__kahan_daxpy"], "arithmetic_f64", "arithmetic_f32") == [
        ("arithmetic_f64", 5, 5)
    ]


@pytest.mark.parametrize(
    ("target", "old", "new", "keys"),
    [
        # Half the precision: what a generous tolerance lets through.
        (
            "cuteport__saxpy",
            "a * x[i]",
            "Float32(cutlass.Float16(a) * cutlass.Float16(x[i]))",
            {"arithmetic_f16", "narrowed"},
        ),
        ("cuteport__block_scan", "cute.arch.sync_threads()", "pass", {"barriers"}),
    ],
)
def test_a_port_that_computes_another_way_is_told(
    tmp_path: Path, originals: dict[str, CompileFacts], target: str, old: str, new: str, keys: set[str]
) -> None:
    folder = Path(shutil.copytree(TARGETS[0].parent / target, tmp_path / target))
    text = (folder / "port.py").read_text(encoding="utf-8")
    assert old in text
    (folder / "port.py").write_text(text.replace(old, new), encoding="utf-8")
    diff = difference(originals[target], ports([folder])[target])
    assert {r.key for r in diff.telling} == keys
