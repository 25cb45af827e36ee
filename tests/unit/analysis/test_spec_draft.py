"""Drafted specs, read back by the verifier's own reader."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from translator.analysis.cases import Sized, cases
from translator.analysis.settle import settle
from translator.analysis.spec_draft import draft_spec
from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower
from verify.expr import evaluate
from verify.resolve import resolve
from verify.spec import Spec
from verify.spec_args import BufferArg, ScalarArg, StructArg
from verify.spec_file import parse_spec

from .lifted import model_of


@dataclass(frozen=True)
class Port:
    entry: str = "k"
    renames: tuple[tuple[str, str], ...] = ()
    opt_level: int | None = None


def drafted(folder: Path, text: str, port: Port | None = None) -> Spec:
    sink = Sink()
    made = draft_spec(model_of(folder, text), port or Port(), sink)
    assert not sink.refused
    spec = parse_spec(made)
    for case in spec.case:
        assert resolve(spec, case).launchable
    told = [d.code for d in sink.items]
    for q in spec.question:
        told.remove(q.code)
    assert told in ([], ["CP3106"])  # of floats, which nobody is asked about
    return spec


def buffer(spec: Spec, name: str) -> BufferArg:
    found = next(a for a in spec.arg if a.name == name)
    assert isinstance(found, BufferArg)
    return found


SAXPY = (
    "__global__ void k(int n, float a, const float* x, float* y) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = a * x[i] + y[i];\n}\n"
)


def test_a_launched_kernel_needs_no_question(tmp_path: Path) -> None:
    spec = drafted(
        tmp_path,
        SAXPY + "void run(int N, float* p, float* q) { k<<<(N + 255) / 256, 256>>>(N, 2.5f, p, q); }\n",
    )
    assert spec.question == []
    assert spec.original.kernel == "k"
    assert spec.launch.grid == ["(n + 255) / 256", "1", "1"]
    assert spec.launch.block == ["256", "1", "1"]
    assert [a.name for a in spec.arg] == ["n", "a", "x", "y"]
    n, a = spec.arg[:2]
    assert isinstance(n, ScalarArg) and isinstance(a, ScalarArg)
    assert (n.value, n.dtype, a.value, a.dtype) == ("n", "i32", 2.5, "f32")
    x, y = buffer(spec, "x"), buffer(spec, "y")
    assert (x.elems, x.role, x.init, x.dtype) == ("n", "in", "normal", "f32")
    assert (y.elems, y.role) == ("n", "inout")
    sizes = [c.sizes["n"] for c in spec.case]
    assert sizes[:5] == [1, 255, 256, 257, 10007]
    assert [c.role for c in spec.case] == ["boundary"] * 5 + ["typical", "large"]


def test_without_a_launch_the_guard_gives_the_grid(tmp_path: Path) -> None:
    spec = drafted(tmp_path, SAXPY)
    assert spec.launch.grid[0] == "(n + 255) / 256"
    assert [q.code for q in spec.question] == ["CP3101", "CP3102"]


def test_a_float_argument_may_be_anything_a_whole_number_is_asked_about(tmp_path: Path) -> None:
    kernel = (
        "struct S {{ float f; }};\n__global__ void k(float* x, {0}) {{ if (threadIdx.x < 9) x[0] *= {1}; }}\n"
    )
    launch = "void run(float* x, {0}) {{ k<<<1, 64>>>(x, {2}); }}\n"
    asked = {}
    for taken, used, given in (
        ("float a", "a", "a"), ("int a", "a", "a"), ("S a", "a.f", "a"), ("float a, int b", "a * b", "a, b"),
    ):  # fmt: skip
        spec = drafted(tmp_path, (kernel + launch).format(taken, used, given))
        asked[taken] = [q.text for q in spec.question if q.code == "CP3106"]
    assert asked["float a"] == []
    assert asked["int a"] == ["no values seen for a; assumed: 1"]
    assert len(asked["S a"]) == 1 and "assumed: 0.5" in asked["S a"][0]
    assert asked["float a, int b"] == ["no values seen for b; assumed: 1"]


def test_rows_that_no_argument_gives(tmp_path: Path) -> None:
    text = (
        "__global__ void k(float* x, int cols) {\n"
        "  for (int i = threadIdx.x; i < cols; i += blockDim.x) x[blockIdx.x * cols + i] = 0;\n}\n"
    )
    launch = "void run(float* x, int rows, int cols) { k<<<rows, 128>>>(x, cols); }\n"
    spec = drafted(tmp_path, text + launch)
    assert spec.launch.grid[0] == "rows"
    assert buffer(spec, "x").elems == "cols * rows"
    assert buffer(spec, "x").role == "out"
    assert [q.code for q in spec.question] == ["CP3102"]
    spec = drafted(tmp_path, text + "void run(float* x, int c) { k<<<512, 128>>>(x, c); }\n")
    assert spec.launch.grid[0] == "grid_x"
    assert next(c for c in spec.case if c.name == "typical").sizes["grid_x"] == 512


def test_lookup_tables(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const float* table, const int* idx, float* out, int n, int dim) {\n"
        "  int i = blockIdx.x; if (i >= n) return;\n"
        "  for (int d = threadIdx.x; d < dim; d += 128) out[i * dim + d] = table[idx[i] * dim + d];\n}\n"
        "void run(float* t, int* i, float* o, int n, int dim) { k<<<n, 128>>>(t, i, o, n, dim); }\n"
    )
    spec = drafted(tmp_path, text)
    assert buffer(spec, "table").elems == "dim * table_rows"
    assert buffer(spec, "idx").init == "index:table_rows"
    assert [q.code for q in spec.question] == ["CP3110"]
    assert all("table_rows" in c.sizes for c in spec.case)


def test_a_table_the_host_allocates_for_its_arguments(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const float* table, const int* idx, float* out, int n, int rows) {\n"
        "  int i = blockIdx.x * 64 + threadIdx.x; if (i < n) out[i] = table[idx[i]];\n}\n"
        "void run(int* i, float* o, int n, int rows) { float* t; cudaMalloc(&t, rows * sizeof(float));\n"
        "  k<<<(n + 63) / 64, 64>>>(t, i, o, n, rows); }\n"
    )
    spec = drafted(tmp_path, text)
    assert buffer(spec, "table").elems == "rows"
    assert buffer(spec, "idx").init == "index:rows"
    assert spec.question == []


def test_histogram(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const unsigned char* data, unsigned* bins, int n) {\n"
        "  int i = blockIdx.x * 256 + threadIdx.x; if (i < n) atomicAdd(&bins[data[i]], 1u);\n}\n"
        "void run(unsigned char* d, unsigned* b, int n) { k<<<(n + 255) / 256, 256>>>(d, b, n); }\n"
    )
    spec = drafted(tmp_path, text)
    assert (buffer(spec, "bins").elems, buffer(spec, "bins").init) == ("256", "zeros")
    assert buffer(spec, "data").init == "index:256"
    assert not spec.tolerance.order_dependent


def test_compressed_rows(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const int* row, const int* col, float* v, const float* x, float* y, int n) {\n"
        "  int i = blockIdx.x * 128 + threadIdx.x; if (i >= n) return; float s = 0;\n"
        "  for (int j = row[i]; j < row[i + 1]; ++j) s += v[j] * x[col[j]];\n  y[i] = s;\n}\n"
        "void run(int* r, int* c, float* v, float* x, float* y, int n) {\n"
        "  k<<<(n + 127) / 128, 128>>>(r, c, v, x, y, n); }\n"
    )
    spec = drafted(tmp_path, text)
    assert (buffer(spec, "row").elems, buffer(spec, "row").init) == ("n + 1", "arange")
    assert (buffer(spec, "v").elems, buffer(spec, "col").elems) == ("n", "n")
    assert buffer(spec, "col").init == "index:x_count"
    assert {q.code for q in spec.question} == {"CP3107", "CP3110"}


def test_structs_globals_and_float_atomics(tmp_path: Path) -> None:
    text = (
        "struct P { float dt; int count; };\nstruct Cell { float m; int id; };\n"
        "__constant__ float table[4];\n"
        "__global__ void k(Cell* c, float* sum, P p) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < p.count) { c[i].m += p.dt * table[i & 3]; atomicAdd(sum, c[i].m); }\n}\n"
        "void run(Cell* c, float* s, P q) { k<<<(q.count + 63) / 64, 64>>>(c, s, q); }\n"
    )
    spec = drafted(tmp_path, text)
    assert spec.launch.grid[0] == "(p_count + 63) / 64"
    cells = buffer(spec, "c")
    assert (cells.size, cells.elems, cells.role) == (8, "p_count", "inout")
    assert [(f.name, f.dtype, f.offset) for f in cells.fields] == [("m", "f32", 0), ("id", "i32", 4)]
    p = next(a for a in spec.arg if a.name == "p")
    assert isinstance(p, StructArg)
    assert [(f.name, f.value) for f in p.fields] == [("dt", 0.5), ("count", "p_count")]
    table = buffer(spec, "table")
    assert (table.symbol, table.elems, table.role) == ("table", "4", "in")
    assert buffer(spec, "sum").init == "zeros"
    assert spec.tolerance.order_dependent


def test_vector_rows_keep_their_alignment(tmp_path: Path) -> None:
    text = (
        "__global__ void k(const float* x, float* y, int cols) {\n"
        "  const float4* r = reinterpret_cast<const float4*>(x + blockIdx.x * cols);\n"
        "  for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {\n"
        "    float4 v = r[i]; y[blockIdx.x * cols / 4 + i] = v.x; }\n}\n"
        "void run(float* x, float* y, int rows, int cols) { k<<<rows, 128>>>(x, y, cols); }\n"
    )
    spec = drafted(tmp_path, text)
    assert all(c.sizes["cols"] % 4 == 0 for c in spec.case)
    assert any(c.sizes["rows"] % 4 for c in spec.case)


@pytest.mark.parametrize("few", ["threadIdx.x < 2", "!(threadIdx.x >= 2)", "2u > threadIdx.x"])
def test_what_few_threads_of_a_block_touch_is_as_small_as_they_are_few(tmp_path: Path, few: str) -> None:
    spec = drafted(
        tmp_path,
        "__global__ void k(const int* x, int* y, int* counters, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n"
        f"  if ({few}) counters[threadIdx.x] = 0;\n}}\n"
        "void run(int* x, int* y, int* c, int n) { k<<<(n + 127) / 128, 128>>>(x, y, c, n); }\n",
    )
    assert (buffer(spec, "counters").elems, buffer(spec, "y").elems) == ("2", "n")


def test_a_size_that_a_thread_is_compared_with_may_be_more_than_there_are_threads(tmp_path: Path) -> None:
    spec = drafted(
        tmp_path,
        "__global__ void k(const int* x, int* y, int n) {\n"
        "  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];\n}\n"
        "void run(int* x, int* y, int n) { k<<<1, 64>>>(x, y, n); }\n",
    )
    assert (buffer(spec, "x").elems, buffer(spec, "y").elems) == ("64", "64")


@pytest.mark.parametrize("test", ["cols % 4 == 0", "!(cols & 3)", "row >= 0 && cols % 4 == 0"])
def test_a_kernel_with_a_way_for_rows_of_any_length_meets_them(tmp_path: Path, test: str) -> None:
    """Vectors only behind a test of the row's length: the rest of the kernel would never be run."""
    spec = drafted(
        tmp_path,
        "__global__ void k(const float* x, float* y, int cols) {\n"
        "  int row = blockIdx.x;\n"
        f"  if ({test}) {{\n"
        "    const float4* r = reinterpret_cast<const float4*>(x + row * cols);\n"
        "    for (int i = threadIdx.x; i < cols / 4; i += 64) { float4 v = r[i]; y[row * cols + i] = v.x; }\n"
        "  } else {\n"
        "    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[row * cols + i] = x[row * cols + i];\n"
        "  }\n}\n"
        "void run(float *x, float *y, int rows, int cols) { k<<<rows, 64>>>(x, y, cols); }\n",
    )
    rest = {c.sizes["cols"] % 4 for c in spec.case}
    assert 0 in rest and len(rest) > 1


