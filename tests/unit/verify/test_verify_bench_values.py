"""By what rule the outputs of timed launches are judged, and when what that takes is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import cuda.bindings
import numpy as np
import numpy.typing as npt
import pytest
from fake_driver import FakeDriver
from in_process import InProcessSide, floats, off_by, port_side, saxpy_kernel
from saxpy_target import SPEC, write_target
from test_verify_bench import BENCH_PORT, LARGE

from verify import right_values
from verify.bench import BenchJob, run_bench
from verify.bench_values import References, difference
from verify.dtypes import lookup
from verify.inputs import decode
from verify.resolve import resolve
from verify.right_values import Reference
from verify.sides import Inputs, SideError
from verify.spec import Spec
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

Doubles = npt.NDArray[np.float64]


def saxpy_in_double(_case: str, inputs: Inputs) -> dict[str, Doubles]:
    x, y = (inputs.data[name].view(np.float32).astype(np.float64) for name in ("x", "y"))
    return {"y": 2.5 * x + y}


class Told:
    """A reference that says when it begins, runs and ends."""

    def __init__(self, reference: Reference | None, log: list[str]) -> None:
        self.reference = reference
        self.log = log

    @contextmanager
    def __call__(self) -> Iterator[Reference | None]:
        self.log.append("begins")
        yield None if self.reference is None else self._run
        self.log.append("ends")

    def _run(self, case: str, inputs: Inputs) -> dict[str, Doubles]:
        self.log.append(f"runs {case}")
        assert self.reference is not None
        return self.reference(case, inputs)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """The original is further from the right values than a float32's own tolerance; the port is exact."""
    fake = FakeDriver()
    fake.kernels["k"] = ([4, 4, 8, 8], off_by(1e-4))
    fake.kernels["port"] = ([4, 4, 8, 8], saxpy_kernel)
    fake.seconds["sweep"] = lambda: 2e-3
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    return fake


def benched(
    driver: FakeDriver,
    folder: Path,
    references: Callable[[], AbstractContextManager[Reference | None]] | None,
    log: list[str] | None = None,
    spec: str = SPEC,
    **more: Any,
) -> StageResult:
    target = write_target(folder, BENCH_PORT, spec)
    (target / "cubin").write_bytes(b"x")
    side = port_side(driver, target)
    told = log if log is not None else []

    class Asked(InProcessSide):
        def ask(self, job: dict[str, Any], timeout: float = 0) -> dict[str, Any]:
            if job["do"] == "bench":
                told.append(f"times {job['case']}")
            return super().ask(job, timeout)

    side.__class__ = Asked
    job = BenchJob("t", load_spec(target), target / "cubin", {"saxpy": "k"}, **more)
    return run_bench(job, side, lambda: (None, ""), lambda: (1.0, ""), references)  # type: ignore[arg-type]


@pytest.mark.parametrize("varies", [False, True])
def test_a_port_nearer_to_the_right_values_than_the_original_is_no_wrong_one(
    driver: FakeDriver, tmp_path: Path, varies: bool
) -> None:
    bare = benched(driver, tmp_path / "bare", None, order_dependent=varies)
    assert (bare.status, bare.code) == (Status.WRONG_VALUES, "CP9103")
    got = benched(driver, tmp_path / "t", Told(saxpy_in_double, []), order_dependent=varies)
    assert (got.status, got.code) == (Status.PASSED, None), got.message


def test_the_right_values_are_asked_for_once_between_the_times_of_two_cases(
    driver: FakeDriver, tmp_path: Path
) -> None:
    log: list[str] = []
    got = benched(driver, tmp_path / "t", Told(saxpy_in_double, log), log, SPEC + LARGE)
    assert got.status is Status.PASSED, got.message
    large, typical = ([f"times {case}", "begins", f"runs {case}", "ends"] for case in ("large", "typical"))
    assert log == [*large, *typical]


def test_outputs_within_the_type_s_own_tolerance_ask_for_nothing(driver: FakeDriver, tmp_path: Path) -> None:
    driver.kernels["k"] = ([4, 4, 8, 8], off_by(3e-7))
    log: list[str] = []
    got = benched(driver, tmp_path / "t", Told(saxpy_in_double, log), log)
    assert got.status is Status.PASSED, got.message
    assert log == ["times typical"]


@pytest.mark.parametrize("lazy_after", [0, 1, 40])
def test_a_port_that_is_wrong_when_timed_is_wrong_by_the_right_values_too(
    driver: FakeDriver, tmp_path: Path, lazy_after: int
) -> None:
    right_calls: list[int] = []

    def fading(*launch: Any) -> None:
        right_calls.append(1)
        (saxpy_kernel if len(right_calls) <= lazy_after else off_by(3e-4))(*launch)

    driver.kernels["port"] = ([4, 4, 8, 8], fading)
    got = benched(driver, tmp_path / "t", Told(saxpy_in_double, []))
    assert (got.status, got.code) == (Status.WRONG_VALUES, "CP9103")
    # off by three times the original's error; twice is allowed
    assert "of 1009 elements differ" in got.message
    assert "2 x the original's fp64 error" in got.message


