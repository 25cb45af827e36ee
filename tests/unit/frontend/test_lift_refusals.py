"""What can't be lifted is refused by a code, at its line, by its name; and nothing crashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Refusals = Callable[[str], list[tuple[str, int, str]]]

CASES = [
    ('asm("{}" : "=r"(p[0]), "=r"(p[1]));', "CP1110", 'inline assembly: asm("{}" : "=r"(p[0]), "=r"(p[1]))'),
    ("p[0] = tex1Dfetch<int>(t, 0);", "CP1111", "textures and surfaces: tex1Dfetch"),
    ("other<<<1, 1>>>(p);", "CP1112", "dynamic parallelism: other is launched by device code"),
    ("goto end; end: p[0] = 1;", "CP1113", "goto statement"),
    ("Poly q; p[0] = q.f();", "CP1114", "virtual functions of Poly need run-time type information"),
    ("p[0] = f(3);", "CP1115", "function pointer: a pointer of type int (*)(int)"),
    ("int* q = new int; p[0] = *q;", "CP1117", "device-side memory allocation: new"),
    ("free(p);", "CP1117", "device-side memory allocation: free"),
    ("p[0] = cub::BlockReduce<int, 32>().Sum(1);", "CP1118", "device library: Sum"),
    ("cooperative_groups::this_grid().sync();", "CP1120", "cooperative groups: sync() of grid_group"),
    ("auto g = cooperative_groups::coalesced_threads(); p[0] = g.size();", "CP1120",
     "cooperative groups: cooperative_groups::coalesced_group"),
    ("int c = n; auto g = [=] { p[0] = c; }; c++; g();", "CP1122",
     "lambda: it captures by value what is changed: c"),
    ("Both b; b.f = 1; p[0] = b.i;", "CP1123", "union Both"),
    ("Bits b; b.low = n; p[0] = b.low;", "CP1124", "bit-field Bits::low"),
    ("int a[2]; for (int x : a) p[x] = 0;", "CP1126", "range-based for statement is not covered"),
    ("p[0] = ({ int z = n; z; });", "CP1127", "statement expression is not covered"),
    ("p[0] = once(n);", "CP1101", "the body of once is not visible"),
    ("p[0] = fact(n);", "CP1102", "fact is recursive"),
    ("static int calls; p[0] = calls++;", "CP1130",
     "initialisation of calls: a static variable of a function"),
    ("One one[65]; p[0] = one[n].a;", "CP1130",
     "initialisation of One[65]: more than 64 elements with a constructor"),
    ("switch (n) { case 1: if (p[0]) { case 2: p[1] = 0; } }", "CP1136",
     "switch: a case label inside another statement"),
    ("int a[0]; p[0] = sizeof(a);", "CP1127", "an array without elements is not covered"),
    ("p[0] = rand();", "CP1138", "rand belongs to the host's library"),
    ("p[0] = missing;", "CP1100",
     "the compiler reports an error in k: use of undeclared identifier 'missing'"),
    ("p[0] = broken(n);", "CP1100",
     "the compiler reports an error in broken: use of undeclared identifier 'absent'"),
    ("Odd o; p[0] = o.a;", "CP1100", "the compiler reports an error in Odd: unknown type name 'nothing'"),
]  # fmt: skip

PRELUDE = """struct Poly { int a; __device__ virtual int f() { return a; } };
union Both { float f; int i; };
struct Bits { unsigned low : 4; };
struct Odd { int a; nothing b; };
struct One { int a; __device__ One() : a(1) {} };
__device__ int once(int);
__device__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__device__ int broken(int n) { return n + absent; }
__global__ void other(int*);
"""


@pytest.mark.parametrize(("statement", "code", "message"), CASES, ids=[c[0] for c in CASES])
def test_refused(refusals: Refusals, statement: str, code: str, message: str) -> None:
    found = refusals(
        f"{PRELUDE}__global__ void k(int* p, int n, cudaTextureObject_t t, int (*f)(int)) {{\n{statement}\n}}"
        if "f(3)" in statement
        else f"{PRELUDE}__global__ void k(int* p, int n, cudaTextureObject_t t) {{\n{statement}\n}}"
    )
    assert (code, message) in [(c, m) for c, _, m in found]


@pytest.mark.parametrize("head", ["", "template <class T> "])
def test_a_kernel_of_clusters_is_refused(refusals: Refusals, head: str) -> None:
    """Without its clusters it would run and give other values: the port's launch would not have them."""
    found = refusals(
        f"constexpr int BLOCKS = 2;\n{head}__global__ void __cluster_dims__(BLOCKS, 1, 1) k(int* p) {{\n"
        '  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(p[0]));\n}\n'
        + ("void go(int* p) { k<float><<<4, 32>>>(p); }" if head else "")
    )
    assert found == [("CP1140", 2, "launched in clusters of blocks: __cluster_dims__(BLOCKS, 1, 1)")]


def test_every_refusal_of_a_kernel_is_reported(refusals: Refusals) -> None:
    found = refusals(
        "__global__ void k(int* p) {\n  p[0] = rand();\n  p[1] = 2;\n  goto done;\n"
        "  done:\n  p[2] = clock64();\n}"
    )
    assert [(c, line) for c, line, _ in found] == [("CP1138", 2), ("CP1113", 4), ("CP1113", 5)]


def test_errors_elsewhere_in_the_file_do_not_matter(dumped: Callable[[str], str]) -> None:
    text = dumped(
        '#include "no_such_file.h"\nvoid host() { absent(); }\n__device__ int other() { return nothing; }\n'
        "__global__ void k(int* p) { p[0] = 1; }"
    )
    assert text == "kernel k(p: i32*) -> void\n  p[0:i32] = 1:i32\n"


def test_deep_nesting_is_refused_or_lifted_without_a_crash(lift: Callable[..., object]) -> None:
    deep = "+".join(["p[0]"] * 3000)
    made, sink = lift(f"__global__ void k(int* p) {{ p[1] = {deep}; }}")  # type: ignore[misc]
    assert made is not None or [d.code for d in sink.items] == ["CP1103"]


def test_two_thousand_lines(lift: Callable[..., object]) -> None:
    lines = "\n".join(f"p[{i}] = p[{i + 1}] * {i}.5f + n;" for i in range(2000))
    made, _ = lift(f"__global__ void k(float* p, int n) {{\n{lines}\n}}")  # type: ignore[misc]
    assert len(made.kernel.body) == 2000


def test_an_error_of_another_instantiation_does_not_matter(dumped: Callable[[str], str]) -> None:
    text = dumped(
        """template <class T> struct Traits;
        template <> struct Traits<float> { static constexpr int n = 4; };
        template <class T> __device__ T need(T v) { static_assert(sizeof(T) == 4, "four"); return v; }
        template <class T> __global__ void k(T* p) { p[0] = need(p[1]) + Traits<T>::n; }
        void go(float* f, double* d) { k<<<1, 1>>>(f); k<<<1, 1>>>(d); }"""
    )
    assert text.splitlines()[-1] == "  p[0:i32] = (need(p[1:i32]) +.f32 f32(4:i32'n'))"


def test_the_bits_of_a_half_can_be_read_but_a_value_not_assigned(refusals: Refusals) -> None:
    found = refusals("__global__ void k(half* h, int* p) {\n  p[0] = h[0].__x;\n  h[1].__x = 3;\n}")
    assert found == [("CP1129", 3, "reference to a temporary value")]
