"""Lines of a slice are counted as the author's files count them, by every compiler."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.project import ReadOptions, read
from translator.frontend.slice import device_slice
from translator.frontend.slice_lines import DROPPED, author_name, name_of, plain, source_names, with_lines

HEADER = "#pragma once\n\n// one\n__device__ inline float twice(float v) {\n  return 2 * v;  // twice 5\n}\n"
SOURCE = """#include "more/twice.h"
#define SQUARE(v) ((v) * (v))
struct Pair {
  float a, b;
  void show() {
    printf("%f", a);
  }
  __device__ float sum() const { return a + b; }  // 8
};
#ifdef SLOW
__device__ int many;
#endif
static __global__ void
    k(float* x, Pair p) {  // 14
#ifdef SLOW
  x[0] = 1;
  x[1] = 1;
  x[2] = 1;
#else
  x[0] = SQUARE(x[1]);  // 20
#endif
  x[1] = twice(x[2]);  // 22
#if 0
  x[2] = 0;
#endif
  x[2] = p.sum();  // 26
}
"""


def slice_of(folder: Path, name: str = "a.cu") -> str:
    (folder / "more").mkdir()
    (folder / "more/twice.h").write_text(HEADER, "utf-8")
    (folder / name).write_text(SOURCE, "utf-8")
    reading = read([str(folder / name)], ReadOptions(), Sink())[0]
    return device_slice(reading.unit, reading.cursor)


def counted(text: str) -> dict[str, tuple[str, int]]:
    """Each row of a slice with the place that the directives give it."""
    found: dict[str, tuple[str, int]] = {}
    name, line = "", 0
    for row in text.splitlines():
        if row.startswith("#line "):
            line, name = int(row.split()[1]), row.split('"')[1]
        else:
            found[row] = (name, line)
            line += 1
    return found


def test_every_row_is_where_the_author_has_it(tmp_path: Path) -> None:
    made = slice_of(tmp_path)
    places = counted(made)
    for row, (name, line) in places.items():
        if "//" in row:
            assert line == int(row.rpartition(" ")[2]), row
            assert name == ("more/twice.h" if "twice 5" in row else "a.cu")
    assert places["  x[1] = twice(x[2]);  // 22"] == ("a.cu", 22)
    assert made.count("#line") == 4  # header, struct, kernel, and one past the branch that was not taken
    assert source_names(made) == ["more/twice.h", "a.cu"]


def test_compilers_count_so(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc")
    (tmp_path / "device.cu").write_text(slice_of(tmp_path) + "auto keep = &k;\n", "utf-8")
    command = [nvcc, "-arch=sm_90", "-ptx", "-lineinfo", "-o", "out.ptx", "device.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ptx = (tmp_path / "out.ptx").read_text()
    files = {Path(name).name: number for number, name in re.findall(r'\.file\s+(\d+) "(.*?)"', ptx)}
    assert files.keys() == {"a.cu", "twice.h"}
    lines = {int(line) for file, line in re.findall(r"\.loc\s+(\d+) (\d+)", ptx) if file == files["a.cu"]}
    assert {20, 22, 26} <= lines <= {8, 14, 20, 22, 26, 27}


def test_short_gaps_stay_empty_and_long_ones_are_counted() -> None:
    text = f"a{{\n{DROPPED}{DROPPED}b;\n{DROPPED * 4}c;\nd{DROPPED};\ne }}"
    assert plain(text) == "a{\nb;\nc;\nd;\ne }"
    assert with_lines(text, 7, "f.cu") == ('#line 7 "f.cu"\na{\n\n\nb;\n#line 15 "f.cu"\nc;\nd;\n\ne }')


def test_names_of_files(tmp_path: Path) -> None:
    own = str(tmp_path / "src/k.cu")
    assert name_of(own, own) == "k.cu"
    assert name_of(str(tmp_path / "src/in/u.h"), own) == "in/u.h"
    assert name_of(str(tmp_path / "u.h"), own) == "../u.h"
    assert name_of("u.h", "k.cu") == "u.h"
    assert author_name("x/Device.CU") == "author_device.cu"  # beside the slice, which is device.cu
    odd = 'a"b\\c.cu'
    assert source_names(with_lines("{", 1, odd)) == [odd]