@pytest.mark.parametrize("test", ["cols % 2 == 0", "(cols & 8) == 0", "cols % 4 != 0 || cols > 9"])
def test_a_test_of_something_else_leaves_vectors_aligned(tmp_path: Path, test: str) -> None:
    spec = drafted(
        tmp_path,
        "__global__ void k(const float* x, float* y, int cols) {\n"
        f"  if ({test}) {{\n"
        "    const float4* r = reinterpret_cast<const float4*>(x + blockIdx.x * cols);\n"
        "    for (int i = threadIdx.x; i < cols / 4; i += 64) {\n"
        "      float4 v = r[i]; y[blockIdx.x * cols / 4 + i] = v.x; }\n"
        "  }\n}\n"
        "void run(float *x, float *y, int rows, int cols) { k<<<rows, 64>>>(x, y, cols); }\n",
    )
    assert all(c.sizes["cols"] % 4 == 0 for c in spec.case)


def test_what_cannot_be_described_is_said(tmp_path: Path) -> None:
    text = (
        "struct S { float** p; int n; };\n__global__ void k(S s, float* out) { out[threadIdx.x] = s.n; }\n"
        "void run(S s, float* o) { k<<<1, 32>>>(s, o); }\n"
    )
    spec = drafted(tmp_path, text)
    assert "CP3108" in [q.code for q in spec.question]


