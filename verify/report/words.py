"""Numbers and statuses as the report writes them."""

from __future__ import annotations

import math

# What a status asks of its reader.
_TONES = {
    "PASSED": "good",
    "COMPILED": "part",
    "NOT_RUN": "none",
    "AMBIGUOUS": "warn",
    "SLOWER": "warn",
    "REFUSED": "warn",
}
_ORDER = ("bad", "warn", "none", "part", "good")
UNREADABLE = "UNREADABLE"  # of a verdict; no verdict says it of itself


def tone(status: str) -> str:
    """good, part, none, warn or bad: the colour that goes with the word."""
    return _TONES.get(status, "bad")


def gravity(status: str) -> int:
    """0 for what needs a look first."""
    return _ORDER.index(tone(status))


def count(n: int) -> str:
    """With thin groups: 67 108 864."""
    return f"{n:,}".replace(",", "\u2009")


def figure(x: float | None) -> str:
    """Three digits, as in 1.2e-07; an empty text for None."""
    if x is None:
        return ""
    if x == 0 or not math.isfinite(x):
        return f"{x:g}"
    return f"{x:.3g}" if 1e-3 <= abs(x) < 1e6 else f"{x:.2e}"


def micros(us: float | None) -> str:
    """A time in µs with four digits."""
    if us is None:
        return ""
    if not math.isfinite(us) or us <= 0:
        return f"{us:g}"
    return f"{us:.{max(0, 3 - math.floor(math.log10(us)))}f}"


def seconds(s: float) -> str:
    """As in 30.5 s, 210 ms, 12 min 3 s."""
    if s >= 120:
        return f"{int(s) // 60} min {int(s) % 60} s"
    if s < 1e-3:
        return f"{1e6 * s:.0f}\u00a0µs"
    if s < 0.01:
        return f"{1e3 * s:.2f}\u00a0ms"
    if s < 1:
        return f"{1000 * s:.0f}\u00a0ms"
    return f"{s:.1f}\u00a0s" if s >= 9.95 else f"{s:.2f}\u00a0s"


def size(n: float) -> str:
    """Bytes, as in 536.9 MB (decimal)."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= scale:
            return f"{n / scale:.1f}\u00a0{unit}"
    return f"{n:.0f}\u00a0B"


def score(x: float | None) -> str:
    """A share as verdicts say it, 0.97; never 1.00 for less."""
    return "" if x is None else f"{0.99 if 0.99 < x < 1 else x:.2f}"


def share(x: float | None) -> str:
    """As in 97.5 %; never 100 % for less."""
    if x is None:
        return ""
    told = f"{100 * x:.1f}"
    return f"{'99.9' if told == '100.0' and x < 1 else told}\u00a0%"


def triple(xs: tuple[int, int, int]) -> str:
    """A grid or block: 1024, or 16 × 16, trailing ones left out."""
    kept = list(xs)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " × ".join(map(str, kept))
