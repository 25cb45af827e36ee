"""The table and the lines that verify and report print."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import report_targets as targets

from verify.__main__ import main
from verify.summary import Row, geometric_mean, row_of
from verify.terminal import Shown, reasons, show_table
from verify.verdict import StageResult, Status, Verdict


def test_the_table_holds_each_figure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = [
        targets.passed(tmp_path / "good"),
        targets.wrong(tmp_path / "bad"),
        targets.racy(tmp_path / "racy"),
    ]
    rows = [row_of(Verdict.model_validate_json((f / "verdict.json").read_bytes())) for f in made]
    show_table([*rows, Row("COMPILED", "esc\x1b[31m", "k")], Shown())
    assert capsys.readouterr().out.splitlines() == [
        "status        kernel    code          runs      worst error  mutants       original / port",
        "PASSED        good              2 emulated  1.2e-07 (2 ulp)     0.50  1.250 [1.240, 1.260]",
        "WRONG_VALUES  bad       CP7012  2 emulated  4.5 (1e+09 ulp)",
        "SANITIZER     racy      CP8011  0 emulated",
        "COMPILED      esc␛[31m",
    ]


def test_columns_without_anything_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([Row("NOT_RUN", "a", "a"), Row("NOT_RUN", "b", "b", ratio=(2.0, 1.9, 2.1))], Shown())
    assert capsys.readouterr().out.splitlines() == [
        "status   kernel       original / port",
        "NOT_RUN  a",
        "NOT_RUN  b       2.000 [1.900, 2.100]",
    ]


def test_equal_bits_are_told_as_such_and_the_worst_output_speaks(tmp_path: Path) -> None:
    facts = targets.parity()
    equal = facts.outputs[0].model_copy(update={"bitwise_equal": True, "max_abs": 0.0})
    nan = equal.model_copy(
        update={"output": "z", "bitwise_equal": False, "max_abs": math.nan, "max_ulp": 0.0}
    )
    assert _row(tmp_path / "a", [equal]).error_words == "equal bits"
    assert _row(tmp_path / "b", [equal, facts.outputs[0]]).error_words == "1.2e-07 (2 ulp)"
    assert _row(tmp_path / "c", [nan, facts.outputs[0]]).error_words == "nan"


def _row(folder: Path, outputs: list[targets.Difference]) -> Row:
    targets.write_folder(folder)
    stages = (
        targets.stage("static"),
        targets.stage("compile", compile=targets.compiled()),
        targets.stage("parity", parity=targets.parity(outputs=outputs)),
    )
    return row_of(targets.verdict(folder, "k", Status.PASSED, *stages))


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 0.5, 8.0]) == pytest.approx(2.0)
    assert geometric_mean([]) is None
    assert geometric_mean([1.0, 0.0]) is None
    assert geometric_mean([1.0, math.inf]) is None


def test_each_reason_once() -> None:
    def not_run(stage: targets.StageName, message: str, code: str | None = None) -> StageResult:
        return StageResult(stage=stage, target="t", status=Status.NOT_RUN, code=code, message=message)

    told = [not_run("bench", "no GPU", "CP9002"), not_run("bench", "parity ended SANITIZER")]
    assert reasons([*told, *told, not_run("sanitize", "not asked for")]) == [
        "bench NOT_RUN: CP9002 no GPU (2 targets)",
        "sanitize NOT_RUN: not asked for (1 target)",
    ]


def test_verify_ends_with_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from saxpy_target import write_target

    write_target(tmp_path / "saxpy", "def saxpy(:\n")
    assert main([str(tmp_path / "saxpy"), "--stages", "static"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == ["status           kernel  code", "REJECTED_STATIC  saxpy   CP6002"]
    assert said.err.splitlines()[0].startswith("saxpy: static: REJECTED_STATIC CP6002 ")
