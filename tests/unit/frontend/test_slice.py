"""Device-only sources: what is in them, what is not, and that nvcc takes them where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.project import ReadOptions, read
from translator.frontend.slice import device_slice


def sliced(tmp_path: Path, text: str, name: str = "k", **options: object) -> str:
    file = tmp_path / "a.cu"
    file.write_text(text, "utf-8")
    readings = read([str(file)], ReadOptions(kernels=(name,), **options), Sink())  # type: ignore[arg-type]
    reading = readings[0]
    made = device_slice(reading.unit, reading.cursor)
    _compile(tmp_path, made + f"\nauto probe = &{reading.cuda_name};\n")
    return re.sub(r"^#line .*\n", "", made, flags=re.M)  # test_slice_lines looks at these


def _compile(tmp_path: Path, text: str) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return
    file = tmp_path / "slice.cu"
    file.write_text(text, "utf-8")
    flags = ["-arch=sm_90", "-std=c++17", "-cubin", "--expt-relaxed-constexpr", "-o", str(tmp_path / "o")]
    done = subprocess.run([nvcc, *flags, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + text


def test_only_what_is_needed(tmp_path: Path) -> None:
    text = (
        "#include <cstdio>\n#include <vector>\n#define USED 3\n#define UNUSED 4\n"
        "const int A = 1, B = 2;\n__device__ float unused(float v) { return v; }\n"
        "__device__ float twice(float v);\n"
        "__global__ void k(float* x) { x[0] = twice(USED) + B; } // after\n"
        "__device__ float twice(float v) { return 2 * v; }\n"
        "int main() { std::vector<int> v(3); }\n"
    )
    assert sliced(tmp_path, text) == (
        "#define USED 3\nconst int A = 1, B = 2;\n__device__ float twice(float v);\n"
        "__global__ void k(float* x) { x[0] = twice(USED) + B; }\n"
        "__device__ float twice(float v) { return 2 * v; }\n"
    )


def test_macros_are_followed_and_keep_their_place(tmp_path: Path) -> None:
    text = (
        "#define INNER(v) ((v) + BASE)\n#define BASE 7\n#define OUTER(v) INNER(v)\n"
        "template <int N> __device__ int scale(int v) { return v * N; }\n#define N 5\n"
        "__global__ void k(int* x) { x[0] = OUTER(scale<2>(N)); }\n"
    )
    made = sliced(tmp_path, text)
    assert made.index("#define BASE 7") < made.index("#define OUTER") < made.index("template <int N>")
    assert made.index("template <int N>") < made.index("#define N 5") < made.index("__global__")


def test_redefined_macro(tmp_path: Path) -> None:
    text = (
        "#define V 1\n__device__ int f() { return V; }\n#undef V\n#define V 2\n"
        "__global__ void k(int* x) { x[0] = V + f(); }\n"
    )
    made = sliced(tmp_path, text)
    assert "#define V 1\n" in made
    assert "#undef V\n#define V 2\n" in made


def test_conditionals_as_they_were_compiled(tmp_path: Path) -> None:
    text = (
        "#ifdef WIDE\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
        "__global__ void k(real* x) {\n#if defined(WIDE)\n  x[0] = 1;\n#else\n  x[0] = 2;\n#endif\n"
        "  #pragma unroll\n  for (int i = 0; i < 4; ++i) x[i] += TERM;\n}\n"
    )
    made = sliced(tmp_path, text, defines=("WIDE", "TERM=3"))
    assert made == (
        "#define TERM 3\ntypedef double real;\n"
        "__global__ void k(real* x) {\n\n  x[0] = 1;\n\n\n\n  #pragma unroll\n"
        "  for (int i = 0; i < 4; ++i) x[i] += TERM;\n}\n"
    )


def test_namespaces_types_and_globals(tmp_path: Path) -> None:
    text = (
        "namespace a { namespace b { struct P { float x, y; }; enum E { one = 1, two };\n"
        "static __constant__ float table[4];\n"
        "namespace { __device__ float hidden(P p) { return p.x + table[two]; } }\n"
        "static __global__ void k(P* p) { p->y = hidden(*p); } } }\n"
    )
    made = sliced(tmp_path, text)
    assert "namespace a {\nnamespace b {\n" in made
    assert "static" not in made
    assert "__constant__ float table[4];" in made
    assert made.count("namespace") == 2


def test_templates_bring_their_specialisations(tmp_path: Path) -> None:
    text = (
        "template <class T> struct Zero { static constexpr int value = 0; };\n"
        "template <> struct Zero<double> { static constexpr int value = 1; };\n"
        "template <class T> __device__ T pick(T v) { return v + Zero<T>::value; }\n"
        "template <> __device__ int pick<int>(int v) { return v; }\n"
        "__device__ float only(float v) { return v; }\n__device__ double only(double v) { return v; }\n"
        "template <class T> __global__ void k(T* x) { x[0] = only(pick(x[1])); }\n"
        "void run(double* d) { k<<<1, 1>>>(d); }\n"
    )
    made = sliced(tmp_path, text)
    assert "struct Zero<double>" in made
    assert "pick<int>" in made
    assert "double only(double v)" in made
    assert "void run" not in made


def test_host_methods_are_left_out(tmp_path: Path) -> None:
    text = (
        "#include <string>\n#include <vector>\nstruct S {\n  int n;\n"
        "  S() { std::vector<int> v(3); n = v.size(); }\n"
        "  __host__ __device__ S(int m) : n(m) {}\n  __device__ int get() const { return n; }\n};\n"
        "__global__ void k(S s, int* x) { x[0] = s.get() + S(2).n; }\n"
    )
    made = sliced(tmp_path, text)
    assert "std::" not in made
    assert "int get() const" in made


def test_headers_and_limits(tmp_path: Path) -> None:
    text = (
        "#include <cuda_fp16.h>\n#include <cfloat>\n#include <cstdint>\n#include <limits>\n"
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void k(half* x, uint32_t n) { cg::this_thread_block().sync();\n"
        "  float big = FLT_MAX; if (n) big = -INFINITY; x[0] = __float2half(big);\n"
        "  x[1] = std::numeric_limits<int>::max(); }\n"
    )
    made = sliced(tmp_path, text)
    assert made.startswith("#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n")
    assert "typedef unsigned int uint32_t;" in made
    assert "#ifndef FLT_MAX" in made
    assert "#ifndef INFINITY" in made
    assert "numeric_limits" in made
    assert "namespace cg = cooperative_groups;" in made


def test_a_variable_called_half_needs_no_header(tmp_path: Path) -> None:
    assert sliced(tmp_path, "__global__ void k(int* x) { int half = 2; x[0] = half; }\n").startswith(
        "__global__"
    )


def test_kernel_made_by_a_macro(tmp_path: Path) -> None:
    text = "#define DEFINE(T) __global__ void k_##T(T* x) { x[0] = 1; }\nDEFINE(int)\nDEFINE(float)\n"
    made = sliced(tmp_path, text, "k_float")
    assert "DEFINE(float)" in made
    assert "DEFINE(int)" not in made


def test_pieces_of_several_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "types.h").write_text("#pragma once\nstruct V { float a; };\n")
    (tmp_path / "ops.h").write_text('#include "types.h"\n__device__ V twice(V v) { v.a *= 2; return v; }\n')
    text = '#define LOCAL 1\n#include "ops.h"\n__global__ void k(V* v) { v[0] = twice(v[LOCAL]); }\n'
    made = sliced(tmp_path, text)
    assert (
        made.index("#define LOCAL") < made.index("struct V") < made.index("twice(V v)") < made.index("void k")
    )


@pytest.mark.parametrize("prefix", ['extern "C" ', "__launch_bounds__(128) ", "static inline "])
def test_prefixes(tmp_path: Path, prefix: str) -> None:
    made = sliced(tmp_path, f"{prefix}__global__ void k(int* x) {{ x[0] = 1; }}\n")
    assert ("__launch_bounds__" in made) == ("launch" in prefix)


def test_windows_line_ends(tmp_path: Path) -> None:
    made = sliced(tmp_path, "#define A \\\r\n  1\r\n__global__ void k(int* x) {\r\n  x[0] = A;\r\n}\r\n")
    assert "\r" not in made


def test_functions_without_a_space_get_one(tmp_path: Path) -> None:
    text = (
        "constexpr int sq(int a) { return a * a; }\n"
        "template <class T> constexpr T cube(T a) { return a * a * a; }\n"
        "template <int N> struct S { constexpr int size() const { return N; } };\n"
        "__global__ void k(int* x) { x[0] = sq(2) + cube(3) + S<4>().size(); }\n"
    )
    made = sliced(tmp_path, text)
    assert "__host__ __device__ constexpr int sq" in made
    assert "template <class T> __host__ __device__ constexpr T cube" in made
    assert "{ __host__ __device__ constexpr int size" in made


def test_host_friends_and_declarations_are_left_out(tmp_path: Path) -> None:
    text = (
        "#include <iostream>\nusing namespace std;\nstruct P {\n  float a;\n  void load();\n"
        "  P() = default;\n"
        "  friend ostream& operator<<(ostream& o, const P& p) { o << p.a; return o; }\n};\n"
        "__global__ void k(P* p) { p->a = 1; }\n"
    )
    made = sliced(tmp_path, text)
    assert "ostream" not in made
    assert "load" not in made
    assert "P() = default;" in made


def test_variable_templates(tmp_path: Path) -> None:
    text = (
        "template <class T> __device__ const T limit = T(3);\n"
        "template <class T> __global__ void k(T* x) { x[0] = limit<T>; }\n"
        "void run(int* x) { k<<<1, 1>>>(x); }\n"
    )
    assert sliced(tmp_path, text).count("limit = T(3)") == 1


def test_branches_for_clang_are_not_nvcc_s(tmp_path: Path) -> None:
    text = (
        "#if defined(__clang__) || defined(__llvm__)\n#define TERM 1\n#else\n#define TERM 2\n#endif\n"
        "__global__ void k(float* x) {\n#ifdef __CUDACC__\n  x[0] = TERM;\n#endif\n}\n"
    )
    assert sliced(tmp_path, text) == "#define TERM 2\n__global__ void k(float* x) {\n\n  x[0] = TERM;\n\n}\n"


def test_64_bit_integers_are_those_of_the_headers_that_declare_them(tmp_path: Path) -> None:
    """`typedef long int64_t` clashes with theirs, which is long long."""
    body = "__global__ void k(int64_t *x, uint32_t n) { x[n] = n; }\n"
    plain = sliced(tmp_path, f"#include <cstdint>\n{body}")
    assert "typedef long int64_t;" in plain
    groups = "#include <cooperative_groups.h>\n#include <cstdint>\n" + body.replace(
        "x[n] = n;", "cooperative_groups::this_thread_block().sync(); x[n] = n;"
    )
    made = sliced(tmp_path, groups)
    assert "typedef long int64_t;" not in made
    assert "#include <cuda/std/cstdint>\n" in made
    assert "typedef unsigned int uint32_t;" in made


def test_an_annotated_lambda_in_device_code_loses_what_it_is_anyhow(tmp_path: Path) -> None:
    text = (
        "__global__ void k(float *x, float a) {\n"
        "  auto f = [=] __device__ (float v) { return v * a; };\n  x[0] = f(x[1]); }\n"
    )
    made = sliced(tmp_path, text)
    assert "auto f = [=] (float v) { return v * a; };" in made
