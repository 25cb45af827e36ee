"""How wide the accesses are that vector_width, row_tiles and load_if come to, by target. sm_100 runs nowhere
here: what copies of 256 bits give is test_blocks's, as two accesses each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("BFloat16", "Float32")


def told(arch: str, dump: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_wide"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env(arch, dump), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.dsl
@pytest.mark.parametrize(("arch", "widest"), [("sm_90a", 128), ("sm_100a", 256)])
def test_copies_are_as_wide_as_asked_where_the_target_can(arch: str, widest: int, tmp_path: Path) -> None:
    given = told(arch, tmp_path)
    for kind in KINDS:
        for access in (128, 256):
            wide = min(access, widest)
            assert given[f"{kind} {access} tiles"] == [["ld", wide], ["st", wide]]
            # PTX that stands as it is can't be split: before sm_100 nobody may ask load_if for more.
            want = [["ld", access], ["st", wide]] if access <= widest else []
            assert given[f"{kind} {access} load_if"] == want
