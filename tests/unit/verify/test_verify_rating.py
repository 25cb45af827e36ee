"""What times say about each other, on simulated noise: the words must be right as often as promised."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from verify.rating import (
    DIFFERENT,
    LEAST_ROUNDS,
    NARROW,
    SAME_WITHIN,
    Rating,
    enough,
    quantiles,
    rate,
    ratio_interval,
)

Noise = Callable[[random.Random], float]
# Relative noise of one sample: on an H200 0.3 % is usual for large kernels, 1.3 % the most among the targets.
NOISES: dict[str, Noise] = {
    "quiet": lambda r: r.gauss(0, 0.003),
    "wide": lambda r: r.gauss(0, 0.013),
    "outliers": lambda r: r.gauss(0, 0.003) + (r.expovariate(10) if r.random() < 0.05 else 0),
    "two modes": lambda r: r.gauss(0, 0.003) + (0.03 if r.random() < 0.4 else 0),
    "short": lambda r: r.gauss(0, 0.01) + (r.expovariate(20) if r.random() < 0.1 else 0),
}


def decided(noise: Noise, slower: float, drift: float, rng: random.Random) -> tuple[Rating, int]:
    """The word for a port that takes `slower` times the original's time, and the rounds that it took; rounds
    in the order A B B A, as the bench stage takes them, on a level that drifts."""
    original: list[float] = []
    port: list[float] = []
    level, rounds = 0.0, 0
    while rounds < 160 and not enough(original, port):
        for _ in range(16):
            level = 0.9 * level + rng.gauss(0, drift)
            times = [100 * (1 + level + noise(rng)) for _ in range(4)]
            first, second = [times[0], times[3]], [times[1], times[2]]
            mine, other = (first, second) if rounds % 2 else (second, first)
            original += other
            port += [slower * t for t in mine]
            rounds += 1
    _, low, high = ratio_interval(original, port)
    return rate(len(port), low, high), rounds


@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize("name", NOISES)
def test_equal_sides_are_same_and_3_percent_is_slower(name: str, drift: float) -> None:
    rng = random.Random(f"{name} {drift}")
    equal = Counter(decided(NOISES[name], 1.0, drift, rng)[0] for _ in range(24))
    slower = Counter(decided(NOISES[name], 1.03, drift, rng)[0] for _ in range(24))
    assert equal["SAME"] >= 0.95 * 24, equal
    assert slower["SLOWER"] >= 0.9 * 24, slower


def test_a_quiet_kernel_needs_the_least_rounds() -> None:
    rng = random.Random(1)
    assert {decided(NOISES["quiet"], 1.0, 0, rng)[1] for _ in range(20)} == {LEAST_ROUNDS}
    assert decided(NOISES["wide"], 1.0, 0, rng)[1] > LEAST_ROUNDS


def test_noise_beyond_the_budget_is_ambiguous() -> None:
    rng = random.Random(2)
    got = Counter(decided(lambda r: r.gauss(0, 0.3), 1.0, 0, rng) for _ in range(10))
    assert got == {("AMBIGUOUS", 160): 10}


def test_a_narrow_interval_always_fits_a_word() -> None:
    for low in np.linspace(0.9, 1.1, 401):
        assert rate(100, low, low * NARROW * (1 - 1e-9)) != "AMBIGUOUS"


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.0201, 1.5, "FASTER"),
        (0.5, 0.98, "SLOWER"),
        (0.971, 1.0299, "SAME"),
        (0.97, 1.0, "AMBIGUOUS"),
        (1.0, 1.031, "AMBIGUOUS"),
        (1.02, 1.04, "AMBIGUOUS"),
        (0.9, 1.2, "AMBIGUOUS"),
    ],
)
def test_words(low: float, high: float, word: str) -> None:
    assert rate(2 * LEAST_ROUNDS, low, high) == word
    assert rate(2 * LEAST_ROUNDS - 1, low, high) == "AMBIGUOUS"
    mirrored = {"FASTER": "SLOWER", "SLOWER": "FASTER"}.get(word, word)
    assert rate(2 * LEAST_ROUNDS, 1 / high, 1 / low) == mirrored


def test_margins_are_those_of_the_page() -> None:
    assert (DIFFERENT, SAME_WITHIN) == (1.02, 1.03)
    assert not enough([100.0] * 31, [100.0] * 31)
    assert enough([100.0] * 32, [100.0] * 32)


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        o, p = (rng.normal(100, 1, 64) for _ in range(2))
        _, low, high = ratio_interval(o.tolist(), p.tolist())
        held += low <= 1.0 <= high
    assert 0.91 <= held / 300 <= 0.99


def test_what_slows_a_whole_round_down_cancels() -> None:
    rng = np.random.default_rng(5)
    level = np.repeat(rng.uniform(1, 1.5, 32), 2)
    o, p = (level * rng.normal(100, 0.1, 64) for _ in range(2))
    ratio, low, high = ratio_interval(o.tolist(), p.tolist())
    assert ratio == pytest.approx(1, abs=0.01)
    assert high - low < 0.02
    # drawn one by one, the same samples would say nothing
    mixed = rng.permutation(64)
    assert np.ptp(ratio_interval(o[mixed].tolist(), p.tolist())[1:]) > 0.05


def test_quantiles() -> None:
    assert quantiles([float(i) for i in range(21)]) == [float(i) for i in range(21)]
    assert quantiles([2.0, 1.0]) == pytest.approx([1 + i / 20 for i in range(21)])
    assert ratio_interval([3.0] * 8, [2.0] * 9) == (1.5, 1.5, 1.5)
