"""The code of an answer: what is taken from it, and what the model is told where nothing can be."""

# ruff: noqa: E501  (a row of a table is a line)

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.llm.extract import Extracted, extract
from translator.llm.messages import Problem

CODE = "import cutlass\n\n\ndef launch(x):\n    return x\n"
OLD = "import cutlass\n\n\ndef launch(x):\n    return x + 1\n"
FENCED = f"```python\n{CODE}```\n"
CUDA = "```cuda\n__global__ void k(float* x) { x[0] = 1; }\n```\n"
NO_IMPORT = "def launch(x):\n    return 2\n"
QUOTING = 'import cutlass\n\nTEXT = """\n```cuda\nint x;\n```\n"""\n\n\ndef launch(x):\n    return TEXT\n'


def indented(text: str, by: str) -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


TAKEN = {
    "python": FENCED,
    "py": FENCED.replace("python", "py"),
    "Python3 with a title": FENCED.replace("python", 'Python3 title="port.py"'),
    "no language": FENCED.replace("python", ""),
    "tildes": FENCED.replace("```", "~~~"),
    "four backticks": FENCED.replace("```", "````"),
    "prose around": f"Here it is:\n\n{FENCED}\nIt returns `x`.\n",
    "windows lines": f"Here:\r\n{FENCED}".replace("\n", "\r\n").replace("\r\r", "\r"),
    "a byte order mark": "\ufeff" + FENCED,
    "indented": f"1. Do this:\n\n{indented(FENCED, '   ')}",
    "in a quotation": indented(FENCED, "> "),
    "with a tab": indented(FENCED, "\t"),
    "the original before it": CUDA + FENCED,
    "the original behind it": FENCED + CUDA,
    "an older one before it": f"First:\n```python\n{OLD}```\nBetter:\n{FENCED}",
    "its use behind it": FENCED + "Use it so:\n```python\nfrom port import launch\nlaunch(3)\n```\n",
    "a piece of it behind it": FENCED + f"The heart of it:\n```python\n{NO_IMPORT}```\n",
    "broken code behind it": FENCED + "```python\ndef launch(:\n```\n",
    "output behind it": FENCED + "```text\nok\n```\n```bash\npython port.py\n```\n",
    "a fence that never ends": FENCED.removesuffix("```\n"),
    "a fence on the last line of code": f"```python\n{CODE.rstrip()}```",
    "a fence that never ended before it": f"```python\nimport broken\n\nNo, so:\n{FENCED}",
    "bare": CODE,
    "bare after prose": f"Here is the port:\n\n{CODE}",
    "thought aloud": f"<think>\nfirst ```python\n{OLD}```\n</think>\n{FENCED}",
    "thought aloud, opened by the template": f"I could\n```python\n{OLD}```\n</think>\n\n{FENCED}",
    "thought in channels": f"<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>{FENCED}",
    "JSON": json.dumps({"code": CODE}),
    "JSON with a fence in it": json.dumps({"code": FENCED}),
    "JSON in a fence": f"```json\n{json.dumps({'name': 'port.py', 'content': CODE})}\n```",
    "a tool call as text": json.dumps({"name": "submit", "arguments": {"code": CODE}}),
    "a tool call whose arguments are text": json.dumps(
        {"name": "submit", "arguments": json.dumps({"code": CODE})}
    ),
    "a JSON string": json.dumps(CODE),
    "broken JSON": json.dumps({"code": CODE}).replace("}", ",}"),
    "named wrong": FENCED.replace("python", "cpp"),
    "named as text": FENCED.replace("python", "text"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_the_code_that_is_meant_is_taken(case: str) -> None:
    assert extract(TAKEN[case], ["launch"]) == Extracted(CODE)


def test_code_may_quote_fences() -> None:
    assert extract(f"```python\n{QUOTING}```\nand\n```\nx\n```\n", ["launch"]) == Extracted(QUOTING)


def test_without_a_wanted_name_a_module_defines_something() -> None:
    assert extract(FENCED + "```python\nimport torch\nx = 1\n```\n") == Extracted(CODE)


def test_a_module_without_imports_is_better_than_none() -> None:
    assert extract(f"```python\n{NO_IMPORT}```", ["launch"]) == Extracted(NO_IMPORT)


def test_names_may_be_defined_under_a_condition_or_by_assignment() -> None:
    code = "import a\n\ntry:\n    launch = a.launch\nexcept E:\n    if a:\n\n        def other(): ...\n"
    assert extract(f"```\n{code}```", ["launch", "other"]) == Extracted(code)


DIFF = "--- a/port.py\n+++ b/port.py\n@@ -1,2 +1,2 @@\n-x\n+y\n"
LEFT = CODE + "\n\n# ... rest of the kernel unchanged ...\n"
# case: answer, code, words of the message, words said to the model
TOLD = {
    "nothing": ("", "CP5323", "empty", "whole file"),
    "prose": ("I am sorry, I can't.", "CP5323", "neither", "```python"),
    "one word": ("Sorry", "CP5323", "neither", "```python"),
    "only the original": (CUDA, "CP5323", "its blocks are cuda", "```python"),
    "only thoughts": (f"<think>{FENCED}", "CP5323", "thoughts", "whole file"),
    "only thoughts, ended": (f"<think>{FENCED}</think>\n", "CP5323", "empty", "whole file"),
    "a syntax error": ("```python\nimport a\ndef launch(:\n```", "CP5324", "line 2: invalid syntax", "line 2"),
    "cut": ("```python\nimport a\ndef launch(x):\n    y = (x", "CP5324", "its block never ends", "whole file"),
    "tabs and blanks": ("```python\nif 1:\n\tx = 1\n        y = 2\n```", "CP5324", "inconsistent", "tabs"),
    "a NUL": ("```python\nimport a\x00\n```", "CP5324", "null bytes", "whole file"),
    "bare and broken": ("import a\ndef launch(:\n  pass", "CP5324", "line 2", "whole file"),
    "broken, and a sound one of no use": (
        "```python\nimport b\n```\n```python\ndef launch(:\n```", "CP5324", "line 1", "whole file",
    ),
    "another name": ("```python\nimport a\ndef start(x): ...\n```", "CP5325", "launch; it defines start", "`launch`"),
    "inside a class": ("```python\nimport a\nclass C:\n  def launch(x): ...\n```", "CP5325", "launch; it defines C", "top level"),
    "a diff": (f"```diff\n{DIFF}```", "CP5326", "a diff", "whole file"),
    "a bare diff": (DIFF, "CP5326", "a diff", "whole file"),
    "a diff named python": (f"```python\n{DIFF}```", "CP5326", "a diff", "whole file"),
    "a patch": ("*** Begin Patch\n*** Update File: port.py\n", "CP5326", "a diff", "whole file"),
    "search and replace": ("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE", "CP5326", "a diff", "whole file"),
    "parts left out": (f"```python\n{LEFT}```", "CP5326", "rest of the kernel unchanged", "leaves parts out"),
    "too long": ("```python\n" + "x = 1\n" * 50_000 + "```", "CP5324", "299999 characters", "whole file"),
    "longer than any answer": ("x" * (4 * 2**20 + 1), "CP5323", "4194305 characters", "whole file"),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_the_model_is_told_what_was_wrong(case: str) -> None:
    answer, code, message, said = TOLD[case]
    found = extract(answer, ["launch"])
    assert isinstance(found, Problem), found
    assert found.code == code
    assert message in found.message
    assert said in found.say


@pytest.mark.parametrize(
    "comment",
    [
        "# CUDA: x += 1; // same as before",
        "# the rest of each warp waits",
        "# ...and the sum of it",
        "# rest of row",
    ],
)
def test_comments_that_leave_nothing_out_are_kept(comment: str) -> None:
    code = f"{CODE}{comment}\n"
    assert extract(f"```python\n{code}```", ["launch"]) == Extracted(code)


MB = 2**20
NASTY = {
    "openings": "```python\n" * (MB // 10),
    "closings": "```\n" * (MB // 4),
    "pairs": "```python\nx=\n```\n" * (MB // 17),
    "sound pairs": "```python\ndef f(): 0\n```\n" * (MB // 25),
    "blanks and a backtick": "```" + " " * MB + "x`",
    "letters and a backtick": "```" + "a" * MB + "`",
    "blanks": " " * MB,
    "quotations": ">" * MB,
    "tildes": "~" * MB,
    "brackets": "[" * MB,
    "braces": "{" * MB,
    "JSON text": '{"code": "' + "\\n" * (MB // 2) + '"}',
    "many keys": "{" + ",".join(f'"{n}":0' for n in range(MB // 10)) + ',"0":1}',
    "long code": "```python\n" + "x = 1\n" * 40_000 + "```\n" + "```python\n" + "x = (\n" * 40_000 + "```",
    "deep code": "```python\n" + "-" * 250_000 + "1\n```",
    "thoughts": "<think>" * (MB // 7),
    "comparisons": "```python\n" + "1<" * 120_000 + "1\n```",
    "heads": "--- a\n" * (MB // 6),
    "hunks": "@@ " * (MB // 3),
    "comments": "```python\n" + "# ... \n" * 36_000 + "def f(): 0\n```",
    "one line": "def " * (MB // 4),
}


@pytest.mark.parametrize("case", NASTY)
def test_an_answer_of_a_megabyte_takes_no_time(case: str) -> None:
    began = time.process_time()
    extract(NASTY[case], ["launch"])
    assert time.process_time() - began < 4  # below 1 s on an idle core


PIECES = [
    *(
        "```",
        "```python\n",
        "```cuda\n",
        "json\n",
        "~~~",
        "`",
        "\n",
        "\r\n",
        "> ",
        "    ",
        "{",
        "[",
        "'",
        "(",
    ),
    *(
        "<think>",
        "</think>",
        "<|channel|>final<|message|>",
        '{"code": "',
        '"}',
        "\\n",
        "\x00",
        "\ud800",
        "\ufeff",
    ),
    *("import a\n", "def launch(x):\n", "    return x\n", "# ... rest unchanged\n", "'''", '"""', "\u2028"),
    *("@@ -1 +1 @@", "--- a\n+++ b\n"),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=60).map("".join),
    st.sampled_from([(), ("launch",)]),
)
def test_no_answer_raises(answer: str, wanted: tuple[str, ...]) -> None:
    found = extract(answer, wanted)
    if isinstance(found, Extracted):
        compile(found.code, "port.py", "exec", dont_inherit=True)
        assert all(name in found.code for name in wanted)
    else:
        assert found.code.startswith("CP53") and "whole file" in found.say
