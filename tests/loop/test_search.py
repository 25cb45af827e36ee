"""Several conversations about one kernel: who is kept, who stops."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.loop.scripted import RIGHT, Model, Said, fenced, verdict, wrong
from translator.grounding.blocks import corpus_blocks
from translator.llm.budget import Budget
from translator.llm.messages import LlmError, Message, Reply, Tool
from translator.loop import workshop
from translator.loop.goal import Mode
from translator.loop.judged import Reached
from translator.loop.material import Material
from translator.loop.purse import Purse
from translator.loop.search import Found, Job, search
from translator.loop.workshop import Bench
from translator.task import Task
from verify.options import Options
from verify.spec_file import load_spec
from verify.verdict import Verdict

SPEC = """\
schema = 1
name = "k"
[original]
kernel = "k"
[port]
entry = "k"
[launch]
grid = ["1"]
block = ["8"]
[[arg]]
name = "x"
kind = "buffer"
dtype = "float32"
elems = "8"
role = "out"
[[case]]
name = "n=8"
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "k"
    (folder / "original").mkdir(parents=True)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "original/device.cu").write_text("__global__ void k(float* x) { x[threadIdx.x] = 1; }\n")
    return folder


def run(target: Path, models: Sequence[Model], monkeypatch: pytest.MonkeyPatch, **given: object) -> Found:
    def by_first_line(folder: Path, options: Options) -> Verdict:
        return verdict((folder / "port.py").read_text(), options)

    of = workshop.Workshop.of

    def made(*args: object) -> workshop.Workshop:
        shop = of(*args)  # type: ignore[arg-type]
        shop.judge = by_first_line
        return shop

    monkeypatch.setattr(workshop.Workshop, "of", made)
    spec = load_spec(target)
    task = given.pop("task", None)
    cuda = (target / "original/device.cu").read_text()
    mode: Mode = given.pop("mode", "port")  # type: ignore[assignment]
    job = Job(
        target,
        "port.py",
        mode,
        Material(spec, cuda, "sm_90a", None, corpus_blocks(), [], task=task),  # type: ignore[arg-type]
        target.parent / "run",
        lambda k, _: models[k],
        Bench(),
        len(models),
        **given,  # type: ignore[arg-type]
    )
    return search(job, Purse(Budget(40, 1_000_000, 0.0, 600.0)))


def test_the_first_that_passes_stops_the_others(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = threading.Event()

    class Slow(Model):
        def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
            passed.wait(20)
            return super().ask(messages, tools)

    class Fast(Model):
        def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
            threading.Timer(0.3, passed.set).start()
            return super().ask(messages, tools)

    slow = Slow(*(fenced(wrong(n)) for n in (7, 6, 5, 4)))
    found = run(target, [slow, Fast(fenced(RIGHT))], monkeypatch)
    assert found.best is not None and found.best.source == RIGHT
    assert len(slow.asked) <= 1  # it may not have begun


def test_what_got_furthest_is_told_where_nothing_passed(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = LlmError.of("CP5308", endpoint="e", tries="3 tries", reason="500")
    said: tuple[Said, ...] = (fenced("# static 1\n" + RIGHT), gone)
    found = run(target, [Model(*said), Model(fenced(wrong(2)), gone)], monkeypatch)
    assert found.best is None and found.nearest is not None
    assert (found.nearest.reached, found.code, found.candidates) == (Reached.VALUES, "CP5308", 2)


def test_nothing_is_lifted_from_a_port_that_does_not_pass(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    found = run(target, [model], monkeypatch, mode="lift", start=wrong(3))
    assert (found.best, found.code, model.asked) == (None, "CP5405", [])


def test_the_target_is_only_read(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}
    run(target, [Model(fenced(wrong(1)), fenced(RIGHT))], monkeypatch)
    assert {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} == before


def drafted(source: str) -> Task:
    return Task(
        kernel="k",
        instantiation="",
        cuda_name="k",
        source="k.cu",
        line=1,
        entry="k",
        stage="emit",
        refusals=[],
        whole=True,
        launch_seen=True,
        constructs={},
        features=[],
        lines=1,
        draft=source,
    )


def test_a_draft_that_passes_is_kept_and_nobody_is_asked(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    found = run(target, [model], monkeypatch, task=drafted(RIGHT))
    assert found.best is not None and found.best.source == RIGHT
    assert (model.asked, found.candidates) == ([], 1)


def test_what_is_wrong_with_the_draft_is_told_in_the_first_request(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(fenced(RIGHT))
    found = run(target, [model], monkeypatch, task=drafted(wrong(6)))
    assert found.best is not None
    _, user = model.asked[0]
    assert "# wrong 6" in user.content and "x[6]" in user.content and "tried as it stands" in user.content
