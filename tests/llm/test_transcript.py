"""Transcripts: what was said comes back, and a run that says something else is told where."""

# ruff: noqa: E501  (a row of a table is a line)

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from translator.llm.messages import LlmError, Message, Reply, Tool, ToolCall, Usage
from translator.llm.transcript import Recording, Replay, normalised

TOOL = Tool("look", "Looks.", {"type": "object"})
CALL = ToolCall("id0", "look", '{"name": "x"}')
FIRST = [Message("system", "You port."), Message("user", "Port /tmp/run-1/k.cu, please.\nIt took 3.5 ms.")]
CALLED = Reply("", (CALL,), Usage(10, 2), "tool_calls", 0.123456, "m")
SECOND = [*FIRST, Message("assistant", "", (CALL,)), Message("tool", "é\u2028", call_id="id0")]
DONE = Reply("code", (), Usage(20, 3, True), "stop", 1.0, "m")
CUT = LlmError.of("CP5313", model="m", tokens=7, reply=replace(DONE, content="half", finish="length"))


class Scripted:
    def __init__(self, *answers: Reply | LlmError) -> None:
        self.answers = list(answers)

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        answer = self.answers.pop(0)
        if isinstance(answer, LlmError):
            raise answer
        return answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording of a call, an answer and an error."""
    made = tmp_path / "t.jsonl"
    recording = Recording(Scripted(CALLED, DONE, CUT), made)
    assert recording.ask(FIRST, [TOOL]) == CALLED
    assert recording.ask(SECOND, [TOOL]) == DONE
    with pytest.raises(LlmError):
        recording.ask(FIRST[:1])
    return made  # not closed: what is written is on disk at once


def test_what_was_said_comes_back(path: Path) -> None:
    replay = Replay(path)
    assert (replay.left, replay.cut) == (3, False)
    assert replay.ask(FIRST, [TOOL]) == replace(CALLED, seconds=0.123)
    assert replay.ask(SECOND, [TOOL]) == DONE
    with pytest.raises(LlmError) as raised:
        replay.ask(FIRST[:1])
    error = raised.value
    assert (error.code, error.message, error.fatal, error.reply) == ("CP5313", CUT.message, False, CUT.reply)
    assert error.diagnostic() == CUT.diagnostic()
    with pytest.raises(LlmError) as raised:
        replay.ask(FIRST)
    assert raised.value.code == "CP5320" and raised.value.fatal
    assert raised.value.message.endswith("has 3 exchanges, and one more was asked for")


def test_a_request_is_kept_as_what_it_adds(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert rows[0] == {"transcript": 1}
    assert [(r["kept"], len(r["added"])) for r in rows[1:] if "added" in r] == [(0, 2), (2, 2), (1, 0)]
    assert rows[1]["tools"]["names"] == ["look"]


def test_two_recordings_of_one_run_are_the_same_bytes(path: Path, tmp_path: Path) -> None:
    again = Recording(Replay(path), tmp_path / "again.jsonl")
    again.ask(FIRST, [TOOL])
    again.ask(SECOND, [TOOL])
    with pytest.raises(LlmError):
        again.ask(FIRST[:1])
    again.close()
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()


def test_what_differs_from_run_to_run_does_not_count(path: Path) -> None:
    other = Message("user", "Port /home/me/runs/20260102T030405Z-abcdef/k.cu, please.\nIt took 12 ms.")
    assert Replay(path).ask([FIRST[0], other], [TOOL]).calls == (CALL,)


CHANGES = {
    "content": (
        [FIRST[0], replace(FIRST[1], content="Port /tmp/run-1/j.cu, please.\nIt took 3.5 ms.")], [TOOL],
        "message 2 (user), line 1: 'Port <folder>/k.cu, please.' recorded, now 'Port <folder>/j.cu, please.'",
    ),
    "a line more": (
        [FIRST[0], replace(FIRST[1], content=FIRST[1].content + "\n")], [TOOL],
        "message 2 (user), line 3: 2 lines recorded, now 3",
    ),
    "role": ([replace(FIRST[0], role="user"), FIRST[1]], [TOOL], "message 1 (system): now of role user"),
    "a message less": (FIRST[:1], [TOOL], "message 2: 2 recorded, now 1"),
    "a message more": ([*FIRST, FIRST[1]], [TOOL], "message 3: 2 recorded, now 3"),
    "no tools": (FIRST, [], "tools: look recorded, now none"),
    "other tools": (FIRST, [replace(TOOL, description="Sees.")], "tools: the same names, described in another way"),
    "calls": ([FIRST[0], replace(FIRST[1], calls=(CALL,))], [TOOL], "message 2 (user): 0 tool calls recorded, now 1"),
    "call id": ([FIRST[0], replace(FIRST[1], call_id="x")], [TOOL], "message 2 (user): answers call , now x"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_a_difference_is_told_exactly(path: Path, case: str) -> None:
    messages, tools, words = CHANGES[case]
    with pytest.raises(LlmError) as raised:
        Replay(path).ask(messages, tools)
    assert (raised.value.code, raised.value.fatal) == ("CP5319", True)
    assert raised.value.message == f"the run differs from its transcript at exchange 1, {words}"
    lenient = Replay(path, strict=False)
    assert lenient.ask(messages, tools).calls == (CALL,)
    assert lenient.differences == [f"exchange 1, {words}"]
    assert lenient.ask(SECOND, [TOOL]) == DONE
    assert len(lenient.differences) == 1


def test_a_call_that_changed_is_told(path: Path) -> None:
    replay = Replay(path)
    replay.ask(FIRST, [TOOL])
    changed = replace(SECOND[2], calls=(replace(CALL, arguments='{"name": "y"}'),))
    with pytest.raises(LlmError, match=r"exchange 2, message 3 .assistant., call id0, line 1: "):
        replay.ask([*FIRST, changed, SECOND[3]], [TOOL])


def test_a_line_that_was_cut_is_left_out(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])
    replay = Replay(path)
    assert (replay.left, replay.cut) == (2, True)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (None, "No such file"),
        (b"", "no whole line"),
        (b"\xff\n", "byte 0 is not UTF-8"),
        (b'{"transcript": 2}\n', "line 1, transcript: Input should be 1"),
        (b'{"transcript": 1}\n{"kept": 0}\n', "line 2, added: Field required"),
        (b'{"transcript": 1}\n{"kept": 0, "added": [], "more": 1}\n', "line 2, more: Extra inputs"),
        (b'{"transcript": 1}\nhello\n', "line 2: Invalid JSON"),
        (b'{"transcript": 1}\n{"kept": 1, "added": []}\n', "line 2 does not follow"),
    ],
)
def test_a_file_that_is_no_transcript(tmp_path: Path, raw: bytes | None, words: str) -> None:
    path = tmp_path / "t.jsonl"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(LlmError) as raised:
        Replay(path)
    assert (raised.value.code, raised.value.fatal) == ("CP5321", True)
    assert words in raised.value.message


def test_a_transcript_is_not_written_over(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        Recording(Scripted(), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/tmp/a-1/b/port.py:3: x", "<folder>/port.py:3: x"),
        ("a/b/c and x // y /* z */", "a/b/c and x // y /* z */"),
        ("https://host/a/b", "https://host/a/b"),
        ("took 1.25 ms, 3 s, 4us", "took <time>, <time>, <time>"),
        ("m = 0xffffffff; <f at 0x7f00aa>", "m = 0xffffffff; <f <address>>"),
        ("at 2026-01-02T03:04:05.6Z by pid 12", "at <date> by pid <number>"),
        ("128 threads, 3 seeds", "128 threads, 3 seeds"),
    ],
)
def test_only_what_is_of_one_run_is_taken_out(text: str, left: str) -> None:
    assert normalised(text) == left
    assert normalised(left) == left
