"""Drafts completed by running the original: sizes, roles and answers are those one finds by reading it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from translator.batch import measured
from translator.batch.driver import port
from translator.batch.measured import measure_drafts
from translator.outcome import Outcome
from translator.output import edited
from translator.settings import Settings
from verify.spec import Spec
from verify.spec_args import BufferArg
from verify.spec_file import load_spec

CUDA = r"""
// Each corner of a polygon with the one before it: the last with the first. Of a corner every other number.
__global__ void edges(const float *corners, float *lengths, int n, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0, k = n - 1; j < n; k = j++) sum += corners[2 * k] - corners[j] * 0.5f;
    lengths[row] = sum;
}

__global__ void chase(const int *next, float *seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = i;
    for (int k = 0; k < 3; k++) at = next[at] & 1023;
    seen[at] = 1.0f;
}

void run(const float *c, float *l, const int *next, float *seen, int n, int rows) {
    edges<<<(rows + 127) / 128, 128>>>(c, l, n, rows);
    chase<<<(n + 127) / 128, 128>>>(next, seen, n);
}
"""


def told(_stage: str, _done: int, _total: int, _what: str) -> None:
    pass


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    (folder / "ring.cu").write_text(CUDA)
    return folder


def settings(home: Path) -> Settings:
    return Settings(out=home / "out", runs=home / "runs", jobs=1, verify=False)


def drafted(home: Path) -> list[Outcome]:
    return port([str(home / "ring.cu")], settings(home), told).outcomes


@pytest.fixture(scope="module")
def done(home: Path) -> dict[str, Outcome]:
    outcomes = drafted(home)
    assert [len(load_spec(Path(o.out)).open_questions) for o in outcomes] == [1, 2]
    measure_drafts(outcomes, settings(home), told)
    return {o.kernel: o for o in outcomes}


def buffer(spec: Spec, name: str) -> BufferArg:
    return next(b for b in spec.buffers if b.name == name)


def test_a_size_that_is_too_small_is_measured(done: dict[str, Outcome]) -> None:
    spec = load_spec(Path(done["edges"].out))
    assert spec.open_questions == []
    assert buffer(spec, "corners").elems == "corners_elems"
    assert buffer(spec, "lengths").elems == "rows"
    assert {c.sizes["corners_elems"] - 2 * c.sizes["n"] for c in spec.case} == {-1}
    (question,) = spec.question
    assert question.answer is not None and question.answer.startswith("measured in the emulator: 1 to ")
    assert "each time 2 * n - 1, so taken for " in question.answer
    (note,) = [f for f in done["edges"].findings if f.code == "CP3105"]
    assert note.hint == question.answer
    assert [s.status for s in done["edges"].stages if s.name == "measure"] == ["OK"]


def test_what_depends_on_the_data_stays_open(done: dict[str, Outcome]) -> None:
    spec = load_spec(Path(done["chase"].out))
    assert [q.code for q in spec.open_questions] == ["CP3104", "CP3104"]
    assert buffer(spec, "seen").elems == "1024"
    seen = next(q.text for q in spec.open_questions if "seen is" in q.text)
    assert "; in the emulator: how much is touched depends on the data" in seen


def test_a_completed_draft_still_counts_as_drafted(done: dict[str, Outcome], home: Path) -> None:
    text = {k: Path(o.out, "spec.toml").read_text() for k, o in done.items()}
    assert all(edited(Path(o.out)) == set() for o in done.values())
    again = drafted(home)
    measure_drafts(again, settings(home), told)
    assert {o.kernel: Path(o.out, "spec.toml").read_text() for o in again} == text


def test_an_edited_spec_is_left_alone(
    done: dict[str, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(done["chase"].out, tmp_path / "chase"))
    spec = folder / "spec.toml"
    spec.write_text(spec.read_text().replace('elems = "1024"', 'elems = "4096"'))
    before = spec.read_text()
    monkeypatch.setattr(measured, "_measured", lambda *_: pytest.fail("it was measured"))
    outcomes = [Outcome("k.cu", "chase", "", "NOT_RUN", findings=done["chase"].findings, out=str(folder))]
    measure_drafts(outcomes, Settings(), told)
    assert spec.read_text() == before
    assert outcomes[0].stages == ()


def test_where_nothing_is_asked_nothing_is_started(
    done: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verify.where.emulator_gap", lambda: pytest.fail("the emulator was looked for"))
    outcomes = [Outcome("k.cu", "edges", "", "NOT_RUN", out=done["edges"].out)]
    measure_drafts(outcomes, Settings(), told)
    assert outcomes[0].stages == ()


def test_what_the_emulator_lacks_is_told(done: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.where.emulator_gap", lambda: ("CP7106", "no C compiler"))
    outcomes = [
        Outcome("k.cu", "chase", "", "NOT_RUN", findings=done["chase"].findings, out=done["chase"].out)
    ]
    measure_drafts(outcomes, Settings(), told)
    assert [(s.name, s.status, s.why) for s in outcomes[0].stages] == [
        ("measure", "NOT_RUN", "no C compiler")
    ]


def test_where_values_are_not_compared_nothing_is_measured(
    done: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes seconds a kernel, and a caller that only compiles has no use for the answers."""
    monkeypatch.setattr("verify.where.find_gpu", lambda: (None, "no driver"))
    monkeypatch.setattr(measured, "_measured", lambda *_: pytest.fail("it was measured"))
    outcomes = [
        Outcome("k.cu", "chase", "", "NOT_RUN", findings=done["chase"].findings, out=done["chase"].out)
    ]
    measure_drafts(outcomes, Settings(device="gpu"), told)
    assert [(s.name, s.status, s.why) for s in outcomes[0].stages] == [
        ("measure", "NOT_RUN", "values are not compared: no driver")
    ]