def test_an_idle_port_and_a_nan_ask_for_nothing(driver: FakeDriver, tmp_path: Path) -> None:
    spec = SPEC.replace('role = "inout"', 'role = "out"')

    def nan(grid: Any, block: Any, values: list[bytes]) -> None:
        saxpy_kernel(grid, block, values)
        floats(int.from_bytes(values[3], "little"), 1)[:] = np.nan

    def filled(_grid: Any, _block: Any, values: list[bytes]) -> None:
        floats(int.from_bytes(values[3], "little"), 1009)[:] = 1.0

    for name, original, port, text, words in (
        ("idle", filled, lambda *_: None, spec, "not written by the port"),
        ("nan", saxpy_kernel, nan, SPEC, "1 of 1009 elements differ, first y[0]: port nan"),
    ):
        driver.kernels["k"], driver.kernels["port"] = ([4, 4, 8, 8], original), ([4, 4, 8, 8], port)
        log: list[str] = []
        got = benched(driver, tmp_path / name, Told(saxpy_in_double, log), log, text)
        assert (got.status, got.code, log) == (Status.WRONG_VALUES, "CP9103", ["times typical"])
        assert words in got.message


def test_where_nothing_knows_better_the_type_s_own_tolerance_stays(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reference, none for so many elements, or one that fails."""
    log: list[str] = []
    none = benched(driver, tmp_path / "none", Told(None, log), log)
    assert (none.status, none.code) == (Status.WRONG_VALUES, "CP9103")
    assert log == ["times typical", "begins", "ends"]

    def fails(case: str, inputs: Inputs) -> dict[str, Doubles]:
        raise SideError("refused", "CP7019", "division by zero")

    broken = benched(driver, tmp_path / "broken", Told(fails, []))
    assert (broken.status, broken.code) == (Status.WRONG_VALUES, "CP9103")
    assert broken.message.endswith("; there are no right values: CP7019 division by zero")

    short = benched(driver, tmp_path / "short", Told(lambda *_: {"y": np.zeros(3)}, []))
    assert short.message.endswith("; there are no right values: CP7019 y has 3 elements, not 1009")

    monkeypatch.setattr(right_values, "_REFERENCE_ELEMENTS", 2017)
    large: list[str] = []
    got = benched(driver, tmp_path / "large", Told(saxpy_in_double, large), large)
    assert (got.status, got.code, large) == (Status.WRONG_VALUES, "CP9103", ["times typical"])
    double = SPEC + '[tolerance]\nrule = "double"\n'
    got = benched(driver, tmp_path / "double", Told(saxpy_in_double, []), spec=double)
    assert got.status is Status.PASSED, got.message


def judged(spec: Spec, folder: Path, original: Any, port: Any, references: References | None = None) -> str:
    """`difference` of one output, out, that both sides leave in each launch."""
    resolved = resolve(spec, spec.case[0])
    sides = {"original": original, "port": port}
    bytes_of = {s: [{"out": np.ascontiguousarray(v).view(np.uint8).reshape(-1)}] for s, v in sides.items()}
    outputs = bytes_of | {f"last_{s}": v for s, v in bytes_of.items()}
    return difference(spec, resolved, Inputs({}, folder), outputs, False, references)


def spec_of(folder: Path, dtype: str, n: int, more: str = "") -> Spec:
    folder.mkdir()
    (folder / "spec.toml").write_text(
        'schema = 1\nname = "k"\noriginal = { kernel = "k" }\nport = { entry = "k" }\n'
        'launch = { grid = ["1"], block = ["32"] }\n'
        f'[[arg]]\nname = "out"\nkind = "buffer"\ndtype = "{dtype}"\nelems = "n"\nrole = "out"\n{more}\n'
        f'[[case]]\nname = "c"\nsizes = {{ n = {n} }}\n'
    )
    return load_spec(folder)


def test_one_step_of_bf16_may_lie_on_either_side_of_the_right_value(tmp_path: Path) -> None:
    """Half way between two numbers of the type, the original takes the lower one, the port the upper."""
    lower = np.arange(0x3F80, 0x3F80 + 512, dtype=np.uint16)  # from 1 on
    upper = lower + 1
    bf16 = lookup("bf16")
    halves = (decode(lower, bf16) + decode(upper, bf16)) / 2
    spec = spec_of(tmp_path / "t", "bf16", 512)
    tight = spec.model_copy(
        update={"tolerance": spec.tolerance.model_copy(update={"rtol": 0.0, "atol": 0.0})}
    )
    assert "512 of 512 elements differ" in judged(tight, tmp_path, lower, upper)
    assert judged(tight, tmp_path, lower, upper, Told(lambda *_: {"out": halves}, [])) == ""
    beyond = judged(tight, tmp_path, lower, upper + 16, Told(lambda *_: {"out": halves}, []))
    assert "512 of 512 elements differ" in beyond


def test_right_values_come_into_the_order_of_the_original_s_run(tmp_path: Path) -> None:
    spec = spec_of(tmp_path / "t", "f32", 300, 'order = "free"')
    rng = np.random.default_rng(1)
    right = np.sort(rng.uniform(1, 100, 300))
    original = (right * (1 + 1e-4)).astype(np.float32)[rng.permutation(300)]
    port = right.astype(np.float32)[rng.permutation(300)]
    references = Told(lambda *_: {"out": right}, [])
    assert "compared in any order" in judged(spec, tmp_path, original, port)
    assert judged(spec, tmp_path, original, port, references) == ""
    port[7] *= 1.01
    assert "compared in any order" in judged(spec, tmp_path, original, port, references)


def test_integers_have_no_right_values_but_the_original_s(tmp_path: Path) -> None:
    spec = spec_of(tmp_path / "t", "int32", 300)
    log: list[str] = []
    ones = np.ones(300, np.int32)
    assert judged(spec, tmp_path, ones, ones + 1, Told(lambda *_: {"out": np.full(300, 2.0)}, log))
    assert not log
