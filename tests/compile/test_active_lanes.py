"""A mask of the lanes that are active is read where it is asked for, not where the compiler saw it before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from translator.diag.diagnostic import Sink
from translator.emit import emit
from translator.frontend import project
from translator.frontend.build import build_model
from translator.passes import lower

pytestmark = pytest.mark.dsl
ROOT = Path(__file__).resolve().parents[2]
CUDA = """\
__global__ void masks(unsigned *all, unsigned *odd) {
  all[threadIdx.x] = __activemask();
  if (threadIdx.x % 2) odd[threadIdx.x] = __activemask();
}
"""
COMPILE = """
import sys
from pathlib import Path
from verify.jobs import load_module
port = load_module(Path(sys.argv[1]), "port")
Path(sys.argv[2]).write_text(port.compile_masks((32, 1, 1)).artifacts.PTX)
"""


def test_two_masks_are_read_twice(tmp_path: Path) -> None:
    source, port, ptx = tmp_path / "masks.cu", tmp_path / "port.py", tmp_path / "port.ptx"
    source.write_text(CUDA)
    sink = Sink()
    [reading] = project.read([source], project.ReadOptions(), sink)
    model = build_model(reading, sink)
    assert model is not None
    port.write_text(emit(lower(model, sink), sink).source, encoding="utf-8")
    env = dict(os.environ, CUTE_DSL_ARCH="sm_90a", CUTE_DSL_NO_CACHE="1", CUTE_DSL_KEEP="ptx")
    env["CUTE_DSL_DUMP_DIR"] = str(tmp_path)
    command = [sys.executable, "-B", "-c", COMPILE, str(port), str(ptx)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert ptx.read_text().count("activemask.b32") == 2
