"""A tool's process: what holds it, how it ends, and what is left of it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from translator.mcp.call import MOST, Bench, _document
from translator.mcp.child import landlock
from translator.mcp.folder import RunFolder, readable
from translator.mcp.roots import RefusedError, Roots
from translator.mcp.target import copied

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("in", "out", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "out/secret").write_text("s3cret")
    roots = Roots(((tmp_path / "in").resolve(),), (tmp_path / "run").resolve())
    return Bench(roots, RunFolder(roots.run), landlock() > 0)


def working_in(folder: Path) -> list[str]:
    """Processes whose working folder lies in `folder`."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cwd").readlink().is_relative_to(folder):
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


async def silent(seconds: float, said: str) -> None:
    return None


def test_a_tool_that_takes_too_long_is_ended_with_all_it_started(bench: Bench) -> None:
    call = bench.folder.call("doctor")
    with pytest.raises(RefusedError, match=r"CP5506: doctor took longer than 0\.7 s and was ended"):
        asyncio.run(bench.run("doctor", ["doctor"], call, 0.7, silent))
    assert working_in(bench.roots.run) == []
    assert not (call / "tmp").exists()


def test_a_cancelled_call_leaves_no_process(bench: Bench) -> None:
    call = bench.folder.call("doctor")

    async def work() -> None:
        task = asyncio.create_task(bench.run("doctor", ["doctor"], call, 60.0, silent))
        end = time.monotonic() + 30
        while not working_in(bench.roots.run) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        assert len(working_in(bench.roots.run)) >= 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert working_in(bench.roots.run) == []


def test_a_process_that_ends_without_a_document_is_told(bench: Bench) -> None:
    call = bench.folder.call("port")
    (call / "answer.json").write_text('{"kernels": [')
    with pytest.raises(RefusedError, match="CP5509: port ended without an answer: its process was ended by"):
        _document("port", call, -9)


def test_an_answer_too_large_is_not_sent(bench: Bench) -> None:
    call = bench.folder.call("port")
    (call / "answer.json").write_text(json.dumps({"kernels": "x" * MOST}))
    with pytest.raises(RefusedError, match=r"CP5507: the answer of port has 8\.0 MB, more than the 8 MB"):
        _document("port", call, 0)


@pytest.mark.skipif(landlock() == 0, reason="this kernel has no Landlock")
def test_the_kernel_keeps_a_tool_to_its_folders(bench: Bench) -> None:
    code = """
import json, socket, sys
from translator.mcp.child import restrict
read, write, places = json.loads(sys.argv[1])
assert restrict(read, write)
told = {}
for name, how, place in places:
    try:
        open(place, how).close()
        told[name] = True
    except PermissionError:
        told[name] = False
try:
    socket.create_connection(("127.0.0.1", 9), 1)
except OSError as error:
    told["tcp"] = error.errno
print(json.dumps(told))
"""
    top = bench.roots.run.parent
    (top / "in/source").write_text("")
    places = [
        ("secret", "r", str(top / "out/secret")),
        ("source", "r", str(top / "in/source")),
        ("source written", "a", str(top / "in/source")),
        ("new beside", "w", str(top / "out/new")),
        ("run folder", "w", str(top / "run/new")),
        ("passwd", "r", "/etc/passwd"),
        ("memory of the parent", "r", f"/proc/{os.getpid()}/environ"),
    ]
    asked = json.dumps([readable(bench.roots), [str(bench.roots.run)], places])
    done = subprocess.run(
        [sys.executable, "-c", code, asked], cwd=ROOT, capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert {n for n, opened in told.items() if opened is True} == {"source", "run folder"}
    from errno import EACCES, ECONNREFUSED

    assert told["tcp"] in (EACCES, ECONNREFUSED if landlock() < 4 else EACCES)


def test_a_tool_gets_no_keys(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k1")
    monkeypatch.setenv("CUTEPORT_MODEL", "m")
    monkeypatch.setenv("CUTEPORT_BELOW", "/")
    call = bench.folder.call("port")
    environment = bench.folder.environment(bench.roots, call)
    assert not {"OPENAI_API_KEY", "CUTEPORT_MODEL"} & set(environment)
    assert environment["CUTEPORT_BELOW"] == f"{bench.roots.allowed[0]}:{bench.roots.run}"
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "CUTEPORT_RUNS"):
        assert Path(environment[name]).is_relative_to(bench.roots.run), name


def test_two_calls_never_share_a_folder(bench: Bench) -> None:
    other = RunFolder(bench.roots.run)
    assert len({f.call("port") for f in (bench.folder, other) * 3}) == 6


def test_a_run_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RefusedError) as told:
        RunFolder(tmp_path / "file/run").call("port")
    assert str(told.value) == f"CP0002: can't write {tmp_path}/file/run: Not a directory"
    assert told.value.kind == "environment"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("pipe", "inner is a link or no regular file"),
        ("large", "big is too large"),
        ("many", "it has more than a target has"),
        ("deep", "its folders are too deep"),
        ("nothing", "it has no spec.toml"),
    ],
)
def test_what_is_no_target_is_not_copied(tmp_path: Path, fault: str, reason: str) -> None:
    target = tmp_path / "t"
    target.mkdir()
    if fault != "nothing":
        (target / "spec.toml").write_text("")
    if fault == "pipe":
        os.mkfifo(target / "inner")
    elif fault == "large":
        with (target / "big").open("wb") as file:
            file.truncate(16_000_001)
    elif fault == "many":
        for k in range(5):
            with (target / f"f{k}").open("wb") as file:
                file.truncate(15_000_000)
    elif fault == "deep":
        (target / "/".join("abcdefgh")).mkdir(parents=True)
    with pytest.raises(RefusedError) as told:
        copied(target, tmp_path / "run", "t")
    assert str(told.value) == f"CP5505: t can't be copied into the run folder: {reason}"
    assert not (tmp_path / "run").exists()


def test_a_target_is_copied_without_its_verdict(tmp_path: Path) -> None:
    target = tmp_path / "t"
    (target / "original").mkdir(parents=True)
    for name in ("spec.toml", "verdict.json", "original/device.cu"):
        (target / name).write_text(name)
    copy = copied(target, tmp_path / "run", "t")
    assert {str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file()} == {
        "spec.toml",
        "original/device.cu",
    }
    assert (copy / "original/device.cu").read_text() == "original/device.cu"
