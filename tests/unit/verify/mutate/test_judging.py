"""How one mutant after the other is judged, on sides that answer by the text of their module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saxpy_target import write_target

from verify.facts import CompileFacts, MutationFacts
from verify.mutate.trial import Comparison, compare, with_mutants
from verify.options import Options
from verify.plan import REPEATS, Run, plan
from verify.sides import EMULATED_PORT, ChildSide, Inputs, SideError, SideRan
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

PORT = """import cutlass
import cutlass.cute as cute


@cute.kernel
def k(n, a, x, y):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        y[i] = a * x[i] + y[i]


def compile_saxpy(block):
    return k


def saxpy(n, a, x, y, *, grid, block, smem, stream):
    k(n, a, x, y)
"""
BUILT = CompileFacts(
    arch="sm_90a", compile_seconds=0, ptx_bytes=1, ptx_sha256="", cubin_bytes=1, cubin_sha256="", kernels=[]
)
SECONDS = 120.0


class Told(ChildSide):
    """Computes saxpy without a child; what a module's text says is wrong with it."""

    def __init__(self, load: Mapping[str, str]) -> None:
        super().__init__(EMULATED_PORT, load, "sm_90a", SECONDS)
        self.given: list[tuple[float, dict[str, int]]] = []
        self.restarts = 0

    @property
    def text(self) -> str:
        return Path(self.load["module"]).read_text() if "module" in self.load else ""

    def restart(self) -> None:
        self.restarts += 1

    def code(self, known: list[dict[str, Any]]) -> str:
        assert known and all(k["block"] == [256, 1, 1] for k in known)
        if "a + x[i]" in self.text:
            raise SideError("refused", "CP6102", "no")
        return self.text.replace("if i < n - 1", "if i < n")

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        self.given.append((self.timeout, dict(self.budgets)))
        if "if i <= n" in self.text:
            raise SideError("died", "CP7004", "gone")
        x, y = (inputs.data[k].view(np.float32) for k in ("x", "y"))
        with np.errstate(invalid="ignore", over="ignore"):
            out = np.float32(2.5) * x + y + np.float32("- y[i]" in self.text)
        return SideRan({"y": out.view(np.uint8)}, steps=3)


@dataclass(frozen=True, slots=True)
class Tried:
    target: Path
    runs: list[Run]
    original: Told
    port: Told
    result: StageResult

    @property
    def mutation(self) -> MutationFacts:
        assert self.result.status is Status.PASSED and self.result.parity is not None
        assert self.result.parity.mutation is not None
        return self.result.parity.mutation


def tried(folder: Path, text: str = PORT, device: str = "emulator") -> Tried:
    target = write_target(folder, text)
    spec = load_spec(target)
    load = {"target": str(target), "module": str(target / "port.py")}
    original, port = Told({}), Told(load)
    runs = plan(spec, (), 0, "emulator")
    comparison = Comparison(target, spec, runs, original, port, None, BUILT, "", device)  # type: ignore[arg-type]
    result = with_mutants(comparison, compare(comparison), Options(mutate="all"))
    return Tried(target, runs, original, port, result)


def test_each_mutant_ends_as_its_text_says(tmp_path: Path) -> None:
    found = tried(tmp_path / "t").mutation
    met = {m.what: (m.fate, m.code) for m in found.mutants}
    assert met["i < n: < → <="] == ("killed", "CP7004")
    assert met["a * x[i] + y[i]: + → -"] == ("killed", "CP7012")
    assert met["a * x[i]: * → +"] == ("invalid", "CP6102")
    assert met["n → n - 1"] == ("equivalent", "")
    assert met["i < n → True"] == ("survived", "")
    assert found.available == len(found.mutants) > 5


def test_the_original_runs_once_more_for_all_of_them_together(tmp_path: Path) -> None:
    done = tried(tmp_path / "t")
    launched = [r for r in done.runs if r.case.sizes["n"]]
    assert len(done.original.given) == 2 * REPEATS["emulator"].original * len(launched)


def test_mutants_get_less_time_and_the_child_is_left_as_it_was(tmp_path: Path) -> None:
    done = tried(tmp_path / "t")
    assert {s for s, _ in done.port.given} == {SECONDS, 20.0}
    assert {tuple(b.items()) for _, b in done.port.given} == {(), (("one", 20_060), ("typical", 20_060))}
    assert done.port.load == {"target": str(done.target), "module": str(done.target / "port.py")}
    assert (done.port.timeout, done.port.budgets, done.port.restarts) == (SECONDS, {}, 0)
    assert {f.name for f in done.target.iterdir()} == {"spec.toml", "port.py", "original"}
    assert (done.target / "port.py").read_text() == PORT


def test_a_gpu_that_faulted_is_not_used_for_the_next(tmp_path: Path) -> None:
    done = tried(tmp_path / "t", device="gpu")
    assert done.port.restarts == done.mutation.codes["CP7004"] == 1


def test_a_port_that_failed_has_no_score(tmp_path: Path) -> None:
    done = tried(tmp_path / "t", PORT.replace("+ y[i]", "- y[i]"))
    assert done.result.status is Status.WRONG_VALUES and done.result.parity is not None
    assert done.result.parity.mutation is None
    assert all(not b for _, b in done.port.given)


@pytest.mark.parametrize("limit", [2, 7])
def test_a_child_serves_only_so_many(tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.mutate.trial._MUTANTS_PER_CHILD", limit)
    done = tried(tmp_path / "t")
    assert done.port.restarts == len(done.mutation.mutants) // limit
