"""What CI systems are told: JUnit, SARIF and GitHub's annotations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from stand_ins import World, passed

import verify.__main__ as verify_main
from translator.cli.main import run
from verify.check.github import workflow_commands
from verify.check.junit import junit
from verify.check.model import FAIL_ON, MEANINGS, CheckReport, Outcome
from verify.check.output import Outputs, UsageError
from verify.check.sarif import sarif
from verify.check.told import Case, Suite, Told, findings_of, findings_of_verdicts, suites_of
from verify.codes import CODES
from verify.facts import FindingFacts
from verify.verdict import Report, Status, Verdict

ODD = 'a\x00b\x1b[31m ü \U0001f600 <x> & "q" \ud800 100% a:b,c\r\nnext'


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def mixed(world: World) -> CheckReport:
    """One target of each kind that a CPU can give."""
    for name in ("broken", "changed", "new", "ok", "stale"):
        if name != "new":
            world.target(name, f"ptx: {name}")
    world.check(record=True)
    world.target("new", "ptx: new")
    world.edit("broken", "ptx: broken; code: 2; status: WRONG_VALUES")
    world.edit("stale", "ptx: stale; more: 1")
    place = world.targets / "changed/baselines/emulator.json"
    data = json.loads(place.read_text())
    data["resources"]["port"]["kernels"][0]["registers"] = 8
    data["versions"]["nvidia-cutlass-dsl"] = "4.0.0"
    place.write_text(json.dumps(data))
    (world.target("spec") / "spec.toml").write_text("schema = 1\n!\n")
    (world.target("cut") / "baselines").mkdir()
    (world.targets / "cut/baselines/emulator.json").write_text("{")
    return world.check(Path("targets"))


def test_junit_has_a_case_per_stage_and_counts_that_fit(mixed: CheckReport) -> None:
    text = junit(suites_of(mixed.targets, mixed.fail_on), "check", 1.5)
    root = Xml.fromstring(text)
    assert root.attrib == {"name": "check", "time": "1.500", "tests": "22", "failures": "3", "errors": "0"}
    suites = {s.attrib["name"]: s for s in root}
    assert len(suites) == 7
    for suite in suites.values():
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert {c.attrib["classname"] for c in cases} == {suite.attrib["name"]}
    broken = suites["targets/broken"]
    assert [c.attrib["name"] for c in broken.findall("testcase")] == ["static", "compile", "parity"]
    failure = broken.find("testcase[@name='parity']/failure")
    assert failure is not None
    assert failure.attrib == {"message": "CP7012 WRONG_VALUES: y differs (port.py:7)", "type": "CP7012"}
    reused = suites["targets/ok"].find("testcase[@name='parity']/system-out")
    assert reused is not None and "values not run again" in (reused.text or "")
    properties = {p.attrib["name"]: p.attrib["value"] for p in suites["targets/changed"].iter("property")}
    assert properties["outcome"] == "CHANGED"
    assert properties["version nvidia-cutlass-dsl"].startswith("4.0.0 -> ")
    told = suites["targets/changed"].find("testcase[@name='baseline']/system-out")
    assert told is not None and "port: registers 8 → 20" in (told.text or "")


def test_an_outcome_asked_to_fail_is_a_failure_in_junit(mixed: CheckReport) -> None:
    root = Xml.fromstring(junit(suites_of(mixed.targets, [*FAIL_ON, Outcome.CHANGED]), "check", 1.0))
    (failure,) = root.findall("testsuite[@name='targets/changed']/testcase/failure")
    assert failure.attrib["type"] == "CP9201"


def test_junit_holds_any_text() -> None:
    case = Case("c", "failure", 0.1, "CP7012", ODD, ODD)
    root = Xml.fromstring(junit([Suite(ODD, (case,), {ODD: ODD})], "n", 0.0))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None and failure.text is not None
    assert "�b" in failure.text and '<x> & "q"' in failure.text and "100%" in failure.text
    assert "\n" not in failure.attrib["message"]


def test_sarif_has_rules_with_help_and_places(mixed: CheckReport) -> None:
    document = json.loads(sarif(findings_of(mixed.targets, mixed.fail_on), mixed.exit_code))
    assert document["version"] == "2.1.0"
    (run_,) = document["runs"]
    rules = run_["tool"]["driver"]["rules"]
    by_target = {r["properties"]["target"]: r for r in run_["results"]}
    assert set(by_target) == {f"targets/{n}" for n in ("broken", "changed", "new", "stale", "spec", "cut")}
    for result in run_["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}: {CODES[rule['id']]}")
    levels = {name.rpartition("/")[2]: r["level"] for name, r in by_target.items()}
    assert {n for n, level in levels.items() if level == "error"} == {"broken", "spec", "cut"}
    assert {n for n, level in levels.items() if level == "warning"} == {"changed", "stale"}
    assert levels["new"] == "note"
    place = by_target["targets/broken"]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "targets/broken/port.py"}, "region": {"startLine": 7}}
    place = by_target["targets/spec"]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "targets/spec/spec.toml"}, "region": {"startLine": 2}}
    assert run_["invocations"] == [{"executionSuccessful": True, "exitCode": 2}]


def test_places_are_uris() -> None:
    told = Told("t", "CP7012", "error", "m", "/else where/ü#.py", 3)
    (result,) = json.loads(sarif([told], 0))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "file:///else%20where/%C3%BC%23.py"


def test_annotations_are_escaped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    told = Told("t", "CP7012", "error", "50% off:\r\nline, two", str(tmp_path / "a,b:c%/port.py"), 4)
    assert workflow_commands([told]) == [
        "::error file=a%2Cb%3Ac%25/port.py,line=4,title=CP7012::50%25 off:%0D%0Aline, two"
    ]
    plain = [Told("t", "CP9205", "note", "m", ""), Told("t", "CP9201", "warning", "m", "x.py")]
    monkeypatch.chdir(tmp_path)
    assert workflow_commands(plain) == ["::notice title=CP9205::m", "::warning file=x.py,title=CP9201::m"]


def test_each_finding_has_a_line(mixed: CheckReport, world: World) -> None:
    """Where none is known, that of the port's first kernel: without one nothing is shown in a diff."""
    lines = dict(
        re.search(r"file=(\S+?),line=(\d+)", c).groups()  # type: ignore[union-attr]
        for c in workflow_commands(findings_of(mixed.targets, mixed.fail_on))
    )
    port = (world.targets / "changed/port.py").read_text().splitlines()
    kernel = port.index("@cute.kernel") + 2
    assert port[kernel - 1].startswith("def saxpy_kernel(")
    assert lines == {
        "targets/broken/port.py": "7",
        "targets/changed/port.py": str(kernel),
        "targets/cut/baselines/emulator.json": "1",
        "targets/new/port.py": str(kernel),
        "targets/spec/spec.toml": "2",
        "targets/stale/port.py": str(kernel),
    }
    verdict = passed(world.targets / "new", Status.WRONG_VALUES)
    stages = [s.model_copy(update={"line": None}) for s in verdict.stages]
    (told,) = findings_of_verdicts([verdict.model_copy(update={"stages": stages})])
    assert told.line == kernel


