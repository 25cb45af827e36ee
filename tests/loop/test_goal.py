"""What counts as gained, where speed is measured and where it is not."""

from __future__ import annotations

import pytest

from tests.loop.scripted import RIGHT, verdict, wrong
from translator.loop.goal import Goal
from translator.loop.judged import Judged
from verify.options import Options
from verify.verdict import Verdict


class Timed(Judged):
    """A candidate whose speed is given, not measured."""

    __slots__ = ("given",)

    def __init__(self, name: str, speed: float | None) -> None:
        source = RIGHT.replace("# right", f"# right 0 {name}")
        super().__init__(source, (), _verdict(source))
        object.__setattr__(self, "given", speed)

    @property
    def speed(self) -> float | None:
        return self.given  # type: ignore[no-any-return, attr-defined]


def _verdict(source: str) -> Verdict:
    return verdict(source, Options())


def test_a_port_is_done_when_one_passes() -> None:
    goal = Goal("port")
    goal.note(Judged(wrong(1), (), _verdict(wrong(1))))
    assert not goal.reached(submitted=True)
    goal.note(Judged(RIGHT, (), _verdict(RIGHT)))
    assert goal.reached(submitted=False)


def test_lift_keeps_the_fastest_that_passed() -> None:
    start = Timed("start", 1.0)
    goal = Goal("lift", start, timed=True)
    for name, speed in (("a", 1.5), ("b", 1.2), ("c", 2.0)):
        goal.note(Timed(name, speed))
    assert goal.best is not None and goal.best.speed == 2.0
    assert goal.gain == pytest.approx(2.0)


def test_what_is_no_faster_than_the_start_is_not_kept() -> None:
    goal = Goal("lift", Timed("start", 1.0), timed=True)
    goal.note(Timed("a", 0.9))
    assert goal.best is None and not goal.reached(submitted=True)


def test_the_start_itself_is_no_gain() -> None:
    start = Timed("start", None)
    goal = Goal("lift", start)
    goal.note(start)
    assert goal.best is None


def test_lift_ends_after_two_rounds_without_gain() -> None:
    goal = Goal("lift", Timed("start", 1.0), timed=True)
    goal.note(Timed("a", 1.5))
    goal.note(Timed("b", 1.51))  # within what one run of the clock tells apart
    assert goal.best is not None and goal.best.speed == 1.5
    assert not goal.reached(submitted=False)
    goal.note(Timed("c", 1.4))
    assert goal.reached(submitted=False)


def test_without_a_clock_the_last_word_stands_and_nothing_is_claimed() -> None:
    goal = Goal("tune", Timed("start", None))
    goal.note(Timed("a", None))
    goal.note(Timed("b", None))
    assert goal.best is not None and goal.best.source.startswith("# right 0 b")
    assert goal.gain is None
    assert goal.reached(submitted=True) and not goal.reached(submitted=False)
