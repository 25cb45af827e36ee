"""What a spec says, as a prompt says it."""

from __future__ import annotations

from pathlib import Path

from translator.grounding.blocks import corpus_blocks
from translator.loop.material import Material, arguments, table_rows
from verify.spec import Spec
from verify.spec_file import parse_spec

SPEC = """\
schema = 1
name = "k"
[original]
kernel = "k<float>"
[port]
entry = "k"
constants = { kind = "sum" }
[launch]
grid = ["(n + 63) / 64"]
block = ["64"]
[[arg]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[[arg]]
name = "in"
port_name = "in_"
kind = "buffer"
dtype = "float32"
elems = "n * 4"
align = 16
role = "in"
[[arg]]
name = "codes"
kind = "buffer"
dtype = "int8"
elems = "n"
role = "out"
[[arg]]
name = "sums"
kind = "buffer"
dtype = "float16"
elems = "n"
role = "inout"
[[arg]]
name = "table"
symbol = "table"
kind = "buffer"
dtype = "float32"
elems = "3"
role = "in"
[[case]]
name = "small"
role = "boundary"
sizes = { n = 3 }
grid = ["2"]
[tolerance]
rule = "original"
rtol = 0.01
order_dependent = true
"""


def spec() -> Spec:
    return parse_spec(SPEC, "spec.toml")


def test_parameters_stand_as_verify_passes_them() -> None:
    told = [(a.name, a.dtype, a.role, a.elems, a.align) for a in arguments(spec())]
    assert told == [
        ("n", "i32", "value", "n", 0),
        ("in_", "f32", "in", "n * 4", 16),
        ("codes", "i8", "out", "n", 0),
        ("sums", "f16", "inout", "n", 0),
        ("table", "f32", "in", "3", 0),
        ("kind", "", "constant", "'sum'", 0),
    ]


def test_launch_cases_and_tolerance() -> None:
    cuda = "__global__ void k() { __syncthreads(); }"
    brief, held = Material(spec(), cuda, "sm_90a", None, corpus_blocks(), []).brief("port")
    assert brief.launch.grid == ("(n + 63) / 64", "1", "1")
    assert brief.cases == ("small: n = 3; grid 2 x 1 x 1 (boundary)",)
    assert "f16 outputs within" in brief.tolerance and "+ 0.01 of the element" in brief.tolerance
    assert "integers exactly" in brief.tolerance and "order of atomics" in brief.tolerance
    assert [r.cuda for r in brief.rows] == ["void __syncthreads()"]
    assert (brief.exemplars, held, brief.api) == ((), (), ())


def test_a_library_brings_its_block(tmp_path: Path) -> None:
    cuda = "__global__ void k() { typedef cub::BlockScan<int, 64> Scan; }"
    brief, _ = Material(spec(), cuda, "sm_90a", None, corpus_blocks(), []).brief("port")
    assert [b.name for b in brief.blocks] == ["block_scan"]
    assert "def block_scan" in brief.blocks[0].source


def test_a_row_that_calls_a_library_function_is_told_with_its_declaration() -> None:
    (row,) = table_rows("y[i] = __fmul_rn(x[i], x[i]);")
    assert row.cute == "Float32(nv_fmul_rn({x}, {y}))"
    assert 'with `nv_fmul_rn = cute.ffi(name="__nv_fmul_rn", params_types=[Float32, Float32]' in row.caveat
