"""Drafted sizes where the file shows what the host allocates, and where the kernel reaches beyond that."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.analysis.allocated import exceeds, never_exceeds
from translator.analysis.launch_shape import poly_of

from .test_spec_draft import buffer, drafted

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAUNCH = "k<<<(n + 255) / 256, 256>>>(x, n);"


def one(guarded: str, host: str, before: str = "") -> str:
    kernel = f"__global__ void k(float* x, int n) {{ {INDEX} {guarded} }}\n"
    return f"{before}\n{kernel}void run(int n) {{ {host} }}\n"


BEYOND = "if (i <= n) x[i] = 1;"


@pytest.mark.parametrize(
    "host",
    [
        f"float* x; cudaMalloc(&x, n * sizeof(float)); {LAUNCH}",
        f"float* x; size_t bytes = n * sizeof(float); cudaMalloc((void**)&x, bytes); {LAUNCH}",
        f"float* x; cudaMallocManaged(&x, sizeof(float) * n); {LAUNCH}",
        f"float* x = new float[n]; {LAUNCH}",
        f"float* x = (float*)malloc(n * sizeof *x); {LAUNCH}",
        f"float* x; if (n > 5) cudaMalloc(&x, n * 4); else cudaMallocManaged(&x, 4 * n); {LAUNCH}",
        "std::vector<float> v(n); k<<<(n + 255) / 256, 256>>>(v.data(), n);",
        "thrust::device_vector<float> v(n);"
        "k<<<(n + 255) / 256, 256>>>(thrust::raw_pointer_cast(v.data()), n);",
        "thrust::device_vector<float> v(n);k<<<(n + 255) / 256, 256>>>(thrust::raw_pointer_cast(&v[0]), n);",
    ],
)
def test_what_the_kernel_reaches_beyond_its_allocation_is_asked(tmp_path: Path, host: str) -> None:
    spec = drafted(tmp_path, one(BEYOND, host))
    assert buffer(spec, "x").elems == "n"
    assert [(q.code, q.text) for q in spec.question] == [
        ("CP3111", "x has the n elements allocated at a.cu:3, but k reaches n + 1 of them")
    ]


@pytest.mark.parametrize(
    ("guarded", "reached"),
    [
        (BEYOND, "n + 1"),
        ("if (i > n) return; x[i] = 1;", "n + 1"),
        ("if (!(i > n)) x[i] = 1;", "n + 1"),
        ("for (int j = i; j <= n; j += blockDim.x * gridDim.x) x[j] = 1;", "n + 1"),
        ("if (i == 0) for (int j = 0; j <= n; ++j) x[j] = 1;", "n + 1"),
        ("if (i < n) x[i] = x[i + 2];", "n + 2"),
        ("x[i < n + 1 ? i : 0] = 1;", ""),  # a chosen index: told by the emulator only
        ("if (i < n) x[i] = i + 1 < n ? x[i + 1] : 0;", ""),
        ("if (i < n && i > 0) x[i] = x[i - 1];", ""),
        ("if (i <= n && i != n) x[i] = 1;", ""),
        ("if (i <= n && x[0] > 0) x[i] = 1;", ""),
        ("for (int j = i; j <= n; j += 256) { if (j == n) break; x[j] = 1; }", ""),
        ("int j = threadIdx.x; if (i < n && blockIdx.x == 0 && j < n + 9) x[j + 1] = 1;", ""),  # i bounds j
        ("int j = i + 1; if (i < n) x[j] = 1;", "n + 1"),
        ("if (i < n && n <= 64) x[i + 1] = 1;", "n + 1"),
        ("x[i] = 1;", ""),  # a grid without a guard wants whole blocks
        ("int j = 2 * i; if (j < n) { x[j] = 1; x[j + 1] = 1; }", ""),  # right for even sizes
    ],
)
def test_only_what_is_surely_reached_is_asked(tmp_path: Path, guarded: str, reached: str) -> None:
    host = f"float* x; cudaMalloc(&x, n * sizeof(float)); {LAUNCH}"
    spec = drafted(tmp_path, one(guarded, host))
    assert [q.code for q in spec.question] == ["CP3111"] * bool(reached)
    if reached:
        assert spec.question[0].text.endswith(f" reaches {reached} of them")


@pytest.mark.parametrize(
    "host",
    [
        f"float* x; cudaMalloc(&x, (n + 1) * sizeof(float)); {LAUNCH}",
        f"float* x; cudaMalloc(&x, n * sizeof(float) + 4); {LAUNCH}",
        f"float* x; if (n > 5) cudaMalloc(&x, n * 4); else cudaMalloc(&x, 4 * n + 4); {LAUNCH}",
        f"float* x; cudaMalloc(&x, n * 4); x = other(); {LAUNCH}",
        f"float* x; cudaMalloc(&x, n * 4); swap(&x); {LAUNCH}",
        f"float* x; cudaMalloc(&x, rows * 4); {LAUNCH}",
        "std::vector<float> v(n); v.push_back(1); k<<<(n + 255) / 256, 256>>>(v.data(), n);",
    ],
)
def test_a_right_or_unclear_allocation_is_not_asked_about(tmp_path: Path, host: str) -> None:
    before = "float* other(); void swap(float**); extern int rows;"
    spec = drafted(tmp_path, one(BEYOND, host, before))
    assert (buffer(spec, "x").elems, spec.question) == ("n + 1", [])


@pytest.mark.parametrize("size", ["#define N 1000", "#define N (1 << 10)", "const int N = 1000;"])
def test_macros_and_constants_stand_for_the_arguments_they_are_given_to(tmp_path: Path, size: str) -> None:
    check = "#define CHECK(c) do { if ((c) != cudaSuccess) return; } while (0)\n"
    host = "float* x; CHECK(cudaMalloc(&x, N * sizeof(float))); k<<<(N + 255) / 256, 256>>>(x, N);"
    spec = drafted(tmp_path, one(BEYOND, host, f"{check}{size}"))
    assert buffer(spec, "x").elems == "n"
    assert spec.launch.grid[0] == "(n + 255) / 256"
    assert [q.code for q in spec.question] == ["CP3111"]


def test_a_macro_given_for_two_parameters_is_neither(tmp_path: Path) -> None:
    text = (
        "#define N 64\n__global__ void k(float* x, int r, int c) {\n"
        "  int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;\n"
        "  if (i < r && j < c) x[i * c + j] = 1; }\n"
        "int main() { float* x; cudaMalloc(&x, N * N * sizeof(float));\n"
        "  k<<<dim3(N / 8, N / 8), dim3(8, 8)>>>(x, N, N); }\n"
    )
    spec = drafted(tmp_path, text)
    assert spec.launch.grid == ["8", "8", "1"]
    assert buffer(spec, "x").elems == "c * r"


def test_rows_and_columns(tmp_path: Path) -> None:
    text = (
        "__global__ void k(float* x, float* sums, int rows, int cols) {\n"
        "  int r = blockIdx.x * 64 + threadIdx.x; if (r >= rows) return;\n"
        "  float s = 0; for (int c = 0; c <= cols; ++c) s += x[r * cols + c];\n  sums[r] = s; }\n"
        "void launch(float* x, float* s, int m, int n) { k<<<(m + 63) / 64, 64>>>(x, s, m, n); }\n"
        "int main() { int h = 100, w = 30; float *x, *s; size_t size = sizeof(float) * h * w;\n"
        "  cudaMalloc(&x, size); cudaMalloc(&s, h * sizeof(float)); launch(x, s, h, w); }\n"
    )
    spec = drafted(tmp_path, text)
    assert (buffer(spec, "x").elems, buffer(spec, "sums").elems) == ("cols * rows", "rows")
    assert [q.text for q in spec.question] == [
        "x has the cols * rows elements allocated at a.cu:7, but k reaches cols * rows + 1 of them"
    ]


def test_a_guard_of_another_variable_of_the_same_index_counts(tmp_path: Path) -> None:
    text = (
        "__global__ void k(float* w, float* o) {\n"
        "  int t = threadIdx.y, p = blockIdx.y * blockDim.y + threadIdx.y; if (GUARD) return;\n"
        "  o[threadIdx.x] = w[t]; }\n"
        "int main() { float *w, *o; cudaMalloc(&w, 50 * 4); cudaMalloc(&o, 64 * 4);\n"
        "  k<<<1, dim3(16, 64)>>>(w, o); }\n"
    )
    assert drafted(tmp_path, text.replace("GUARD", "p >= 50")).question == []
    spec = drafted(tmp_path, text.replace("GUARD", "p >= 64"))
    assert [q.code for q in spec.question] == []
    spec = drafted(tmp_path, text.replace("GUARD", "t >= 51"))
    assert [q.text for q in spec.question] == [
        "w has the 50 elements allocated at a.cu:4, but k reaches 51 of them"
    ]


def test_an_array_of_constant_size(tmp_path: Path) -> None:
    text = (
        "__managed__ float x[64];\n"
        "__global__ void k(float* p) { int i = threadIdx.x; if (i <= 64) p[i] = 1; }\n"
        "int main() { k<<<1, 128>>>(x); }\n"
    )
    spec = drafted(tmp_path, text)
    assert buffer(spec, "p").elems == "64"
    assert [q.code for q in spec.question] == ["CP3111"]


def test_a_larger_allocation_is_the_size(tmp_path: Path) -> None:
    host = f"float* x; cudaMalloc(&x, (n + 64) * sizeof(float)); {LAUNCH}"
    spec = drafted(tmp_path, one("if (i < n) x[i] = 1;", host))
    assert (buffer(spec, "x").elems, spec.question) == ("n + 64", [])
    pairs = "for (int j = i; j < n / 2; j += blockDim.x * gridDim.x) ((float2*)x)[j].x = 1;"
    spec = drafted(tmp_path, one(pairs, f"float* x; cudaMalloc(&x, n * sizeof(float)); {LAUNCH}"))
    assert (buffer(spec, "x").elems, spec.question) == ("n", [])


def test_sizes_that_may_hang_together_are_left_alone(tmp_path: Path) -> None:
    text = (
        "__global__ void k(float* x, int groups, int each) {\n"
        f"  {INDEX} if (i < groups) for (int j = 0; j < each; ++j) x[i * each + j] = 1; }}\n"
        "void run(int n, int groups) { float* x; cudaMalloc(&x, n * sizeof(float));\n"
        "  k<<<(groups + 255) / 256, 256>>>(x, groups, n / groups); }\n"
    )
    assert buffer(drafted(tmp_path, text), "x").elems == "each * groups"


def test_comparing_sizes() -> None:
    n, up = poly_of("n"), poly_of("(n + 255) // 256 * 256")
    assert exceeds(poly_of("n + 1"), n, {}) and not exceeds(up, n, {})
    assert exceeds(poly_of("(a + 1) * b * c * d"), poly_of("a * b * c * d"), {})
    assert not exceeds(poly_of("(n + 191) // 192 * 192"), n, {})
    assert not exceeds(poly_of("n + 1"), poly_of("1000"), {"n": 999})
    assert never_exceeds(poly_of("(n // 4) * 4"), n) and not never_exceeds(up, n)
    assert not never_exceeds(poly_of("a * b * c * d * e"), poly_of("a * b * c * d * e"))  # too many to try


def test_a_size_that_is_compared_with_another_is_not_surely_reached(tmp_path: Path) -> None:
    text = (
        f"__global__ void k(float* x, int n, int m) {{ {INDEX} if (GUARD) if (i < n * m + n) x[i] = 1; }}\n"
        "void run(int n, int m) { float* x; cudaMalloc(&x, n * m * sizeof(float));\n"
        "  k<<<(n * m + n + 255) / 256, 256>>>(x, n, m); }\n"
    )
    assert [q.code for q in drafted(tmp_path, text.replace("GUARD", "n > 2")).question] == ["CP3111"]
    assert drafted(tmp_path, text.replace("GUARD", "n > m")).question == []


FLAGS = "__global__ void k(int* seen, float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; \
if (i < n && seen[i] == 0) { seen[i] = 1; x[i] += 1; } }\n"
MADE = "int* s; float* x; cudaMalloc(&s, n * 4); cudaMalloc(&x, n * 4);"
RUN = "k<<<(n + 255) / 256, 256>>>(s, x, n);"


@pytest.mark.parametrize(
    ("host", "init"),
    [
        (f"{MADE} cudaMemset(s, 0, n * 4); {RUN}", "zeros"),
        (f"{MADE} cudaMemsetAsync(s, 0x00, n * 4, 0); {RUN}", "zeros"),
        (f"{MADE} cudaMemset(s, 0, n * 4); for (int j = 0; j < 9; ++j) {{ {RUN} }}", "zeros"),
        (f"{MADE} {RUN}", "small_int"),
        (f"{MADE} cudaMemset(s, 0xff, n * 4); {RUN}", "small_int"),
        (f"{MADE} cudaMemset(x, 0, n * 4); {RUN}", "small_int"),
        (f"{MADE} {RUN} cudaMemset(s, 0, n * 4);", "small_int"),
        (f"{MADE} if (n > 5) cudaMemset(s, 0, n * 4); {RUN}", "small_int"),
        (
            f"{MADE} cudaMemset(s, 0, n * 4); cudaMemcpy(s, h, n * 4, cudaMemcpyHostToDevice); {RUN}",
            "small_int",
        ),
        (f"{MADE} cudaMemset(s, 0, n * 4); fill<<<1, 256>>>(s); {RUN}", "small_int"),
        (f"{MADE} cudaMemset(s, 0, n * 4); prepare(s); {RUN}", "small_int"),
    ],
)
def test_memory_that_the_host_zeroes_starts_with_zeros(tmp_path: Path, host: str, init: str) -> None:
    others = "__global__ void fill(int* p) { p[threadIdx.x] = 5; }\nvoid prepare(int* p) { }\n"
    spec = drafted(tmp_path, f"{FLAGS}{others}void run(int n, int* h) {{ {host} }}\n")
    assert buffer(spec, "seen").init == init
