"""Drafts completed with what was measured: only what was asked changes, in the lines that say it."""

from __future__ import annotations

import difflib
import tomllib

from translator.analysis.spec_measured import Completion, asked_buffer, completed
from verify.spec_file import parse_spec

DRAFT = """schema = 1
name = "k"

[original]
kernel = "k"

[port]
entry = "k"

[launch]
grid = ["n", "1", "1"]
block = ["32", "1", "1"]

[[arg]]
name = "x"
kind = "buffer"
dtype = "float32"
elems = "n"
role = "in"
init = "normal"

[[arg]]
name = "p"
kind = "struct"
size = 16
fields = [
    { name = "x", offset = 0, buffer = { dtype = "float32", elems = "1024", role = "out", init = "zeros" } },
    { name = "n", dtype = "int32", offset = 8, value = "n" },
]

[[case]]
name = "x"
role = "boundary"
sizes = { n = 1, p_x_elems = 3 }

[[case]]
name = "only"
role = "typical"
sizes = {  }

[tolerance]
rule = "original"

[[question]]
code = "CP3105"
text = "not every access to x could be bounded; sized n as the accesses that could"

[[question]]
code = "CP3104"
text = "the size of p_x is unknown; 1024 elements assumed"

[[question]]
code = "CP3107"
text = "the size of x is unknown; not this one"
"""


def changes(text: str) -> list[str]:
    found = difflib.ndiff(DRAFT.splitlines(), text.splitlines())
    return [line for line in found if line.startswith(("+", "-"))]


def test_which_buffer_a_question_is_about() -> None:
    buffers = ("x", "x_y", "p.x")
    assert asked_buffer("CP3105", "not every access to x_y could be bounded; sized n as", buffers) == "x_y"
    assert asked_buffer("CP3104", "the size of p_x is unknown; 1", buffers) == "p.x"
    assert asked_buffer("CP3104", "the size of q is unknown; 1", buffers) is None
    assert asked_buffer("CP3107", "the size of x is unknown; 1", buffers) is None


def test_sizes_roles_and_answers() -> None:
    made = [
        Completion("CP3105", "x", 'it "is" so', True),
        Completion("CP3104", "p.x", "5 elements", True, {"x": 5, "only": 6}),
    ]
    text = completed(DRAFT, made, {"x": "inout"}, {"x", "p", "n", "p_x_elems"})
    struct = next(line for line in DRAFT.splitlines() if "offset = 0" in line).replace("1024", "%s")
    assert changes(text) == [
        '- role = "in"',
        '+ role = "inout"',
        "- " + struct % "1024",
        "+ " + struct % "p_x_elems_",
        "- sizes = { n = 1, p_x_elems = 3 }",
        "+ sizes = { n = 1, p_x_elems = 3, p_x_elems_ = 5 }",
        "- sizes = {  }",
        "+ sizes = { p_x_elems_ = 6 }",
        r'+ answer = "measured in the emulator: it \"is\" so"',
        '+ answer = "measured in the emulator: 5 elements"',
    ]
    assert [q.code for q in parse_spec(text).open_questions] == ["CP3107"]


def test_what_was_seen_is_told_where_it_is_no_answer() -> None:
    text = completed(DRAFT, [Completion("CP3105", "x", "it depends", False)], {}, set())
    assert changes(text) == [
        '- text = "not every access to x could be bounded; sized n as the accesses that could"',
        '+ text = "not every access to x could be bounded; sized n as the accesses that could; '
        'in the emulator: it depends"',
    ]
    assert "answer" not in tomllib.loads(text)["question"][0]
