"""A lesser run leaves the verdict of a longer one where it is, and says so; no failure hides behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from report_targets import bench, compiled, parity, stage
from saxpy_target import write_target

from verify.__main__ import main
from verify.certificate import sealed
from verify.files import write_json
from verify.fuller import kept
from verify.run import hashes, load_specs
from verify.verdict import Asked, Status, Verdict, conclude

_FULL = ("static", "compile", "parity", "sanitize", "bench")


def verdict(
    target: Path,
    ran: tuple[str, ...] = _FULL,
    cases: tuple[str, ...] = (),
    device: Literal["gpu", "emulator"] = "gpu",
) -> Verdict:
    """One that passed the stages in `ran`."""
    facts: dict[str, dict[str, Any]] = {
        "static": {},
        "compile": {"compile": compiled()},
        "parity": {"parity": parity(device=device)},
        "sanitize": {"sanitize": {"tools": []}},
        "bench": {"bench": bench()},
    }
    stages = [
        stage(name, **facts[name]) if name in ran else stage(name, Status.NOT_RUN, message="not asked for")  # type: ignore[arg-type]
        for name in _FULL
    ]
    status, proven = conclude(stages)
    (spec,) = load_specs([target]).values()
    asked = Asked(stages=list(ran), cases=list(cases), device=device, arch="sm_90a", timeout=9.0)  # type: ignore[arg-type]
    found = Verdict(
        target=str(target), kernel="saxpy", status=status, proven=proven, stages=stages, asked=asked,
        hashes=hashes(target, spec),
    )  # fmt: skip
    return sealed(found)


def put(target: Path, found: Verdict) -> str:
    write_json(target / "verdict.json", found.model_dump(mode="json", exclude_none=True))
    return (target / "verdict.json").read_text()


def test_a_lesser_run_keeps_what_is_there_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write_target(tmp_path / "t")
    before = put(target, verdict(target))
    assert main([str(target), "--stages", "static"]) == 0
    assert (target / "verdict.json").read_text() == before
    said = f"{target}/verdict.json is kept, as it tells of more: stage compile, stage parity, stage sanitize"
    assert f"{said}, stage bench; delete it to have this run's instead" in capsys.readouterr().err
    assert main([str(target), "--stages", "static", "--json"]) == 0
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark["message"].startswith(said)


def test_a_verdict_that_can_not_be_written_is_told_with_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write_target(tmp_path / "t")
    (target / "verdict.json").mkdir()
    assert main([str(target), "--stages", "static", "--json"]) == 3
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [v["kernel"] for v in found["verdicts"]] == ["saxpy"]
    words = f"the system refused: [Errno 21] Is a directory: '{target}/verdict.json'"
    assert found["remarks"] == [{"target": str(target), "message": words}]
    assert said.err.count(words) == 1


@pytest.mark.parametrize("name", ["port.py", "spec.toml", "original/device.cu", "reference.py"])
def test_of_other_files_it_is_replaced(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = write_target(tmp_path / "t")
    put(target, verdict(target))
    with (target / name).open("a") as f:
        f.write("\n" if name != "reference.py" else "def reference(args, sizes): ...\n")
    assert main([str(target), "--stages", "static"]) == 0
    assert json.loads((target / "verdict.json").read_text())["status"] == "NOT_RUN"
    assert "is kept" not in capsys.readouterr().err


def test_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t")
    text = put(target, verdict(target))
    for damaged in (text.replace('"seed": 0', '"seed": 1'), text[:99], "[" * 100_000):
        (target / "verdict.json").write_text(damaged)
        assert main([str(target), "--stages", "static"]) == 0
        assert json.loads((target / "verdict.json").read_text())["status"] == "NOT_RUN"


def test_a_failure_replaces_everything(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t", "def saxpy(:\n")
    put(target, verdict(target))
    assert main([str(target), "--stages", "static"]) == 1
    assert json.loads((target / "verdict.json").read_text())["status"] == "REJECTED_STATIC"


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ({}, {}, ""),
        ({}, {"ran": ("static", "compile", "parity")}, "stage sanitize, stage bench"),
        ({"ran": ("static", "compile", "parity")}, {}, ""),
        ({}, {"cases": ("one",)}, "all cases"),
        ({"cases": ("one", "two")}, {"cases": ("one",)}, "cases two"),
        ({"cases": ("one",)}, {"cases": ("two",)}, ""),
        ({"cases": ("one",)}, {}, ""),
        ({}, {"device": "emulator"}, "values from a GPU"),
        ({"device": "emulator"}, {}, ""),
        ({"ran": ("static", "compile")}, {"ran": ("static",), "cases": ("one",)}, "stage compile"),
    ],
)
def test_what_is_more(tmp_path: Path, old: dict[str, Any], new: dict[str, Any], more: str) -> None:
    target = write_target(tmp_path / "t")
    put(target, verdict(target, **old))
    assert kept(target / "verdict.json", verdict(target, **new)) == more
