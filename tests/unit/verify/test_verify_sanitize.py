"""The sanitize stage: its cases, and what findings mean for the port."""

from __future__ import annotations

from pathlib import Path

from saxpy_target import SPEC, write_target

from verify.facts import FindingFacts, ToolFacts
from verify.sanitize import Checked, chosen_cases, findings_of, judge
from verify.sanitizer import TOOLS
from verify.sanitizer_reports import At, Told
from verify.spec_file import load_spec
from verify.verdict import StageResult, Status

HERE = Path(__file__).parent
MORE = """
[[case]]
name = "wide"
sizes = { n = 100000 }
[[case]]
name = "large"
sizes = { n = 5000 }
role = "large"
[[case]]
name = "huge"
sizes = { n = 20000000 }
role = "boundary"
"""


def tool(name: str, side: str, why: str = "", cases: tuple[str, ...] = ("one",)) -> ToolFacts:
    return ToolFacts.model_validate({"name": name, "side": side, "why": why, "cases": cases})


def finding(side: str, code: str, line: int = 7) -> FindingFacts:
    file = "port.py" if side == "port" else "device.cu"
    return FindingFacts.model_validate(
        {"side": side, "code": code, "message": f"m {code}", "case": "one", "file": file, "line": line}
    )


def judged(*rows: tuple[ToolFacts, list[FindingFacts]]) -> StageResult:
    return judge(Path("t"), [Checked(f, found) for f, found in rows], {})


# ---- which cases


def test_small_cases_are_chosen_and_the_others_have_a_reason(tmp_path: Path) -> None:
    spec = load_spec(write_target(tmp_path / "t", spec=SPEC + MORE))
    cases, left_out = chosen_cases(spec, ())
    assert [c.name for c in cases] == ["one", "typical"]
    assert {n: w.split(":")[0] for n, w in left_out.items()} == {
        "empty": "a grid side is 0",
        "wide": "typical stands for the typical cases",
        "large": "too large for tools that record each access",
        "huge": "too large for tools that record each access",
    }
    assert [c.name for c in chosen_cases(spec, ("wide",))[0]] == ["wide"]


# ---- what findings mean


def test_without_findings_it_passes() -> None:
    found = judged((tool("memcheck", "original"), []), (tool("memcheck", "port"), []))
    assert (found.status, found.code, found.message) == (Status.PASSED, None, "")


def test_the_ports_own_fault_fails_it_at_its_line() -> None:
    rows = [(tool("memcheck", "original"), []), (tool("memcheck", "port"), [finding("port", "CP8001")])]
    found = judged(*rows)
    assert (found.status, found.code, found.line) == (Status.SANITIZER, "CP8001", 7)
    assert found.message == "case one, port: m CP8001 (port.py:7)"


def test_a_fault_of_the_same_kind_in_the_original_is_inherited() -> None:
    rows = [
        (tool("memcheck", "original"), [finding("original", "CP8001", 3)]),
        (tool("memcheck", "port"), [finding("port", "CP8001")]),
    ]
    found = judged(*rows)
    assert (found.status, found.code, found.line) == (Status.ORIGINAL_SUSPECT, "CP8001", 7)
    assert found.sanitize is not None
    assert [(f.side, f.inherited) for f in found.sanitize.findings] == [("original", False), ("port", True)]


def test_another_kind_is_the_ports_own_whatever_the_original_does() -> None:
    rows = [
        (tool("memcheck", "original"), [finding("original", "CP8001")]),
        (tool("memcheck", "port"), [finding("port", "CP8001")]),
        (tool("racecheck", "port"), [finding("port", "CP8011", 9)]),
    ]
    found = judged(*rows)
    assert (found.status, found.code, found.line) == (Status.SANITIZER, "CP8011", 9)


def test_a_fault_of_the_original_alone_is_told_and_no_more() -> None:
    rows = [
        (tool("memcheck", "original"), [finding("original", "CP8001")]),
        (tool("memcheck", "port"), []),
    ]
    found = judged(*rows)
    assert (found.status, found.code) == (Status.PASSED, None)
    assert found.message == "the original alone: CP8001 case one, original: m CP8001 (device.cu:7)"


def test_notes_fail_nothing() -> None:
    notes = [finding("port", "CP8013"), finding("port", "CP8062")]
    assert judged((tool("racecheck", "port"), notes)).status is Status.PASSED


def test_a_tool_that_could_not_run_is_no_pass() -> None:
    found = judged((tool("memcheck", "port"), []), (tool("racecheck", "port", "case one: no answer", ()), []))
    assert (found.status, found.code) == (Status.NOT_RUN, "CP9012")
    assert found.message == "racecheck: case one: no answer"
    # A finding of another tool is one all the same.
    rows = [
        (tool("memcheck", "port"), [finding("port", "CP8001")]),
        (tool("racecheck", "port", "no answer", ()), []),
    ]
    assert judged(*rows).status is Status.SANITIZER


def test_the_original_may_be_beyond_a_tool() -> None:
    rows = [(tool("memcheck", "original", "case one: refused", ()), []), (tool("memcheck", "port"), [])]
    assert judged(*rows).status is Status.PASSED


def test_the_emulator_is_needed_only_where_it_is_alone() -> None:
    refused = (tool("emulator", "port", "CP7103 not supported", ()), [])
    assert judged((tool("memcheck", "port"), []), refused).status is Status.PASSED
    assert judged(refused).status is Status.NOT_RUN


def test_the_emulator_stands_in_where_no_tool_works_here() -> None:
    refused = [(tool(name, "port", "case one: Device not supported", ()), []) for name in TOOLS]
    found = judged(*refused, (tool("emulator", "port"), []))
    assert (found.status, found.code) == (Status.PASSED, None)
    assert found.message.startswith("not run: memcheck: case one: Device not supported; racecheck: ")
    assert judged(*refused).status is Status.NOT_RUN
    # One tool that works is no reason to do without the others.
    assert (
        judged(*refused[1:], (tool("memcheck", "port"), []), (tool("emulator", "port"), [])).code == "CP9012"
    )


def test_no_case_is_no_pass() -> None:
    found = judge(Path("t"), [Checked(tool("memcheck", "port", "", ()), [])], {"large": "too large"})
    assert (found.status, found.code) == (Status.NOT_RUN, "CP9012")
    assert found.message == "no case for it: large: too large"


def test_threads_and_blocks_become_linear(tmp_path: Path) -> None:
    spec = load_spec(write_target(tmp_path / "t"))
    from verify.resolve import resolve

    resolved = resolve(spec, spec.case[2])  # grid 4, block 256
    told = Told("CP8001", "m", At("port.py", 3, "k+0x10"), (5, 2, 1), (3, 1, 0), 1)
    facts = tool("memcheck", "port")
    (found,) = findings_of([told], facts, "typical", resolved)
    assert (found.thread, found.block) == (5 + 256 * (2 + 1), 3 + 4)
    assert (found.message, found.ptx) == ("memcheck: m", "k+0x10")
