"""PTX of the originals where there is no CUDA toolkit: NVRTC and headers from wheels."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from verify import original
from verify.original import build, include_folders
from verify.spec_file import load_spec

TARGETS = sorted((Path(__file__).resolve().parents[2] / "targets").glob("*__*"))


@pytest.fixture(autouse=True)
def no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    exists = Path.exists

    def hidden(path: Path, **how: bool) -> bool:
        return not str(path).startswith("/usr/local/cuda") and exists(path, **how)

    monkeypatch.setattr(Path, "exists", hidden)
    monkeypatch.setattr(original, "find_nvcc", lambda: None)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)


def instructions(ptx: str) -> list[str]:
    """Lines that are neither places nor what debuggers read."""
    told = re.compile(r"\s*\.(loc|file)\b|\$L__tmp|\$L__func|\s*//|\s*$")
    return [line for line in ptx.split(".section")[0].splitlines() if not told.match(line)]


def test_the_headers_come_from_the_wheels() -> None:
    folders = include_folders()
    assert [f.rpartition("site-packages")[2] for f in folders] == [
        "/nvidia/cu13/include",
        "/nvidia/cu13/include/cccl",
    ]


@pytest.mark.parametrize("target", TARGETS, ids=[t.name for t in TARGETS])
def test_an_original_builds_without_a_toolkit_and_lines_change_no_instruction(target: Path) -> None:
    spec = load_spec(target)
    plain, told = build(target, spec, "sm_90a"), build(target, spec, "sm_90a", lines=True)
    assert (plain.builder[:5], plain.tried) == ("NVRTC", [])
    assert instructions(plain.ptx) == instructions(told.ptx)
    assert "\t.loc\t" not in plain.ptx
    # The slice says where in its author's file it is from.
    author = next((target / "original").glob(f"{target.name.removeprefix('cuteport__')}.cu"))
    assert re.findall(r'^\t\.file\t1 ".*?([^/"]+)"', told.ptx, re.MULTILINE) == [author.name]
    lines = {int(n) for n in re.findall(r"^\t\.loc\t1 (\d+) ", told.ptx, re.MULTILINE)}
    assert lines and max(lines) <= len(author.read_text().splitlines())


def test_an_original_that_includes_math_h_builds_without_a_toolkit(tmp_path: Path) -> None:
    folder = tmp_path / "saxpy"
    shutil.copytree(TARGETS[0].parent / "cuteport__saxpy", folder)
    (folder / "original/device.cu").write_text(
        "#include <math.h>\n"
        "__global__ void saxpy(int n, float a, const float *x, float *y) {\n"
        "    double all = 0;\n"
        "    for (int i = 0; i < n; i++) y[i] = fmaxf(expf(x[i]), -INFINITY) * float(M_PI);\n"
        "    if (isnan(y[0])) y[0] = NAN;\n"
        "    if (all == HUGE_VAL) y[0] = HUGE_VALF;\n"
        "}\n"
    )
    built = build(folder, load_spec(folder), "sm_90a")
    assert (built.builder[:5], built.tried) == ("NVRTC", [])
    assert "0f40490FDB" in built.ptx  # pi