POINTERS = """
struct Io { const float* in; float* out; };
struct P { Io io; int n; float c[2]; int* hits; };
"""
BODY = """
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < p.n) { p.io.out[i] = p.io.in[2 * i] * p.c[1]; atomicAdd(p.hits, 1); }
"""
LAUNCH = "void run(P p) { k<<<(p.n + 127) / 128, 128>>>(p); }\n"


@pytest.mark.parametrize(
    "kernel",
    [
        f"__global__ void k(P p) {{ {BODY} }}",
        f"__device__ void f(const P& p) {{ {BODY} }} __global__ void k(P p) {{ f(p); }}",
        f"__device__ void f(P p) {{ {BODY} }} __global__ void k(P q) {{ f(q); }}",
        f"__global__ void k(P q) {{ P p = q; {BODY} }}",
        "__global__ void k(P p) { Io io = p.io; int i = blockIdx.x * 128 + threadIdx.x; if (i < p.n) {"
        " const float* x = io.in; io.out[i] = x[2 * i]; atomicAdd(p.hits, 1); } }",
    ],
)
def test_pointers_in_structs_are_buffers(tmp_path: Path, kernel: str) -> None:
    spec = drafted(tmp_path, f"{POINTERS}{kernel}\n{LAUNCH}")
    (struct,) = spec.arg
    assert isinstance(struct, StructArg)
    assert [(f.name, f.offset) for f in struct.fields] == [
        ("io_in", 0), ("io_out", 8), ("n", 16), ("c_0", 20), ("c_1", 24), ("hits", 32),
    ]  # fmt: skip
    name = struct.name
    memory = {b.name.removeprefix(f"{name}."): b for b in spec.buffers}
    described = {k: (b.elems, b.role, b.init, b.dtype) for k, b in memory.items()}
    assert described["io_in"] == (f"{name}_n * 2 - 1", "in", "normal", "f32")
    assert described["io_out"] == (f"{name}_n", "out", "zeros", "f32")
    assert described["hits"] == ("1", "inout", "zeros", "i32")
    assert {q.code for q in spec.question} <= {"CP3106"}


