"""`cuteport mcp` itself: the wire, what keeps it from starting, and the skill that it writes out."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from mcp import stdio_client, types
from mcp.client import Client

from tests.mcp.session import ROOT, parameters, room, tree
from translator.cli.main import app, run
from translator.mcp import skill
from translator.mcp.tools import tools


def test_without_the_extra_it_says_what_is_lacking() -> None:
    code = (
        "import sys\nsys.modules['mcp'] = None\nfrom translator.cli.main import run\nsys.exit(run(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error CP5508: the package mcp can't be imported: ")
    assert "pip install 'cuteport[mcp]'" in done.stderr


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcp")
    assert run(["mcp", f"--allow={tmp_path / 'none'}", f"--root={tmp_path / 'run'}"]) == 2
    assert "no such folder" in capfd.readouterr().err
    (tmp_path / "a:b").mkdir()
    assert run(["mcp", f"--allow={tmp_path / 'a:b'}", f"--root={tmp_path / 'run'}"]) == 2


def test_what_is_no_request_stops_nothing_and_the_wire_carries_only_the_protocol(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    given = parameters(room(tmp_path))
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    lines: list[bytes] = [
        b"not json",
        b"\xff\xfe\x00junk",
        b"[]",
        b'{"jsonrpc": "2.0"}',
        request(1, "initialize", hello),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        request(2, "no/such", {}),
        request(3, "tools/call", {"name": 7}),
        request(4, "tools/call", {"name": "explain", "arguments": {"code": "CP5504"}}),
    ]
    process = subprocess.Popen(
        [given.command, *given.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**(given.env or {}), "PATH": "/usr/bin:/bin"},
        cwd=given.cwd,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"\n".join(lines) + b"\n")
    process.stdin.flush()
    answers: dict[object, Any] = {}
    while 4 not in answers and (line := process.stdout.readline()):
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        answers[message.get("id")] = message
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "cuteport"
    assert "error" in answers[2] and "error" in answers[3]
    assert answers[4]["result"]["structuredContent"]["code"] == "CP5504"
    assert b"Traceback" not in errors


@pytest.mark.parametrize("unwritable", [False, True])
def test_a_run_folder_is_made_when_something_is_written_there(tmp_path: Path, unwritable: bool) -> None:
    pytest.importorskip("mcp")
    given = parameters(room(tmp_path))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    if unwritable:  # for root too
        (tmp_path / "in/runs").write_text("a file is in the way")
    given.args = [a for a in given.args if not a.startswith("--root")]
    given.env = {**(given.env or {}), "TMPDIR": str(scratch)}
    before = set(tree(tmp_path))

    async def work(tool: str) -> tuple[str, str]:
        async with Client(stdio_client(given)) as client:
            told = client.instructions or ""
            if tool:
                (content,) = (await client.call_tool(tool, {"code": "CP5504"})).content
                assert isinstance(content, types.TextContent)
                return told, content.text
            await client.list_resources()
            return told, ""

    asyncio.run(work(""))
    assert set(tree(tmp_path)) == before
    told, said = asyncio.run(work("explain"))
    [run_folder] = scratch.glob("cuteport-*") if unwritable else (tmp_path / "in/runs").iterdir()
    assert f"lies below {run_folder}." in told
    assert not unwritable or run_folder.stat().st_mode & 0o777 == 0o700  # others can look into that place
    assert said.endswith(f"\nfolder: {run_folder}/0001-explain")
    assert json.loads((run_folder / "0001-explain/answer.json").read_text())["code"] == "CP5504"


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


# ---- the skill


def command_lines() -> list[str]:
    """What the skill shows of the command line, in code."""
    text = "\n".join(skill.texts().values())
    return sorted(set(re.findall(r"`(cuteport [^`]+)`", text)))


def followed(line: str) -> tuple[click.Command, list[str]]:
    """The command that a line names, and its words after that."""
    words = line.split()[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    return command, words


def flags(command: Any) -> set[str]:
    return {o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("-")}


@pytest.mark.parametrize("line", command_lines())
def test_the_skill_names_commands_and_flags_that_there_are(line: str) -> None:
    command, words = followed(line)
    assert not hasattr(command, "commands"), f"{line}: a command is missing"
    assert {w.partition("=")[0] for w in words if w.startswith("-")} <= flags(command)


def test_the_skill_s_single_flags_tools_and_statuses_exist() -> None:
    from verify.verdict import Status

    text = "\n".join(skill.texts().values())
    root: Any = typer.main.get_command(app)
    known = set().union(*(flags(c) for c in root.commands.values())) | {"--json"}
    assert set(re.findall(r"`(--[a-z-]+)[^`]*`", text)) <= known
    assert len(command_lines()) > 10
    assert set(tools()) <= set(re.findall(r"`(\w+)`", text))
    statuses = set(re.findall(r"\b([A-Z]{4,}(?:_[A-Z]+)*)\b", skill.texts()["verdicts.md"].split("\n\n")[1]))
    assert statuses - {"NOT_RUN", "CUDA"} <= {s.value for s in Status}


def test_the_skill_s_links_lead_to_its_files() -> None:
    texts = skill.texts()
    assert set(texts) == {"SKILL.md", "verdicts.md", "by-hand.md"}
    head = texts["SKILL.md"].split("---")[1]
    assert re.search(r"^name: cuteport$", head, re.MULTILINE)
    assert 40 < len(re.search(r"^description: (.+)$", head, re.MULTILINE)[1]) < 1024  # type: ignore[index]
    for text in texts.values():
        assert set(re.findall(r"\]\(([\w.-]+)\)", text)) <= set(texts)


def test_the_skill_is_written_and_never_over_something_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the same again is no conflict
        assert run(["mcp", "--skill", str(tmp_path)]) == 0
    assert (tmp_path / "cuteport/SKILL.md").read_text() == skill.texts()["SKILL.md"]
    (tmp_path / "cuteport/verdicts.md").write_text("mine")
    capfd.readouterr()
    assert run(["mcp", "--skill", str(tmp_path)]) == 1
    assert "CP5512" in capfd.readouterr().err
    assert (tmp_path / "cuteport/verdicts.md").read_text() == "mine"


@pytest.mark.parametrize("into", ["/dev/null/x", "/proc/x", "file", "folder"])
def test_a_skill_that_can_not_be_written_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], into: str
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder/cuteport/SKILL.md").mkdir(parents=True)
    place = tmp_path / into
    assert run(["mcp", "--skill", str(place)]) == 3
    assert f"error CP0002: can't write {place}/cuteport: " in capfd.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
