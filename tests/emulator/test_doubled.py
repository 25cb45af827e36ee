"""The original in double as a reference: what becomes of its source; its errors are the right ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from verify import right_values
from verify.doubled import DoubleError, doubled, widen
from verify.options import Options
from verify.run import verify_target
from verify.spec_file import load_spec
from verify.verdict import Status, Verdict

TARGETS = Path(__file__).resolve().parents[2] / "targets"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float x = 1.0f;", "double x = 1.0;"),
        ("x = 2.f * .5F + 1e-3f + 3f;", "x = 2. * .5 + 1e-3 + 3.0;"),
        ("float4 v = make_float4(expf(x), __expf(x), fmaxf(x, y), rsqrtf(x));",
         "double4 v = make_double4(exp(x), exp(x), fmax(x, y), rsqrt(x));"),
        ("__fadd_rn(a, __fmaf_rz(b, c, d))", "__dadd_rn(a, __fma_rz(b, c, d))"),
        ("int f = 0x1F; // float 1.0f", "int f = 0x1F; // float 1.0f"),
        ('printf("float %f 1.0f\\n", x); char c = \'f\';', 'printf("float %f 1.0f\\n", x); char c = \'f\';'),
        ("double floaty = to_float(x1f);", "double floaty = to_float(x1f);"),
        ("-__builtin_bit_cast(float, 0x7f800000)", "-__builtin_bit_cast(double, 0x7ff0000000000000)"),
        ("__fdividef(a, b) + __saturatef(c)", "cuteport_divide(a, b) + cuteport_saturate(c)"),
    ],
)  # fmt: skip
def test_floats_become_doubles_and_nothing_else_changes(before: str, after: str) -> None:
    assert widen(before).split("#line 1\n")[1] == after


@pytest.mark.parametrize(
    "text",
    [
        "int i = __float_as_int(x);",
        "float f = __builtin_bit_cast(float, 0x3f800000);",
        "half2 h;",
        "float4 v = *reinterpret_cast<float4*>(p);",
        "float4 v = ((float4*)p)[i];",
        "union { float f; int i; };",
        '#include "mine.cuh"',
        "__nv_bfloat16 b;",
    ],
)
def test_bits_and_sizes_of_floats_are_refused(text: str) -> None:
    with pytest.raises(DoubleError):
        widen(text)
    assert widen(f"// {text}\n")


def test_structs_that_hold_floats_are_refused(tmp_path: Path) -> None:
    target = TARGETS / "cuteport__particle_step"
    with pytest.raises(DoubleError, match="offsets would change"):
        doubled(target, load_spec(target), tmp_path)


def judged(folder: Path, name: str, rule: str, keep: bool) -> Verdict:
    """A target under a rule, with its own reference.py or without."""
    ignored = ["verdict.json", "baselines"] + ([] if keep else ["reference.py"])
    shutil.copytree(TARGETS / f"cuteport__{name}", folder, ignore=shutil.ignore_patterns(*ignored))
    spec = (folder / "spec.toml").read_text()
    assert 'rule = "fp64"' in spec
    (folder / "spec.toml").write_text(spec.replace('rule = "fp64"', f'rule = "{rule}"'))
    options = Options(stages=("parity",), cases=("3x31", "2x33", "5x255"), device="emulator")
    return verify_target(folder, options)


@pytest.mark.dsl
def test_errors_against_it_are_those_against_a_reference_written_by_hand(tmp_path: Path) -> None:
    found = [
        judged(tmp_path / "double", "softmax_rows", "double", False),
        judged(tmp_path / "hand", "softmax_rows", "fp64", True),
    ]
    errors = []
    for verdict in found:
        assert verdict.status is Status.PASSED, verdict.proven
        stage = verdict.stage("parity")
        assert stage is not None and stage.parity is not None
        (out,) = stage.parity.outputs
        assert out.rule == "fp64" and out.original_error is not None and out.port_error is not None
        errors.append((out.original_error, out.port_error))
    (original, port), (by_hand, port_by_hand) = errors
    assert original.max_ulp > 0.5
    assert original.max_ulp == pytest.approx(by_hand.max_ulp, rel=1e-3)
    assert port.max_ulp == pytest.approx(port_by_hand.max_ulp, rel=1e-3)
    assert original.histogram == by_hand.histogram


@pytest.mark.dsl
def test_an_original_that_has_no_double_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "bits"
    shutil.copytree(TARGETS / "cuteport__saxpy", folder, ignore=shutil.ignore_patterns("verdict.json"))
    spec = (folder / "spec.toml").read_text().replace('rule = "fp64"', 'rule = "double"')
    (folder / "spec.toml").write_text(spec)
    source = folder / "original/device.cu"
    source.write_text(source.read_text().replace("y[i] =", "y[i] = __int_as_float(0) +"))
    verdict = verify_target(folder, Options(stages=("parity",), cases=("n=1",), device="emulator"))
    assert verdict.status is Status.AMBIGUOUS
    assert verdict.proven.startswith("parity: CP7027 it uses '__int_as_float'")


@pytest.mark.dsl
def test_a_case_too_large_for_a_reference_by_hand_still_has_one_in_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(right_values, "_REFERENCE_ELEMENTS", 100)
    for rule, keep, why in (("double", False, False), ("fp64", True, True)):
        stage = judged(tmp_path / rule, "softmax_rows", rule, keep).stage("parity")
        assert stage is not None and stage.parity is not None
        notes = [r.note for r in stage.parity.runs if r.case == "5x255" and r.values == "spec"]
        assert notes and all(("too large" in note) == why for note in notes), notes
