"""Each target's port takes the arguments that its spec lists; no GPU and no compilation needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TARGETS = sorted(p.parent for p in (ROOT / "targets").glob("*/spec.toml"))
# One process for all: importing the DSL takes a second or more.
CHECK = """
import sys
from pathlib import Path
from verify.jobs import load_module
from verify.portcall import bind
from verify.resolve import resolve
from verify.run import load_specs
for target, spec in load_specs([Path(p) for p in sys.argv[1:]]).items():
    entry = getattr(load_module(target / spec.port.module, "port_" + spec.port.entry), spec.port.entry)
    for case in spec.case:
        bind(entry, spec, resolve(spec, case), {b.name: 4096 for b in spec.buffers}, 0)
"""


@pytest.mark.dsl
@pytest.mark.skipif(not TARGETS, reason="no targets")
def test_ports_take_what_their_specs_give() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHECK, *map(str, TARGETS)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
