"""Which conversions the microscaling kernels compile to, by target: instructions of sm_100, or the sums that
stand for them. The sums' values are test_blocks_microscaling's; instructions of sm_100 run nowhere here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
FP4, E8M0, E4M3 = "cvt.rn.satfinite.e2m1x2.f32", "cvt.rp.satfinite.ue8m0x2.f32", "cvt.rn.satfinite.e4m3x2.f32"
CALLS = {
    "mx 8 up": ("mx_quantize", {"bits": 8, "round_up": 1}),
    "mx 8 down": ("mx_quantize", {"bits": 8, "round_up": 0}),
    "mx 4 up": ("mx_quantize", {"bits": 4, "round_up": 1}),
    "nvfp4": ("nvfp4_quantize", {}),
}
# Child: the PTX of each call, as JSON. argv: capability, the calls.
CHILD = """
import importlib.util, json, sys
told = {}
for name, (entry, facts) in json.loads(sys.argv[2]).items():
    spec = importlib.util.spec_from_file_location(entry, f"corpus/kernels/quantize/{entry}/kernel.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[entry] = module
    spec.loader.exec_module(module)
    build = getattr(module, "compile_" + entry)
    facts |= {"dtype": "bf16", "rows": 4096, "columns": 4096, "tiles": 1, "device": (132, int(sys.argv[1]))}
    told[name] = build(**facts).artifacts.PTX
print(json.dumps(told))
"""


def ptx(arch: str, capability: int, dump: Path) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(capability), json.dumps(CALLS)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env(arch, dump), "CUTE_DSL_KEEP": "ptx"},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.dsl
def test_sm_100_converts_by_instruction(tmp_path: Path) -> None:
    told = ptx("sm_100a", 100, tmp_path)
    assert all(".target sm_100a" in t for t in told.values())
    # 32 elements of a thread, two an instruction; NVFP4's two scales of a thread in one.
    assert [told[n].count(FP4) for n in CALLS] == [0, 0, 16, 16]
    assert [told[n].count(E8M0) for n in CALLS] == [1, 0, 1, 0]
    assert [told[n].count(E4M3) for n in CALLS] == [16, 16, 0, 1]


@pytest.mark.dsl
def test_before_sm_100_sums_stand_for_them(tmp_path: Path) -> None:
    told = ptx("sm_90a", 90, tmp_path)
    assert all(".target sm_90a" in t for t in told.values())
    assert not any(op in t for op in (FP4, E8M0) for t in told.values())
    assert [told[n].count("min.xorsign.abs.f32") for n in CALLS] == [0, 0, 32, 32]
    wide = [(t.count("ld.global.v4"), ".local" in t) for t in told.values()]
    assert wide == [(4, False)] * 4
