"""PTX of the originals where there is no CUDA toolkit: NVRTC and headers from wheels."""

from __future__ import annotations

import re
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
