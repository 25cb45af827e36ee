"""Bounds of accesses: which guard or launch bounds an index, and what stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.analysis import bounds
from translator.analysis.access import Accesses, Shape, accesses
from translator.analysis.launch_shape import marked, poly_of
from translator.analysis.poly import Poly
from translator.model.expr import Expr

from .lifted import model_of

_ONE = Poly.const(1)


def walked(folder: Path, body: str, grid: str = "(n + 63) // 64", params: str = "") -> Accesses:
    text = f"__global__ void k(float* x, int n, int m{params}) {{\n{body}\n}}\n"
    shape = Shape((marked(poly_of(grid)), _ONE, _ONE), (Poly.const(64), _ONE, _ONE))
    return accesses(model_of(folder, text), shape)


def last(found: Accesses, root: str = "x") -> list[str | None]:
    return [a.offset.hi.text() if a.offset.hi is not None else None for a in found.accesses if a.root == root]


I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "  # noqa: E741


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (I + "if (i < n) x[i] = 1;", "n * 4 - 4"),
        (I + "if (i >= n) return; x[i] = 1;", "n * 4 - 4"),
        (I + "if (!(i < n)) return; x[i] = 1;", "n * 4 - 4"),
        (I + "if (n <= i) return; x[i] = 1;", "n * 4 - 4"),
        (I + "if (i < n && m > 2) x[i] = 1;", "n * 4 - 4"),
        (I + "if (i >= n || m > 2) return; x[i] = 1;", "n * 4 - 4"),
        (I + "if (i + 1 < n) x[i + 1] = 1;", "n * 4 - 4"),
        (I + "x[i] = 1;", "((n + 63) / 64) * 256 - 4"),
        ("if (blockIdx.x * 64 + threadIdx.x < n) x[blockIdx.x * 64 + threadIdx.x] = 1;", "n * 4 - 4"),
        (I + "for (; i < n; i += gridDim.x * blockDim.x) x[i] = 1;", "n * 4 - 4"),
        (
            "for (int i = threadIdx.x; i < m; i += 64) x[blockIdx.x * m + i] = 1;",
            "((n + 63) / 64) * m * 4 - 4",
        ),
        ("for (int i = n - 1; i >= 0; --i) x[i] = 1;", "n * 4 - 4"),
        ("int i = 0; while (i < n) { x[i] = 1; ++i; }", "n * 4 - 4"),
        (I + "int r = i / m, c = i % m; if (r < n) x[r * m + c] = 1;", "m * n * 4 - 4"),
        (I + "int r = i / m, c = i % m; if (i >= n * m) return; x[c * n + r] = 1;", "m * n * 4 - 4"),
        (I + "if (i < n) { float* q = x + i * m; for (int k = 0; k < m; ++k) q[k] = 1; }", "m * n * 4 - 4"),
        ("x[min(n, 5)] = 1;", "20"),
        ("x[threadIdx.x & 7] = 1;", "28"),
        ("x[n & m] = 1;", "m * 4"),
        ("x[threadIdx.x >> 2] = 1;", "60"),
        ("x[threadIdx.x << 1] = 1;", "504"),
        ("x[m > 3 ? 7 : 2] = 1;", "28"),
        ("reinterpret_cast<float4*>(x)[threadIdx.x] = make_float4(0, 0, 0, 0);", "1008"),
        ("if (threadIdx.x > 0) x[threadIdx.x - 1] = 1;", "248"),
        ("x[63 - threadIdx.x] = 1;", "252"),
        (I + "int j = i; j = n; x[j] = 1;", "n * 4"),
    ],
)
def test_bounds(tmp_path: Path, body: str, expected: str) -> None:
    assert last(walked(tmp_path, body)) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "int i = 0; while (m > i * i) i = i * 3 + 1; x[i] = 1;",
        "int i = 0; for (int k = 0; k < n; ++k) i += k; x[i] = 1;",
        "x[(int)x[0]] = 1;",
        "for (float* p = x; n > 0; p += 3) p[0] = 1;",
    ],
)
def test_unknown_stays_unknown(tmp_path: Path, body: str) -> None:
    assert None in last(walked(tmp_path, body))


def test_values_that_index(tmp_path: Path) -> None:
    found = walked(tmp_path, I + "if (i < n) x[idx[i] * m + 2] = 1;", params=", const int* idx")
    assert last(found, "idx") == ["n * 4 - 4"]
    assert last(found) == ["@idx * m * 4 + 8"]


def test_values_that_bound_a_loop(tmp_path: Path) -> None:
    body = I + "if (i < n) for (int j = row[i]; j < row[i + 1]; ++j) x[j] = 1;"
    found = walked(tmp_path, body, params=", const int* row")
    assert found.loop_bounds == {"row"}
    assert set(last(found, "row")) == {"n * 4 - 4", "n * 4"}


def test_narrow_values_are_bounded_by_their_type(tmp_path: Path) -> None:
    found = walked(tmp_path, "x[b[threadIdx.x]] = 1;", params=", const unsigned char* b")
    assert last(found) == ["1020"]


def test_device_functions_are_walked_with_their_arguments(tmp_path: Path) -> None:
    text = (
        "__device__ int row(int r, int w) { return r * w; }\n"
        "__device__ void put(float* p, int at) { p[at] = 1; }\n"
        "__global__ void k(float* x, int n, int m) {\n"
        "  int i = threadIdx.x; if (i < n) put(x + row(i, m), 3); }\n"
    )
    shape = Shape((_ONE, _ONE, _ONE), (Poly.const(64), _ONE, _ONE))
    assert last(accesses(model_of(tmp_path, text), shape)) == ["m * n * 4 + 12 - m * 4"]


def test_what_the_grid_covers(tmp_path: Path) -> None:
    found = walked(tmp_path, I + "if (i < n) x[i] = 1;", grid="g")
    assert found.covers == {}
    text = f"__global__ void k(float* x, int n) {{ {I} if (i < n) x[i] = 1; }}\n"
    free = Poly.symbol("$grid_x")
    shape = Shape((free, _ONE, _ONE), (Poly.const(64), _ONE, _ONE))
    assert accesses(model_of(tmp_path, text), shape).covers == {0: (Poly.symbol("n"), 64)}


def test_struct_fields_by_value(tmp_path: Path) -> None:
    text = (
        "struct P { float a; int count; };\n"
        f"__global__ void k(float4* x, P p) {{ {I} if (i < p.count) x[i].w = p.a; }}\n"
    )
    shape = Shape((_ONE, _ONE, _ONE), (Poly.const(64), _ONE, _ONE))
    found = accesses(model_of(tmp_path, text), shape)
    assert last(found) == ["p_count * 16 - 4"]
    assert found.scalars == {"p_count"}


def test_a_long_sum_costs_its_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def costly(e: Expr) -> Expr:
        raise AssertionError("the whole expression, at each of its operators")

    monkeypatch.setattr(bounds, "plain", costly)
    walked(tmp_path, "x[0] = x[1] + x[2] + x[3];")
