"""Compiling kernels: what a missing, failing or lying C compiler and a damaged cache come to."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from verify.emulator import build
from verify.emulator.emit.module import emit_kernel
from verify.emulator.launch import LaunchShape, Program, RunOptions
from verify.emulator.memory import Memory
from verify.emulator.ptx.module import PtxError
from verify.emulator.ptx.parse import parse

HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"
KERNEL = HEAD + (
    ".visible .entry k(.param .u64 x) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [x];"
    " mov.u32 %r1, 7; st.global.u32 [%rd1], %r1; ret; }"
)


@pytest.fixture(autouse=True)
def _compilers() -> Iterator[None]:
    build.compiler.cache_clear()
    yield
    build.compiler.cache_clear()


def stored(cache: Path) -> int:
    """What the kernel leaves in its one word, compiled into `cache`."""
    memory = Memory()
    address = memory.alloc(4, "x", initialised=False)
    Program(KERNEL, cache=cache).run(
        "k", LaunchShape((1, 1, 1), (1, 1, 1)), [struct.pack("<Q", address)], memory, RunOptions()
    )
    return int.from_bytes(ctypes.string_at(address, 4), "little")


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    text = emit_kernel(parse(KERNEL), "k").text
    place = build.shared_object(text, build.Mode(), tmp_path)
    whole = place.read_bytes()
    place.write_bytes(whole[:3000])
    assert build.shared_object(text, build.Mode(), tmp_path) == place
    assert place.stat().st_size == len(whole)
    assert stored(tmp_path) == 7


def test_folders_of_other_processes_come_and_go(tmp_path: Path) -> None:
    (tmp_path / ".making-gone").symlink_to("nowhere")  # there when the cache is listed, gone when looked at
    assert stored(tmp_path) == 7


@pytest.mark.parametrize("command", [" ", "/nowhere/cc", "false"])
def test_a_compiler_that_fails_is_something_the_machine_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("CC", command)
    with pytest.raises(PtxError) as caught:
        build.shared_object("int x;", build.Mode(), tmp_path)
    assert caught.value.code == "CP7106"


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PtxError, match="CUTEPORT_CACHE") as caught:
        build.shared_object("int x;", build.Mode(), tmp_path / "file" / "cache")
    assert caught.value.code == "CP7106"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("st.param.u64 [x+8], 1;", "CP7101"),
        ("ld.param.u64 %rd1, [x+-8];", "CP7101"),
        (".local .b8 big[600000]; mov.u64 %rd1, big;", "CP7108"),
        ("{ .param .b32 q; call f, (q); }", "CP7101"),
    ],
    ids=["beyond the parameters", "before them", "more local memory than a GPU has", "a smaller argument"],
)
def test_what_no_check_would_see_later_is_refused(body: str, code: str) -> None:
    callee = ".func f(.param .b64 a) { ret; }\n"
    text = HEAD + callee + f".visible .entry k(.param .u64 x) {{ .reg .b64 %rd<2>; {body} ret; }}"
    with pytest.raises(PtxError) as caught:
        emit_kernel(parse(text), "k")
    assert caught.value.code == code
