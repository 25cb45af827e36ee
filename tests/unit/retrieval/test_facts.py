"""Facts of kernels: by model and by text the same, and what each idiom takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.inputs import Inputs, ReadOptions, UnitInput
from translator.retrieval.facts import table
from translator.retrieval.read import Query, of_text, queries, query_of

SUMS = """\
// sums of rows
__device__ float total(float v) {
    __shared__ float part[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffff, v, m);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? part[lane] : 0.0f;
    for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffff, v, m);
    return v;
}
__device__ float unused(float v) { return atomicMax((int*)&v, 3); }

__global__ void sums(float* y, const float4* x, int n) {
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[blockIdx.x * n + i].x;
    s = total(s);
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""


def read(tmp_path: Path, text: str, **options: tuple[str, ...]) -> list[Query]:
    path = tmp_path / "k.cu"
    path.write_text(text)
    sink = Sink()
    found = queries(Inputs([UnitInput(str(path), named=True)]), ReadOptions(**options), sink)
    assert not sink.refused, sink.items
    return found


def test_model_and_text_see_the_same(tmp_path: Path) -> None:
    [lifted], text = read(tmp_path, SUMS), of_text("sums", SUMS)
    assert text is not None
    assert (lifted.facts.origin, text.facts.origin) == ("model", "text")
    assert lifted.facts.ids == text.facts.ids
    assert lifted.facts.idioms == ("shared memory", "warp sum", "block reduction", "sum")
    assert lifted.facts.access == ("loop over a row by a block", "row of a block", "vector accesses")
    assert lifted.facts.sync == ("block barrier", "warp operation")
    assert "sums of rows" in lifted.text and "unused" not in lifted.text


def test_what_is_refused_is_read_as_text_and_says_so(tmp_path: Path) -> None:
    text = SUMS.replace("float s = 0.0f;", "float s = 0.0f; float* p = new float[2]; p[0] = s;")
    [found] = read(tmp_path, text)
    assert (found.facts.origin, found.facts.refused_by) == ("text", ("CP1117",))
    assert found.facts.idioms == ("shared memory", "warp sum", "block reduction", "sum")


def test_a_template_without_an_instantiation_is_read_as_text(tmp_path: Path) -> None:
    text = "template <typename T> __global__ void k(T* y) { y[threadIdx.x] = T::none + rsqrtf(1.0f); }"
    [found] = read(tmp_path, text)
    assert (found.kernel, found.facts.origin) == ("k", "text")
    assert found.facts.idioms == ("reciprocal root",) and found.facts.sync == ("none",)


def test_several_instantiations_are_one_query_and_names_choose(tmp_path: Path) -> None:
    text = (
        "template <class T> __global__ void a(T* y) { y[threadIdx.x] = 1; }\n"
        "__global__ void b(int* y) { atomicAdd(&y[y[0]], 1); }\n"
        "void f(float* p, int* q) { a<float><<<1, 1>>>(p); a<int><<<1, 1>>>(q); b<<<1, 1>>>(q); }\n"
    )
    assert [q.kernel for q in read(tmp_path, text)] == ["a", "b"]
    assert [q.kernel for q in read(tmp_path, text, kernels=("b",))] == ["b"]


def test_one_kernel_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SUMS + "__global__ void other() {}\n")
    found, sink = query_of(str(tmp_path / "k.cu"), "sums"), Sink()
    assert found is not None and found.kernel == "sums" and "block reduction" in found.facts.idioms
    assert query_of(str(tmp_path / "k.cu"), "nobody", sink=sink) is None
    assert [d.code for d in sink.items] == ["CP1015"]


def test_wrong_names_and_files_are_the_frontends_errors(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("int x;\n")
    sink = Sink()
    unit = UnitInput(str(tmp_path / "k.cu"), named=True)
    assert queries(Inputs([unit]), ReadOptions(), sink) == []
    assert [d.code for d in sink.items] == ["CP1005"]


KERNEL = "__global__ void k(float* y, const float* x, int* n, unsigned char* q, int w) {{ {} }}"


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("__shared__ float t[32][33]; t[threadIdx.y][threadIdx.x] = x[0];",
         "transpose through shared memory"),
        ("int i = threadIdx.x; y[i] = 0.5f * x[i - 1] + 0.5f * x[i + 1];", "stencil"),
        ("float a = x[0], b = x[1], c = x[2], s = x[3]; y[0] = a * c - b * s; y[1] = a * s + b * c;",
         "rotation by angles"),
        ("int e = n[threadIdx.x]; atomicAdd(&y[e * w + 1], x[0]);", "sum scattered by atomics"),
        ("int s = n[0]; int b = s / w, o = s % w; y[s * w + o] = x[b];", "rows of a cache"),
        ("float v = x[0]; v += __shfl_up_sync(0xffffffffu, v, 1); y[0] = v;", "running sum"),
        ("atomicAdd(&n[q[threadIdx.x]], 1);", "histogram"),
        ("int s = n[0]; y[threadIdx.x] = x[s * w + threadIdx.x];", "rows read by an index"),
        ("float m = fmaxf(fabsf(x[0]), fabsf(x[1])); q[0] = rintf(x[0] * 127.0f / m);",
         "quantisation with its own scale"),
        ("float b = -1; int at; for (int i = 0; i < w; i++) if (x[i] > b) { b = x[i]; at = i; } n[0] = at;",
         "largest with its index"),
        ("float m = 0, s = 0; for (int i = 0; i < w; i++) { float t = fmaxf(m, x[i]);"
         " s = s * expf(m - t) + expf(x[i] - t); m = t; } y[0] = s;", "running maximum and sum"),
    ],
)  # fmt: skip
def test_idioms_are_seen_by_model_and_by_text(tmp_path: Path, body: str, seen: str) -> None:
    text = KERNEL.format(body)
    [lifted], plain = read(tmp_path, text), of_text("k", text)
    assert plain is not None and lifted.facts.origin == "model"
    assert seen in lifted.facts.ids and seen in plain.facts.ids
    assert seen not in read(tmp_path, KERNEL.format("y[0] = x[0] + x[1];"))[0].facts.ids


def test_types_and_targets_are_told() -> None:
    text = "__global__ void k(__nv_bfloat16* y, const __nv_fp8_e4m3* x) { y[0] = (float)x[0]; }"
    found = of_text("k", text)
    assert found is not None and (found.facts.dtypes, found.facts.arch) == (("bf16", "f8"), "sm_89")
    cluster = of_text("k", "__global__ void k(int* y) { auto c = cg::this_cluster(); c.sync(); }")
    assert cluster is not None and (cluster.facts.sync, cluster.facts.arch) == (("cluster",), "sm_90")
    assert of_text("other", text) is None


def test_the_table_is_in_order() -> None:
    before: set[str] = set()
    for row in table():
        assert row.id not in before
        assert row.needs | row.either | row.without <= before, f"{row.id} looks at rows below it"
        assert row.any or row.all or row.needs, row.id
        before.add(row.id)
