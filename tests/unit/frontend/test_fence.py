"""Sources of strangers: nothing outside the given folders is read into an answer, nor told to be there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.frontend.project import KernelReading, ReadOptions, read

KERNEL = "__global__ void k(float *x) { x[threadIdx.x] = HIDDEN + 1.0f; }\n"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """`in/` may be read; beside it lies what may not, which would make KERNEL whole."""
    for name in ("in/sub", "out", "include"):
        (tmp_path / name).mkdir(parents=True)
    for place in ("out/secret.h", "include/above.h", "in/sub/fine.h"):
        (tmp_path / place).write_text("#define HIDDEN 77.25f\n")
    return tmp_path


def read_in(room: Path, head: str, *, fenced: bool = True) -> tuple[list[KernelReading], list[str]]:
    file = room / "in" / "k.cu"
    file.write_text(head.replace("ROOM", str(room)) + "\n" + KERNEL)
    sink = Sink()
    below = (str(room / "in"),) if fenced else ()
    return read([str(file)], ReadOptions(below=below), sink), [d.code for d in sink.items]


ESCAPES = {
    "absolute": '#include "ROOM/out/secret.h"',
    "above": '#include "../out/secret.h"',
    "below_and_above": '#include "sub/../../out/secret.h"',
    "angled": "#include <ROOM/out/secret.h>",
    "digraph": '%:include "../out/secret.h"',
    "spliced": '#inc\\\nlude "../out/se\\\ncret.h"',
    "named_by_a_macro": '#define H "../out/secret.h"\n#include H',
    "made_by_macros": "#define Q(x) #x\n#define S(x) Q(x)\n#include S(ROOM/out/secret.h)",
    "by_a_link": '#include "link.h"',
    "by_a_linked_folder": '#include "linked/secret.h"',
    "import": '#import "../out/secret.h"',
}


@pytest.mark.parametrize("name", ESCAPES)
def test_an_include_stays_inside(room: Path, name: str) -> None:
    (room / "in/link.h").symlink_to(room / "out/secret.h")
    (room / "in/linked").symlink_to(room / "out")
    (reading,), codes = read_in(room, ESCAPES[name], fenced=False)
    assert (reading.errors, codes) == (0, [])  # it is an escape: without the fence the kernel is whole
    assert read_in(room, ESCAPES[name]) == ([], ["CP5503"])


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    "head", ['#include "../out/secret.h"', '#if __has_include("ROOM/out/secret.h")\n#error there\n#endif']
)
def test_what_is_outside_is_not_told_to_be_there(room: Path, head: str, there: bool) -> None:
    if not there:
        (room / "out/secret.h").unlink()
    assert read_in(room, head) == ([], ["CP5503"])


def test_what_is_inside_is_read(room: Path) -> None:
    (reading,), codes = read_in(room, '#include "sub/../sub/fine.h"\n#include <cuda_runtime.h>')
    assert (reading.errors, codes) == (0, [])


def test_folders_above_are_searched_without_a_fence_only(room: Path) -> None:
    (reading,), _ = read_in(room, '#include "above.h"', fenced=False)
    assert reading.errors == 0
    (reading,), codes = read_in(room, '#include "above.h"')
    assert (reading.errors > 0, codes) == (True, [])  # not found, as if there were none


def test_paths_lead_inside(room: Path) -> None:
    (room / "out/o.cu").write_text("#define HIDDEN 1\n" + KERNEL)
    (room / "in/l.cu").symlink_to(room / "out/o.cu")
    options = ReadOptions(below=(str(room / "in"),))
    for path in ("out/o.cu", "in/l.cu", "in", "in/../out", "out/nothing.cu"):
        sink = Sink()
        assert (read([str(room / path)], options, sink), sink.items[0].code) == ([], "CP5502"), path
    assert len(read([str(room / "in/l.cu")], ReadOptions(), Sink())) == 1


def test_a_project_above_is_not_searched_for_includers(room: Path) -> None:
    (room / "Makefile").write_text("")
    (room / "out/main.cu").write_text('#define HIDDEN 3.0f\n#include "../in/k.cu"\n')
    (reading,), codes = read_in(room, "", fenced=False)
    assert (Path(reading.unit_path).name, reading.errors) == ("main.cu", 0)
    (reading,), codes = read_in(room, "")
    assert (Path(reading.unit_path).name, reading.errors > 0, codes) == ("k.cu", True, [])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is denied to root")
def test_a_folder_that_may_be_listed_and_no_more_is_passed_by(room: Path) -> None:
    locked = room / "in" / "locked"
    locked.mkdir()
    (locked / "a.cu").write_text(KERNEL)
    (room / "in" / "to").symlink_to(locked / "a.cu")
    locked.chmod(0o400)
    try:
        readings, codes = read_in(room, '#include "sub/fine.h"')
    finally:
        locked.chmod(0o700)
    assert ([r.errors for r in readings], codes) == ([0], [])
