"""Values of what needs no GPU: rows and helpers run in host code, which shares the kernels' semantics."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.mapping.row_kernels import HEAD
from translator.mapping.resolve import DSL_TYPES, helper, render, resolve
from translator.model.types import SCALARS

NAN, INF = math.nan, math.inf
LOW32, LOW64 = -(2**31), -(2**63)
NUMPY = {
    "Boolean": np.uint8,
    **{f"Int{b}": getattr(np, f"int{b}") for b in (8, 16, 32, 64)},
    **{f"Uint{b}": getattr(np, f"uint{b}") for b in (8, 16, 32, 64)},
    "Float16": np.float16,
    "Float32": np.float32,
    "Float64": np.float64,
}

# builtin, C argument types, C result type, argument values, value in CUDA C++
CASES: list[tuple[str, str, str, tuple[Any, ...], Any]] = [
    ("min", "i32 i32", "i32", (-1, 3), -1),
    ("min", "u32 u32", "u32", (2**32 - 1, 3), 3),
    ("max", "u32 u32", "u32", (2**32 - 1, 3), 2**32 - 1),
    ("max", "i64 i64", "i64", (LOW64, -1), -1),
    ("max", "u64 u64", "u64", (2**63, 1), 2**63),
    ("abs", "i32", "i32", (-7,), 7),
    ("abs", "i32", "i32", (LOW32,), LOW32),
    ("llabs", "i64", "i64", (-(2**40),), 2**40),
    ("__popc", "u32", "i32", (0xF0F00001,), 9),
    ("__popcll", "u64", "i32", (2**64 - 1,), 64),
    ("fabsf", "f32", "f32", (-0.0,), 0.0),
    ("floorf", "f32", "f32", (-1.5,), -2.0),
    ("ceilf", "f32", "f32", (-1.5,), -1.0),
    ("truncf", "f32", "f32", (-1.5,), -1.0),
    ("rintf", "f32", "f32", (2.5,), 2.0),
    ("rint", "f64", "f64", (-3.5,), -4.0),
    ("copysignf", "f32 f32", "f32", (3.0, -0.0), -3.0),
    ("fmaf", "f32 f32 f32", "f32", (1 + 2**-12, 1 + 2**-12, -1 - 2**-11), 2.0**-24),
    ("sqrtf", "f32", "f32", (2.0,), float(np.sqrt(np.float32(2)))),
    ("std::max", "f32 f32", "f32", (1.0, NAN), 1.0),
    ("std::max", "f32 f32", "f32", (NAN, 1.0), NAN),
    ("std::min", "f64 f64", "f64", (1.0, NAN), 1.0),
    ("std::min", "f64 f64", "f64", (NAN, 1.0), NAN),
    ("std::max", "u8 u8", "u8", (200, 100), 200),
    ("std::min", "i16 i16", "i16", (-3, 2), -3),
    ("__float_as_int", "f32", "i32", (-2.0,), -(2**30)),
    ("__float_as_uint", "f32", "u32", (-2.0,), 0xC0000000),
    ("__int_as_float", "i32", "f32", (0x7F800000,), INF),
    ("__double_as_longlong", "f64", "i64", (-0.0,), LOW64),
    ("__longlong_as_double", "i64", "f64", (0x7FF0000000000000,), INF),
    ("__half_as_ushort", "f16", "u16", (-2.0,), 0xC000),
    ("__ushort_as_half", "u16", "f16", (0x7C00,), INF),
    ("isnan", "f32", "bool", (NAN,), 1),
    ("isnan", "f32", "bool", (INF,), 0),
    ("signbit", "f32", "bool", (-0.0,), 1),
    ("signbit", "f64", "bool", (0.0,), 0),
    ("isnormal", "f32", "bool", (1e-40,), 0),
    ("isnormal", "f32", "bool", (1e-30,), 1),
    ("isnormal", "f64", "bool", (INF,), 0),
    ("__hadd", "f16 f16", "f16", (1.0, 2.0**-11), 1.0),
    ("__hmul", "f16 f16", "f16", (300.0, 300.0), INF),
    ("__hne", "f16 f16", "bool", (NAN, 1.0), 0),
    ("__hneu", "f16 f16", "bool", (NAN, 1.0), 1),
    ("__hequ", "f16 f16", "bool", (NAN, 1.0), 1),
    ("__heq", "f16 f16", "bool", (NAN, NAN), 0),
    ("__hltu", "f16 f16", "bool", (NAN, 1.0), 1),
    ("__hgeu", "f16 f16", "bool", (1.0, 2.0), 0),
    ("__hisnan", "f16", "bool", (NAN,), 1),
    ("__hisinf", "f16", "i32", (-INF,), -1),
    ("__hisinf", "f16", "i32", (65504.0,), 0),
    ("__vadd4", "u32 u32", "u32", (0xFF80017F, 0x01800101), 0x00000280),
    ("__vsubss4", "u32 u32", "u32", (0x807F00FF, 0x01FF017F), 0x807FFF80),
    ("__vavgs4", "u32 u32", "u32", (0x80FF0102, 0x80FE0203), 0x80FE0203),
    ("__vabs2", "u32", "u32", (0x8000FFFF,), 0x80000001),
    ("__vcmpgtu4", "u32 u32", "u32", (0x80017F00, 0x7F017F01), 0xFF000000),
    ("__vsads4", "u32 u32", "u32", (0x80000000, 0x7F000001), 256),
    ("__half2float", "f16", "f32", (65504.0,), 65504.0),
    ("__float2half", "f32", "f16", (65520.0,), INF),
    ("__float2half", "f32", "f16", (1 + 2.0**-11,), 1.0),
]

DIVISION = [
    (kind, a, b)
    for kind, pairs in {
        "Int32": [(-7, 2), (7, -2), (-7, -2), (7, 2), (-8, 2), (0, -3), (LOW32, 3), (-1, LOW32)],
        "Int64": [(-(2**40) - 1, 2**20), (LOW64, 10)],
        "Int8": [(-7, 4), (-128, 3)],
        "Uint32": [(2**32 - 1, 10), (2**31, 3)],
        "Uint64": [(2**64 - 1, 10)],
    }.items()
    for a, b in pairs
]


def literal(kind: str, value: Any) -> str:
    return f"{kind}(float({str(value)!r}))" if isinstance(value, float) else f"{kind}({value})"


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Any]]:
    """Values of many expressions: one host function per result type and way of passing arguments."""
    os.environ["CUTE_DSL_NO_CACHE"] = "1"
    import cutlass
    from cutlass import AddressSpace
    from cutlass.cute.runtime import make_ptr

    folder = tmp_path_factory.mktemp("values")
    made = 0

    def run(items: list[tuple[str, str, list[tuple[str, Any]], list[str]]], static: bool) -> list[Any]:
        """Items: (expression over a0 …, result type, [(type, value)], helpers)."""
        nonlocal made
        made += 1
        helpers: list[str] = []
        for _, _, _, wanted in items:
            for name in wanted:
                helpers += [n for n in (*helper(name).needs, name) if n not in helpers]
        lines = [
            HEAD,
            "GENERIC = cutlass.AddressSpace.generic",
            *sorted({i for n in helpers for i in helper(n).imports}),
        ]
        lines += [helper(n).source for n in helpers]
        outs = [np.zeros(1, NUMPY[kind]) for _, kind, _, _ in items]
        calls = []
        for k, (expression, kind, args, _) in enumerate(items):
            params = "" if static else "".join(f", a{i}: {t}" for i, (t, _) in enumerate(args))
            lines.append(f"@cute.jit\ndef f{k}(out: cutlass.Pointer[{_stored(kind)}, GENERIC]{params}):")
            if static:
                lines += [f"    a{i} = {literal(t, v)}" for i, (t, v) in enumerate(args)]
            lines.append(f"    out[0] = {_stored(kind)}({expression})")
        path = folder / f"values{made}.py"
        path.write_text("\n".join(lines) + "\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for k, (_, kind, args, _) in enumerate(items):
            pointer = make_ptr(
                getattr(cutlass, _stored(kind)), outs[k].ctypes.data, AddressSpace.generic, assumed_align=8
            )
            values = [] if static else [getattr(cutlass, t)(v) for t, v in args]
            calls.append(getattr(module, f"f{k}")(pointer, *values))
        return [o[0].item() for o in outs]

    return run


def _stored(kind: str) -> str:
    return "Uint8" if kind == "Boolean" else kind


def same(got: Any, want: Any) -> bool:
    if isinstance(want, float):
        return (got != got and want != want) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    return bool(got == want)


@pytest.mark.dsl
@pytest.mark.filterwarnings("ignore")  # the DSL remarks on constants that overflow to infinity
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_rows(evaluate: Callable[..., list[Any]], static: bool) -> None:
    items = []
    for name, types, result, values, _ in CASES:
        kinds = tuple(SCALARS[t] for t in types.split())
        rule = resolve(name, kinds, SCALARS[result])
        assert rule is not None, name
        text = render(rule, [f"a{i}" for i in range(len(kinds))], kinds, SCALARS[result])
        args = [(DSL_TYPES[k.name], v) for k, v in zip(kinds, values, strict=True)]
        items.append((text, DSL_TYPES[result], args, list(rule.helpers)))
    got = evaluate(items, static)
    wrong = [(c[0], c[3], g, c[4]) for c, g in zip(CASES, got, strict=True) if not same(g, c[4])]
    assert wrong == []


@pytest.mark.dsl
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_division_truncates(evaluate: Callable[..., list[Any]], static: bool) -> None:
    items, want = [], []
    for kind, a, b in DIVISION:
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        items += [(f"{f}(a0, a1)", kind, [(kind, a), (kind, b)], [f]) for f in ("idiv", "irem")]
        want += [quotient, a - quotient * b]
    got = evaluate(items, static)
    assert [(d, g, w) for d, g, w in zip(items, got, want, strict=True) if g != w] == []


@pytest.mark.dsl
def test_division_of_python_constants(evaluate: Callable[..., list[Any]]) -> None:
    items = [
        ("idiv(-7, 2)", "Int32", [], ["idiv"]),
        ("irem(-7, 2)", "Int32", [], ["irem"]),
        ("idiv(a0, 2)", "Int32", [("Int32", -7)], ["idiv"]),
        ("irem(7, a0)", "Int32", [("Int32", -4)], ["irem"]),
    ]
    assert evaluate(items, False) == [-3, -1, -3, 3]
