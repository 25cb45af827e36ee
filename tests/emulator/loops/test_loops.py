"""The generated loops: their own values, a sample of their PTX in the emulator, and how a sweep is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.loops import sweep, table
from tests.emulator.loops.family import FIRST, SECOND, THREADS, TYPES, Loop, every, units
from tests.emulator.loops.generate import facts, write
from tests.emulator.loops.meaning import SIDES, differing
from verify.canary import ORIGINAL, expected, folder
from verify.environment import find_nvcc
from verify.where import emulator_gap

# What goes wrong somewhere, and its neighbours: a loop to a negated bound, across zero, behind another loop.
SAMPLE = [
    Loop("int", "down", 3, "zero", "sign", True),
    Loop("int", "down", 2, "-n", "parity", True),
    Loop("int", "up", 5, "zero", "bound", False),
    Loop("int", "up", 1, "-n", "none", False),
]
WIDE = [Loop("long", "down", 3, "zero", "sign", True)]
WRAPPING = [
    Loop("unsigned", "down", 3, "zero", "parity", False),
    Loop("unsigned", "up", 4, "zero", "bound", True),
]


def test_the_loops_are_a_system() -> None:
    loops = list(every())
    assert len(loops) == len({loop.name for loop in loops}) == 564
    assert sorted(loop.name for unit in units().values() for loop in unit) == sorted(
        loop.name for loop in loops
    )
    assert all(len({loop.type for loop in unit}) == 1 for unit in units().values())
    assert set(SAMPLE + WIDE + WRAPPING) <= set(loops)


def test_expected_values_are_those_of_a_host_compiler(tmp_path: Path) -> None:
    """Python's values against C's, of every kernel: the device code as a host function."""
    loops = list(every())
    bodies = "".join(
        loop.cuda.replace("__global__", "static").replace("threadIdx.x", "t").replace("o)", "o, int t)")
        for loop in loops
    )
    calls = "".join(
        f"  {{ {TYPES[loop.type][0]} a[N], b[N], o[N];\n"
        "    for (int t = 0; t < N; t++) { a[t] = first[t]; b[t] = second[t]; }\n"
        f"    for (int t = 0; t < N; t++) {{ {loop.name}(a, b, o, t);"
        ' printf("%lld ", (long long)o[t]); } puts(""); }\n'
        for loop in loops
    )
    source = tmp_path / "host.c"
    source.write_text(
        f"#include <stdio.h>\nenum {{ N = {THREADS} }};\n{bodies}\n"
        f"static const int first[N] = {{{', '.join(map(str, FIRST))}}};\n"
        f"static const int second[N] = {{{', '.join(map(str, SECOND))}}};\nint main(void) {{\n{calls}}}\n"
    )
    subprocess.run(["gcc", "-O0", "-w", "-o", str(tmp_path / "host"), str(source)], check=True)
    said = subprocess.run([str(tmp_path / "host")], capture_output=True, text=True, check=True).stdout
    found = [[int(v) for v in line.split()] for line in said.splitlines()]
    assert found == [loop.values() for loop in loops]


def test_the_canary_is_one_of_them() -> None:
    """The same loop, told in two places."""
    made: dict[str, Any] = {}
    exec(Loop("int", "down", 3, "zero", "sign", True).python, made)
    with folder(ORIGINAL) as place:
        assert expected(place) == [made["kernel"](v, 5) for v in range(156, 188)]


@pytest.mark.dsl
@pytest.mark.skipif(bool(emulator_gap()[1]) or find_nvcc() is None, reason="needs the emulator and nvcc")
def test_the_ptx_of_both_compilers_is_right(tmp_path: Path) -> None:
    made = {"sample": SAMPLE, "wide": WIDE, "wrapping": WRAPPING}
    write(tmp_path, made)
    script = f"""
from pathlib import Path
from tests.emulator.loops import sweep
sweep.LEVELS = (3, 1)
for unit, dtype in (("sample", "Int32"), ("wide", "Int64"), ("wrapping", "Uint32")):
    for done in (sweep.compile_cuda(Path({str(tmp_path)!r}), unit, Path({str(tmp_path)!r})),
                 sweep.compile_dsl(Path({str(tmp_path)!r}), unit, dtype, Path({str(tmp_path)!r})),
                 sweep.compile_dsl(Path({str(tmp_path)!r}), unit, dtype, Path({str(tmp_path)!r}), "while")):
        assert len(set(done["ptx"].values())) == 1, "the PTX depends on the level"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    held = json.loads((tmp_path / "loops.json").read_text())
    for side in SIDES:
        for unit in made:
            ptx = (tmp_path / f"{side}-{unit}.ptx").read_text()
            assert list(differing(ptx, held["units"][unit], held)) == []
    wrong = dict(held["units"]["wide"], loops=[dict(lp, values=[0] * THREADS) for lp in facts(WIDE)])
    assert list(differing((tmp_path / "cuda-wide.ptx").read_text(), wrong, held)) == [WIDE[0].name]


