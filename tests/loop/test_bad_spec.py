"""A spec that can't be used is wrong input for the commands that ask a model, as for all others: exit 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.llm.endpoint import Endpoint
from tests.loop.test_runs import faster, lift, no_tools, only_run
from translator.cli.main import run
from translator.loop.ledger import read_ledger

CUDA = """
__global__ void j(float* x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }
"""
BROKEN = 'schema = 1\nname = "k\n'


@pytest.mark.parametrize("command", ["lift", "tune"])
def test_lift_and_tune(place: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    (place / "k/spec.toml").write_text(BROKEN)
    with Endpoint([]) as e:
        assert faster(command, e, "--json") == 2
        assert not e.seen
    [entry] = json.loads(capfd.readouterr().out)["entries"]
    assert (entry["outcome"], entry["code"]) == ("REFUSED", "CP6001")
    assert entry["why"].startswith("k/spec.toml:2: not valid TOML"), entry["why"]


def test_a_spec_that_was_broken_meanwhile(place: Path) -> None:
    with Endpoint([no_tools()]) as e:
        assert lift(e) == 3  # the script is over: an endpoint that can't be used
        (place / "k/spec.toml").write_text(BROKEN)
        assert run(["runs", "resume", only_run(place).name, "--base-url", e.url]) == 2
    [entry] = read_ledger(only_run(place))
    assert entry.code == "CP6001"


@pytest.mark.parametrize("given", [["--tasks"], ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]])
def test_a_task_whose_spec_was_edited(
    place: Path, capfd: pytest.CaptureFixture[str], given: list[str]
) -> None:
    (place / "j.cu").write_text(CUDA)
    assert run(["port", "j.cu", "--tasks", "--no-verify"]) == 1
    (place / "out/j/spec.toml").write_text(BROKEN)
    capfd.readouterr()
    assert run(["port", "j.cu", *given, "--json"]) == 2
    document = json.loads(capfd.readouterr().out)
    [kernel] = document["kernels"]
    said = [d for d in kernel["diagnostics"] if d["code"] == "CP6001"]
    assert [d["message"].partition(" ")[0] for d in said] == ["out/j/spec.toml:2:"], kernel["diagnostics"]
    assert (place / "out/j/spec.toml").read_text() == BROKEN
