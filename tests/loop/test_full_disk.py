"""A full disk under the run folder: told by path and code, one document, nothing lost that had passed."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.llm.endpoint import Endpoint, ok
from tests.loop.scripted import RIGHT, fenced, wrong
from tests.loop.test_runs import OTHER, lift, no_tools, only_run
from translator import output
from translator.batch import driver, kept, run_file
from translator.cli.main import run
from translator.llm import transcript
from translator.loop import ledger, log
from translator.loop.ledger import read_ledger
from translator.output import naming, unwritten, write_file

FULL = OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What the system refuses to write without naming it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The disk is full for files of some names: `full("ledger.json")`."""

    def begin(names: str) -> None:
        def written(path: Path, content: str | bytes) -> None:
            if fnmatch(path.name, names):
                raise OSError(FULL.errno, FULL.strerror, str(path))
            write_file(path, content)

        for module in (ledger, log, run_file, kept):
            monkeypatch.setattr(module, "write_file", written)

    return begin


def document(capfd: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capfd.readouterr().out)


def test_a_path_is_named_where_the_system_names_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output, "_write", refuses)
    with pytest.raises(OSError, match="No space") as error:
        write_file(tmp_path / "a/b.json", "")
    assert unwritten(error.value) == f"can't write {tmp_path}/a/b.json: No space left on device"
    assert list((tmp_path / "a").iterdir()) == []
    with pytest.raises(OSError, match="No space") as error, naming(Path("events.jsonl")):
        refuses()
    assert error.value.filename == "events.jsonl"
    with pytest.raises(FileNotFoundError) as gone, naming(Path("copy")):
        (tmp_path / "none").read_text()
    assert gone.value.filename == str(tmp_path / "none")  # it was the reading


def test_a_file_that_can_not_be_written_is_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Endpoint([]) as e, files_of_at_most(4096):
        assert lift(e, "--json") == 3
        assert not e.seen
    made = document(capfd)
    [entry] = made["entries"]
    assert (made["exit_code"], entry["code"]) == (3, "CP0002")
    path = f"{made['folder']}/k/candidate-1/50-prompt-1.md"
    assert entry["why"] == f"can't write {path}: File too large"


def test_before_anything_is_asked(
    place: Path, capfd: pytest.CaptureFixture[str], full: Callable[[str], None]
) -> None:
    full("run.json")
    with Endpoint([]) as e:
        assert lift(e, "--json") == 3
        assert not e.seen
    captured = capfd.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["kind"] == "environment"
    assert error["message"].startswith("CP0002: can't write runs/")
    assert error["message"].endswith("/run.json: No space left on device")
    assert f"error {error['message']}" in captured.err


def test_a_ledger_that_can_not_be_written_ends_no_run(
    place: Path, capfd: pytest.CaptureFixture[str], full: Callable[[str], None]
) -> None:
    full("ledger.json")
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e, "--json") == 3
    made = document(capfd)
    [entry] = made["entries"]
    assert (entry["outcome"], entry["turns"]) == ("PASSED", 1)
    assert made["problems"] == [f"CP0002: can't write {made['folder']}/ledger.json: No space left on device"]
    assert (place / "out/k/port.py").read_text() == OTHER


@pytest.mark.parametrize("names", ["60-verdict-*", "52-candidate-*", "51-answer-*"])
def test_a_log_that_can_not_be_written_costs_no_port(
    place: Path, full: Callable[[str], None], names: str
) -> None:
    full(names)
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e) == 0
    assert (place / "out/k/port.py").read_text() == OTHER


def test_events_that_can_not_be_written_end_the_conversation(place: Path) -> None:
    with Endpoint([no_tools(), ok(fenced(wrong(1)))]) as e:
        assert lift(e, "--turns", "1") == 1
        folder = only_run(place)
        (folder / "k/candidate-1/events.jsonl").unlink()
        (folder / "k/candidate-1/events.jsonl").symlink_to("/dev/full")
        assert run(["runs", "resume", folder.name, "--turns", "5", "--base-url", e.url]) == 3
    [entry] = read_ledger(folder)
    assert entry.why == f"can't write runs/{folder.name}/k/candidate-1/events.jsonl: No space left on device"


def test_an_answer_that_can_not_be_recorded_is_paid_for_and_the_run_goes_on_later(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, rows = transcript.Recording._write, [0]

    def half(self: transcript.Recording, row: Any) -> None:
        rows[0] += 1
        if rows[0] < 3:  # the head and the first answer
            return write(self, row)
        self._file.write(b'{"kept": 2, "added"')
        raise OSError(FULL.errno, FULL.strerror, str(self._path))

    monkeypatch.setattr(transcript.Recording, "_write", half)
    with Endpoint([no_tools(), ok(fenced(wrong(1))), ok(fenced(wrong(2))), ok(fenced(OTHER))]) as e:
        assert lift(e) == 3
        folder = only_run(place)
        [entry] = read_ledger(folder)
        assert (entry.code, entry.turns, entry.prompt_tokens) == ("CP0002", 2, 22)
        assert entry.why.endswith("candidate-1/transcript.jsonl: No space left on device")
        monkeypatch.setattr(transcript.Recording, "_write", write)
        before = len(e.seen)
        assert run(["runs", "resume", folder.name, "--base-url", e.url]) == 0
        assert len(e.seen) - before == 1  # the answer that was recorded is not asked for again
    [entry] = read_ledger(folder)
    assert (entry.outcome, entry.turns) == ("PASSED", 2)


def test_what_passed_and_can_not_be_written_is_named_and_kept_by_resume(
    place: Path, full: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    full("origin.json")
    with Endpoint([no_tools(), ok(fenced(OTHER))]) as e:
        assert lift(e) == 3
        folder = only_run(place)
        [entry] = read_ledger(folder)
        candidate = f"runs/{folder.name}/k/candidate-1/52-candidate-1.py"
        assert entry.code == "CP0002"
        assert entry.why == f"can't write out/k: No space left on device; what passed is {candidate}"
        assert Path(candidate).read_text() == OTHER
        assert not (place / "out/k").exists() and list((place / "out").iterdir()) == []
        monkeypatch.setattr(kept, "write_file", write_file)
        before = len(e.seen)
        assert run(["runs", "resume", folder.name, "--base-url", e.url]) == 0
        assert len(e.seen) == before
    assert (place / "out/k/port.py").read_text() == OTHER


GOOD = """
__global__ void good(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void j(float* x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }
"""


@pytest.mark.parametrize("names", ["run.json", "ledger.json"])
def test_port_still_reports_what_else_was_proven(
    place: Path,
    capfd: pytest.CaptureFixture[str],
    full: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    names: str,
) -> None:
    def passed(outcomes: Any, *_: object) -> None:
        for k, o in enumerate(outcomes):
            if o.kernel == "good":
                outcomes[k] = driver.replace(o, status="PASSED")

    monkeypatch.setattr(driver, "judge", passed)
    full(names)
    (place / "good.cu").write_text(GOOD)
    with Endpoint([no_tools(), ok(fenced(RIGHT))]) as e:
        assert run(["port", "good.cu", "--model", "m", "--base-url", e.url, "--json"]) == 3
    made = document(capfd)
    assert {k["kernel"]: k["status"] for k in made["kernels"] if k["kernel"] == "good"} == {"good": "PASSED"}
    [said] = [d for k in made["kernels"] for d in k["diagnostics"] if d["code"] == "CP0002"]
    assert said["message"].endswith(f"/{names}: No space left on device")