def test_a_field_that_the_kernel_moves_is_not_bounded(tmp_path: Path) -> None:
    text = (
        "struct P { float* out; int n; };\n"
        "__global__ void k(P p) { p.out += 5 * p.n; p.out[threadIdx.x] = 1; }\n"
        "void run(P p) { k<<<1, 32>>>(p); }\n"
    )
    assert "CP3104" in [q.code for q in drafted(tmp_path, text).question]


def test_globals_start_as_in_the_source(tmp_path: Path) -> None:
    text = (
        "struct Cell { float m; int id; };\n"
        "__device__ int counter = 7; __device__ unsigned done;\n__constant__ float taps[4] = {1.5f, 2.f};\n"
        "__constant__ Cell cells[2] = {{1.f, 2}, {3.f, 4}};\n__constant__ float later[2];\n"
        "__global__ void k(float* out) {\n"
        "  int i = threadIdx.x; out[i] = taps[i & 3] + cells[i & 1].m + cells[i & 1].id + later[i & 1];\n"
        "  atomicAdd(&counter, 1); if (i == 0) done += 1; }\n"
        "void run(float* o) { k<<<1, 32>>>(o); }\n"
    )
    spec = drafted(tmp_path, text)
    started = {b.name: (b.values, b.init) for b in spec.buffers}
    assert started["counter"][0] == [7]
    assert started["done"] == (None, "zeros")
    assert started["taps"][0] == [1.5, 2.0]
    assert started["later"] == (None, "normal")  # the host fills it somewhere else
    assert [f.values for f in buffer(spec, "cells").fields] == [[1.0, 3.0], [2, 4]]
    assert not [q for q in spec.question if "counter" in q.text or "taps" in q.text]


