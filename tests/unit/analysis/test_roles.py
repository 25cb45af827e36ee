from __future__ import annotations

from pathlib import Path

import pytest

from translator.analysis.roles import roles

from .lifted import model_of


def found(folder: Path, text: str) -> dict[str, str]:
    return {var.name: role for var, role in roles(model_of(folder, text)).items()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[0] = x[0];", {"x": "in", "y": "out"}),
        ("y[0] += x[0];", {"x": "in", "y": "inout"}),
        ("y[0]++;", {"x": "in", "y": "inout"}),
        ("y[0] = y[1];", {"x": "in", "y": "inout"}),
        ("float* q = y + 3; q[1] = *x;", {"x": "in", "y": "out"}),
        ("float* q = x; q = y; *q = 1;", {"x": "out", "y": "out"}),
        ("float* q = n ? x : y; *q = 1;", {"x": "out", "y": "out"}),
        ("*(int*)y = ((const int*)x)[n];", {"x": "in", "y": "out"}),
        ("reinterpret_cast<float4*>(y)[0] = *reinterpret_cast<float4*>(x);", {"x": "in", "y": "out"}),
        ("reinterpret_cast<float4*>(y)[0].z = 1;", {"x": "in", "y": "out"}),
        ("atomicAdd(&y[n], x[0]);", {"x": "in", "y": "inout"}),
        ("y[(int)x[0]] = 1;", {"x": "in", "y": "out"}),
        ("float& r = y[n]; r = x[0];", {"x": "in", "y": "out"}),
        ("const float& r = y[n]; x[0] = r;", {"x": "out", "y": "in"}),
        ("y[0] = __ldg(x);", {"x": "in", "y": "out"}),
        ("put(y, x[0]);", {"x": "in", "y": "out"}),
        ("put(&y[n], get(x));", {"x": "in", "y": "out"}),
        ("bump(y[n]);", {"x": "in", "y": "inout"}),
        ("*second(x, y) = 1;", {"x": "in", "y": "out"}),
        ("for (int i = 0; i < n; ++i) *y++ = *x++;", {"x": "in", "y": "out"}),
        ("__shared__ float s[32]; s[0] = x[0]; y[0] = s[0];", {"x": "in", "y": "out"}),
        ("if (x == y) return;", {"x": "in", "y": "in"}),
    ],
)
def test_roles(tmp_path: Path, body: str, expected: dict[str, str]) -> None:
    text = (
        "__device__ void put(float* p, float v) { *p = v; }\n"
        "__device__ float get(const float* p) { return p[0]; }\n"
        "__device__ void bump(float& v) { v += 1; }\n"
        "__device__ float* second(float* a, float* b) { return b; }\n"
        f"__global__ void k(float* x, float* y, int n) {{ {body} }}\n"
    )
    assert found(tmp_path, text) == expected


def test_globals(tmp_path: Path) -> None:
    text = (
        "__constant__ float table[8];\n__device__ int counter;\n__device__ float sink[4];\n"
        "__global__ void k(float* y) { y[0] = table[1]; counter += 1; sink[2] = 1; }\n"
    )
    assert found(tmp_path, text) == {"y": "out", "table": "in", "counter": "inout", "sink": "out"}
