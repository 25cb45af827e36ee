"""Instantiations of kernel templates: seen, asked for, explicit in the source, guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.project import KernelReading, ReadOptions, read
from translator.frontend.templates import Parameter, guesses

TEMPLATE = "template <typename T, int N, bool F> __global__ void k(T* x) { x[0] = F ? N : 0; }\n"


def kernels(tmp_path: Path, text: str, **options: object) -> tuple[list[KernelReading], Sink]:
    file = tmp_path / "a.cu"
    file.write_text(text, "utf-8")
    sink = Sink()
    return read([str(file)], ReadOptions(**options), sink), sink  # type: ignore[arg-type]


def names(found: list[KernelReading]) -> list[str]:
    return [r.cuda_name for r in found]


def test_launched_instantiations_each_once(tmp_path: Path) -> None:
    launch = (
        "k<float, 8, true><<<1, 1>>>(x); k<float, 4 * 2, true><<<2, 1>>>(x); k<half, 8, false><<<1, 1>>>(h);"
    )
    found, sink = kernels(tmp_path, TEMPLATE + f"void run(float* x, half* h) {{ {launch} }}")
    assert names(found) == ["k<__half, 8, false>", "k<float, 8, true>"]
    assert found[1].template_args == (("T", "float"), ("N", "8"), ("F", "true"))
    assert not sink.items


def test_the_body_is_the_instantiations_own(tmp_path: Path) -> None:
    found, _ = kernels(tmp_path, TEMPLATE + "void run(double* x) { k<double, 3, true><<<1, 1>>>(x); }")
    parameter = next(iter(found[0].cursor.get_arguments()))
    assert parameter.type.spelling == "double *"


def test_namespaces_enums_and_types_of_the_user(tmp_path: Path) -> None:
    text = (
        "namespace a { struct S { int v; }; enum class Mode { slow, fast };\n"
        "template <class T, Mode m> __global__ void k(T* x) { x->v = (int)m; }\n"
        "void run(S* s) { k<S, Mode::fast><<<1, 1>>>(s); } }\n"
    )
    found, _ = kernels(tmp_path, text)
    assert names(found) == ["a::k<a::S, a::Mode::fast>"]
    assert found[0].instantiation == "k<a::S, a::Mode::fast>"


def test_asked_for(tmp_path: Path) -> None:
    text = "namespace ns {\n" + TEMPLATE + "}\n"
    for asked in ("k<double,16,false>", "ns::k<double, 16, false>"):
        found, sink = kernels(tmp_path, text, instantiate=(asked,))
        assert names(found) == ["ns::k<double, 16, false>"]
        assert not sink.items


@pytest.mark.parametrize("asked", ["k<nothing, 1, true>", "k<float>", "other<float>", "k"])
def test_asked_for_what_cannot_be(tmp_path: Path, asked: str) -> None:
    found, sink = kernels(tmp_path, TEMPLATE, instantiate=(asked,))
    assert [d.code for d in sink.items] == ["CP1012"]
    assert found == [] or asked.startswith("other")


def test_nobody_launches_it(tmp_path: Path) -> None:
    found, sink = kernels(
        tmp_path, "template <typename T, int BLOCK> __global__ void k(T* x) { x[0] = BLOCK; }\n"
    )
    assert names(found) == ["k<float, 256>"]
    assert [d.code for d in found[0].diagnostics] == ["CP1010"]
    assert not sink.items


def test_a_guess_must_parse(tmp_path: Path) -> None:
    text = 'template <int N> __global__ void k(int* x) { static_assert(N == 16, ""); x[0] = N; }\n'
    assert names(kernels(tmp_path, text)[0]) == ["k<16>"]
    text = text.replace("16", "17")
    found, sink = kernels(tmp_path, text)
    assert found == []
    assert [d.code for d in sink.items] == ["CP1011"]


def test_defaults_are_used(tmp_path: Path) -> None:
    text = "template <class T, int N = 3> __global__ void k(T* x) { x[0] = N; }\n"
    assert names(kernels(tmp_path, text)[0]) == ["k<float, 3>"]


def test_explicit_instantiation_of_a_host_function(tmp_path: Path) -> None:
    text = (
        "template <class T> __global__ void k(T* x) { x[0] = 1; }\n"
        "namespace h { template <class T> void run(T* x) { k<T><<<1, 1>>>(x); }\n"
        "template void run<double>(double*); }\n"
    )
    found, _ = kernels(tmp_path, text)
    assert [(r.cuda_name, r.launched) for r in found] == [("k<double>", True)]


def test_explicit_instantiation_of_the_kernel(tmp_path: Path) -> None:
    text = "template <class T> __global__ void k(T* x) { x[0] = 1; }\n"
    text += "template __global__ void k<short>(short*);\n"
    assert names(kernels(tmp_path, text)[0]) == ["k<short>"]


def test_specialisation_is_a_kernel_of_its_own(tmp_path: Path) -> None:
    text = (
        "template <class T> __global__ void k(T* x) { x[0] = 1; }\n"
        "template <> __global__ void k<int>(int* x) { x[0] = 2; }\n"
        "void run(int* i, float* f) { k<<<1, 1>>>(i); k<<<1, 1>>>(f); }\n"
    )
    found, _ = kernels(tmp_path, text)
    assert [(r.cuda_name, r.span.line) for r in found] == [("k<float>", 1), ("k<int>", 2)]


def test_what_has_no_name_is_refused(tmp_path: Path) -> None:
    text = (
        "template <class F> __global__ void k(F f) { f(); }\nvoid run() { auto f = [] __device__ () {};"
        " k<<<1, 1>>>(f); }\n"
    )
    found, _ = kernels(tmp_path, text)
    assert [[d.code for d in r.diagnostics] for r in found] == [["CP1014"]]


def test_guesses_go_by_name() -> None:
    def value(name: str) -> Parameter:
        return Parameter(name, "int", False)

    params = [Parameter("T", "type", False), Parameter("IndexT", "type", False), value("BLOCK_SIZE")]
    params += [
        value("WARP_SIZE"),
        value("kNumWarps"),
        value("TILE"),
        value("VEC"),
        value("HEAD_DIM"),
        value("Q"),
    ]
    params.append(Parameter("F", "bool", False))
    assert guesses(params)[0] == ("float", "int", "256", "32", "8", "32", "4", "64", "8", "true")
    assert guesses([Parameter("Op", "other", False)]) == []
    assert guesses([Parameter("M", "enum", False, choices=("E::a", "E::b"))]) == [("E::a",)]
