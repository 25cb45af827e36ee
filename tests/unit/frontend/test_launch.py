"""Launch expressions, resolved through host variables, as values, text and Python over parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.lift_launch import launches_of
from translator.frontend.project import ReadOptions, read
from translator.model.kernel import Launch

KERNEL = "__global__ void k(float* x, int n) { x[threadIdx.x] = n; }\n"


def launches(tmp_path: Path, text: str, kernel: str = "k") -> tuple[Launch, ...]:
    file = tmp_path / "a.cu"
    file.write_text(text, "utf-8")
    readings = read([str(file)], ReadOptions(kernels=(kernel,)), Sink())
    return launches_of(readings[0].unit, readings[0].cursor)


def one(tmp_path: Path, host: str, kernel: str = KERNEL) -> Launch:
    found = launches(tmp_path, kernel + host)
    assert len(found) == 1
    return found[0]


def python(launch: Launch) -> tuple[str, ...]:
    return tuple(e.python for e in (*launch.grid, *launch.block))


@pytest.mark.parametrize(
    ("before", "grid", "expected"),
    [
        ("", "(n + 255) / 256", "(n + 255) // 256"),
        ("int g = (n + 255) / 256;", "g", "(n + 255) // 256"),
        ("const int b = 256; int g = (n + b - 1) / b;", "g", "(n + 255) // 256"),
        ("", "ceil_div(n, 256)", "(n + 255) // 256"),
        ("", "BLOCKS(n)", "(n + 255) // 256"),
        ("", "(int)ceil((float)n / 256)", "(n + 255) // 256"),
        ("", "ceil(n / 256.0)", "(n + 255) // 256"),
        ("", "std::min(n, 1024)", "min(n, 1024)"),
        ("", "n < 64 ? n : 64", "n if n < 64 else 64"),
        ("dim3 g(n / 2);", "g", "n // 2"),
        ("dim3 g; g.x = n;", "g", "n"),
        ("dim3 g = dim3(n * 2); g.y = 1;", "g", "n * 2"),
        ("auto cdiv = [](int a, int b) { return (a + b - 1) / b; };", "cdiv(n, 32)", "(n + 31) // 32"),
        ("int g = 1; g = n;", "g", "n"),
        ("int g = n; if (n > 5) g = 7;", "g", ""),
        ("int g = n; g += 1;", "g", ""),
        ("int g; scan(&g);", "g", ""),
        ("extern int other;", "other", ""),
        ("", "n * (sizeof(float) / 4)", "n * 1"),
    ],
)
def test_grid_as_python(tmp_path: Path, before: str, grid: str, expected: str) -> None:
    host = (
        "#define BLOCKS(v) (((v) + 255) / 256)\n"
        "int ceil_div(int a, int b) { return (a + b - 1) / b; }\nvoid scan(int*);\n"
        f"void run(float* x, int n) {{ {before} k<<<{grid}, 64>>>(x, n); }}"
    )
    assert one(tmp_path, host).grid[0].python == expected


def test_grid_speaks_of_the_parameter_not_of_the_host_variable(tmp_path: Path) -> None:
    made = one(tmp_path, "void run(float* d, int N) { dim3 g((N + 255) / 256); k<<<g, 256>>>(d, N); }")
    assert python(made) == ("(n + 255) // 256", "1", "1", "256", "1", "1")
    assert made.grid[0].text == "(N + 255) / 256"
    assert made.grid[0].value is None
    assert made.block[0].value == 256
    assert made.args == ("d", "N")


def test_an_argument_expression_is_recognised(tmp_path: Path) -> None:
    made = one(tmp_path, "void run(float* d, int w, int h) { k<<<(w * h + 31) / 32, 32>>>(d, w * h); }")
    assert made.grid[0].python == "(n + 31) // 32"


def test_constants_give_values_and_still_follow_the_parameter(tmp_path: Path) -> None:
    made = one(tmp_path, "int main() { int n = 1000; float* x; k<<<(n + 255) / 256, 256>>>(x, n); }")
    assert (made.grid[0].value, made.grid[0].python) == (4, "(n + 255) // 256")
    assert made.arg_values == (None, 1000)


def test_size_that_no_argument_gives_has_no_python(tmp_path: Path) -> None:
    made = one(tmp_path, "void run(float* x, int n, int m) { k<<<m, 32, m * 4>>>(x, n); }")
    assert (made.grid[0].python, made.grid[0].value, made.grid[0].text) == ("", None, "m")
    assert made.shared_bytes.text == "m * 4"
    assert made.shared_bytes.python == ""


def test_the_assignment_before_the_launch_counts(tmp_path: Path) -> None:
    text = KERNEL + (
        "void run(float* x, int n) { dim3 g; g = dim3(n, 2); k<<<g, 32>>>(x, n);"
        " g = dim3(3, n); k<<<g, 32>>>(x, n); }"
    )
    first, second = launches(tmp_path, text)
    assert [e.python for e in first.grid] == ["n", "2", "1"]
    assert [e.python for e in second.grid] == ["3", "n", "1"]


def test_a_variable_that_a_loop_changes_is_not_resolved(tmp_path: Path) -> None:
    made = one(
        tmp_path,
        "void run(float* x, int n) { int s = n; while (s > 1) { k<<<s, 32>>>(x, n); s = s / 2; } }",
    )
    assert made.grid[0].python == ""
    made = one(tmp_path, "void run(float* x, int n) { for (int s = n; s > 0; s /= 2) k<<<s, 32>>>(x, n); }")
    assert made.grid[0].python == ""


def test_a_loop_variable_that_is_an_argument_is_the_parameter(tmp_path: Path) -> None:
    made = one(tmp_path, "void run(float* x) { for (int s = 64; s > 0; s /= 2) k<<<s, 32>>>(x, s); }")
    assert made.grid[0].python == "n"


def test_a_case_does_not_see_the_write_of_another(tmp_path: Path) -> None:
    host = (
        "void run(float* x, int n, int m) { int g = 1; switch (m) { case 0: g = n; break;"
        " case 1: k<<<g, 32>>>(x, n); } }"
    )
    assert one(tmp_path, host).grid[0].python == ""


def test_launch_through_macro_pointer_and_runtime_call(tmp_path: Path) -> None:
    text = KERNEL + (
        "#define GO(f, g, ...) f<<<g, 32>>>(__VA_ARGS__)\n"
        "void run(float* x, int n) { GO(k, n, x, n); void (*f)(float*, int) = k; f<<<n + 1, 32>>>(x, n);"
        " void* args[] = {&x, &n}; cudaLaunchKernel((void*)k, dim3(n + 2), dim3(64), args, 16, 0); }"
    )
    found = launches(tmp_path, text)
    assert [f.grid[0].python for f in found] == ["n", "n + 1", "n + 2"]
    assert found[2].block[0].value == 64
    assert found[2].shared_bytes.value == 16
    assert found[2].args == ("x", "n")


def test_a_wrapper_called_once_hands_its_arguments_on(tmp_path: Path) -> None:
    host = (
        "void run(float* p, int n, int block) { k<<<(n + block - 1) / block, block>>>(p, n); }\n"
        "int main() { float* d; cudaMalloc((void**)&d, 400); run(d, 100, 128); }"
    )
    made = one(tmp_path, host)
    assert made.grid[0].python == "(n + 127) // 128"
    assert (made.grid[0].value, made.block[0].value) == (1, 128)
    assert made.allocations[0] is not None
    assert made.allocations[0].elements.value == 100


@pytest.mark.parametrize(
    ("allocate", "expected"),
    [
        ("cudaMalloc((void**)&d, n * sizeof(float));", "n"),
        ("cudaMalloc(&d, sizeof(float) * n * 2);", "n * 2"),
        ("size_t bytes = n * sizeof(float); cudaMalloc((void**)&d, bytes);", "n"),
        ("cudaMallocManaged((void**)&d, (n + 1) * sizeof(float));", "n + 1"),
        ("CHECK(cudaMalloc((void**)&d, n * 4));", "n"),
        ("d = new float[n + 2];", "n + 2"),
        ("cudaMalloc((void**)&d, n * sizeof(char));", "n // 4"),
        ("cudaMalloc((void**)&d, 64);", "16"),
    ],
)
def test_elements_of_a_buffer(tmp_path: Path, allocate: str, expected: str) -> None:
    host = (
        "#define CHECK(c) do { if ((c) != cudaSuccess) exit(1); } while (0)\n"
        f"void run(int n) {{ float* d; {allocate} k<<<1, 32>>>(d, n); }}"
    )
    made = one(tmp_path, host)
    assert made.allocations[0] is not None
    assert made.allocations[0].elements.python == expected
    assert made.allocations[1] is None


def test_vector_parameter_counts_its_own_elements(tmp_path: Path) -> None:
    kernel = "__global__ void k(float4* x, int n) { x[0].x = n; }\n"
    host = "void run(int n) { float* d; cudaMalloc(&d, n * sizeof(float)); k<<<1, 32>>>((float4*)d, n); }"
    made = one(tmp_path, host, kernel)
    assert made.allocations[0] is not None
    assert made.allocations[0].elements.python == "(n * 4) // 16"


def test_template_host_code_launches_its_instantiation(tmp_path: Path) -> None:
    text = (
        "template <class T, int B> __global__ void k(T* x, int n) { x[0] = n * B; }\n"
        "template <class T> void run(T* x, int n) { k<T, 128><<<(n + 127) / 128, 128>>>(x, n); }\n"
        "void both(float* f, double* d) { run(f, 10); run(d, 20); }"
    )
    file = tmp_path / "a.cu"
    file.write_text(text, "utf-8")
    readings = read([str(file)], ReadOptions(), Sink())
    assert [r.instantiation for r in readings] == ["k<double, 128>", "k<float, 128>"]
    values = [launches_of(r.unit, r.cursor)[0].arg_values[1] for r in readings]
    assert values == [20, 10]


def test_struct_argument_gives_its_fields(tmp_path: Path) -> None:
    kernel = "struct P { int w; int h; };\n__global__ void k(float* x, P p) { x[0] = p.w; }\n"
    made = one(tmp_path, "void run(float* x, P q) { k<<<q.w, q.h>>>(x, q); }", kernel)
    assert (made.grid[0].python, made.block[0].python) == ("p_w", "p_h")


def test_equal_launches_are_one(tmp_path: Path) -> None:
    text = KERNEL + "void run(float* x, int n) { k<<<n, 32>>>(x, n); k<<<n, 32>>>(x, n); }"
    assert len(launches(tmp_path, text)) == 1


def test_two_calls_are_two_values(tmp_path: Path) -> None:
    calls = "int next(int); void run(float* x) { int a = next(1), b = next(1); k<<<b, 32>>>(x, a); }"
    assert one(tmp_path, calls).grid[0].python == ""
    assert one(tmp_path, calls.replace("k<<<b", "k<<<a")).grid[0].python == "n"
    direct = "int next(int); void run(float* x) { k<<<next(1), 32>>>(x, next(1)); }"
    assert one(tmp_path, direct).grid[0].python == ""
    alias = "int next(int); void run(float* x) { int a = next(1); int b = a; k<<<b, 32>>>(x, a); }"
    assert one(tmp_path, alias).grid[0].python == "n"


def test_the_length_of_a_vector_is_recognised(tmp_path: Path) -> None:
    host = "#include <vector>\nvoid run(float* x, std::vector<int>& v) {"
    host += " k<<<(v.size() + 31) / 32, 32>>>(x, v.size()); }"
    assert one(tmp_path, host).grid[0].python == "(n + 31) // 32"


def test_a_recursive_host_function_ends(tmp_path: Path) -> None:
    host = (
        "int fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }\n"
        "void run(float* x, int n) { k<<<fib(n), 32>>>(x, n); }"
    )
    assert one(tmp_path, host).grid[0].value is None