@pytest.mark.parametrize(
    ("body", "smem"),
    [
        ("s[threadIdx.x] = y[threadIdx.x]; __syncthreads(); y[threadIdx.x] = s[0];", "1024"),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = y[i]; y[0] = s[n - 1];", "n * 4"),
        ("s[int(y[0])] = 1; y[threadIdx.x] = s[0];", "49152"),
    ],
)
def test_shared_memory_of_an_unseen_launch_is_asked_for(tmp_path: Path, body: str, smem: str) -> None:
    text = f"__global__ void k(float* y, int n) {{ extern __shared__ float s[]; {body} }}\n"
    spec = drafted(tmp_path, text)
    assert spec.launch.smem == smem
    assert "CP3109" in [q.code for q in spec.question]


@pytest.mark.parametrize(
    ("parameter", "body", "block"),
    [
        ("int BLOCK_SIZE", "y[blockIdx.x * BLOCK_SIZE + threadIdx.x] = 1;", ["64", "1", "1"]),
        ("int kThreads", "y[threadIdx.x] = 1;", ["64", "1", "1"]),
        ("int N", "__shared__ float s[N]; s[threadIdx.x] = y[threadIdx.x]; y[0] = s[1];", ["64", "1", "1"]),
        ("int UNROLL", "y[threadIdx.x] = 1;", ["256", "1", "1"]),
        ("int BS", "y[threadIdx.x + threadIdx.y] = 1;", ["32", "8", "1"]),  # 64 x 64 are too many
    ],
)
def test_a_template_argument_that_is_the_block(
    tmp_path: Path, parameter: str, body: str, block: list[str]
) -> None:
    text = f"template <{parameter}> __global__ void k(float* y) {{ {body} }}\n"
    spec = drafted(tmp_path, text + "template __global__ void k<64>(float*);\n")
    assert spec.launch.block == block
    assert "CP3101" in [q.code for q in spec.question]


