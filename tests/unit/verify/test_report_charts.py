"""Numbers and charts of the report: what is drawn stands where its value says."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
import report_targets as targets

from verify.report import charts, page, times, words
from verify.report.code import LineTable
from verify.report.collect import Source


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (words.count(67108864), "67\u2009108\u2009864"),
        (words.figure(None), ""),
        (words.figure(0.0), "0"),
        (words.figure(1.25e-07), "1.25e-07"),
        (words.figure(0.0755), "0.0755"),
        (words.figure(12818.0), "1.28e+04"),
        (words.figure(float("nan")), "nan"),
        (words.micros(136.304), "136.3"),
        (words.micros(1415.09), "1415"),
        (words.micros(9.99), "9.990"),
        (words.micros(0.0), "0"),
        (words.seconds(0.0004), "400\u00a0µs"),
        (words.seconds(0.0021), "2.10\u00a0ms"),
        (words.seconds(0.21), "210\u00a0ms"),
        (words.seconds(30.547), "30.5\u00a0s"),
        (words.seconds(723.0), "12 min 3 s"),
        (words.size(536887296), "536.9\u00a0MB"),
        (words.size(12), "12\u00a0B"),
        (words.share(0.9999), "99.9\u00a0%"),
        (words.share(1.0), "100.0\u00a0%"),
        (words.score(0.999), "0.99"),
        (words.score(1.0), "1.00"),
        (words.triple((16, 16, 1)), "16 × 16"),
        (words.triple((1, 1, 1)), "1"),
        (words.triple((4, 1, 2)), "4 × 1 × 2"),
    ],
)
def test_numbers(made: str, told: str) -> None:
    assert made == told


def test_each_status_has_a_colour_of_its_own_kind() -> None:
    kinds = {str(s): words.tone(s) for s in targets.Status}
    assert {s for s, kind in kinds.items() if kind == "good"} == {"PASSED"}
    assert kinds["NOT_RUN"] == "none"
    assert kinds["COMPILED"] == "part"
    assert kinds["WRONG_VALUES"] == kinds["SANITIZER"] == words.tone("UNREADABLE") == "bad"
    assert words.gravity("WRONG_VALUES") < words.gravity("SLOWER") < words.gravity("PASSED")


def numbers(markup: str, kind: str, *names: str) -> list[tuple[float, ...]]:
    """Attributes of the elements of a class."""
    found = re.findall(rf'<(?:line|rect|circle) class="{kind}"([^>]*)>', markup)
    return [tuple(float(re.search(rf' {n}="([\d.]+)', one)[1]) for n in names) for one in found]  # type: ignore[index]


def test_a_spread_stands_on_its_scale() -> None:
    scale = charts.Scale(100.0, 200.0)
    made = charts.spread(charts.Spread(110, 120, 150, 115, 130), scale, "port", "p", marks=[105])
    assert numbers(made, "whisker port", "x1", "x2") == [(10, 50), (10, 10), (50, 50)]
    assert numbers(made, "box port", "x", "width") == [(15, 15)]
    assert numbers(made, "median port", "x1") == [(20,)]
    assert numbers(made, "mark", "x1") == [(5,)]


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (charts.Scale(133.9, 137.1), [134, 135, 136, 137]),
        (charts.Scale(0.0, 0.01), [0.0, 0.002, 0.004, 0.006, 0.008, 0.01]),
        (charts.Scale(0.3, 2000.0, log=True), [1, 10, 100, 1000]),
        (charts.Scale(1e-9, 1e9, log=True), [1e-9, 1e-5, 1e-1, 1e3, 1e7]),
        (charts.Scale(5.0, 5.0), [5.0]),
    ],
)
def test_ticks_are_round(scale: charts.Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


def test_bars_are_as_high_as_their_counts_and_few_are_seen() -> None:
    made = charts.histogram([0, 1000, 500, 1], ["0", "<½", "<1", "<2"], "port", "errors")
    assert [h for (h,) in numbers(made, "bar port", "height")] == [0, 48, 24, 1.5]
    assert 'aria-label="errors: 0: 0, &lt;½: 1000, &lt;1: 500, &lt;2: 1"' in made


def test_a_histogram_of_errors_ends_with_the_last_element() -> None:
    (output,) = targets.parity().outputs
    made = page.histograms(output)
    assert [side for side, _ in made] == ["original", "port"]
    assert re.findall(r"<text[^>]*>([^<]*)<", made[1][1]) == ["0", "&lt;½", "&lt;1", "&lt;2"]
    assert page._ulps(19, 19) == "≥2^16"
    assert output.port_error is not None
    exact = output.port_error.model_copy(update={"histogram": [100, 0, 0]})
    assert page.histograms(output.model_copy(update={"port_error": exact, "original_error": exact})) == []


def test_ratios_are_ordered_and_on_their_side_of_one() -> None:
    dots = [
        charts.Dot(f"k-{n}", n, r, r * 0.99, r * 1.01, "SAME")
        for n, r in (("b", 2.0), ("a", 0.5), ("c", 0.0))
    ]
    made = charts.ratios(dots)
    even = numbers(made, "even", "x1")[0][0]
    assert re.findall(r'href="#(k-.)"', made) == ["k-a", "k-b"]  # what has no ratio above zero is not drawn
    low, high = (x for (x,) in numbers(made, "dot same", "cx"))
    assert low < even < high


def bench(**floor: float | str) -> SimpleNamespace:
    def side(median: float) -> SimpleNamespace:
        steps = [median + k for k in range(-10, 11)]
        return SimpleNamespace(median_us=median, p10_us=median - 8, p90_us=median + 8, quantiles=steps)

    facts = {
        "read_bytes": 300e6, "written_bytes": 100e6, "counted_by": "spec", "gbytes_per_s": 4000.0,
        "memory_us": 100.0, "float_instructions": 800_000_000, "arithmetic_us": 25.0, "floor_us": 100.0,
        "port_share": 0.8, "original_share": 0.625, "note": "",
    }  # fmt: skip
    first = SimpleNamespace(build_us=2.1e6, load_us=None, launch_us=800.0, total_us=2100800.0)
    return SimpleNamespace(
        port=side(125.0),
        original=side(160.0),
        floor=SimpleNamespace(**(facts | floor)),
        first_call={"port": first},
    )


def test_a_floor_and_quartiles_are_drawn_where_they_are_known() -> None:
    made = times.time_chart(bench())  # type: ignore[arg-type]
    assert made is not None
    assert (made.quartiles, made.floor) == (True, True)
    assert len(numbers(made.port, "mark", "x1")) == len(numbers(made.port, "box port", "x")) == 1
    far = times.time_chart(bench(floor_us=10.0))  # type: ignore[arg-type]
    assert far is not None
    assert not far.floor
    plain = times.time_chart(targets.bench())
    assert plain is not None
    assert (plain.quartiles, plain.floor) == (False, False)
    nothing = targets.bench().model_copy(
        update={"port": targets.bench().port.model_copy(update={"p10_us": 0.0})}
    )
    assert times.time_chart(nothing) is None


def test_a_side_at_its_floor_stands_on_the_roof() -> None:
    at_floor = bench()
    at_floor.port.median_us = 100.0
    made = times.roof(at_floor)  # type: ignore[arg-type]
    (x, original), (_, port) = (
        *numbers(made, "dot original", "cx", "cy"),
        *numbers(made, "dot port", "cx", "cy"),
    )
    (x1, y1, x2, y2), _ = numbers(made, "roof", "x1", "y1", "x2", "y2")
    assert port == pytest.approx(y1 + (x - x1) * (y2 - y1) / (x2 - x1), abs=0.05)
    assert original > port  # lower: y grows downwards
    assert times.roof(bench(float_instructions=0)) == ""  # type: ignore[arg-type]
    assert times.roof(targets.bench()) == ""


def test_floors_and_clocks_in_words() -> None:
    assert times.floors(bench()) == [  # type: ignore[arg-type]
        ("least time", "100.0 µs; the original reaches 62.5\u00a0%, the port 80.0\u00a0%"),
        ("for memory", "100.0 µs at 4000 GB/s, bytes as the spec says"),
        ("for arithmetic", "25.00 µs for 8.00e+08 float instructions"),
    ]
    for source, told in (
        ("emulator", "the emulator says"),
        ("spec, by shares", "the spec says, of some buffers the share that was touched in another case"),
    ):
        memory = dict(times.floors(bench(counted_by=source)))["for memory"]  # type: ignore[arg-type]
        assert memory == f"100.0 µs at 4000 GB/s, bytes as {told}"
    assert times.clocks(bench()) == [  # type: ignore[arg-type]
        page.Pair("first call: build", "", "2.10\u00a0s"),
        page.Pair("first call: launch", "", "800\u00a0µs"),
        page.Pair("first call: in all", "", "2.10\u00a0s"),
    ]
    assert times.floors(targets.bench()) == times.clocks(targets.bench()) == []


def test_marks_count_units_of_utf_16() -> None:
    table = LineTable()
    runs = table.add(Source("port.py", ("x = '😀'  # c", "", "x = '😀'  # c", "def f():")), "python")
    assert runs == [0, 2, 0, 1, 2, 1]
    assert table.rows == [["x = '😀'  # c", "x4s4x2c3"], "", ["def f():", "k3x1f1"]]
    assert table.add(Source("a", ("\t",)), "cuda") == [3, 1]
