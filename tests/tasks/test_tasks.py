"""Refused kernels: what their task folders say of the original, drafted and then measured in the emulator."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tasks.expected import EXPECTED
from translator.batch.driver import port
from translator.batch.measured import measure_drafts
from translator.outcome import Outcome
from translator.settings import Settings
from translator.task import Task, TaskError, load_task
from verify.origin import ORIGIN, Origin
from verify.resolve import Resolved, resolve
from verify.spec import Spec
from verify.spec_check import examine
from verify.spec_file import load_spec

SOURCES = Path(__file__).parent / "sources"
# One of each kind of construct and of each stage that refuses: cub and cooperative groups take NVRTC and the
# emulator ten seconds a kernel.
MEASURED = ("bin_sums", "count_words", "filter", "inverse_root", "reverse_blocks", "row_sums", "smooth_twice")


def told(_stage: str, _done: int, _total: int, _what: str) -> None:
    pass


def settings(home: Path, **more: object) -> Settings:
    return replace(
        Settings(out=home / "out", runs=home / "runs", jobs=1, verify=False, tasks=True),
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tasks")


@pytest.fixture(scope="module")
def tasks(home: Path) -> dict[str, Outcome]:
    """The outcome of each kernel, drafted."""
    report = port([str(SOURCES)], settings(home), told)
    assert report.exit_code == 1
    return {o.kernel: o for o in report.outcomes}


@pytest.fixture(scope="module")
def seen(home: Path, tasks: dict[str, Outcome]) -> dict[str, Outcome]:
    """Those of MEASURED, measured."""
    chosen = [tasks[name] for name in MEASURED]
    measure_drafts(chosen, settings(home), told)
    return {o.kernel: o for o in chosen}


def typical(spec: Spec) -> Resolved:
    return resolve(spec, next((c for c in spec.case if c.role == "typical"), spec.case[0]))


def test_each_kernel_of_the_sources_is_refused_and_expected(tasks: dict[str, Outcome]) -> None:
    assert {n: o.status for n, o in tasks.items()} == dict.fromkeys(EXPECTED, "REFUSED")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_draft_says_what_the_original_shows(tasks: dict[str, Outcome], name: str) -> None:
    want, folder = EXPECTED[name], Path(tasks[name].out)
    spec, task = load_spec(folder), load_task(folder)
    case = typical(spec)
    assert (task.kernel, task.stage, task.entry) == (name, want.stage, want.entry or name)
    assert spec.port.entry == task.entry
    assert tuple(sorted({r.code for r in task.refusals})) == want.codes
    assert tuple(f.name for f in task.features) == want.features
    assert (case.grid, case.block, case.smem) == (want.grid, (want.block, 1, 1), 0)
    assert spec.launch.cooperative == want.cooperative
    assert case.scalars == want.scalars
    found = {b.name: (b.dtype, case.elems[b.name]) for b in spec.buffers}
    assert found == {n: (dtype, elems) for n, (_, dtype, elems) in want.buffers.items()}
    assert examine(folder).ok
    assert {p.name for p in folder.iterdir()} == {"original", "spec.toml", "task.json"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_role_is_drafted_only_where_it_is_known(tasks: dict[str, Outcome], name: str) -> None:
    """What is `in` or `out` in a draft is right; what is not known is inout and asked about."""
    want, spec = EXPECTED[name], load_spec(Path(tasks[name].out))
    asked = {q.text.split(" ")[0] for q in spec.open_questions if q.code == "CP3120"}
    for b in spec.buffers:
        if b.name in asked:
            assert b.role == "inout"
        else:
            assert b.role == want.buffers[b.name][0]


@pytest.mark.parametrize("name", MEASURED)
def test_the_original_runs_and_tells_the_roles(seen: dict[str, Outcome], name: str) -> None:
    want, folder = EXPECTED[name], Path(seen[name].out)
    spec, task = load_spec(folder), load_task(folder)
    assert (task.original.runs, spec.open_questions) == (True, [])
    case = typical(spec)
    found = {b.name: (b.role, b.dtype, case.elems[b.name]) for b in spec.buffers}
    assert found == want.buffers
    assert spec.tolerance.order_dependent == want.order_dependent
    assert examine(folder).ok


def test_an_answer_says_that_it_was_measured(seen: dict[str, Outcome]) -> None:
    spec = load_spec(Path(seen["row_sums"].out))
    answers = {q.text.split(" ")[0]: q.answer for q in spec.question if q.code == "CP3120"}
    assert answers == {
        "sums": "measured in the emulator: written before it is read in 7 of 8 cases, with zeros as well"
    }


def test_without_being_asked_for_there_is_no_task(home: Path) -> None:
    path = SOURCES / "goto_machine.cu"
    report = port([str(path)], settings(home, tasks=False, out=home / "none"), told)
    assert [(o.status, o.out) for o in report.outcomes] == [("REFUSED", "")]
    assert not (home / "none").exists()


def test_a_port_put_into_a_task_folder_is_kept(home: Path) -> None:
    path, chosen = SOURCES / "goto_machine.cu", settings(home, out=home / "by_hand")
    (first,) = port([str(path)], chosen, told).outcomes
    own = Path(first.out) / "port.py"
    own.write_text("# by hand\n")
    before = {p.name: p.read_bytes() for p in Path(first.out).iterdir() if p.is_file()}
    (again,) = port([str(path)], chosen, told).outcomes
    (told_of,) = [f for f in again.findings if f.code.startswith("CP000")]
    assert told_of.code == "CP0003" and "was edited since" in told_of.message
    assert {p.name: p.read_bytes() for p in Path(first.out).iterdir() if p.is_file()} == before
    made = Origin(by="m", mode="port", turns=3, candidates=2, tokens=5300, seconds=41.0)
    (Path(first.out) / ORIGIN).write_text(made.model_dump_json())
    (of_a_model,) = port([str(path)], chosen, told).outcomes
    assert "but of m, to port: 3 turns" in of_a_model.findings[-1].message
    (forced,) = port([str(path)], replace(chosen, force=True), told).outcomes
    assert forced.out == first.out
    assert own.read_text() == "# by hand\n"


def test_an_edited_spec_of_a_task_is_kept(home: Path) -> None:
    path, chosen = SOURCES / "goto_machine.cu", settings(home, out=home / "edited")
    (first,) = port([str(path)], chosen, told).outcomes
    spec = Path(first.out) / "spec.toml"
    spec.write_text(spec.read_text().replace('role = "inout"', 'role = "out"'))
    edited = spec.read_text()
    (again,) = port([str(path)], chosen, told).outcomes
    assert "CP0006" in {f.code for f in again.findings}
    measure_drafts([again], chosen, told)
    assert spec.read_text() == edited


def test_a_port_that_is_generated_again_leaves_no_stale_task(home: Path, tmp_path: Path) -> None:
    """A kernel that gets through after all: its folder is a port; and the other way round."""
    path, chosen = tmp_path / "k.cu", settings(home, out=home / "changing")
    plain = "__global__ void k(float *x) { x[threadIdx.x] *= 2.0f; }"
    stuck = "__global__ void k(float *x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }"
    seen = []
    for text in (stuck, plain, stuck):
        path.write_text(text)
        (made,) = port([str(path)], chosen, told).outcomes
        seen.append({p.name for p in Path(made.out).iterdir()} - {"original", "spec.toml"})
    assert seen == [{"task.json"}, {"port.py", "line_map.json"}, {"task.json"}]


def test_a_folder_of_tasks_is_no_source(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void k(float *x) { int i = 3; again: x[threadIdx.x] *= 2.0f; if (--i) goto again; }"
    )
    port([str(path)], settings(home, out=tmp_path / "made"), told)
    report = port([str(tmp_path)], settings(home, out=home / "other"), told)
    assert [Path(o.source) for o in report.outcomes] == [path]
    assert report.skipped == (str(tmp_path / "made" / "k"),)


def test_a_task_file_that_was_damaged_is_told(tmp_path: Path, tasks: dict[str, Outcome]) -> None:
    text = (Path(tasks["filter"].out) / "task.json").read_text()
    (tmp_path / "task.json").write_text(text.replace('"stage": "model"', '"stage": "never"'))
    with pytest.raises(TaskError, match=r"task\.json: stage: "):
        load_task(tmp_path)
    assert Task.model_validate(json.loads(text)).kernel == "filter"
    with pytest.raises(TaskError, match="No such file"):
        load_task(tmp_path / "none")


def test_what_can_not_be_described_is_asked_about(home: Path, tmp_path: Path) -> None:
    """A parameter whose layout is the library's own: its size here is no fact."""
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <curand_kernel.h>\n"
        "__global__ void k(curandState *states, float *x, int n) {\n"
        "  int i = threadIdx.x; if (i < n) x[i] = curand_uniform(&states[i]); }\n"
        "void run(curandState *s, float *x, int n) { k<<<1, 128>>>(s, x, n); }\n"
    )
    (made,) = port([str(path)], settings(home, out=home / "library"), told).outcomes
    spec = load_spec(Path(made.out))
    asked = {(q.code, q.text.split(" ")[0]) for q in spec.open_questions}
    assert ("CP3120", "states") in asked
    assert any(q.code == "CP3104" and "states" in q.text for q in spec.open_questions)