BEYOND = """
__global__ void scale(float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        x[i] = a * x[i];
}

int main() {
    int n = 1000;
    size_t bytes = n * sizeof(float);
    float *x;
    cudaMalloc(&x, bytes);
    scale<<<BLOCKS, 64>>>(x, 2.0f, n);
}
"""


@pytest.mark.parametrize(
    ("blocks", "answer", "status"),
    [
        ("(n + 63) / 64", "", "ORIGINAL_SUSPECT"),
        ("(n - 1) / 64", "in 3 of 3 cases, with zeros as well: the size is right", "PASSED"),
    ],
    ids=["reached", "never reached"],
)
def test_what_the_original_reaches_beyond_its_allocation_is_its_own_fault(
    tmp_path: Path, blocks: str, answer: str, status: str
) -> None:
    """The grid may keep the guard from letting the last element through; then the question is answered."""
    source = tmp_path / "scale.cu"
    source.write_text(BEYOND.replace("BLOCKS", blocks))
    wanted = Settings(out=tmp_path / "out", runs=tmp_path / "runs", jobs=1, device="emulator")
    (done,) = port([str(source)], wanted, told).outcomes
    assert done.status == status
    spec = load_spec(tmp_path / "out/scale")
    assert [a.elems for a in spec.arg if isinstance(a, BufferArg)] == ["n"]
    (question,) = spec.question
    assert question.code == "CP3111" and answer in (question.answer or "")
    found = {f.code: f for f in done.findings}
    assert (found["CP3111"].span.path, found["CP3111"].span.line) == (str(source), 12)
    if status == "ORIGINAL_SUSPECT":
        assert "2 elements are touched in case n=1, which has 1" in question.text
        assert (found["CP8001"].span.path, found["CP8001"].span.line) == (str(source), 5)
        assert "(scale.cu:5)" in found["CP8001"].message
        assert found["CP8001"].message.startswith("the original goes out of bounds; parity: case n=1")
        verdict = json.loads((tmp_path / "out/scale/verdict.json").read_text())
        assert verdict["proven"].startswith("the original goes out of bounds; parity: CP8001 ")
    else:
        assert not found.keys() & {"CP8001", "CP7018"}


CHAIN = r"""
// A block waits for the one before it. In order of the blocks no flag is read before it is written.
__global__ void chain(int *ready, const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x > 0 || blockIdx.x == 0) goto own;
    while (((volatile int *)ready)[blockIdx.x - 1] == 0) {}
own:
    if (i < n) out[i] = in[i];
    if (threadIdx.x == 0) ((volatile int *)ready)[blockIdx.x] = 1;
}

void run(int *ready, const int *in, int *out, int n) { chain<<<(n + 31) / 32, 32>>>(ready, in, out, n); }
"""


def test_a_flag_that_is_waited_for_must_be_zero_before(tmp_path: Path) -> None:
    """As `out` it would be filled with anything before each run, and nobody would wait."""
    (tmp_path / "chain.cu").write_text(CHAIN)
    chosen = Settings(out=tmp_path / "out", runs=tmp_path / "runs", jobs=1, verify=False, tasks=True)
    (made,) = port([str(tmp_path / "chain.cu")], chosen, told).outcomes
    measure_drafts([made], chosen, told)
    roles = {b.name: b.role for b in load_spec(Path(made.out)).buffers}
    assert roles == {"ready": "inout", "in": "in", "out": "out"}
