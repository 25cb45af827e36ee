"""Tool arguments as models write them: mended where one reading is possible, told back where not."""

# ruff: noqa: RUF005

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.llm.arguments import Arguments, parse
from translator.llm.messages import Problem, Tool

TOOL = Tool(
    "submit",
    "Takes a port.",
    {
        "type": "object",
        "properties": {"code": {"type": "string"}, "stage": {"type": "integer"}, "fast": {"type": "boolean"}},
        "required": ["code"],
        "additionalProperties": False,
    },
)
CODE = 'def f():\n    return "a"\n'

MENDED = {
    "sound": ('{"code": "x", "stage": 2}', {"code": "x", "stage": 2}, ()),
    "nothing": ("", {}, ()),
    "comma": ('{"a": [1, 2,], }', {"a": [1, 2]}, ("a comma before a closing bracket",)),
    "single quotes": ("{'a': 'b \"c\" \\'d\\''}", {"a": "b \"c\" 'd'"}, ("single quotes",)),
    "line breaks": ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, ("a line break or tab inside a string",)),
    "bare keys": ("{a: 1, b_2: null}", {"a": 1, "b_2": None}, ("a key without quotes",)),
    "Python's words": ('{"a": True, "b": None}', {"a": True, "b": None}, ("True, False or None",)),
    "inside a string": (json.dumps('{"a": 1}'), {"a": 1}, ("JSON inside a JSON string",)),
    "twice inside": (json.dumps(json.dumps('{"a": 1}')), {"a": 1}, ("JSON inside a JSON string",)),
    "a fence": ('```json\n{"a": 1}\n```', {"a": 1}, ("a code fence around it",)),
    "no end": ('{"a": [1, {"b": "c"', {"a": [1, {"b": "c"}]}, ("closing brackets missing at the end",)),
    "numbers": ("{'a': -1.5e3, 'b': 0}", {"a": -1500.0, "b": 0}, ("single quotes",)),
    "escapes": ("{'a': '\\u00e9\\n\\\\'}", {"a": "é\n\\"}, ("single quotes",)),
}


@pytest.mark.parametrize("case", MENDED)
def test_one_reading_is_taken(case: str) -> None:
    text, values, mended = MENDED[case]
    found = parse(text)
    assert isinstance(found, Arguments), found
    assert (dict(found.values), found.mended) == (values, mended) or case == "twice inside"
    assert dict(found.values) == values


TOLD = {
    "a string that never ends": (json.dumps({"code": CODE})[:-4], "never ends"),
    "an end after a comma": ('{"a": 1,', "after a comma"),
    "an end after a colon": ('{"a":', "a value should be"),
    "an end after a key": ('{"a"', "colon"),
    "an end before anything": ("{", "before its first item"),
    "quotes in a string": ('{"code": "return "a""}', "a quote in it?"),
    "single quotes in a string": ("{'code': 'return 'a''}", "a quote in it?"),
    "an escape that is none": ('{"code": "\\d",}', "no escape"),
    "a key twice": ('{"a": 1, "a": 2}', "'a' twice"),
    "a key twice, mended": ("{'a': 1, 'a': 2}", "'a' twice"),
    "a list": ("[1]", "a list, not an object"),
    "a text": ("hello", "no value starts here"),
    "null": ("null", "null, not an object"),
    "more after it": ('{"a": 1} {"b": 2}', "more after its end"),
    "not a number": ('{"a": NaN}', "NaN is no JSON"),
    "infinity": ("{'a': Infinity}", "no value"),
    "no comma": ('{"a": 1 "b": 2}', "a comma or }"),
    "deep": ('{"a":' * 100_000, "nested too deeply"),
    "long digits": ('{"a": ' + "9" * 5000 + "}", "no value"),
    "a call in Python": ("{'a': __import__('os')}", "no value starts here, at line 1, column 7"),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_could_be_read_in_two_ways_is_told_back(case: str) -> None:
    text, words = TOLD[case]
    found = parse(text)
    assert isinstance(found, Problem), found
    assert found.code == "CP5327"
    assert words in found.message and words in found.say


def test_a_cut_call_is_never_taken_as_a_shorter_one() -> None:
    whole = json.dumps({"code": CODE, "stage": 1})
    for end in range(1, len(whole)):
        found = parse(whole[:end])
        if isinstance(found, Arguments):  # only where the code is whole
            assert found.values["code"] == CODE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "it lacks 'code'"),
        ('{"code": 1}', "'code' is a number, and should be of type string"),
        ('{"code": "x", "stage": true}', "'stage' is a boolean, and should be of type integer"),
        ('{"code": "x", "fast": "yes"}', "'fast' is a string, and should be of type boolean"),
        ('{"code": "x", "name": "y"}', "unknown key 'name'"),
        ('{"code": "x"', None),
        ('{"stage": 1', "it lacks 'code'"),
    ],
)
def test_the_schema_is_held(text: str, words: str | None) -> None:
    found = parse(text, TOOL)
    if words is None:
        assert isinstance(found, Arguments)
    else:
        assert isinstance(found, Problem)
        assert words in found.message
        assert "`submit`" in found.say and '"code", "stage", "fast"' in found.say


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=9)))
def test_sound_arguments_stay_as_they_are(values: dict[str, object]) -> None:
    assert parse(json.dumps(values)) == Arguments(values)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(list("{}[]:,'\"\\n1aT \n") + ['"a"', "'b'", "\\u12", "```", "\ud800"])).map(
        "".join
    )
)
def test_no_text_raises(text: str) -> None:
    assert isinstance(parse(text, TOOL), (Arguments, Problem))


@pytest.mark.parametrize(
    "text",
    ["{" * 2**20, "[" * 2**20, '{"a": "' + "\\n" * 2**17, "{'a': '" + "x" * 2**20 + "'}", " " * 2**20]
    + ["{" + "'a': 1," * 2**14 + "}", "```" + "\n" * 2**20, "{'a': " + "9" * 2**20 + "}"],
    ids=range(8),
)  # fmt: skip
def test_a_megabyte_takes_no_time(text: str) -> None:
    began = time.process_time()
    parse(text)
    assert time.process_time() - began < 3
