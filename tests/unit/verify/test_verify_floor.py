"""The floor under times, and the GPU's state while they are taken."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from saxpy_target import SPEC, write_target

from verify import ceilings, clocks
from verify.clocks import Seen, Watch, gpu_state, sm_mhz, throttled_by
from verify.counts import CountFacts, counts_of
from verify.facts import CeilingFacts, FloorFacts
from verify.floor import floor_of, impossible, least_bytes
from verify.resolve import resolve
from verify.sides import SideError
from verify.spec_file import load_spec

CEILINGS = CeilingFacts(
    bytes=1, read_gbytes_per_s=1000, copy_gbytes_per_s=900, fill_gbytes_per_s=800, fma_tflops=10
)
MB = 1 << 20


def floored(
    tmp_path: Path,
    counts: CountFacts | None = None,
    original_us: float = 20.0,
    port_us: float = 16.0,
    spec_text: str = SPEC,
) -> FloorFacts:
    spec = load_spec(write_target(tmp_path / "t", "", spec_text.replace("n = 1009", "n = 1000000")))
    resolved = resolve(spec, spec.case[-1])
    return floor_of(
        spec, resolved, CEILINGS, counts,
        launches=4, sets=8, l2=MB, port_us=port_us, original_us=original_us,
    )  # fmt: skip


def test_bytes_of_the_spec_over_the_fastest_rate(tmp_path: Path) -> None:
    got = floored(tmp_path)
    assert (got.read_bytes, got.written_bytes, got.counted_by) == (8_000_000, 4_000_000, "spec")
    assert (got.memory_us, got.floor_us, got.arithmetic_us) == (12.0, 12.0, None)
    assert (got.port_share, got.original_share) == (0.75, 0.6)
    # four launches move 48 MB; an L2 of 1 MiB may have held two of them
    assert got.impossible_us == pytest.approx((12e6 - 2 * MB / 4) / 1e6 * 0.95, abs=1e-3)
    assert not impossible(got, 11.0)
    assert impossible(got, 10.0)


def test_an_original_under_the_floor_clears_the_port(tmp_path: Path) -> None:
    got = floored(tmp_path, original_us=10.0)
    assert "original is under it" in got.note
    assert not impossible(got, 1.0)


def test_what_the_emulator_counted_in_this_case_comes_first(tmp_path: Path) -> None:
    side = counts_of({"fma.rn.f32": 100_000_000, "ld.global.f32": 1}, {"x": (1_000_000, 0), "y": (0, 500)})
    got = floored(tmp_path, CountFacts(case="typical", original=side, port=side))
    assert (got.read_bytes, got.written_bytes, got.counted_by) == (1_000_000, 500, "emulator")
    # 1e8 instructions at 5e12 per second
    assert (got.memory_us, got.arithmetic_us, got.floor_us) == (1.0005, 20.0, 20.0)
    other = floored(tmp_path / "o", CountFacts(case="one", original=side, port=side))
    # there y is not read: of another case that alone is told
    assert (other.read_bytes, other.written_bytes) == (4_000_000, 4_000_000)
    assert (other.counted_by, other.arithmetic_us) == ("spec, by shares", None)


@pytest.mark.parametrize(("read", "want"), [(0, 4_000_000), (500, 8_000_000)])
def test_an_inout_buffer_that_is_read_only_after_it_was_written_is_not_moved_in(
    tmp_path: Path, read: int, want: int
) -> None:
    side = counts_of({"st.global.f32": 1}, {"x": (500, 0), "y": (read, 500)})
    got = floored(tmp_path, CountFacts(case="one", original=side, port=side))
    assert (got.read_bytes, got.written_bytes) == (want, 4_000_000)


def shared(tmp_path: Path, x: tuple[int, int], y: tuple[int, int], **more: float) -> FloorFacts:
    """The floor where the case of 1,000 elements was counted: (read, written) bytes of x, an input, and y."""
    counted = SPEC.replace("sizes = { n = 1 }", "sizes = { n = 1000 }")
    side = counts_of({"st.global.f32": 1}, {"x": x, "y": y})
    return floored(tmp_path, CountFacts(case="one", original=side, port=side), spec_text=counted, **more)


@pytest.mark.parametrize(
    ("x", "y", "want", "certain", "by"),
    [
        # all is touched: as the spec has it
        ((4000, 0), (4000, 4000), (8_000_000, 4_000_000), (8_000_000, 4_000_000), "spec"),
        # every second slot of a cache is written, none read
        ((4000, 0), (0, 2000), (4_000_000, 2_000_000), (4_000_000, 0), "spec, by shares"),
        # strided rows are read
        ((1000, 0), (4000, 4000), (5_000_000, 4_000_000), (4_000_000, 4_000_000), "spec, by shares"),
        # a gather from a table into slots of another one
        ((40, 0), (0, 3996), (40_000, 3_996_000), (0, 0), "spec, by shares"),
        # an input that this case does not read at all
        ((0, 0), (4000, 4000), (4_000_000, 4_000_000), (4_000_000, 4_000_000), "spec, by shares"),
    ],
)
def test_a_buffer_touched_in_part_counts_by_its_share_and_forbids_no_time(
    tmp_path: Path,
    x: tuple[int, int],
    y: tuple[int, int],
    want: tuple[int, int],
    certain: tuple[int, int],
    by: str,
) -> None:
    got = shared(tmp_path, x, y)
    assert (got.read_bytes, got.written_bytes, got.counted_by) == (*want, by)
    assert got.memory_us == sum(want) / 1e6
    assert got.impossible_us == pytest.approx(least_bytes(*certain, 4, 8, MB) / 1e6 * 0.95, abs=1e-3)


def test_a_port_under_the_spec_s_bytes_is_possible_where_half_of_a_buffer_is_touched(tmp_path: Path) -> None:
    half = shared(tmp_path, (4000, 0), (0, 2000), port_us=6.0)
    assert (half.floor_us, half.port_share) == (6.0, 1.0)
    assert not impossible(half, 6.0)
    assert impossible(shared(tmp_path / "whole", (4000, 0), (4000, 4000)), 6.0)
    # what is touched whole still has to move
    assert impossible(half, 3.0)


def test_a_buffer_that_was_empty_or_not_watched_where_it_was_counted_is_moved_whole(tmp_path: Path) -> None:
    side = counts_of({"st.global.f32": 1}, {"x": (0, 0)})
    for case in ("empty", "of another spec"):
        got = floored(tmp_path / case, CountFacts(case=case, original=side, port=side))
        assert (got.read_bytes, got.written_bytes, got.counted_by) == (8_000_000, 4_000_000, "spec")
    none = floored(tmp_path / "none", CountFacts(case="typical", original=counts_of({}, {}), port=side))
    assert (none.read_bytes, none.counted_by) == (8_000_000, "spec")


def test_gaps_between_rows_that_the_counted_case_did_not_have_are_not_taken_for_moved(tmp_path: Path) -> None:
    rows = SPEC.replace('elems = "n"', 'elems = "n + n * gap"').replace("n = 1 }", "n = 1000, gap = 0 }")
    rows = rows.replace("n = 1009 }", "n = 1009, gap = 3 }")
    side = counts_of({"st.global.f32": 1}, {"x": (4000, 0), "y": (4000, 4000)})
    counts = CountFacts(case="one", original=side, port=side)
    got = floored(tmp_path, counts, spec_text=rows)
    assert (got.read_bytes, got.written_bytes, got.counted_by) == (8_000_000, 4_000_000, "spec, by shares")
    certain = least_bytes(8_000_000, 4_000_000, 4, 8, MB)
    assert got.impossible_us == pytest.approx(certain / 1e6 * 0.95, abs=1e-3)
    # nothing is known where the buffers can have no such size
    never = rows.replace('"n + n * gap"', '"2000 - n + n * gap"')
    assert floored(tmp_path / "never", counts, spec_text=never).read_bytes == 0


@pytest.mark.parametrize(
    ("read", "written", "launches", "sets", "want"),
    [
        (10 * MB, 0, 1, 2, 9 * MB),  # the L2 may have held one full of the inputs
        (10 * MB, 10 * MB, 1, 2, 18 * MB),  # and one of the outputs is not written back yet
        (10 * MB, 0, 4, 2, 9.5 * MB),  # two rounds over the sets
        (MB // 4, MB // 4, 2, 2, 0),  # all of it fits
    ],
)
def test_what_must_pass_whatever_the_l2_does(
    read: int, written: int, launches: int, sets: int, want: float
) -> None:
    assert least_bytes(read, written, launches, sets, MB) == want


def test_ceilings_are_measured_once_and_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    class Side:
        def __init__(self, *_: object) -> None: ...
        def close(self) -> None: ...
        def once(self, job: dict[str, object], _seconds: float) -> dict[str, object]:
            asked.append(bool(job["matrix"]))
            if job["matrix"]:
                raise SideError("refused", "CP9104", "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY")
            return {"ceilings": CEILINGS.model_dump()}

    monkeypatch.setattr(ceilings, "ChildSide", Side)
    monkeypatch.setattr(ceilings, "_FOUND", {})
    monkeypatch.setattr(ceilings, "_FAILED", {})
    assert ceilings.measured() is None
    assert ceilings.ceilings("sm_90a", False) == (CEILINGS, "")
    assert ceilings.ceilings("sm_90a", False) == (CEILINGS, "")
    assert asked == [False]
    assert ceilings.measured() == CEILINGS
    # what was measured before stands, though the rate of matrix products is not to be had
    assert ceilings.ceilings("sm_90a", True) == ceilings.ceilings("sm_90a", True) == (CEILINGS, "")
    assert asked == [False, True]
    ceilings._FOUND.clear()
    missing, why = ceilings.ceilings("sm_90a", True)
    assert missing is None
    assert "OUT_OF_MEMORY" in why


def test_reasons_to_slow_down() -> None:
    key = "clocks_event_reasons.active"
    assert throttled_by([{key: "0x0000000000000004"}, {}]) == [("software power cap", False)]
    assert throttled_by([{key: "0x40"}, {key: "0x8"}]) == [
        ("hardware slowdown", True),
        ("hardware thermal slowdown", True),
    ]
    assert throttled_by([{key: "[N/A]"}, {key: "0x1"}]) == []
    assert sm_mhz([{"clocks.sm": "1980"}, {"clocks.sm": "[N/A]"}, {"clocks.sm": "1200"}]) == (1200, 1980)
    assert sm_mhz([{}]) is None


def test_the_gpu_is_watched_until_the_end() -> None:
    looked = threading.Event()
    numbers = iter(range(10_000))

    def look() -> dict[str, str]:
        number = next(numbers)
        if number >= 3:
            looked.set()
        return {"clocks.sm": str(number)}

    with Watch(look, seconds=0.001) as watch:
        assert looked.wait(10)
    count = len(watch.seen.states)
    assert count >= 4
    assert next(numbers) == count


def test_states_of_a_span() -> None:
    seen = Seen([(float(i), {"pstate": f"P{i}"}) for i in range(5)])
    assert [s["pstate"] for s in seen.between(1, 3)] == ["P1", "P2", "P3"]
    assert [s["pstate"] for s in seen.between(3.1, 3.2)] == ["P3"]
    assert Seen([(0.0, {})]).between(0, 1) == []


def test_the_visible_gpu_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def output(command: list[str]) -> str:
        asked.append(command)
        return "1980, 3201, 300.5, 41, 0x0000000000000000, P0\n"

    monkeypatch.setattr(clocks, "output_of", output)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert gpu_state()["clocks.sm"] == "1980"
    assert asked[0][-1] == "3"
    monkeypatch.setattr(clocks, "output_of", lambda _: "")
    assert gpu_state() == {}