def test_template_arguments_for_each_axis_of_the_block(tmp_path: Path) -> None:
    body = "y[threadIdx.x + threadIdx.y] = 1;"
    text = f"template <int BLOCK_Y, int BLOCK_X> __global__ void k(float* y) {{ {body} }}\n"
    spec = drafted(tmp_path, text + "template __global__ void k<4, 64>(float*);\n")
    assert spec.launch.block == ["64", "4", "1"]


@pytest.mark.parametrize(
    ("argument", "before"),
    [
        ("Silu{1.702f}", ""),
        ("Silu(1.702f)", ""),
        ("{1.702f}", ""),
        ("s", "Silu s{1.702f};"),
        ("s", "Silu s(0.f); s.b = 1.702f;"),
        ("s", "const Silu s{1.702f};"),
    ],
)
def test_constants_inside_a_struct_argument_are_its_values(
    tmp_path: Path, argument: str, before: str
) -> None:
    text = (
        "struct Silu { float b; int k = 3; float2 s{4.f}; Silu(float x) : b(x) {}\n"
        "  __device__ float operator()(float x) const { return x * b; } };\n"
        "struct Vec { float x, y; };\n"
        "__global__ void k(float* out, Silu f, float2 g, Vec v) { out[threadIdx.x] = f(g.y) + v.x; }\n"
        f"void run(float* o) {{ {before} k<<<1, 32>>>(o, {argument}, make_float2(1.f, 2.f), Vec{{5}}); }}\n"
    )
    spec = drafted(tmp_path, text)
    structs = {a.name: [f.value for f in a.scalars] for a in spec.arg if isinstance(a, StructArg)}
    assert structs == {"f": [1.702, 3, 4.0, 0.0], "g": [1.0, 2.0], "v": [5.0, 0.0]}
    assert spec.question == []


def test_renamed_parameters(tmp_path: Path) -> None:
    spec = drafted(
        tmp_path,
        SAXPY.replace("float a", "float lambda").replace("a *", "lambda *"),
        Port("k", (("lambda", "lambda_"),)),
    )
    assert [a.port_name for a in spec.arg] == [None, "lambda_", None, None]


def test_cases_respect_the_launch() -> None:
    wanted = Sized(("n", "b"), ("n", "1", "1"), ("b", "1", "1"), "b * 4", ("n * b",))
    for case in cases(wanted):
        assert 1 <= case.sizes["b"] <= 1024
        assert case.sizes["n"] * case.sizes["b"] <= 1 << 26
    names = [c.name for c in cases(wanted)]
    assert len(names) == len(set(names))


def test_cases_of_a_costly_kernel_stay_small() -> None:
    wanted = Sized(("n",), ("(n + 255) / 256", "1", "1"), ("256", "1", "1"), "0", ("n",), ("n * n",))
    biggest = max(c.sizes["n"] for c in cases(wanted))
    assert biggest**3 <= 1 << 34


def test_a_size_that_is_taken_from_another_leaves_something() -> None:
    """`n - i` rows: i does not grow beyond n, where nothing would be left to compare."""
    wanted = Sized(("n", "i"), ("4", "1", "1"), ("256", "1", "1"), "0", ("max(n * 9 - i * 9, 1)", "n"))
    made = {c.role: c.sizes for c in cases(wanted) if c.role != "boundary"}
    assert made.keys() == {"typical", "large"}
    assert all(sizes["n"] > sizes["i"] for sizes in made.values())
    halo = Sized(("n",), ("n", "1", "1"), ("32", "1", "1"), "0", ("max(n - 8, 1)",))
    assert max(c.sizes["n"] for c in cases(halo)) > 1 << 20  # though at first nothing is left


PITCHED = """
__global__ void k(float* out, const float* x, int width, int height, int pitch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i < width && j < height) out[j * pitch + i] = 2.0f * x[j * pitch + i];
}
"""
LAUNCHED = """
void run(float* o, float* x, int w, int h, int p) { k<<<dim3((w + 63) / 64, h), 64>>>(o, x, w, h, %s); }
"""


