"""How the port reads where several texts would be right: each choice was measured or is for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower


def body(tmp_path: Path, cuda: str) -> list[str]:
    """The statements of the port of the one kernel in `cuda`, without the kernel's signature."""
    source = tmp_path / "k.cu"
    source.write_text(cuda, encoding="utf-8")
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None, sink.items
    text = emit(lower(model, sink), sink).source
    assert not sink.refused, sink.items
    lines = text.split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("def k_kernel("))
    start = next(k for k in range(start, len(lines)) if lines[k].endswith("):"))
    end = next(k for k in range(start, len(lines)) if lines[k] == "@cute.jit")
    return [line[4:] for line in lines[start + 1 : end] if line.strip()]


COORDINATES = [
    "tidx, _, _ = cute.arch.thread_idx()",
    "bidx, _, _ = cute.arch.block_idx()",
    "bdimx, _, _ = block_extent()",
]


def test_unsigned_coordinates_become_plain_int32(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "__global__ void k(float* y, int n) "
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1.f; }",
    )
    assert made == [*COORDINATES, "i = bidx * bdimx + tidx", "if i < n:", "    y[i] = Float32(1.0)"]


def test_an_unsigned_index_keeps_its_upper_half(tmp_path: Path) -> None:
    made = body(tmp_path, "__global__ void k(float* y, unsigned i) { y[i] = y[i + 1u]; }")
    assert made == ["y[Int64(i)] = y[Int64(i + 1)]"]


def test_size_arithmetic_in_64_bits_is_written_signed(tmp_path: Path) -> None:
    made = body(
        tmp_path, "__global__ void k(float* y, int n) { float* r = y + (size_t)blockIdx.x * n; r[0] = 2.f; }"
    )
    assert made == [COORDINATES[1], "r = y + Int64(bidx) * Int64(n)", "r[0] = Float32(2.0)"]


def test_only_const_restrict_pointers_load_through_the_read_only_path(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "__global__ void k(const float* __restrict__ a, const float* b, float* y, int n) "
        "{ const float* q = a + n; y[0] = a[1] + b[2] + q[3]; }",
    )
    assert made == ["q = a + n", "y[0] = ldg(a, 1) + b[2] + ldg(q, 3)"]


def test_guards_on_different_constants_stay_apart(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "__global__ void k(const float* a, float* y) "
        "{ if (threadIdx.x == 0) y[0] = a[0]; if (threadIdx.x == 31) y[1] = a[1]; }",
    )
    assert made == [
        COORDINATES[0],
        "if tidx == 0:",
        "    y[0] = a[0]",
        "if opaque(tidx) == 31:",
        "    y[1] = a[1]",
    ]


def test_guards_on_one_constant_need_nothing(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "__global__ void k(const float* a, float* y) "
        "{ if (threadIdx.x == 0) y[0] = a[0]; if (threadIdx.x == 0) y[1] = a[1]; }",
    )
    assert made[1] == made[3] == "if tidx == 0:"


@pytest.mark.parametrize(
    ("loop", "head"),
    [
        (
            "for (int i = threadIdx.x; i < n; i += 32) y[i] = 0.f;",
            "for i_round in cutlass.range(0, idiv(n - tidx + 31, Int32(32)), 1):",
        ),
        ("for (int i = 0; i < n; i++) y[i] = 0.f;", "for i in cutlass.range(0, n, 1):"),
        (
            '_Pragma("unroll 2") for (int i = 0; i < n; i += 8) y[i] = 0.f;',
            "for i in cutlass.range(0, n, 8, unroll=2):",
        ),
        ("for (int i = 0; i < 8; i += 2) y[i] = 0.f;", "for i in cutlass.range(0, 8, 2):"),
        (
            "for (int i = 0; i < n; i += 4) { y[i] = 0.f; __syncthreads(); }",
            "for i in cutlass.range(0, n, 4):",
        ),
        ("for (int i = n; i >= 0; i--) y[i] = 0.f;", "for i in cutlass.range(n, -1, -1):"),
    ],
)
def test_which_loops_unroll(tmp_path: Path, loop: str, head: str) -> None:
    made = body(tmp_path, f"__global__ void k(float* y, int n) {{ {loop} }}")
    assert head in made


