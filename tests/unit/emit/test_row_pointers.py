"""Which pointers a port hides from the optimiser: those that it would add up anew for every element."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.frontend import project
from translator.frontend.build import build_model
from translator.model.check import problems
from translator.passes import lower

ROW = "float* p = y + (long)blockIdx.x * n;"
LOOP = "for (int c = threadIdx.x; c < n; c += 32)"


def hidden(folder: Path, statements: str) -> list[str]:
    """The pointers that the port of a kernel of `statements` hides, in order."""
    source = folder / "k.cu"
    source.write_text(
        f"__device__ float first(const float* p) {{ return p[0]; }}\n"
        f"__global__ void k(float* y, const float* x, int n) {{ {statements} }}",
        encoding="utf-8",
    )
    sink = Sink()
    readings = project.read([source], project.ReadOptions(), sink)
    model = build_model(readings[0], sink)
    assert model is not None, sink.items
    lowered = lower(model, sink)
    assert problems(lowered, lowered=True) == []
    text = emit(lowered, sink).source
    assert not sink.refused, sink.items
    found = [
        line.split(" = opaque_pointer(")[0].strip() for line in text.splitlines() if " = opaque_p" in line
    ]
    assert bool(found) == ("def opaque_pointer" in text)
    return found


@pytest.mark.parametrize(
    "statements",
    [
        f"{ROW} {LOOP} p[c] = x[c];",
        f"{ROW} {LOOP} p[c] = 2.f * p[c];",  # one address, used twice
        f"{ROW} {LOOP} atomicAdd(&p[c], x[c]);",
        f"{ROW} {LOOP} if (x[c] > 0.f) p[c + 1] = 0.f;",
        f"{ROW} for (int c = threadIdx.x; c < n; c += blockDim.x) p[c] = 0.f;",
        "float* p = y + threadIdx.x; for (int r = 0; r < n; r++) p[r * n] = 0.f;",
        "float* p = y + threadIdx.x; for (int r = 0; r < 8; r++) p[r * n] = 0.f;",
        f"for (int r = 0; r < n; r++) {{ float* p = y + (long)r * n; {LOOP} p[c] = 0.f; }}",
        f"float4* p = (float4*)y + (long)blockIdx.x * n; {LOOP} p[c] = make_float4(0.f, 0.f, 0.f, 0.f);",
        f"float* all = y + n; float* p = all + (long)blockIdx.x * n; {LOOP} p[c] = all[0];",
    ],
)
def test_a_pointer_with_one_place_in_a_loop_is_hidden(tmp_path: Path, statements: str) -> None:
    assert hidden(tmp_path, statements) == ["p"]


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (f"{ROW} p[threadIdx.x] = 0.f;", "there is no loop"),
        (
            "float4* p = (float4*)y + (long)blockIdx.x * n; for (int c = threadIdx.x; c < n; c += blockDim.x)"
            " p[c] = make_float4(0.f, 0.f, 0.f, 0.f);",
            "nothing is unrolled, and a vector's address is one addition either way",
        ),
        (f"{ROW} {LOOP} p[c] = p[c + 1];", "two addresses share the pointer, so it is kept"),
        (f"{ROW} {LOOP} p[c] = 0.f; p[n] = 1.f;", "so do two places"),
        (f"{ROW} {LOOP} x[c] > 0.f ? p[threadIdx.x] = 1.f : 0.f;", "the address is the same in each round"),
        (f"{ROW} {LOOP} {{ *p = x[c]; p += 32; }}", "the pointer itself walks"),
        (f"{ROW} {LOOP} y[c] = first(p);", "the pointer is passed on"),
        (f"{ROW} for (int c = 0; c < 8; c++) p[c] = 0.f;", "unrolled, the index is part of the instruction"),
        (f"float* p = y + 4; {LOOP} p[c] = 0.f;", "so is the offset"),
        (f"float* p = y; {LOOP} p[c] = 0.f;", "there is no offset"),
        (f"{LOOP} {{ float* p = y + (long)c * n; p[threadIdx.x] = 0.f; }}", "it is made in each round"),
        (f"__shared__ float s[64]; float* p = s + threadIdx.x; {LOOP} p[c & 31] = x[c];", "shared memory"),
    ],
)
def test_other_pointers_are_left_alone(tmp_path: Path, statements: str, why: str) -> None:
    assert hidden(tmp_path, statements) == [], why


def test_a_hidden_pointer_keeps_how_it_is_read(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(float* y, const float* __restrict__ a, const float4* __restrict__ b,"
        " volatile int* v, int n) { long row = (long)blockIdx.x * n;"
        " const float* p = a + row; const float4* q = b + row; volatile int* w = v + row;"
        f" {LOOP} {{ float4 f = q[c]; y[c] = p[c] + f.x + w[c]; }} }}",
        encoding="utf-8",
    )
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    text = emit(lower(model, sink), sink).source
    assert text.count(" = opaque_pointer(") == 3
    assert "ldg(p, c)" in text
    assert "ldg_vector(q + Int64(c) * 4, 4, 16)" in text
    assert "(w + c).load(is_volatile=True)" in text
