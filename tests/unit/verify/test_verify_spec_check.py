"""`cuteport spec check`: every problem with its line, each case in numbers, nothing run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from saxpy_target import SPEC, write_target

from tests.spec_page import PAGE, page
from translator.cli.main import run
from verify.spec import Spec
from verify.spec_check import examine, load_checked
from verify.spec_file import SpecError


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def changed(folder: Path, old: str, new: str) -> tuple[Path, str]:
    assert old in SPEC
    target = write_target(folder, spec=SPEC.replace(old, new))
    return target, (target / "spec.toml").read_text(encoding="utf-8")


def test_a_good_spec_in_numbers(tmp_path: Path) -> None:
    found = examine(write_target(tmp_path))
    assert found.ok and not [r for r in found.remarks if r.level == "error"]
    big = next(c for c in found.cases if c.name == "typical")
    assert big.sizes == {"n": 1009} and big.grid == (4, 1, 1) and big.block == (256, 1, 1)
    assert big.elems == {"x": 1009, "y": 1009} and big.bytes == 2 * 1009 * 4
    assert big.runs["gpu"] >= 3 and big.runs["emulator"] >= 2 and big.emulator == ""


def test_an_expression_that_has_no_value_is_told_with_its_own_line(tmp_path: Path) -> None:
    target, text = changed(tmp_path, 'elems = "n"', 'elems = "n * m"')
    with pytest.raises(SpecError) as caught:
        load_checked(target)
    line = line_of(text, 'elems = "n * m"')
    assert caught.value.problems[0].startswith(f"{target / 'spec.toml'}:{line}: ")
    assert "unknown name 'm'" in caught.value.problems[0]
    found = examine(target)
    assert not found.ok and not found.cases
    assert {r.line for r in found.remarks if r.level == "error"} == {line}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('elems = "n"', 'elems = "n << 100000000000"', "shift by 100000000000, which is not 0 to 63"),
        ('elems = "n"', 'elems = "(n + 1) << 50"', "more memory than there is"),
        ('grid = ["(n + 255) / 256"', 'grid = ["n << 31"', "more than 2147483647"),
        ('"1", "1"]\nblock', '"1 << 16", "1"]\nblock', "more than 65535"),
    ],
)
def test_sizes_that_no_device_has_are_told(tmp_path: Path, old: str, new: str, words: str) -> None:
    target, text = changed(tmp_path, old, new)
    with pytest.raises(SpecError) as caught:
        load_checked(target)
    told = caught.value.problems[0]
    assert words in told and told.startswith(f"{target / 'spec.toml'}:{line_of(text, new.splitlines()[0])}: ")


def test_a_port_that_takes_other_arguments_is_an_error(tmp_path: Path) -> None:
    target = write_target(tmp_path)
    port = target / "port.py"
    port.write_text(port.read_text().replace("def saxpy(n, ", "def saxpy("))
    found = examine(target)
    error = next(r for r in found.remarks if r.level == "error")
    assert not found.ok and "saxpy takes" in error.message and "the spec gives n, a, x, y" in error.message
    assert error.line == line_of((target / "spec.toml").read_text(), "entry =")


@pytest.mark.parametrize(
    ("part", "words"),
    [("port.py", "no file port.py"), ("original/device.cu", "no file original/device.cu")],
)
def test_missing_files_are_errors(tmp_path: Path, part: str, words: str) -> None:
    target = write_target(tmp_path)
    (target / part).unlink()
    assert words in [r.message for r in examine(target).remarks]


def test_what_makes_a_verdict_worth_less_is_a_warning(tmp_path: Path) -> None:
    target, text = changed(tmp_path, "sizes = { n = 1009 }", "sizes = { n = 1009, rows = 3 }")
    found = examine(target)
    warning = next(r for r in found.remarks if "rows" in r.message)
    assert found.ok and warning.level == "warning" and warning.line == line_of(text, "rows = 3")


def test_no_output_is_nothing_to_compare(tmp_path: Path) -> None:
    target, _ = changed(tmp_path, 'role = "inout"', 'role = "in"')
    assert any("nothing to compare" in r.message for r in examine(target).remarks)


def test_the_command_prints_one_document_and_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write_target(tmp_path / "good")
    bad, _ = changed(tmp_path / "bad", 'elems = "n"', 'elems = "n +"')
    assert run(["spec", "check", str(good), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["specs"][0]["ok"] is True
    assert run(["spec", "check", str(good), str(bad), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [s["ok"] for s in document["specs"]] == [True, False] and document["exit_code"] == 2
    assert run(["spec", "check", str(tmp_path / "none")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_page_of_fields_is_up_to_date_and_whole() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page()
    schema = json.dumps(Spec.model_json_schema())
    for name in ("elems", "opt_level", "symbol", "order_dependent", "floor", "answer"):
        assert f"| `{name}` |" in text and f'"{name}"' in schema
    assert all(f.description for f in Spec.model_fields.values())


@pytest.mark.parametrize("line", ["k = 100000.0", "atol = 0.5", "rtol = 0.01"])
def test_a_loosened_tolerance_is_told(tmp_path: Path, line: str) -> None:
    spec = f"{SPEC}[tolerance]\n{line}\n"
    target = write_target(tmp_path, spec=spec)
    (told,) = [r for r in examine(target).remarks if "allows more than the default" in r.message]
    assert told.level == "warning" and told.line == line_of(spec, line)


def test_text_that_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    target = write_target(tmp_path, spec="a = " + "[" * 30000)
    assert not examine(target).ok
