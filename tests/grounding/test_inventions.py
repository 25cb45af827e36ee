"""What models invent is found at its line, before anything is compiled; what exists is never flagged."""

from __future__ import annotations

import importlib.util
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from translator.diag.codes import CODES
from translator.grounding.api import Api
from translator.grounding.check import CODES as CODE_OF
from translator.grounding.check import diagnostics, unknown_names
from translator.grounding.suggest import isms

pytestmark = pytest.mark.dsl
ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "inventions.toml").read_text())[
    "invention"
]
DRAFT = """import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
{top}


@cute.kernel
def kernel(gX: cute.Tensor, gY: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    x = gX[tidx]
    rX = cute.make_rmem_tensor_like(gX)
    {body}
    gY[tidx] = x + n


@cute.jit
def run(gX: cute.Tensor, gY: cute.Tensor, n: cutlass.Int32):
    kernel(gX, gY, n).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""
TOP, BODY = 4, 12


def draft(row: dict[str, Any]) -> tuple[str, int]:
    if row.get("top"):
        return DRAFT.format(top=row["code"], body="pass"), TOP
    return DRAFT.format(top="", body=row["code"]), BODY


def test_there_are_many_and_all_different() -> None:
    assert len(ROWS) >= 50
    assert len({r["code"] for r in ROWS}) == len(ROWS)
    assert {r.get("what", "attribute") for r in ROWS} == set(CODE_OF)


def test_the_draft_without_them_is_clean(api: Api) -> None:
    assert unknown_names(DRAFT.format(top="", body="pass"), api) == []


@pytest.mark.parametrize("row", ROWS, ids=[r["code"] for r in ROWS])
def test_it_is_flagged_at_its_line(row: dict[str, Any], api: Api) -> None:
    source, line = draft(row)
    found = unknown_names(source, api)
    assert found != [] and {u.line for u in found} == {line}, found
    assert found[0].what == row.get("what", "attribute"), found
    if "near" in row:
        assert row["near"] in found[0].nearest, found[0].nearest
    told = diagnostics(found, "port.py")[0]
    assert told.code == CODE_OF[found[0].what] and told.code in CODES
    assert found[0].name in told.message and told.span.line == line and told.refuses


def ours() -> list[Path]:
    patterns = (
        "corpus/kernels/*/*/kernel.py",
        "corpus/blocks/*.py",
        "targets/*/port.py",
        "tests/golden/expected/*.py",
        "translator/mapping/helpers/*.py",
        "verify/canaries/*/port.py",
        "tests/corpus/*.py",
    )
    return [p for pattern in patterns for p in sorted(ROOT.glob(pattern))]


def alarms(paths: list[Path], api: Api) -> list[str]:
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        if "cutlass" in text:
            found += [f"{path.name}: {u.name}: {u.what}" for u in unknown_names(text, api)]
    return found


def test_no_kernel_port_or_block_of_ours_is_flagged(api: Api) -> None:
    paths = ours()
    assert len(paths) > 100
    assert alarms(paths, api) == []


# Names that the DSL's own sources use and that this version really lacks: each of these lines would fail.
DEFECTS = {
    "4.8.1": [
        "blackwell_helpers.py: cute.upcast: attribute",
        "core.py: cutlass._mlir.dialects.lir.MBarrierExpectTxOp: attribute",
        "mma.py: cutlass._mlir.dialects.cute_nvgpu.MmaAtomSM80SparseType: attribute",
        "op.py: _describe_value_origin: block",
        "rubin_helpers.py: cute.upcast: attribute",
    ]
}


def test_the_sources_of_the_dsl_itself_are_not_flagged(api: Api) -> None:
    spec = importlib.util.find_spec("nvidia_cutlass_dsl")
    assert spec is not None and spec.submodule_search_locations is not None
    folder = Path(next(iter(spec.submodule_search_locations)))
    paths = sorted(p for p in folder.rglob("*.py") if "_mlir" not in p.parent.parts)
    assert len(paths) > 100
    assert sorted(alarms(paths, api)) == DEFECTS[api.version]


def test_what_other_names_become_exists(api: Api) -> None:
    missing = {n: m for n, names in isms().items() for m in names if api.lookup(m) is None}
    assert missing == {}


def test_two_hundred_lines_take_less_than_fifty_milliseconds(api: Api) -> None:
    path = max(ours(), key=lambda p: len(p.read_text()))
    text = path.read_text()
    lines = len(text.splitlines())
    unknown_names(text, api)
    times = []
    for _ in range(5):
        start = time.thread_time()
        unknown_names(text, api)
        times.append(time.thread_time() - start)
    assert min(times) * 200 / lines < 0.05