def test_constants_keep_their_names_and_declarations_wait_for_a_value(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "#define TILE 16\n__global__ void k(float* y, int n) "
        "{ int a; int b; if (n > TILE) { a = n; b = a; } else { a = 1; b = 2; } "
        "int c; c = a + b; y[c * TILE] = 0.f; }",
    )
    assert made == [
        "a = Int32(0)",
        "b = Int32(0)",
        "if n > TILE:",
        "    a = n",
        "    b = a",
        "else:",
        "    a = Int32(1)",
        "    b = Int32(2)",
        "c = a + b",
        "y[c * TILE] = Float32(0.0)",
    ]


def test_constant_memory_is_the_ports_own(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__constant__ float w[4];\n__global__ void k(float* y, int i) { y[i] = w[i]; }\n", encoding="utf-8"
    )
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    draft = emit(lower(model, sink), sink)
    assert [p.name for p in draft.params] == ["y", "i", "w"]
    assert 'w = cutlass.Array(Float32, 4, space=cutlass.AddressSpace.cmem, name="w")' in draft.source
    assert 'set_constant(compiled, "w", w, 16, stream)' in draft.source


def test_an_array_of_structs_passed_by_reference_is_a_pointer(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "struct V { float a[3]; };\n"
        "template <int N> __device__ float dot(const V (&q)[N], const V (&k)[N]) {\n"
        "  float s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < 3; j++) s += q[i].a[j] * k[i].a[j];\n"
        "  return s;\n}\n"
        "__global__ void k(float* o) { V q[2], r[2]; q[0].a[0] = o[1]; r[1].a[2] = o[2]; o[0] = dot(q, r); }",
    )
    assert made[-1] == "o[0] = dot(q.data_ptr(), r.data_ptr())"


def test_struct_parameters_are_taken_field_by_field(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "struct P { const float* in; float c[2]; int n; };\n"
        "__global__ void k(P p, float* y) { y[0] = p.c[1] * p.in[p.n]; }",
    )
    assert made == [
        "p_c = cutlass.Array(Float32, 2)",
        "p_c[0] = p_c_0",
        "p_c[1] = p_c_1",
        "y[0] = p_c[1] * p_in[p_n]",
    ]


def test_what_is_known_while_porting_leaves_no_branch(tmp_path: Path) -> None:
    made = body(
        tmp_path,
        "template <int B> __global__ void k(float* y, int n) { const int R = 3; if (B >= 512) y[1] = 1.f; "
        "for (int i = 0; i < R; ++i) y[i] = n; }\n"
        "int main() { k<128><<<1, 128>>>(0, 1); }",
    )
    assert made == ["for i in cutlass.range(0, R, 1):", "    y[i] = Float32(n)"]


def test_the_default_grid_follows_the_arguments(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(float* y, int n) { y[0] = n; }\n"
        "int main() { int n = 1 << 20; k<<<dim3((n + 255) / 256), 256>>>(0, n); }\n",
        encoding="utf-8",
    )
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    assert emit(lower(model, sink), sink).grid == "((n + 255) // 256, 1, 1)"


def test_the_default_grid_reads_fields_of_fields(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "struct D { int nx; }; struct P { float* y; D d; };\n"
        "__global__ void k(P p) { p.y[0] = p.d.nx; }\n"
        "void run(P q) { k<<<(q.d.nx + 255) / 256, 256>>>(q); }\n",
        encoding="utf-8",
    )
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    assert emit(lower(model, sink), sink).grid == "((p_d_nx + 255) // 256, 1, 1)"
