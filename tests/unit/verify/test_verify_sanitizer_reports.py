"""What compute-sanitizer wrote on an H200 (2025.3.1) of the emulator's defect suite, read as findings.

The files beside this one come from `python3 -m tests.gpu.sanitizer_outputs`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.emulator.defects.suite import marked_lines, pairs
from verify.codes import CODES
from verify.sanitizer_reports import Reports, read_reports

HERE = Path(__file__).parent / "sanitizer"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
PAIRS = {p.name: p for p in pairs()}
# The rest of the suite is beyond the tools: global races, shared and local memory that nothing wrote, atomics
# against plain accesses, what hangs.
FOUND = {
    "memcheck": {
        "read_past": ["CP8001"],
        "write_past": ["CP8001"],
        "no_guard": ["CP8001"],
        "before": ["CP8001"],
        "pitch": ["CP8001"],
        "vector_tail": ["CP8001"],
        "bin_past": ["CP8001"],
        "halo": ["CP8002"],
        "dynamic_shared": ["CP8002", "CP8002"],
        "local_past": ["CP8003"],
        "local_write": ["CP8003"],
        "odd_short": ["CP8004"],
        "shared_pair": ["CP8004"],
        "store_wide": ["CP8004"],
        "assert": ["CP8031"],
        "trap": ["CP8032"],
    },
    "racecheck": {
        "reverse": ["CP8011"],
        "rounds": ["CP8011"],
        "broadcast": ["CP8011"],
        "double_buffer": ["CP8011", "CP8011"],
        "warp_sum": ["CP8011", "CP8011"],
        "reduction_tail": ["CP8011"],
        "plain_count": ["CP8011", "CP8013"],
        "bytes": ["CP8011"],
        "hand_over": ["CP8011"],
        "shared_same_value": ["CP8013"],
    },
    "initcheck": {"accumulate": ["CP8006"], "half_scratch": ["CP8006"]},
    "synccheck": {"in_branch": ["CP8021", "CP8062"], "named_count": ["CP8062"]},
}
# synccheck says of these right kernels what it says of named_count.
NAMED_BARRIERS = {"named_count", "crossed"}


RECORDED = 62  # pairs of the suite that were there when the outputs were recorded


@cache
def said(tool: str) -> dict[str, str]:
    """The tool's text by kernel."""
    text = (HERE / f"{tool}.txt").read_text(encoding="utf-8")
    parts = re.split(r"(?m)^#### (\w+): .*$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def read(tool: str, kernel: str) -> Reports:
    return read_reports(said(tool)[kernel])


@pytest.mark.parametrize("tool", TOOLS)
def test_every_defect_that_the_tool_tells_has_its_code(tool: str) -> None:
    told = {name[:-4]: read(tool, name) for name in said(tool) if name.endswith("_bad")}
    assert {n: [t.code for t in r.told] for n, r in told.items() if r.told} == FOUND[tool]
    assert all(not r.trouble for r in told.values())
    assert all(t.code in CODES for r in told.values() for t in r.told)


@pytest.mark.parametrize("tool", TOOLS)
def test_of_right_kernels_nothing_is_told(tool: str) -> None:
    told = {name[:-5]: read(tool, name) for name in said(tool) if name.endswith("_good")}
    assert len(told) == RECORDED and told.keys() <= PAIRS.keys()
    assert {n for n, r in told.items() if r.told} == (NAMED_BARRIERS if tool == "synccheck" else set())
    assert {t.code for r in told.values() for t in r.told} <= {"CP8062"}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_line_is_the_defects(tool: str) -> None:
    checked = 0
    for name in FOUND[tool]:
        marked = marked_lines(PAIRS[name].file, f"{name}_bad")
        for told in read(tool, f"{name}_bad").told if marked else ():
            if name in ("assert", "trap"):
                continue  # told inside __assertfail, and behind the trap
            assert told.at.line in marked, (name, told)
            assert told.at.file == PAIRS[name].file
            checked += 1
    assert checked >= 2


def test_a_report_says_thread_block_and_distance() -> None:
    (told,) = read("memcheck", "read_past_bad").told
    assert (told.thread, told.block, told.count) == ((35, 0, 0), (1, 0, 0), 1)
    assert told.message == (
        "read of 4 bytes of global memory out of bounds, 1 bytes after an allocation of 400 bytes"
    )
    assert told.at == ("bounds.cu", 6, "read_past_bad+0xd0")


def test_a_race_names_both_places() -> None:
    told = read("racecheck", "rounds_bad").told[0]
    assert re.fullmatch(
        r"race in shared memory, a write after another thread's read: "
        r"read by thread \(\d+,0,0\), write by thread \(\d+,0,0\) at shared_races.cu:29",
        told.message,
    )
    assert told.at.line == 31


def test_names_with_parameters_and_ports_are_read() -> None:
    text = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at saxpy(int, float, const float *, float *)+0xd0 in device.cu:4
=========     by thread (17,0,0) in block (3,2,1)
=========     Access to 0x7f5390a00004 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5390a00000 of size 4,036 bytes
=========
========= Invalid __global__ read of size 4 bytes
=========     at kernel_cutlass_saxpy_kernel___0+0xd0 in port.py:21
=========     by thread (1,0,0) in block (0,0,0)
=========     Access to 0x7f5390a00004 is out of bounds
========= ERROR SUMMARY: 2 errors
"""
    old, new = read_reports(text).told
    assert old.at == ("device.cu", 4, "saxpy(int, float, const float *, float *)+0xd0")
    assert (old.thread, old.block) == ((17, 0, 0), (3, 2, 1))
    assert old.message.endswith("1 bytes after an allocation of 4,036 bytes")
    assert new.at == ("port.py", 21, "kernel_cutlass_saxpy_kernel___0+0xd0")
    assert new.message == "read of 4 bytes of global memory out of bounds"


def test_reports_of_one_place_are_one_and_the_first_thread_is_named() -> None:
    one = """========= Uninitialized __global__ memory read of size 4 bytes
=========     at k+0xf0 in port.py:4
=========     by thread ({t},0,0) in block ({b},0,0)
=========     Address 0x7f86c8a00200
=========
"""
    text = "".join(one.format(t=t, b=b) for t, b in ((96, 1), (3, 1), (97, 0), (5, 0)))
    (told,) = read_reports(text).told
    assert (told.code, told.count, told.thread, told.block) == ("CP8006", 4, (5, 0, 0), (0, 0, 0))


def test_equal_bytes_of_different_stores_are_no_benign_race() -> None:
    one = """========= Error: Potential WAW hazard detected at __shared__ 0x40{k} in block (0,0,0) :
=========     Write Thread (0,0,0) at k+0x70 in port.py:5
=========     Write Thread (32,0,0) at k+0x70 in port.py:5
=========     Current Value : 7, Incoming Value : {value}
=========
"""
    same, other = one.format(k=0, value=7), one.format(k=1, value=8)
    assert [t.code for t in read_reports(same).told] == ["CP8013"]
    assert [t.code for t in read_reports(same + other).told] == ["CP8011"]


def test_an_unknown_fault_of_a_kernel_has_a_code_and_its_words() -> None:
    text = """========= Warp illegal instruction
=========     at k+0x10 in port.py:9
=========     by thread (0,0,0) in block (0,0,0)
"""
    (told,) = read_reports(text).told
    assert (told.code, told.message, told.at.line) == ("CP8061", "Warp illegal instruction", 9)


def test_what_the_tool_says_of_itself_is_trouble_and_no_fault() -> None:
    text = (
        "========= COMPUTE-SANITIZER\n"
        "========= Error: No attachable process found. compute-sanitizer timed-out.\n"
        "========= Default timeout can be adjusted with --launch-timeout. Awaiting target completion.\n"
    )
    found = read_reports(text)
    assert found.told == []
    assert len(found.trouble) == 2
    assert found.trouble[0].startswith("Error: No attachable process found")
    full = "========= Warning: Error buffer overflow has been detected. Some records have been dropped\n"
    assert read_reports(full + "========= 1506 errors were skipped (error buffer overflow).\n") == Reports()