def test_wrong_threads_are_counted_and_shown() -> None:
    held = {"threads": 3, "first": [1, 2, 3], "second": [4, 5, 6]}
    loop = {"values": [10, 20, 30]}
    assert sweep.judge(loop, [10, 20, 30], held) == {"right": True}
    found = sweep.judge(loop, [10, 21, 30], held)
    assert (found["right"], found["wrong_threads"]) == (False, 1)
    assert found["examples"][0] == {"v": 2, "w": 5, "got": 21, "expected": 20}
    assert sweep.judge(loop, "no values: exit -9", held)["why"] == "no values: exit -9"


def test_names_in_machine_code() -> None:
    entries = [
        "_Z10int_down1aPKiS0_Pi",
        "_Z17int_down1a_behindPKiS0_Pi",
        "kernel_cutlass_int_down1b_kernel_0",
    ]
    assert sweep.entry_of("int_down1a", entries) == entries[0]
    assert sweep.entry_of("int_down1a_behind", entries) == entries[1]
    assert sweep.entry_of("int_down1b", entries) == entries[2]


def test_a_kernel_that_hangs_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child.py"
    child.write_text(
        "import json, sys, time\nplan = json.load(open(sys.argv[2]))\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "for task in plan['tasks']:\n  for name, _ in task['kernels']:\n"
        "    if name == 'hangs': time.sleep(60)\n"
        "    print(json.dumps({'name': name, 'values': [1]}), flush=True)\n"
    )
    monkeypatch.setattr(sweep, "__file__", str(child))
    monkeypatch.setattr(sweep, "_LAUNCH_SECONDS", 2.0)
    held = {"threads": 1, "first": [1], "second": [1]}
    tasks = [{"kernels": [("a", ""), ("hangs", "")]}, {"kernels": [("b", "")]}]
    found = dict(sweep.run(held, tasks, tmp_path))
    assert (found["a"], found["b"]) == ([1], [1])
    assert found["hangs"].startswith("no values")


def sweep_of(wrong: dict[str, dict[str, list[int]]]) -> dict[str, Any]:
    """A sweep's document with these kernels wrong at these levels."""
    kernels = {}
    for loop in every():
        (fact,) = facts([loop])
        told = {k: v for k, v in fact.items() if k not in ("name", "values")}
        for side in SIDES:
            bad = wrong.get(loop.name, {}).get(side, [])
            told[side] = {str(v): {"right": v not in bad} for v in (3, 2, 1, 0)}
            for v in bad:
                told[side][str(v)]["examples"] = [{"v": 187, "w": 5, "got": 26, "expected": 6268}]
        kernels[loop.name] = told
    versions = {"ptxas": "13.0.88", "nvidia-cutlass-dsl": "4.8.1", "gpu": "NVIDIA X", "driver": "580"}
    return {"created": "2026-11-30T03:00:00+00:00", "versions": versions, "kernels": kernels}


@pytest.mark.skipif(not table.SWEEP.exists(), reason="no sweep was recorded")
def test_the_map_is_that_of_the_recorded_sweep() -> None:
    assert table.written() == table.DOCUMENT.read_text(encoding="utf-8")
    kernels = json.loads(table.SWEEP.read_text(encoding="utf-8"))["kernels"]
    assert set(kernels) == {loop.name for loop in every()}


def test_the_map_counts_by_family_and_level() -> None:
    text = table.told(
        sweep_of(
            {
                "int_down3_zero_sign_behind": {"cuda": [3, 2]},
                "int_down2_zero_sign_behind": {"cuda": [3], "dsl": [3]},
            }
        )
    )
    family = "| int | down | through zero, to -v | behind another |"
    assert f"{family} 2 of 20 | 1 of 20 | 0 | 0 | 1 of 20 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert text.count("| int |") == 1  # families that are right at every level share one line
    assert "562 of 564" in text
    assert "of v = 187 it makes 26, not 6268" in text
