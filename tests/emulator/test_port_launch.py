"""Real ports, called without a GPU: each launch arrives with what the port gave it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Runs in a process of its own: the shim must be chosen before the DSL is imported.
START = """
import ctypes, json, sys
from pathlib import Path
from verify.emulator.port import dsl
from verify.emulator.port.launches import Session
dsl.prepare()
import cutlass
from verify.emulator.opening import open_program, parameter_sizes, variable
launches, programs = [], {}
def program(ptx):
    return programs.setdefault(ptx, open_program(ptx))
def run(launch):
    values = launch.values(parameter_sizes(program(launch.ptx), launch.kernel))
    launches.append([launch.kernel, launch.grid, launch.block, launch.smem, [v.hex() for v in values]])
session = Session("sm_90a", run, lambda ptx, name: variable(program(ptx), name))
dsl.attach(session, lambda to, source, size: ctypes.memmove(to, source, size))
"""

EVERY_TARGET = """
from verify.jobs import load_module
from verify.portcall import bind
from verify.resolve import resolve
from verify.spec_file import load_spec
seen = {}
for target in sorted(Path("targets").glob("*__*")):
    spec = load_spec(target)
    entry = getattr(load_module(target.resolve() / "port.py", f"p_{target.name}"), spec.port.entry)
    for case in spec.case:
        resolved = resolve(spec, case)
        if not resolved.launchable:
            continue
        held = ctypes.create_string_buffer(1 << 16)
        at = {b.name: ctypes.addressof(held) + 256 * k for k, b in enumerate(spec.buffers, 1)}
        launches.clear()
        session.call(bind(entry, spec, resolved, at, 0))
        told = [[b for b in launch[4]] for launch in launches]
        pointers = [a.to_bytes(8, "little").hex() for b, a in at.items()
                    if not next(x for x in spec.buffers if x.name == b).symbol]
        seen[f"{target.name} {case.name}"] = [
            [l[1:4] for l in launches], [list(resolved.grid), list(resolved.block), resolved.smem],
            [p for p in pointers if p not in "".join(told[0])],
        ]
print(json.dumps(seen))
"""

TWO_KERNELS = """
import cutlass.cute as cute
from cutlass import Float32, Int32
from cutlass.cute.runtime import make_ptr, make_fake_stream
import cuda.bindings.driver as cuda
import cuda.bindings.runtime as cudart
gmem = cutlass.AddressSpace.gmem
c_scale = cutlass.Array(Float32, 4, space=cutlass.AddressSpace.cmem, name="c_scale")
@cute.kernel
def fill(p: cutlass.Pointer[Float32, gmem], n: Int32):
    i = cute.arch.thread_idx()[0]
    if i < n:
        p[i] = c_scale[i & 3]
@cute.kernel
def double(p: cutlass.Pointer[Float32, gmem]):
    i = cute.arch.thread_idx()[0]
    p[i] = p[i] * 2.0
@cute.jit
def both(p: cutlass.Pointer[Float32, gmem], n: Int32, width: cutlass.Constexpr, stream: cuda.CUstream):
    fill(p, n).launch(grid=(n, 1, 1), block=(width, 1, 1), stream=stream)
    double(p).launch(grid=(1, 2, 1), block=(width, 1, 1), smem=256, stream=stream)
pointer = lambda at: make_ptr(Float32, at, gmem, assumed_align=4)
made = [cute.compile(both, pointer(16), Int32(0), width, make_fake_stream()) for width in (32, 64)]
for at, compiled in ((0x1000, made[1]), (0x2000, made[0]), (0x3000, made[1])):
    session.call(lambda: compiled(pointer(at), Int32(7), cuda.CUstream(0)))
constants = []
for k, compiled in enumerate(made):
    error, symbol, size = cudart.cudaLibraryGetGlobal(compiled.library, b"c_scale")
    source = (ctypes.c_float * 4)(k, 2, 3, 4)
    copied = cudart.cudaMemcpyAsync(symbol, ctypes.addressof(source), 16, None, 0)
    constants.append([int(error), size, int(copied[0]), symbol])
