"""Runs with a model from the command line: what is written, resumed, compared; a verifier by first lines."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.llm.endpoint import Endpoint, hang, ok, status
from tests.loop.conftest import KEY
from tests.loop.scripted import RIGHT, fenced, verdict, wrong
from tests.loop.test_search import SPEC, drafted
from translator.batch import assist
from translator.cli.main import run
from translator.loop import workshop
from translator.loop.ledger import read_ledger
from translator.settings import load
from translator.task import Ran, to_text
from verify.options import Options
from verify.verdict import Verdict
from verify.where import Where

OTHER = RIGHT.replace("# right", "# right 0 by vectors")


def faster(command: str, endpoint: Endpoint, *more: str) -> int:
    return run([command, "k", "--model", "m", "--base-url", endpoint.url, *more])


def lift(endpoint: Endpoint, *more: str) -> int:
    return faster("lift", endpoint, *more)


@pytest.mark.parametrize("command", ["lift", "tune"])
def test_exit_codes(place: Path, command: str) -> None:
    with Endpoint([no_tools(), ok(fenced(OTHER)), no_tools(), ok(fenced(wrong(1)))]) as e:
        assert faster(command, e, "--money", "1") == 3
        assert faster(command, e, "--json") == 0
        (place / "out").rename(place / "out-before")
        assert faster(command, e, "--turns", "1") == 1


def only_run(place: Path) -> Path:
    [folder] = (place / "runs").iterdir()
    return folder


def test_lift_writes_a_copy_and_leaves_the_target(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e, "--json") == 0
    document = json.loads(capfd.readouterr().out)
    [entry] = document["entries"]
    assert (entry["kernel"], entry["outcome"], entry["turns"], entry["gain"]) == ("k", "PASSED", 1, None)
    assert (place / "out/k/port.py").read_text() == OTHER
    assert (place / "out/k/spec.toml").read_text() == SPEC
    assert (place / "k/port.py").read_text() == RIGHT
    origin = json.loads((place / "out/k/origin.json").read_text())
    assert (origin["by"], origin["mode"], origin["turns"], origin["tokens"]) == ("m", "lift", 1, 18)


def test_what_was_written_is_judged_where_it_lies(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Path] = []

    def never(folder: Path, options: Options) -> Verdict:
        judged.append(folder)
        return verdict(wrong(1), options)

    monkeypatch.setattr(assist, "verify_target", never)
    (place / "k/line_map.json").write_text("{}")  # of the port that was there
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e) == 1
    assert [p.name for p in judged] == ["k"] and judged[0].parent.name == "out"
    assert not (place / "out/k/line_map.json").exists()
    [entry] = read_ledger(only_run(place))
    assert (entry.outcome, entry.code) == ("REFUSED", "CP7012")


def test_what_is_there_is_not_replaced_unasked(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "out/k").mkdir(parents=True)
    (place / "out/k/mine.txt").write_text("mine")
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e) == 2
        assert not e.seen
        assert "--force" in capfd.readouterr().err
        assert (place / "out/k/mine.txt").read_text() == "mine"
        assert lift(e, "--force") == 0
    assert (place / "out/k/port.py").read_text() == OTHER


def test_the_key_is_nowhere_on_disk(place: Path) -> None:
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    with Endpoint(
        [no_tools(), ok(f"your key is {KEY}\n{fenced(wrong(1))}"), status(401, json.dumps(echo))]
    ) as e:
        assert lift(e) == 3
    held = [p for p in place.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
    assert held == []


def test_a_run_is_resumed_after_what_its_transcript_holds(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1))), ok(fenced(OTHER))]) as e:
        assert lift(e, "--turns", "1") == 1
        folder = only_run(place)
        [entry] = read_ledger(folder)
        assert (entry.code, entry.reached) == ("CP5403", "VALUES")
        before = len(e.seen)
        assert run(["runs", "resume", folder.name, "--turns", "5", "--base-url", e.url]) == 0
        assert len(e.seen) - before <= 2  # the first answer came from the transcript
    [entry] = read_ledger(folder)
    assert (entry.outcome, entry.turns) == ("PASSED", 2)
    assert (place / "out/k/port.py").read_text() == OTHER
    capfd.readouterr()
    assert run(["runs", "resume", folder.name, "--base-url", e.url]) == 0  # nothing is left to do
    assert "1 of 1 kernel PASSED" in capfd.readouterr().out


def test_a_run_is_replayed_without_its_endpoint(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1))), ok(fenced(OTHER))]) as e:
        assert lift(e) == 0
    folder = only_run(place)
    capfd.readouterr()
    before = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
    assert run(["runs", "replay", folder.name, "--json"]) == 0
    out, err = capfd.readouterr()
    assert err == "replaying what the model said about 1 kernel\n"  # nobody is asked
    [entry] = json.loads(out)["entries"]
    assert (entry["outcome"], entry["turns"], entry["candidates"]) == ("PASSED", 2, 2)
    assert {p: p.read_bytes() for p in before} == before
    (folder / "k/candidate-1/transcript.jsonl").write_text('{"transcript": 1}\n')
    assert run(["runs", "replay", folder.name]) == 3
    assert "CP5320" in capfd.readouterr().out


def test_list_compare_and_csv(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([no_tools(), ok(fenced(OTHER)), no_tools(), ok(fenced(wrong(1)))]) as e:
        assert lift(e) == 0
        assert lift(e, "--turns", "1", "-o", "out2") == 1
    passed, failed = sorted((place / "runs").iterdir(), key=lambda p: read_ledger(p)[0].outcome)
    capfd.readouterr()
    assert run(["runs", "compare", str(passed), failed.name]) == 1
    assert "lost" in capfd.readouterr().out
    assert run(["runs", "compare", failed.name, passed.name]) == 0
    capfd.readouterr()
    assert run(["runs", "list", "--json"]) == 0
    listed = json.loads(capfd.readouterr().out)["runs"]
    assert sorted(r["entries"][0]["outcome"] for r in listed) == ["PASSED", "REFUSED"]
    assert run(["runs", "csv", failed.name]) == 0
    [row] = csv.DictReader(io.StringIO(capfd.readouterr().out))
    assert (row["kernel"], row["code"], row["money"]) == ("k", "CP5403", "")
    assert run(["runs", "csv", failed.name, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    [entry] = document["entries"]
    assert (document["exit_code"], document["folder"]) == (0, f"runs/{failed.name}")
    assert (entry["kernel"], entry["code"], entry["money"]) == ("k", "CP5403", None)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 2}', "\0" * 9])
def test_a_damaged_run_is_told_and_left(place: Path, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    folder = place / "runs/old"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(text)
    assert run(["runs", "resume", "old"]) == 2
    assert "CP5407" in capfd.readouterr().err
    assert run(["runs", "list"]) == 1
    assert (folder / "run.json").read_text() == text


def test_a_run_that_is_not_there(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "resume", "nowhere", "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["exit_code"] == 2


def test_folders_that_would_be_lost_are_refused(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1)))]) as e:
        assert lift(e, "-o", "k/inside") == 2
        assert run(["lift", "k", "./k", "--model", "m", "--base-url", e.url]) == 2
        assert not e.seen
        assert lift(e, "--turns", "1") == 1
        (place / "out/k").mkdir(parents=True)
        (place / "out/k/mine.txt").write_text("mine")  # by hand, since the run failed
        capfd.readouterr()
        assert run(["runs", "resume", only_run(place).name, "--base-url", e.url]) == 2
    assert "there already" in capfd.readouterr().err
    assert (place / "out/k/mine.txt").read_text() == "mine"


def test_a_request_is_left_behind_when_the_seconds_are_over(place: Path) -> None:
    with Endpoint([hang]) as e:
        assert lift(e, "--seconds", "1") == 1
    [entry] = read_ledger(only_run(place))
    assert entry.code == "CP5403" and entry.seconds < 30


def test_without_a_model_nothing_is_guessed(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["lift", "k"]) == 2
    assert "--model" in capfd.readouterr().err


def test_money_without_a_price_is_refused_before_anything_is_sent(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Endpoint([]) as e:
        assert lift(e, "--money", "1") == 3
        assert not e.seen
    assert "CP5322" in capfd.readouterr().err


def test_money_is_added_up_by_the_price_in_the_settings(place: Path) -> None:
    (place / "cuteport.toml").write_text('prices = ["m=1000/2000"]\n')
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e, "--money", "1000") == 0
    [entry] = read_ledger(only_run(place))
    assert entry.money == pytest.approx(0.011 + 0.014)


def test_a_spec_with_questions_is_not_sent(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = SPEC + '[[question]]\ncode = "CP3104"\ntext = "how large is x?"\n'
    (place / "k/spec.toml").write_text(text)
    with Endpoint([]) as e:
        assert lift(e) == 1
        assert not e.seen
    [entry] = read_ledger(only_run(place))
    assert entry.code == "CP5401" and "how large is x?" in entry.why
    assert "asking" not in capfd.readouterr().err


def test_only_kernels_that_may_be_sent_are_said_to_be_asked_about(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "k", place / "open")
    text = SPEC + '[[question]]\ncode = "CP3104"\ntext = "how large is x?"\n'
    (place / "open/spec.toml").write_text(text)
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e, "open") == 1
        assert e.seen
    assert capfd.readouterr().err == "asking the model about 1 kernel\n"


def no_tools():  # type: ignore[no-untyped-def]
    """An endpoint that takes no tools: each answer is one file then."""
    return status(400, json.dumps({"error": {"message": "tools is not supported by this model"}}))


def test_an_interrupted_run_ends_while_the_model_still_thinks(place: Path) -> None:
    code = (
        "import sys; from tests.loop.test_runs import stubs; stubs()\n"
        "from translator.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    with Endpoint([hang]) as e:
        command = [sys.executable, "-c", code, "lift", "k", "--model", "m", "--base-url", e.url]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        child = subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not e.seen and time.monotonic() < until:
            time.sleep(0.05)
        assert e.seen
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    folder = only_run(place)
    assert (folder / "run.json").is_file() and (folder / "k/candidate-1/transcript.jsonl").is_file()


def stubs() -> None:
    """For a child process: a verifier by first lines, and no DSL."""
    of = workshop.Workshop.of

    def made(*args: object) -> workshop.Workshop:
        shop = of(*args)  # type: ignore[arg-type]
        shop.judge = lambda folder, options: verdict((folder / "port.py").read_text(), options)
        return shop

    workshop.Workshop.of = made  # type: ignore[assignment, method-assign]
    assist.load_api = lambda: None  # type: ignore[assignment]
    assist.verify_target = None  # type: ignore[assignment]
    assist.choose = lambda _: Where("sm_90a", emulator=True)


def test_an_original_that_did_not_run_is_not_asked_about(place: Path) -> None:
    task = drafted("").model_copy(update={"draft": None, "original": Ran(runs=False, why="it hangs")})
    (place / "k/task.json").write_text(to_text(task))
    (place / "run").mkdir()
    with Endpoint([]) as e:
        work = assist.session(load({"model": "m", "base_url": e.url}), place / "run")
        [came] = assist.ask(work, [assist.Wanted("k", place / "k", place / "k", "port")], lambda *_: None)
        assert not e.seen
    assert (came.entry.outcome, came.entry.code) == ("REFUSED", "CP5406") and "it hangs" in came.entry.why
    assert (place / "k/port.py").read_text() == RIGHT
