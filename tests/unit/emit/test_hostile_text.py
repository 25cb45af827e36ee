"""Names, comments and paths are the author's; none of them may become code, or another name, in the port."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.emit.module import Draft
from translator.emit.names import python_name, symbol_name
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower


def draft(tmp_path: Path, cuda: str, name: str = "k.cu") -> Draft:
    source = tmp_path / name
    source.write_bytes(cuda.encode())
    sink = Sink()
    (reading,) = project.read([str(source)], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None, sink.items
    made = emit(lower(model, sink), sink)
    assert not sink.refused, sink.items
    return made


def kernel(cuda: Draft) -> ast.FunctionDef:
    (found,) = (
        f
        for f in ast.parse(cuda.source).body
        if isinstance(f, ast.FunctionDef) and f.name == f"{cuda.entry}_kernel"
    )
    return found


PLAIN = "__global__ void k(float* x) { x[0] = 1; }\n"


@pytest.mark.parametrize(
    "comment",
    [
        "/* a\revil() \r b */",
        "// a \\\r\n evil()\n",
        "// a \\ \n evil()\n",
        "// a\x0bevil()\x0cevil()\u2028evil()\u0085evil()\n",
        '// """ evil() {x} \n',
        '/* """ \\ \n evil() """ */',
    ],
)
def test_no_comment_becomes_code(tmp_path: Path, comment: str) -> None:
    made = draft(tmp_path, PLAIN.replace("x[0]", comment + " x[0]"))
    assert "evil" in made.source
    assert "evil" not in {n.id for n in ast.walk(ast.parse(made.source)) if isinstance(n, ast.Name)}
    assert len(kernel(made).body) == 1
    assert "\r" not in made.source


def test_a_carriage_return_ends_a_line_comment_as_it_does_for_the_compiler(tmp_path: Path) -> None:
    made = draft(tmp_path, PLAIN.replace("x[0]", "// said\rx[1] = 2; x[0]"))
    assert len(kernel(made).body) == 2
    assert "# said\n" in made.source


def test_no_direction_mark_reaches_the_port(tmp_path: Path) -> None:
    made = draft(tmp_path, PLAIN.replace("x[0]", "// \u202e then \u2066 if\n x[0]"))
    assert made.source.isprintable() or not {"\u202e", "\u2066"} & set(made.source)


@pytest.mark.parametrize("name", ["a\nevil().cu", "a\revil().cu", 'a"""\\.cu', "a\u2028b.cu"])
def test_no_file_name_becomes_code(tmp_path: Path, name: str) -> None:
    made = draft(tmp_path, PLAIN, name)
    ast.parse(made.source.encode())
    assert "evil" not in {n.id for n in ast.walk(ast.parse(made.source)) if isinstance(n, ast.Name)}


def test_names_that_python_takes_for_one_stay_two(tmp_path: Path) -> None:
    made = draft(
        tmp_path, "__global__ void k(int* x, int \u017f, int s, int \u2170f) { x[0] = \u017f - s + \u2170f; }"
    )
    assert [a.arg for a in kernel(made).args.args] == ["x", "s", "s_1", "if_"]
    assert dict(made.renames) == {"\u017f": "s", "s": "s_1", "\u2170f": "if_"}


def test_a_kernel_is_called_in_ascii(tmp_path: Path) -> None:
    made = draft(
        tmp_path,
        PLAIN.replace("k(", "gr\u00f6\u0436(").replace("float* x", "float* \u00fc").replace("x[", "\u00fc["),
    )
    assert made.entry == "grou0436"
    assert [a.arg for a in kernel(made).args.args] == ["\u00fc"]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("\ufb01", "fi"),
        ("x\u00b2", "x2"),
        ("\u037a", "_\u0345"),
        ("\u2170f", "if_"),
        ("1a", "_1a"),
        ("", "__"),
    ],
)
def test_python_name(name: str, made: str) -> None:
    assert python_name(name) == made
    assert made.isidentifier()


def test_symbol_name() -> None:
    assert [symbol_name(n) for n in ("plain_1", "\u00e9t\u00e9", "\ufb01", "\u0434")] == [
        "plain_1",
        "ete",
        "fi",
        "u0434",
    ]


def test_the_author_s_functions_are_not_the_helpers_of_their_name(tmp_path: Path) -> None:
    made = draft(
        tmp_path,
        "__device__ int idiv(int a) { return a + 1; }\n__device__ int nvvm(int a) { return a; }\n"
        "__device__ int vector(int a) { return a; }\n"
        "__global__ void k(int* x, int n, int runtime) "
        "{ int irem = idiv(n); x[0] = n / x[1] + x[2] % irem + runtime + nvvm(1) + vector(2); }",
    )
    defined = [f.name for f in ast.parse(made.source).body if isinstance(f, ast.FunctionDef)]
    assert len(set(defined)) == len(defined)
    calls = [n for n in ast.walk(kernel(made)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert {
        n.func.id: len(n.args) for n in calls if isinstance(n.func, ast.Name) and "idiv" in n.func.id
    } == {"idiv": 2, "idiv_1": 1}
    assigned = {
        n.id for n in ast.walk(kernel(made)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    assert not assigned & set(defined)
    assert [a.arg for a in kernel(made).args.args] == ["x", "n", "runtime_1"]


def test_the_launch_s_arithmetic_follows_renamed_parameters(tmp_path: Path) -> None:
    made = draft(
        tmp_path,
        "__global__ void k(int* x, int range, int block, int min) { x[0] = range + block + min; }\n"
        "void h(int* x, int range, int block, int m)"
        "{ k<<<(range * block + 255) / 256, 256, block * 4>>>(x, range, block, m); }",
    )
    assert made.grid == "((range_ * block_ + 255) // 256, 1, 1)"
    assert made.smem == "block_ * 4"


def test_a_helper_s_parameters_rename_none_of_the_kernel_s(tmp_path: Path) -> None:
    made = draft(
        tmp_path,
        "__device__ int f(int \u017f, int s) { return \u017f - s; }\n"
        "__global__ void k(int* x, int s) { x[0] = f(1, s); }",
    )
    assert made.renames == ()


def test_a_parameter_is_not_the_compiled_launcher(tmp_path: Path) -> None:
    made = draft(
        tmp_path, "__constant__ int c[2];\n__global__ void k(int* x, int compiled) { x[0] = c[compiled]; }"
    )
    assert "compiled_1(\n" in made.source
    assert "set_constant(compiled_1," in made.source