def test_what_is_given_for_the_width_too_is_no_less_than_it(tmp_path: Path) -> None:
    """Rows of a smaller pitch overlap. In one case it is more than the width, to tell them apart."""
    for second in ("p", "w + 1"):
        free = drafted(tmp_path, PITCHED + LAUNCHED % second)
        assert any(c.sizes["pitch"] < c.sizes["width"] for c in free.case)
    bound = drafted(tmp_path, PITCHED + LAUNCHED % "w")
    assert len(bound.case) > 4
    assert all(c.sizes["pitch"] >= c.sizes["width"] for c in bound.case)
    assert any(c.sizes["pitch"] > c.sizes["width"] for c in bound.case)
    both = drafted(tmp_path, PITCHED + LAUNCHED % "w" + (LAUNCHED % "p").replace("run", "other"))
    assert any(c.sizes["pitch"] < c.sizes["width"] for c in both.case)


def test_no_sizes_is_one_case() -> None:
    assert [(c.name, c.sizes) for c in cases(Sized((), ("1", "1", "1"), ("32", "1", "1"), "0", ("32",)))] == [
        ("only", {})
    ]


@pytest.mark.parametrize("target", sorted((Path(__file__).parents[3] / "targets").glob("*/original")))
def test_drafts_agree_with_the_specs_that_people_wrote(target: Path) -> None:
    from translator.frontend.build import build_model
    from translator.frontend.project import ReadOptions, read
    from verify.spec_file import load_spec

    written = load_spec(target.parent)
    source = next(p for p in target.glob("*.cu") if p.name != "device.cu")
    readings = read([str(source)], ReadOptions(), Sink())
    reading = next((r for r in readings if r.cuda_name == written.original.kernel), readings[0])
    model = build_model(reading, Sink())
    assert model is not None
    spec = parse_spec(draft_spec(model, Port(reading.name), Sink()))
    assert [a.name for a in spec.arg] == [a.name for a in written.arg]
    assert spec.launch.block == written.launch.block
    for ours, theirs in zip(spec.buffers, written.buffers, strict=True):
        assert (ours.name, ours.role, ours.dtype, ours.size) == (
            theirs.name,
            theirs.role,
            theirs.dtype,
            theirs.size,
        )


def test_names_in_any_alphabet(tmp_path: Path) -> None:
    spec = drafted(
        tmp_path,
        "#define ДВА 2\n__global__ void k(float* größe, int длина) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < длина * ДВА) größe[i] = 1;\n}\n"
        "void run(float* p, int n) { k<<<(n * 2 + 255) / 256, 256>>>(p, n); }\n",
    )
    assert spec.launch.grid == ["(длина * 2 + 255) / 256", "1", "1"]
    assert buffer(spec, "größe").elems == "длина * 2"
    assert all(set(c.sizes) == {"длина"} for c in spec.case)


