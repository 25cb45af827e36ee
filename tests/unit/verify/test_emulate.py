"""`cuteport emulate`: what is found in a kernel of one's own, and what each bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from translator.cli.main import app
from verify.original import NoCompilerError, include_folders

PTX = """.version 8.8
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 x, .param .u32 n)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<6>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n]; setp.COMPARE.s32 %p1, %r4, %r5; @%p1 ret;
    ld.param.u64 %rd1, [x]; mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4]; add.f32 %f1, %f1, %f1; st.global.f32 [%rd4], %f1;
    ret;
}
"""
SPEC = """schema = 1
name = "scale"
[original]
kernel = "scale"
[port]
entry = "scale"
[launch]
grid = ["(n + 31) / 32"]
block = [32]
[[arg]]
kind = "buffer"
name = "x"
dtype = "float32"
role = "inout"
elems = "n"
[[arg]]
kind = "scalar"
name = "n"
dtype = "int32"
value = "n"
[[case]]
name = "odd"
role = "boundary"
sizes = { n = 33 }
[[case]]
name = "huge"
role = "large"
sizes = { n = 100000000 }
[tolerance]
rule = "original"
"""


def run(*args: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["emulate", *map(str, args)], standalone_mode=False)
    code = done.return_value if done.exception is None else 99
    return int(code or 0), done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "good.ptx").write_text(PTX.replace("COMPARE", "ge"))
    (tmp_path / "bad.ptx").write_text(PTX.replace("COMPARE", "gt"))
    return tmp_path


def test_a_clean_kernel_is_clean(folder: Path) -> None:
    code, text = run(folder / "good.ptx", "--spec", folder)
    assert code == 0, text
    assert "odd: grid 2x1x1, block 32x1x1: 3 orders of threads" in text
    assert "huge: grid 3125000x1x1, block 32x1x1: too large for the emulator" in text
    assert text.splitlines()[-1] == "clean"


def test_an_access_too_far_is_found(folder: Path) -> None:
    code, text = run(folder / "bad.ptx", "--spec", folder / "spec.toml", "--case", "odd", "--json")
    assert code == 1
    found = json.loads(text)
    assert {f["code"] for f in found["findings"]} == {"CP8001"}
    assert "4 bytes at byte 132 of x, which has 132" in found["findings"][0]["message"]
    assert found["findings"][0]["thread"] == 1
    assert found["findings"][0]["block"] == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PTX[:150], "CP7101"),
        (PTX.replace("8.8", "42.0"), "CP7102"),
        (PTX.replace("add.f32", "addle.f32").replace("COMPARE", "ge"), "CP7103"),
        (PTX.replace("entry scale", "entry other").replace("COMPARE", "ge"), "CP7104"),
        (PTX.replace(", .param .u32 n", "").replace("ld.param.u32 %r5, [n]", "mov.u32 %r5, 3"), "CP7025"),
        (PTX.replace(".param .u32 n", ".param .u64 n").replace("COMPARE", "ge"), "CP7025"),
    ],
    ids=["truncated", "version", "opcode", "name", "fewer arguments", "wider arguments"],
)
def test_ptx_that_cannot_be_used_has_its_code(folder: Path, text: str, code: str) -> None:
    (folder / "x.ptx").write_text(text)
    exit_code, said = run(folder / "x.ptx", "--spec", folder, "--json")
    assert (exit_code, json.loads(said).get("code")) == (1, code), said


@pytest.mark.parametrize(
    ("ptx", "spec", "words"),
    [
        (("u32 n)", "u32 n) .maxntid 16, 1, 1"), ("", ""), "limit of (16, 1, 1)"),
        (("u32 n)", "u32 n) .reqntid 64, 1, 1"), ("", ""), "requires blocks of (64, 1, 1)"),
        (("", ""), ("block = [32]", "block = [32]\nsmem = 300000"), "300000 bytes of shared memory"),
    ],
    ids=["threads at most", "threads exactly", "shared memory"],
)
def test_launches_that_no_gpu_takes(
    folder: Path, ptx: tuple[str, str], spec: tuple[str, str], words: str
) -> None:
    (folder / "spec.toml").write_text(SPEC.replace(*spec))
    (folder / "x.ptx").write_text(PTX.replace("COMPARE", "ge").replace(*ptx, 1))
    exit_code, said = run(folder / "x.ptx", "--spec", folder, "--case", "odd", "--json")
    found = json.loads(said)
    assert (exit_code, found.get("code")) == (1, "CP7108"), said
    assert words in found["message"]


def test_what_is_missing_is_a_mistake_of_use(folder: Path) -> None:
    assert run(folder / "none.ptx", "--spec", folder)[0] == 2
    assert run(folder / "good.ptx", "--spec", folder / "nowhere")[0] == 2
    assert run(folder / "good.ptx", "--spec", folder, "--case", "nope")[0] == 2


def _needs_a_compiler() -> None:
    if not include_folders():
        pytest.skip(str(NoCompilerError("no CUDA headers here")))


def test_a_machine_without_a_compiler_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    exit_code, said = run(folder / "good.ptx", "--spec", folder, "--json")
    assert (exit_code, json.loads(said)["code"]) == (3, "CP7106"), said


def test_cuda_source_has_its_lines(folder: Path) -> None:
    _needs_a_compiler()
    source = folder / "scale.cu"
    source.write_text(
        'extern "C" __global__ void scale(float *x, int n)\n{\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i > n) return;\n    x[i] *= 2;\n}\n"
    )
    code, text = run(source, "--spec", folder, "--case", "odd")
    assert code == 1
    assert "CP8001" in text
    assert "(scale.cu:5)" in text


HOST = """#include <vector>
#include "not_on_this_machine.h"
namespace app {
template <class T> __global__ void scale(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        x[i] = 2 * x[i];
}
}
int main() { std::vector<int> host(3); show(host); float* x; app::scale<float><<<2, 32>>>(x, 33); }
"""


def test_of_a_file_with_host_code_the_device_part_is_run(folder: Path) -> None:
    """Its includes are nowhere: no compiler takes the whole file."""
    _needs_a_compiler()
    (folder / "spec.toml").write_text(SPEC.replace('kernel = "scale"', 'kernel = "app::scale<float>"'))
    (folder / "host.cu").write_text(HOST)
    code, text = run(folder / "host.cu", "--spec", folder, "--case", "odd", "--json")
    found = json.loads(text)
    assert code == 1 and found.get("code") is None, text
    assert found["source"] == str(folder / "host.cu")
    assert {(f["code"], f["file"], f["line"]) for f in found["findings"]} == {("CP8001", "host.cu", 7)}
    (folder / "host.cu").write_text(HOST.replace("<=", "<"))
    assert run(folder / "host.cu", "--spec", folder, "--case", "odd")[0] == 0


def test_why_there_is_no_device_part_is_told(folder: Path) -> None:
    _needs_a_compiler()
    (folder / "host.cu").write_text(HOST.replace("scale", "other"))
    code, text = run(folder / "host.cu", "--spec", folder, "--json")
    found = json.loads(text)
    assert (code, found["code"]) == (1, "CP7001")
    assert found["message"].splitlines()[-1] == "its device part alone: there is no kernel scale in it"