def test_findings_of_the_emulator_stand_at_their_lines(world: World) -> None:
    place = world.target("a")
    verdict = passed(place, Status.WRONG_VALUES)
    seen = FindingFacts(side="original", code="CP8012", message="race", case="c", file="device.cu", line=3)
    data = verdict.model_dump()
    data["stages"][2]["parity"]["findings"] = [seen.model_dump()]
    found = findings_of_verdicts([Verdict.model_validate(data)])
    assert [(f.code, f.file, f.line) for f in found] == [
        ("CP7012", str(place / "port.py"), 7),
        ("CP8012", str(place / "original/device.cu"), 3),
    ]


def test_files_are_written_whole_or_not_at_all(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    report = Report(exit_code=0, verdicts=[passed(world.target("a"))])
    xml, log = world.folder / "r.xml", world.folder / "r.sarif"
    assert Outputs(xml, log).write_verdicts(report) == 0
    assert Xml.parse(xml).getroot().attrib["tests"] == "3"
    assert json.loads(log.read_text())["runs"][0]["results"] == []
    for bad in (world.folder, world.folder / "no/such.xml"):
        with pytest.raises(UsageError, match="can't be written"):
            Outputs(bad)
    gone = world.folder / "gone"
    gone.mkdir()
    outputs = Outputs(gone / "r.xml")
    gone.rmdir()
    assert outputs.write_verdicts(report) == 3
    assert "can't be written" in capfd.readouterr().err
    assert sorted(p.name for p in world.folder.iterdir() if p.is_file()) == ["r.sarif", "r.xml"]


def test_the_command_writes_them_all(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.target("good", "ptx: 1")
    world.target("bad", "ptx: 2; status: WRONG_VALUES")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    arguments = ["check", "--json", "--junit", "j.xml", "--sarif", "s.json"]
    assert run(arguments) == 1
    captured = capfd.readouterr()
    report = CheckReport.model_validate_json(captured.out)
    assert [r.outcome for r in report.targets] == [Outcome.BROKEN, Outcome.NEW]
    assert "::error file=targets/bad/port.py,line=7,title=CP7012::BROKEN: parity" in captured.err
    assert "::notice file=targets/good/port.py,line=15,title=CP9205::NEW" in captured.err
    assert Path("j.xml").exists() and Path("s.json").exists()
    assert run(["check", "--no-github"]) == 1
    captured = capfd.readouterr()
    assert "::" not in captured.err
    lines = captured.out.splitlines()
    assert "BROKEN targets/bad CP7012 parity: WRONG_VALUES: y differs (targets/bad/port.py:7)" in lines
    assert any(line.startswith("NEW targets/good CP9205 no baselines/emulator.json") for line in lines)
    assert any(line.startswith("2 targets on emulator in ") and "1 BROKEN, 1 NEW" in line for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "nosuch"],
        ["check", "--fail-on", "sometimes"],
        ["check", "--resume"],
        ["check", "--junit", "no/such.xml"],
        ["check", "--device", "tpu"],
        ["check", "--changed-since", "nosuch"],
        ["bisect", "nosuch"],
        ["bisect", "targets/a", "--by", "mood"],
    ],
)
def test_wrong_usage_is_exit_2_and_a_document(
    world: World, capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    world.target("a")
    assert run([*arguments, "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["exit_code"] == 2


def test_schemas_describe_the_documents(mixed: CheckReport, capfd: pytest.CaptureFixture[str]) -> None:
    for name, field in (("check", "targets"), ("bisect", "tried")):
        assert run(["schema", name]) == 0
        assert field in json.loads(capfd.readouterr().out)["properties"]
    assert CheckReport.model_validate_json(mixed.model_dump_json()) == mixed


def test_verify_takes_the_same_files(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    place = world.target("a")
    monkeypatch.setattr(
        verify_main, "verify_targets", lambda *_, **__: iter([passed(place, Status.WRONG_VALUES)])
    )
    assert run(["verify", str(place), "--junit", "v.xml", "--sarif", "v.json", "--github"]) == 1
    assert Xml.parse("v.xml").getroot().attrib["failures"] == "1"
    (result,) = json.loads(Path("v.json").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("CP7012", "error")
    assert "::error file=targets/a/port.py,line=7" in capfd.readouterr().err


def test_the_readme_has_every_outcome_with_its_code_and_exit() -> None:
    text = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z]+)` \|(.*?)\| (.*?) \| exit (\d) \|$", text, re.MULTILINE)
    found = [(name, code.strip(), words, int(code_)) for name, code, words, code_ in rows]
    expected = []
    for outcome in Outcome:
        code, words = MEANINGS[outcome]
        said = code or ("its own" if outcome is Outcome.BROKEN else "")
        fails = {Outcome.UNPROVEN: 3, Outcome.MISSING: 2}.get(outcome, 1) if outcome in FAIL_ON else 0
        expected.append((outcome.value, said, words, fails))
    assert found == expected
