"""Runs with a model that are killed, interrupted, met by a second one: nothing lost, nothing done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.llm.endpoint import Endpoint, hang, ok
from tests.loop.scripted import RIGHT, fenced, verdict, wrong
from tests.loop.test_runs import OTHER, lift, no_tools, only_run
from translator.batch import assist
from translator.batch.run_file import RunBusyError, alone_in
from translator.cli import main
from translator.cli.main import run
from translator.loop import ledger, recorded, workshop
from translator.loop.ledger import read_ledger
from verify.certificate import sealed
from verify.environment import versions
from verify.options import Options
from verify.run import hashes
from verify.spec_file import load_spec
from verify.verdict import Asked, Status, Verdict
from verify.where import Where

J_WRONG, J_RIGHT = (text.replace("k(", "j(") for text in (wrong(1), RIGHT))
HERE = Path(__file__)
GOTO = """
__global__ void j(float* x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }
int main() { float* x; cudaMalloc(&x, 256 * sizeof(float)); j<<<1, 256>>>(x); }
"""


def certified(folder: Path, options: Options) -> Verdict:
    """A verdict by the first line, with all that `verify` says of what it depends on; counted in `judged`."""
    text = (folder / "port.py").read_text()
    with Path("judged").open("a") as out:
        out.write(text.partition("\n")[0] + "\n")
    asked = Asked(stages=list(options.stages), device="emulator", arch="sm_90a", timeout=options.timeout)
    found = verdict(text, options)
    held = {
        "hashes": hashes(folder, load_spec(folder)),
        "environment": {"versions": dict(versions())},
        "asked": asked,
    }
    return sealed(found.model_copy(update=held))


def judged() -> list[str]:
    return Path("judged").read_text().splitlines()


def stubs(slow: float = 0.0) -> None:
    """For a child process: a verifier by first lines that takes its time, and no DSL."""
    of = workshop.Workshop.of

    def slowly(folder: Path, options: Options) -> Verdict:
        time.sleep(slow)
        return certified(folder, options)

    def made(*args: object) -> workshop.Workshop:
        shop = of(*args)  # type: ignore[arg-type]
        shop.judge = slowly
        return shop

    workshop.Workshop.of = made  # type: ignore[assignment, method-assign]
    assist.load_api = lambda: None  # type: ignore[assignment]
    assist.verify_target = slowly  # type: ignore[assignment]
    assist.choose = recorded.choose = lambda _: Where("sm_90a", emulator=True)  # type: ignore[assignment]


@pytest.fixture
def certifying(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As `place`; verdicts say what they depend on, and are counted."""
    of = workshop.Workshop.of

    def made(*args: object) -> workshop.Workshop:
        shop = of(*args)  # type: ignore[arg-type]
        shop.judge = certified
        return shop

    monkeypatch.setattr(workshop.Workshop, "of", made)
    monkeypatch.setattr(recorded, "choose", lambda _: Where("sm_90a", emulator=True))
    return place


