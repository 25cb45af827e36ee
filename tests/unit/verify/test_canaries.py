"""The canaries: their PTX in the emulator, and the words for what machine code gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from verify import canary
from verify.canary import ORIGINAL, PORT, Canary, CanaryError, check_emulator, check_machine_code, expected
from verify.environment import find_nvcc, find_nvrtc
from verify.original import build
from verify.spec_file import load_spec
from verify.where import emulator_gap

needs_emulator = pytest.mark.skipif(bool(emulator_gap()[1]), reason="no emulator here")


@needs_emulator
def test_the_emulator_gets_the_canaries_right() -> None:
    check_emulator()


@needs_emulator
def test_an_emulator_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "meaning", lambda _ptx: [26] * 32)
    with pytest.raises(CanaryError, match="in the emulator select_loop makes 26 of 156, not 5158"):
        check_emulator()


@pytest.mark.skipif(not (find_nvrtc() or find_nvcc()), reason="nothing builds originals here")
@needs_emulator
def test_the_ptx_made_here_means_the_same() -> None:
    with canary.folder(ORIGINAL) as place:
        assert canary.meaning(build(place, load_spec(place), "sm_90a").ptx) == expected(place)


def gives(wrong_above: int, value: int) -> Callable[..., canary._Results]:
    """A side whose machine code makes `value` of 187 at every level above `wrong_above`."""

    def sides(_canary: Canary, place: Path, _scratch: Path, _arch: str) -> canary._Results:
        wanted = expected(place)
        for level in (3, 2, 1, 0):
            yield level, [*wanted[:-1], value if level > wrong_above else wanted[-1]]

    return sides


def test_machine_code_that_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_original_sides", gives(3, 26))
    assert check_machine_code(ORIGINAL, "sm_90a") == (True, "right at ptxas -O3, the default")


def test_machine_code_that_is_wrong_names_values_and_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_original_sides", gives(1, 26))
    monkeypatch.setattr(canary, "_port_sides", gives(1, 5))
    words = "wrong at ptxas -O3: of 187 it makes 26, not 6268; right at ptxas -O1"
    assert check_machine_code(ORIGINAL, "sm_90a") == (False, words)
    words = "wrong at --opt-level 3: of 187 it makes 5, not 6263; right at --opt-level 1"
    assert check_machine_code(PORT, "sm_90a") == (False, words)


def test_machine_code_that_is_wrong_at_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_port_sides", gives(-1, 5))
    with pytest.raises(CanaryError, match="of 187 it makes 5, not 6263; and so at every level"):
        check_machine_code(PORT, "sm_90a")


@pytest.mark.dsl
def test_a_level_from_outside_is_the_machine_codes() -> None:
    """In a child, as everything that loads the DSL."""
    script = """
import os, sys, tempfile
held = tempfile.mkdtemp()
os.environ.update(CUTE_DSL_ARCH="sm_90a", CUTE_DSL_KEEP="ptx,cubin")
os.environ.update(CUTE_DSL_NO_CACHE="1", CUTE_DSL_DUMP_DIR=held)
from pathlib import Path
from verify.jobs import load_module
from verify.levels import compile_at, compiling_at
def made(name):
    module = load_module(Path("verify/canaries", name, "port.py").resolve(), "_port_" + name)
    found = getattr(module, "compile_" + name)((32, 1, 1)).artifacts
    return found.PTX, bytes(found.CUBIN)
import cutlass.cute
compiles = cutlass.cute.compile
for name, own in (("countdown_select", 3), ("select_loop", 1)):  # the second pins its level
    plain = made(name)
    at = {}
    for level in (3, 2, 1, 0):
        with compiling_at(level):
            at[level] = made(name)
    assert all(ptx == plain[0] for ptx, _ in at.values())
    assert at[own][1] == plain[1]
    assert len({code for _, code in at.values()}) >= 3  # ptxas may do the same at 3 and 2
    assert at[1][1] != at[3][1]
assert cutlass.cute.compile is compiles
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
