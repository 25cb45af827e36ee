"""Kernels that the parser loses to an error are told with the error, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.project import ReadOptions, read

A = "__global__ void a(float* x) { x[0] = 1; }\n"
B = "__global__ void b(float* x) { x[0] = 2; }\n"


def said(path: Path, **options: object) -> tuple[list[str], list[tuple[str, int, str]]]:
    """The kernels read of `path`, and the code, line and text of what was told; the text less its path."""
    sink = Sink()
    found = read([str(path)], ReadOptions(**options), sink)  # type: ignore[arg-type]
    told = [(d.code, d.span.line, d.message.replace(f"{d.span.path}", "it")) for d in sink.items]
    return [r.name for r in found], told


LOST = [
    (
        "class A { int x }\n\n" + B,
        [],
        1,
        "b (line 3) of it to an error: k.cu:1: expected ';' at end of declaration list",
    ),
    ("int broken( {\n" + B, [], 2, "b (line 2) of it to an error: k.cu:2: expected expression"),
    (A + "class A { int x }\n" + B, ["a"], 2, "b (line 3) of it to an error: k.cu:2: expected ';' at"),
    ("void host() {\n" + B + A, [], 2, "b (line 2), a (line 3) of it to an error: k.cu:2: function"),
    ("__global__ void a(float* x) {\n" + B, ["a"], 2, "b (line 2) of it to an error: k.cu:2: function"),
    ("#ifdef NEVER\n" + B, [], 1, "b (line 2) of it to an error: k.cu:1: unterminated conditional directive"),
    (
        "__global__ __launch_bounds__(f(2)) void b(float* x { x[0] = 2; }\n",
        [],
        1,
        "b (line 1) of it to an error: k.cu:1: expected ')'",
    ),
    # the error of an earlier kernel's neighbourhood is not what a later one was lost to
    (
        "int y = 1\n" + A + "class A { int x }\n" + B,
        ["a"],
        3,
        "b (line 4) of it to an error: k.cu:3: expected",
    ),
]


@pytest.mark.parametrize(("text", "read_", "line", "message"), LOST)
@pytest.mark.parametrize("folder", [False, True])
def test_a_lost_kernel_is_told(
    tmp_path: Path, text: str, read_: list[str], line: int, message: str, folder: bool
) -> None:
    (tmp_path / "k.cu").write_text(text)
    found, told = said(tmp_path if folder else tmp_path / "k.cu")
    assert found == read_
    assert [t[:2] for t in told] == [("CP1019", line)]
    assert told[0][2].startswith("the parser lost " + message)


@pytest.mark.parametrize(
    "text",
    [
        A + "int y = 1\n",  # the parser came to the kernel
        A + "#if 0\n" + B + "#endif\nint y = 1\n",
        A + "// " + B + 'const char* t = "__global__ void b() {";\nint y = 1\n',
        A + "/* {\n" + B + "*/ int y = 1\n",
        A + "__global__ void b(float* x);\nint y = 1\nint main() { return 0; }\n",
        A + "#define MAKE(n) \\\n  __global__ void n() { }\nint y = 1\n",
        "#define MAKE(body) body\nMAKE(__global__ void a(float* x) { x[0] = 1; })\nint y = 1\n",
        "template <int N = int{4}> __global__ void a(float* x) { x[0] = N; }\nint y = 1\n"
        "void run(float* x) { a<2><<<1, 1>>>(x); }\n",
        'namespace { extern "C" { static __global__ __launch_bounds__(32) void a() { } } }\nint y = 1\n',
        A.replace("{ x", "{ { unknown(); } x"),
    ],
)
def test_what_was_read_or_is_no_code_is_not_lost(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.cu").write_text(text)
    assert said(tmp_path) == (["a"], [])


def test_a_missing_header_is_named_beside_it(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text('#include "macros.h"\nBEGIN(a)\n' + B)
    sink = Sink()
    read([str(tmp_path)], ReadOptions(), sink)
    assert [(d.code, d.hint) for d in sink.items] == [("CP1019", "not found: macros.h")]


def test_what_another_file_reads_is_not_lost(tmp_path: Path) -> None:
    part = tmp_path / "part.cuh"
    part.write_text("BEGIN\n" + B)
    assert said(tmp_path)[1][0][:2] == ("CP1019", 1)
    (tmp_path / "main.cu").write_text('#define BEGIN namespace n { }\n#include "part.cuh"\n')
    assert said(tmp_path) == (["b"], [])
    assert said(part) == (["b"], [])  # its includer lies near


def test_names_that_are_asked_for_leave_others_untold(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(A + "class A { int x }\n" + B)
    assert said(tmp_path, kernels=("a",)) == (["a"], [])
    assert [t[0] for t in said(tmp_path, kernels=("b",))[1]] == ["CP1019", "CP1015"]


def test_many_are_counted(tmp_path: Path) -> None:
    many = "".join(B.replace(" b(", f" b{k}(") for k in range(7))
    (tmp_path / "k.cu").write_text("void host() {\n" + many)
    _, ((_, _, message),) = said(tmp_path)
    assert message.startswith(
        "the parser lost b0 (line 2), b1 (line 3), b2 (line 4), b3 (line 5), b4 (line 6) and 2 more of"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("int main() { return 0; }\n", ""),
        ("__global__ void b(float* x);\n", ""),
        ("#if 0\n" + B + "#endif\n", "__global__ occurs in its text: is it switched off by #if?"),
        (
            '#include "gone.h"\nint x y;\n',
            "the parser's first error: k.cu:2: expected ';' after top level declarator",
        ),
        ('#include "gone.h"\n', "the parser's first error: k.cu:1: 'gone.h' file not found"),
    ],
)
def test_a_file_without_kernels_is_told_the_parsers_reason(tmp_path: Path, text: str, hint: str) -> None:
    (tmp_path / "k.cu").write_text(text)
    sink = Sink()
    assert read([str(tmp_path / "k.cu")], ReadOptions(), sink) == []
    assert [(d.code, d.hint) for d in sink.items] == [("CP1005", hint)]