def begun(place: Path, arguments: Sequence[str], slow: float = 0.0) -> subprocess.Popen[str]:
    code = (
        f"import sys; from tests.loop.test_cut_short import stubs; stubs({slow})\n"
        "from translator.cli.main import main; main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(true: Callable[[], object], child: subprocess.Popen[str]) -> None:
    ends = time.monotonic() + 60
    while not true() and child.poll() is None and time.monotonic() < ends:
        time.sleep(0.02)
    assert true(), child.communicate(timeout=5)


def left_behind(session: int) -> Iterator[str]:
    """Processes of a child's session that are still there."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            yield stat.parent.name


def test_a_killed_run_goes_on_where_it_was_and_judges_nothing_twice(certifying: Path) -> None:
    (certifying / "j.cu").write_text(GOTO)
    script = [no_tools(), ok(fenced(J_WRONG)), hang]
    with Endpoint(script) as e:
        asked = ["port", "j.cu", "--model", "m", "--base-url", e.url]
        child = begun(certifying, asked)
        until(lambda: len(e.seen) == 3, child)
        child.kill()
        child.communicate(timeout=30)
        assert child.returncode == -signal.SIGKILL
        assert list(left_behind(child.pid)) == []
        folder = only_run(certifying)
        assert read_ledger(folder) == [] and judged() == ["# wrong 1"]
        script[2:] = [ok(fenced(J_RIGHT))]
        e.seen.pop()
        assert run(["runs", "resume", folder.name, "--base-url", e.url]) == 0
        assert len(e.seen) == 3
    assert judged() == ["# wrong 1", "# right"]
    [entry] = read_ledger(folder)
    assert (entry.outcome, entry.turns, entry.candidates) == ("PASSED", 2, 2)
    assert (certifying / "out/j/port.py").read_text() == J_RIGHT


@pytest.mark.parametrize("change", ["spec", "seal", "crash", "versions", "nothing"])
def test_a_verdict_counts_only_where_all_is_as_it_was(
    certifying: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1))), ok(fenced(OTHER))]) as e:
        assert lift(e, "--turns", "1") == 1
        folder = only_run(certifying)
        path = folder / "k/candidate-1/60-verdict-1.json"
        held = Verdict.model_validate_json(path.read_bytes())
        if change == "spec":
            (certifying / "k/spec.toml").write_text((certifying / "k/spec.toml").read_text() + "\n")
        elif change == "seal":
            path.write_text(path.read_text().replace("x[1] is 1", "x[1] is 2"))
        elif change == "crash":
            stages = [
                s.model_copy(update={"status": Status.CRASHED} if s.stage == "parity" else {})
                for s in held.stages
            ]
            crashed = sealed(held.model_copy(update={"status": Status.CRASHED, "stages": stages}))
            path.write_text(crashed.model_dump_json(exclude_none=True))
        elif change == "versions":
            monkeypatch.setattr(recorded, "versions", lambda: {"python": "4"})
        Path("judged").unlink()
        assert run(["runs", "resume", folder.name, "--turns", "5", "--base-url", e.url]) == 0
    again = {"nothing": [], "seal": ["# wrong 1"], "crash": ["# wrong 1"]}.get(
        change, ["# right", "# wrong 1"]
    )
    assert judged() == [*again, "# right 0 by vectors"]


@pytest.mark.parametrize("mine", ["nothing", "port.py", "spec.toml", "note.txt"])
def test_a_run_that_was_killed_before_its_ledger_knew_takes_its_own_port_for_its_own(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    with monkeypatch.context() as killed, Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        killed.setattr(ledger.Ledger, "add", lambda *_: None)
        assert lift(e) == 0
        folder = only_run(place)
    assert read_ledger(folder) == [] and (place / "out/k/port.py").read_text() == OTHER
    if mine != "nothing":
        (place / "out/k" / mine).write_text("mine")
    with Endpoint([]) as e:
        code = run(["runs", "resume", folder.name, "--base-url", e.url])
        assert not e.seen
    if mine == "nothing":
        assert (code, read_ledger(folder)[0].outcome) == (0, "PASSED")
        return
    assert (code, (place / "out/k" / mine).read_text()) == (2, "mine")
    assert "there already: out/k" in capfd.readouterr().err


def test_a_port_that_was_written_by_hand_meanwhile_is_not_replaced(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (place / "j.cu").write_text(GOTO)
    with Endpoint([no_tools(), ok(fenced(J_WRONG))]) as e:
        assert run(["port", "j.cu", "--model", "m", "--base-url", e.url, "--turns", "1"]) == 1
        (place / "out/j/port.py").write_text("mine")
        assert run(["runs", "resume", only_run(place).name, "--turns", "5", "--base-url", e.url]) == 2
    assert "there already: out/j" in capfd.readouterr().err
    assert (place / "out/j/port.py").read_text() == "mine"


def test_two_at_once_are_told_apart(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1)))]) as e:
        assert lift(e, "--turns", "1") == 1
        folder = only_run(place)
        before = (folder / "ledger.json").read_bytes(), len(e.seen)
        capfd.readouterr()
        with alone_in(folder):
            assert run(["runs", "resume", folder.name, "--base-url", e.url, "--json"]) == 2
        error = json.loads(capfd.readouterr().out)["error"]
        assert error == {"kind": "usage", "message": f"CP5408: another process works in runs/{folder.name}"}
        assert ((folder / "ledger.json").read_bytes(), len(e.seen)) == before
    with alone_in(folder), pytest.raises(RunBusyError), alone_in(folder):
        pass
    with alone_in(folder):  # given back
        pass


@pytest.mark.parametrize("command", ["lift", "port"])
def test_a_run_that_is_under_way_can_not_be_resumed(
    place: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    (place / "j.cu").write_text(GOTO)
    with Endpoint([no_tools(), hang]) as e:
        what = {"lift": "k", "port": "j.cu"}[command]
        child = begun(place, [command, what, "--model", "m", "--base-url", e.url])
        until(lambda: len(e.seen) == 2, child)
        folder = only_run(place)
        assert run(["runs", "resume", folder.name, "--base-url", e.url]) == 2
        assert "CP5408" in capfd.readouterr().err
        assert len(e.seen) == 2
        child.kill()
        child.communicate(timeout=30)
    with alone_in(folder):  # the system gives a killed process's lock back
        pass


@pytest.mark.parametrize(
    ("command", "number"), [("port", signal.SIGINT), ("lift", signal.SIGTERM), ("tune", signal.SIGINT)]
)
def test_an_interruption_while_a_candidate_is_judged_is_no_verdict(
    certifying: Path, command: str, number: signal.Signals
) -> None:
    (certifying / "j.cu").write_text(GOTO)
    with Endpoint([no_tools(), ok(fenced(wrong(3) if command != "port" else J_WRONG))]) as e:
        what = {"port": "j.cu"}.get(command, "k")
        child = begun(certifying, [command, what, "--model", "m", "--base-url", e.url, "--json"], slow=2.0)
        until(lambda: len(e.seen) == 2, child)
        time.sleep(0.5)
        os.killpg(child.pid, number)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    document = json.loads(out)
    told = document["summary"]["interrupted"] if command == "port" else document["error"]["kind"]
    assert told in (True, "interrupted")
    assert list(left_behind(child.pid)) == []
    folder = only_run(certifying)
    assert list(folder.rglob("candidate-1/60-verdict*")) == [] and read_ledger(folder) == []
    if command == "port":
        assert f"0 of 1 kernels done; `cuteport runs resume runs/{folder.name}` goes on" in err


def test_a_second_interruption_does_not_cost_what_the_first_says(certifying: Path) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(3)))]) as e:
        asked = ["lift", "k", "--model", "m", "--base-url", e.url, "--json"]
        child = begun(certifying, asked, slow=2.0)
        until(lambda: len(e.seen) == 2, child)
        for _ in range(8):  # while the thread that judges comes to its end, and while the document is written
            time.sleep(0.3)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    assert json.loads(out)["error"] == {"kind": "interrupted", "message": "interrupted"}
    on = f"`cuteport runs resume runs/{only_run(certifying).name}` goes on"
    assert err.splitlines()[-1] == f"interrupted; what was finished is kept; {on}" and "Traceback" not in err


def test_an_interrupted_resume_says_how_it_goes_on(certifying: Path) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1))), hang]) as e:
        assert lift(e, "--turns", "1") == 1
        folder = only_run(certifying)
        before = len(e.seen)
        asked = ["runs", "resume", folder.name, "--turns", "5", "--base-url", e.url]
        child = begun(certifying, asked)
        until(lambda: len(e.seen) > before, child)
        os.killpg(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130, err
    on = f"`cuteport runs resume runs/{folder.name}` goes on"
    assert err.splitlines()[-1] == f"interrupted; what was finished is kept; {on}"


def test_what_does_not_end_by_itself_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(main.os, "_exit", ended.append)
    monkeypatch.setattr(main, "_told", [])
    with pytest.raises(KeyboardInterrupt):
        main._interrupted(signal.SIGINT, None)
    main._interrupted(signal.SIGINT, None)
    assert ended == []
    main._told[0] -= main._ENDING
    main._interrupted(signal.SIGINT, None)
    assert ended == [130]
