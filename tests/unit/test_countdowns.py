"""Ports of loops that the DSL's compiler gets wrong are pinned to a level that is right, and no others.

Which loops those are is the map of the loop family, measured on a GPU (tests/emulator/loops/h200.json).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emulator.loops.family import every
from translator.diag.diagnostic import Sink
from translator.frontend.build import build_model
from translator.frontend.project import ReadOptions, read
from translator.outcome import Stage
from translator.passes import lower
from translator.passes.countdowns import miscompiled
from translator.pipeline import Translation, translate

MAP = json.loads((Path(__file__).parents[1] / "emulator/loops/h200.json").read_text(encoding="utf-8"))
WRITTEN = {"while": "cuda_as_while", "dsl": "cuda"}


@pytest.mark.parametrize("side", WRITTEN)
def test_exactly_the_loops_that_went_wrong_are_recognised(tmp_path: Path, side: str) -> None:
    """All 564, as `while` loops and as `for` loops, of which none went wrong."""
    file = tmp_path / "loops.cu"
    file.write_text("\n".join(getattr(loop, WRITTEN[side]) for loop in every()), "utf-8")
    wrong = {name for name, seen in MAP["kernels"].items() if not seen[side]["3"]["right"]}
    assert len(wrong) == (72 if side == "while" else 0)
    assert all(MAP["kernels"][name][side]["1"]["right"] for name in wrong)
    found = set()
    for reading in read([str(file)], ReadOptions(), Sink()):
        model = build_model(reading, Sink(), sliced=False)
        assert model is not None
        if miscompiled(lower(model, Sink())):
            found.add(reading.name)
    assert found == wrong


def translated(folder: Path, loop: str, level: int | None = None) -> tuple[Translation, Sink]:
    file = folder / "a.cu"
    file.write_text(
        "__global__ void k(const int* a, int* o, int n) {\n"
        "  int i = threadIdx.x, d = a[i], low = -n, sum = 0;\n"
        f"  {loop}\n  o[i] = sum;\n}}\nvoid run(int* a, int* o, int n) {{ k<<<1, 64>>>(a, o, n); }}\n",
        "utf-8",
    )
    sink, stages = Sink(), list[Stage]()
    (reading,) = read([str(file)], ReadOptions(), sink)
    made = translate(reading, sink, stages, lambda *_: None, opt_level=level)
    assert made is not None
    return made, sink


def test_the_port_and_its_spec_are_pinned(tmp_path: Path) -> None:
    made, sink = translated(tmp_path, "while (d > -n) { sum += d; d -= 3; }")
    assert 'options="--opt-level 1"' in made.draft.source
    assert "\nopt_level = 1\n" in made.spec
    (found,) = [d for d in sink.items if d.code == "CP3008"]
    assert (found.span.line, found.severity) == (3, "warning")
    assert found.message.endswith("pinned to --opt-level 1")


@pytest.mark.parametrize(
    "loop",
    [
        "while (low < d) { sum += d; d -= 2; }",
        "while (d >= 0 - n) { sum += d; d = d - 4; }",
        "while (d > low) { if (d & 1) sum += d; d += -2; }",
        "for (; d > -n; d -= 2) sum += d;",
    ],
)
def test_other_ways_to_write_it(tmp_path: Path, loop: str) -> None:
    assert "--opt-level 1" in translated(tmp_path, loop)[0].draft.source


@pytest.mark.parametrize(
    "loop",
    [
        "while (d > -n) { sum += d; d -= 1; }",
        "while (d > -7) { sum += d; d -= 3; }",
        "while (d > n) { sum += d; d -= 3; }",
        "while (d < -n) { sum += d; d += 3; }",
        "while (d > -n) { if (sum > 9) break; sum += d; d -= 3; }",
        "while (d > -n) { sum += d; d -= 3; if (d == 5) d -= 2; }",
        "while (d > -sum) { sum += d; d -= 3; }",
        "for (int e = d; e > -n; e -= 3) sum += e;",
    ],
)
def test_other_loops_are_left_alone(tmp_path: Path, loop: str) -> None:
    made, sink = translated(tmp_path, loop)
    assert "--opt-level" not in made.draft.source
    assert not [d for d in sink.items if d.code == "CP3008"]


def test_a_level_that_was_asked_for_is_kept(tmp_path: Path) -> None:
    loop = "while (d > -n) { sum += d; d -= 3; }"
    made, sink = translated(tmp_path, loop, 2)
    assert "--opt-level 2" in made.draft.source
    assert next(d.message for d in sink.items if d.code == "CP3008").endswith(
        "--opt-level 2 is kept as asked for"
    )
    made, sink = translated(tmp_path, loop, 0)
    assert "--opt-level 0" in made.draft.source
    assert not [d for d in sink.items if d.code == "CP3008"]