held = [list((ctypes.c_float * 4).from_address(c[3])) for c in constants]
absent = cudart.cudaLibraryGetGlobal(made[0].library, b"nothing")[0].name
try:
    cudart.cudaMalloc(16)
except Exception as e:
    refused = str(e)
print(json.dumps({"launches": launches, "constants": [c[:3] for c in constants], "held": held,
                  "absent": absent, "refused": refused}))
"""


PTX_OF_SOME = """
from verify.jobs import load_module
from verify.resolve import resolve
from verify.spec_file import load_spec
found = {}
for name in ("sgemm_tiled", "conv5x5_const", "quantize_int8", "block_scan"):
    target = Path("targets") / f"cuteport__{name}"
    spec = load_spec(target)
    module = load_module(target.resolve() / "port.py", f"p_{name}")
    compiled = getattr(module, f"compile_{spec.port.entry}")(resolve(spec, spec.case[0]).block)
    ptx = compiled.artifacts.PTX
    found[name] = ptx if isinstance(ptx, str) else ptx.decode()
print(json.dumps(found))
"""


def told_by(script: str, tmp_path: Path, **variables: str):  # type: ignore[no-untyped-def]
    (tmp_path / "script.py").write_text(START + script)
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CUTE_DSL_ARCH": "sm_90a",
        "CUTE_DSL_KEEP": "ptx,cubin",
        "CUTE_DSL_NO_CACHE": "1",
        "CUTE_DSL_DUMP_DIR": str(tmp_path),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.dsl
def test_every_targets_port_launches_as_its_spec_says(tmp_path: Path) -> None:
    seen = told_by(EVERY_TARGET, tmp_path)
    assert len({name.split()[0] for name in seen}) == len(list((ROOT / "targets").glob("*__*")))
    wrong = {name: got for name, got in seen.items() if got[0] != [got[1]] or got[2]}
    assert wrong == {}


@pytest.mark.dsl
def test_several_kernels_and_compilations_at_once(tmp_path: Path) -> None:
    told = told_by(TWO_KERNELS, tmp_path)
    assert [launch[1:4] for launch in told["launches"]] == [
        [[7, 1, 1], [64, 1, 1], 0],
        [[1, 2, 1], [64, 1, 1], 256],
        [[7, 1, 1], [32, 1, 1], 0],
        [[1, 2, 1], [32, 1, 1], 256],
        [[7, 1, 1], [64, 1, 1], 0],
        [[1, 2, 1], [64, 1, 1], 256],
    ]
    assert [("fill" in launch[0], "double" in launch[0]) for launch in told["launches"]] == [
        (True, False),
        (False, True),
    ] * 3
    seven = (7).to_bytes(4, "little").hex()
    assert [launch[4] for launch in told["launches"][::2]] == [
        [at.to_bytes(8, "little").hex(), seven] for at in (0x1000, 0x2000, 0x3000)
    ]
    assert told["constants"] == [[0, 16, 0]] * 2
    assert told["held"] == [[0, 2, 3, 4], [1, 2, 3, 4]]  # each compilation has its own
    assert told["absent"] == "cudaErrorSymbolNotFound"
    assert told["refused"] == "cudaMalloc is called, which the launch shim lacks"


@pytest.mark.dsl
def test_lines_of_the_port_change_no_instruction(tmp_path: Path) -> None:
    plain, told = (told_by(PTX_OF_SOME, tmp_path, CUTE_DSL_LINEINFO=lines) for lines in "01")
    place = re.compile(r"\s*\.(loc|file)\b|\$L__|\s*//|\s*$")

    def instructions(ptx: str) -> list[str]:
        return [line.strip() for line in ptx.split(".section")[0].splitlines() if not place.match(line)]

    for name, ptx in plain.items():
        assert instructions(ptx) == instructions(told[name])
        assert "port.py" not in ptx and "port.py" in told[name]
