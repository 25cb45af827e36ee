"""Held-out cases, the scan for narrow types, the census of launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cuda.bindings
import pytest
from fake_driver import FakeDriver
from in_process import port_side, saxpy_kernel
from saxpy_target import SPEC, write_target
from test_verify_bench import BENCH_PORT

from verify.census import not_own, with_own_launches
from verify.census_jobs import HANDLERS as CENSUS
from verify.device_jobs import HANDLERS
from verify.facts import CompileFacts, ParityFacts, RunFacts
from verify.floats import floats, narrowings
from verify.heldout import case_named, digest, held_out, name_of
from verify.narrow import judged
from verify.pinned import changed, voided
from verify.plan import HELD_OUT, plan
from verify.resolve import resolve
from verify.spec import Spec
from verify.spec_file import load_spec, parse_spec
from verify.verdict import StageResult, Status


def spec_of(*sizes: str, more: str = "") -> Spec:
    head = SPEC.split("[[case]]")[0]
    cases = [f'[[case]]\nname = "{i}"\nsizes = {{ {s} }}\n' for i, s in enumerate(sizes)]
    return parse_spec(head + more + "\n".join(cases))


def drawn(spec: Spec, keys: int = 60) -> list[dict[str, int]]:
    runs = [r for k in range(keys) for r in held_out(spec, (), bytes([k]), "gpu")]
    return [r.case.sizes for r in runs]


def test_sizes_are_new_and_within_what_is_listed() -> None:
    spec = spec_of("n = 1", "n = 255", "n = 10007")
    found = {s["n"] for s in drawn(spec)}
    assert len(found) > 40
    assert not found & {1, 255, 10007}
    assert min(found) >= 1 and max(found) <= 10007


@pytest.mark.parametrize(
    ("cases", "holds"),
    [
        (("n = 4", "n = 12", "n = 4000"), lambda s: s["n"] % 4 == 0),
        (("n = 1", "n = 64", "n = 4096"), lambda s: s["n"] & (s["n"] - 1) == 0),
        (("n = 8, k = 3", "n = 900, k = 900", "n = 70, k = 1"), lambda s: s["k"] <= s["n"]),
        (("n = 12, k = 4", "n = 900, k = 9", "n = 70, k = 7"), lambda s: s["n"] % s["k"] == 0),
        (("n = 5, mode = 3", "n = 900, mode = 3"), lambda s: s["mode"] == 3),
    ],
)
def test_sizes_keep_what_all_listed_ones_share(cases: tuple[str, ...], holds: Any) -> None:
    found = drawn(spec_of(*cases))
    assert len({tuple(s.items()) for s in found}) > 5
    assert all(holds(s) for s in found)


def test_fixed_sizes_still_meet_a_new_seed() -> None:
    spec = spec_of("n = 1009")
    run, other = held_out(spec, (), b"a", "gpu")
    assert (
        other.case.scalars
        and run.case is spec.case[0]
        and run.seed not in {r.seed for r in plan(spec, (), 0)}
    )


def test_one_run_has_other_values_of_float_scalars() -> None:
    spec = spec_of("n = 1", "n = 255", "n = 10007")
    runs = held_out(spec, (), b"a", "gpu")
    assert [bool(r.case.scalars) for r in runs] == [False, False, True]
    last = runs[-1]
    assert last.case.sizes == runs[0].case.sizes and last.case.scalars.keys() == {"a"}  # n is a size
    (a,) = last.case.scalars.values()
    assert isinstance(a, float) and 2.5 < a < 5.0
    assert case_named(spec, last.case.name) == last.case
    assert resolve(spec, last.case).scalars["a"] == a and resolve(spec, runs[0].case).scalars["a"] == 2.5
    # What the original makes of a value that nobody asked for accuses nobody.
    assert not last.own


def test_scalars_that_decide_sizes_or_are_whole_numbers_stay() -> None:
    text = SPEC.replace("value = 2.5", "value = 4.0").replace('elems = "n"', 'elems = "int(a) * n"', 1)
    assert not any(r.case.scalars for r in held_out(parse_spec(text), (), b"a", "gpu"))
    whole = SPEC.replace('dtype = "float32"\nvalue = 2.5', 'dtype = "int32"\nvalue = 2')
    assert not any(r.case.scalars for r in held_out(parse_spec(whole), (), b"a", "gpu"))


def test_the_same_files_are_judged_alike_and_others_otherwise(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t")
    spec = load_spec(target)
    first = digest(target, spec, 0)
    assert digest(target, spec, 0) == first
    assert held_out(spec, (), first, "gpu") == held_out(spec, (), first, "gpu")
    assert digest(target, spec, 1) != first
    (target / "port.py").write_text((target / "port.py").read_text() + "\n")
    assert digest(target, spec, 0) != first


def test_a_case_is_made_again_from_its_name() -> None:
    spec = spec_of("n = 1", "n = 9")
    made = case_named(spec, name_of({"n": 7}))
    assert (made.sizes, made.name) == ({"n": 7}, f"{HELD_OUT}n=7")
    assert case_named(spec, "1") is spec.case[1]
    with pytest.raises(KeyError):
        case_named(spec, "none")


def test_nothing_is_held_out_where_some_cases_are_asked_for() -> None:
    assert held_out(spec_of("n = 1", "n = 9"), ("1",), b"a", "gpu") == []


@pytest.mark.parametrize(
    ("ptx", "found"),
    [
        ("cvt.rn.f16.f32 %h1, %f1;", ["f16"]),
        ("cvt.rn.bf16x2.f32 %r1, %f1, %f2;", ["bf16"]),
        ("cvt.rna.tf32.f32 %r1, %f1;", ["tf32"]),
        ("cvt.rn.satfinite.e4m3x2.f32 %h, %f, %g;", ["e4m3"]),
        ("cvt.rn.f32.f64 %f1, %fd1;", ["f32"]),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a}, {b};", ["f32", "tf32"]),
        ("tcgen05.mma.cta_group::1.kind::f16 [d], a, b;", ["f16"]),
        ("cvt.f32.f16 %f1, %h1;", []),
        ("cvt.rn.f32.s32 %f1, %r1;", []),
        ("cvt.rzi.s32.f32 %r1, %f1;", []),
        ("// cvt.rn.f16.f32 %h1, %f1;", []),
    ],
)
def test_narrowings(ptx: str, found: list[str]) -> None:
    assert narrowings(ptx) == found
    assert set(found) <= set(floats(ptx))


def facts(names: list[str], narrow: list[str]) -> CompileFacts:
    return CompileFacts(
        arch="sm_90a",
        compile_seconds=0,
        ptx_bytes=1,
        ptx_sha256="",
        cubin_bytes=1,
        cubin_sha256="",
        kernels=[],
        floats=names,
        narrowings=narrow,
    )


def parity(original: CompileFacts, rule: str = "original", case: str = "typical") -> StageResult:
    ran = RunFacts(case=case, seed=0, values="spec", grid=(1, 1, 1), block=(1, 1, 1), counted=True)
    found = ParityFacts(
        runs=[ran],
        outputs=[],
        rule=rule,
        deterministic=True,
        order_dependent=False,
        port_repeats=3,
        original=original,
    )
    return StageResult(stage="parity", target="t", status=Status.PASSED, parity=found)


@pytest.mark.parametrize(
    ("original", "port", "rule", "status"),
    [
        ((["f32"], []), (["f16", "f32"], ["f16"]), "original", Status.WRONG_DTYPE),
        (
            (["f64"], []),
            (["f32", "f64"], ["f32"]),
            "exact",
            Status.PASSED,
        ),  # the spec's own arguments are f32
        ((["f32"], []), (["f16", "f32"], ["f16"]), "fp64 + original", Status.PASSED),
        ((["f16", "f32"], ["f16"]), (["bf16", "f32"], ["bf16"]), "original", Status.PASSED),  # no narrower
        ((["f16", "f32"], ["f16"]), (["e4m3", "f32"], ["e4m3"]), "original", Status.WRONG_DTYPE),
        ((["f32"], []), (["f32"], []), "original", Status.PASSED),
    ],
)
def test_a_narrower_port_is_rejected(original: Any, port: Any, rule: str, status: Status) -> None:
    compiled = StageResult(stage="compile", target="t", status=Status.PASSED, compile=facts(*port))
    found = judged([compiled, parity(facts(*original), rule)], spec_of("n = 1"))
    assert found[1].status is status
    assert found[1].code == (None if status is Status.PASSED else "CP7042")


def test_nothing_after_a_voided_stage_counts() -> None:
    compiled = StageResult(stage="compile", target="t", status=Status.PASSED, compile=facts([], []))
    sanitize = StageResult(stage="sanitize", target="t", status=Status.NOT_RUN, message="no GPU")
    found = voided([compiled, parity(facts([], [])), sanitize], ["port"])
    assert [s.status for s in found] == [Status.PASSED, Status.AMBIGUOUS, Status.NOT_RUN]
    assert found[2].message == "parity ended AMBIGUOUS"
    assert changed({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == ["b", "c"]


def test_names_of_own_kernels() -> None:
    source = "def saxpy_kernel(): pass\nclass K:\n    def kernel(self): pass\n"
    assert not_own(["kernel_cutlass_saxpy_kernel___0", "kernel_cutlass_kernel_K_1"], source) == []
    torch = "void at::native::vectorized_elementwise_kernel<4>"
    assert not_own([torch, "saxpy", "kernel_cutlass_other_0"], source) == [
        torch,
        "saxpy",
        "kernel_cutlass_other_0",
    ]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    fake.kernels["port"] = fake.kernels["at::native::add"] = ([4, 4, 8, 8], saxpy_kernel)
    monkeypatch.setattr(cuda.bindings, "driver", fake)
    monkeypatch.setitem(HANDLERS, "census", CENSUS["census"])
    return fake


LAUNCH = 'cuda.bindings.driver.cuLaunchKernel("port"'


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ((LAUNCH, LAUNCH), ""),
        ((LAUNCH, LAUNCH.replace("port", "at::native::add")), "launches at::native::add, which is no kernel"),
        ((LAUNCH, '(lambda *_: None)("port"'), "nothing was launched"),
        (
            (LAUNCH, f"cuda.bindings.driver.cuMemcpyDtoDAsync(y, x, 4, stream)\n    {LAUNCH}"),
            "it does: memcpy",
        ),
        ((LAUNCH, f"cuda.bindings.driver.cuMemcpyDtoDAsync(CONST, x, 4, stream)\n    {LAUNCH}"), ""),
        ((LAUNCH, 'raise ValueError(7)\n    print("port"'), "ValueError: 7"),
    ],
)
def test_a_call_is_captured_and_counted(
    driver: FakeDriver, tmp_path: Path, edit: tuple[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import verify.census_jobs as jobs

    port = f"import ctypes\nROOM = (ctypes.c_char * 64)()\nCONST = ctypes.addressof(ROOM)\n{BENCH_PORT}"
    target = write_target(tmp_path / "t", port.replace(*edit))
    side = port_side(driver, target)
    spec = load_spec(target)
    runs = plan(spec, (), 0)
    monkeypatch.setattr(jobs, "HELD", side.held)
    got = with_own_launches(target, spec, runs, side, parity(facts([], [])), 10)  # type: ignore[arg-type]
    assert got.message.endswith(words) or words in got.message
    assert (got.status, got.code) == ((Status.LAUNCH_ERROR, "CP7041") if words else (Status.PASSED, None))


def test_what_did_not_pass_is_not_counted(tmp_path: Path) -> None:
    failed = StageResult(stage="parity", target="t", status=Status.CRASHED, code="CP7004", message="m")
    assert with_own_launches(tmp_path, spec_of("n = 1"), [], None, failed, 1) is failed  # type: ignore[arg-type]