HARD = {
    "a float that the grid depends on": (
        "__global__ void k(float* x, float depth) { x[blockIdx.x] = depth; }\n"
        "void run(float* x, int depth) { k<<<depth, 32>>>(x, depth); }\n"
    ),
    "no arguments": "__global__ void k() {}\nvoid run() { k<<<1, 32>>>(); }\n",
    "a size that divides": (
        "__global__ void k(float* x, int n, int rows) {\n"
        "  int i = threadIdx.x; if (i < n / (rows - 1)) x[i] = 0; }\n"
        "void run(float* x, int n, int r) { k<<<1, 32>>>(x, n, r); }\n"
    ),
    "a block of nested choices": (
        "__global__ void k(float* x, int n, int g) { x[threadIdx.x] = 0; }\n"
        "void run(float* x, int n, int g) {\n"
        "  int b = n * g < 1024 ? n * g : 1024; k<<<n, b > 32 * g ? b : 32 * g>>>(x, n, g); }\n"
    ),
    "sizes between sizes": (
        "__global__ void k(float* x, int a, int b, int c, int d, int lo, int hi) {\n"
        "  int i = lo + blockIdx.x * 64 + threadIdx.x; if (i < hi) x[i] = 0; }\n"
        "void run(float* x, int a, int b, int c, int d, int lo, int hi) {\n"
        "  k<<<dim3((hi - lo + 63) / 64, (b - a + 7) / 8, (d - c + 7) / 8), 64>>>(x, a, b, c, d, lo, hi); }\n"
    ),
    "a guard over what memory holds": (
        "struct P { int n; };\n__global__ void k(float* x, const P* p) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < p->n) x[i] = 0; }\n"
        "void run(float* x, P* p, dim3 g) { k<<<g, 64>>>(x, p); }\n"
    ),
    "a grid that shrinks below nothing": (
        "__global__ void k(int* x, int w) { int i = blockIdx.x * 128 + threadIdx.x; if (i < w) x[i] = 0; }\n"
        "void run(int* x, int w) { k<<<(w - 129) / 128 + 1, 128>>>(x, w); }\n"
    ),
    "a grid of billions": (
        "__global__ void k(int* x, int n) { for (int j = 0; j < n; ++j) x[blockIdx.x * n + j] = 0; }\n"
        "void run(int* x, int n) { k<<<2000000000 / (n * n + 8), 256>>>(x, n); }\n"
    ),
    "a grid that is never there": (
        "__global__ void k(int* x, int n) { x[blockIdx.x] = n; }\n"
        "void run(int* x, int n) { k<<<n / (n - n), 256>>>(x, n); }\n"
    ),
    "more shared memory than there is": (
        "extern __shared__ int s[];\n__global__ void k(int* x, int n) { s[0] = n; x[0] = s[0]; }\n"
        "void run(int* x, int n) { k<<<1, 32, 1 << 20>>>(x, n); }\n"
    ),
    "a parameter called like a size": (
        "__global__ void k(const float* t, const int* idx, float* o, int n, int t_count) {\n"
        "  int i = blockIdx.x * 64 + threadIdx.x; if (i < n) o[i] = t[idx[i]] + t_count;\n}\n"
        "void run(float* t, int* i, float* o, int n) { k<<<(n + 63) / 64, 64>>>(t, i, o, n, 7); }\n"
    ),
}


@pytest.mark.parametrize("what", HARD)
def test_every_draft_can_be_run(tmp_path: Path, what: str) -> None:
    spec = drafted(tmp_path, HARD[what])
    assert spec.case
    for case in spec.case:
        found = resolve(spec, case)
        assert found.smem <= 227 * 1024
        for b in spec.buffers:
            if b.init.startswith("index:"):
                assert evaluate(b.init.removeprefix("index:"), found.names) >= 1


def test_what_no_case_satisfies_becomes_a_size_of_its_own() -> None:
    wanted = Sized(("n", "x_elems"), ("n / (n - n)", "1", "1"), ("64", "1", "1"), "0", ("n +", "n"))
    made = settle(wanted, ("x", "y"), {"n"})
    assert made.wanted.elems == ("x_elems_", "n")
    assert made.wanted.grid == ("grid_x", "1", "1")
    assert made.fresh == {"x", "grid"}
    assert all({"x_elems_", "grid_x"} <= case.sizes.keys() for case in made.cases)


def test_the_spec_builds_the_original_with_the_standard_it_was_read_with(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 1.f; }\n"
        "int main() { k<<<1, 64>>>(0, 64); }\n",
        encoding="utf-8",
    )
    sink = Sink()
    (reading,) = project.read([source], project.ReadOptions(std="c++20"), sink)
    model = build_model(reading, sink)
    assert model is not None
    drafted = draft_spec(model, emit(lower(model, sink), sink), sink)
    assert tomllib.loads(drafted)["original"]["std"] == "c++20"
