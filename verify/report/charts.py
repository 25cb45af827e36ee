"""Small charts as inline SVG. Sizes across are per cent, so that text stays as large as the page's on any
screen; colours come from classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from verify.report.visible import visible


@dataclass(frozen=True, slots=True)
class Spread:
    """Quantiles of one side's samples; the quartiles only where they were recorded."""

    low: float
    median: float
    high: float
    q1: float | None = None
    q3: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to per cent of the width. `log` needs positive values."""

    low: float
    high: float
    log: bool = False

    def __call__(self, x: float) -> float:
        a, b, v = (math.log(t) if self.log else t for t in (self.low, self.high, x))
        return 50.0 if b <= a else min(100.0, max(0.0, 100 * (v - a) / (b - a)))

    def ticks(self, most: int = 5) -> list[float]:
        """Round values inside; for a logarithmic scale of at least a decade, powers of ten."""
        if self.log and self.high / self.low >= 10:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first + 1) / most))
            return [10.0**k for k in range(first, last + 1, step)]
        rough = (self.high - self.low) / most
        if rough <= 0:
            return [self.low]
        unit = 10 ** math.floor(math.log10(rough))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * (1 - 1e-9))
        return [
            k * step
            for k in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        ]


def around(values: Sequence[float], margin: float = 0.08) -> Scale:
    """A scale that holds all values, with some room at both ends."""
    low, high = min(values), max(values)
    room = (high - low or abs(high) or 1.0) * margin
    return Scale(low - room, high + room)


def _told(text: str) -> Markup:
    return escape(visible(text))


def _svg(height: int, label: str, *parts: str) -> Markup:
    head = f'<svg class="chart" width="100%" height="{height}" role="img" aria-label="{_told(label)}">'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _pc(x: float) -> str:
    return f"{x:.2f}".rstrip("0").rstrip(".") + "%"


def _line(kind: str, x1: float, y1: float | str, x2: float, y2: float | str) -> str:
    return f'<line class="{kind}" x1="{_pc(x1)}" y1="{y1}" x2="{_pc(x2)}" y2="{y2}"/>'


def spread(s: Spread, scale: Scale, kind: str, label: str, marks: Sequence[float] = ()) -> Markup:
    """A whisker from low to high, a box between the quartiles where there are any, the median; `marks` are
    vertical lines, as for a floor."""
    lo, mid, hi = scale(s.low), scale(s.median), scale(s.high)
    parts = [_line("mark", scale(m), 0, scale(m), 28) for m in marks]
    parts += [_line(f"whisker {kind}", lo, 14, hi, 14)]
    parts += [_line(f"whisker {kind}", x, 9, x, 19) for x in (lo, hi)]
    if s.q1 is not None and s.q3 is not None:
        a, b = scale(s.q1), scale(s.q3)
        parts.append(
            f'<rect class="box {kind}" x="{_pc(a)}" y="7" width="{_pc(max(b - a, 0.2))}" height="14"/>'
        )
    parts.append(_line(f"median {kind}", mid, 4, mid, 24))
    return _svg(28, label, *parts)


def axis(scale: Scale, most: int = 5) -> Markup:
    """The ticks under charts of one scale."""
    parts = [_line("axis", 0, 0.5, 100, 0.5)]
    ticks = scale.ticks(most)
    digits = (
        max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9)) if len(ticks) > 1 and not scale.log else 0
    )
    for t in ticks:
        x = scale(t)
        side = "start" if x < 6 else "end" if x > 94 else "middle"
        word = f"{t:g}" if scale.log else f"{t:.{digits}f}"
        parts.append(_line("axis", x, 0, x, 4))
        parts.append(f'<text x="{_pc(x)}" y="16" text-anchor="{side}">{_told(word)}</text>')
    return _svg(20, f"axis from {scale.low:.4g} to {scale.high:.4g}", *parts)


def histogram(counts: Sequence[int], names: Sequence[str], kind: str, label: str) -> Markup:
    """A bar for each count, its name below; names thin out where they are many. Few are seen too."""
    most, width = max([*counts, 1]), 100 / max(1, len(counts))
    every = math.ceil(len(counts) / 12)
    parts = []
    for k, n in enumerate(counts):
        high = max(1.5, 48 * n / most) if n else 0.0
        at = f'x="{_pc(k * width)}" y="{50 - high:.1f}" width="{_pc(width * 0.9)}" height="{high:.1f}"'
        parts.append(f'<rect class="bar {kind}" {at}><title>{_told(names[k])}: {n}</title></rect>')
        if k % every == 0:
            middle = _pc((k + 0.45) * width)
            parts.append(f'<text x="{middle}" y="64" text-anchor="middle">{_told(names[k])}</text>')
    told = ", ".join(f"{name}: {n}" for name, n in zip(names, counts, strict=True))
    return _svg(68, f"{label}: {told}", *parts, _line("axis", 0, 50.5, 100, 50.5))


def roofline(
    x: float, rates: Mapping[str, float], slope: float, peak: float, names: tuple[str, str]
) -> Markup:
    """Rates by kind under the lesser of `slope` times x and `peak`, whose names are given; both axes
    logarithmic."""
    ridge = peak / slope
    across = Scale(min(x, ridge) / 4, max(x, ridge) * 4, log=True)
    up = Scale(min([*rates.values(), slope * across.low]) / 1.3, peak * 1.8, log=True)

    def y(value: float) -> str:
        return _pc(100 - up(value))

    parts = [
        _line("roof", 0, y(slope * across.low), across(ridge), y(peak)),
        _line("roof", across(ridge), y(peak), 100, y(peak)),
        _line("mark", across(x), "0", across(x), "100%"),
        f'<text x="0" y="{y(slope * across.low)}" dy="-14">{_told(names[0])}</text>',
        f'<text x="100%" y="{y(peak)}" dy="-6" text-anchor="end">{_told(names[1])}</text>',
    ]
    for (kind, rate), (side, shift) in zip(rates.items(), (("end", -8), ("start", 8)), strict=True):
        at = f'cx="{_pc(across(x))}" cy="{y(rate)}"'
        word = f'x="{_pc(across(x))}" y="{y(rate)}" dx="{shift}" dy="4" text-anchor="{side}"'
        parts += [f'<circle class="dot {kind}" {at} r="4"/>', f"<text {word}>{_told(kind)}</text>"]
    label = f"roofline at {x:.3g} float instructions per byte"
    return _svg(170, label, *parts) + axis(across)


@dataclass(frozen=True, slots=True)
class Dot:
    """One kernel in `ratios`."""

    anchor: str
    name: str
    ratio: float
    low: float
    high: float
    rating: str


def ratios(dots: Sequence[Dot]) -> Markup:
    """Each kernel's original time / port time with its interval, slowest port first; logarithmic."""
    shown = sorted((d for d in dots if min(d.ratio, d.low) > 0), key=lambda d: (d.ratio, d.name))
    if not shown:
        return Markup("")
    low = min(0.9, *(d.low for d in shown))
    high = max(1.1, *(d.high for d in shown))
    scale = Scale(low / 1.02, high * 1.02, log=True)
    step = min(10.0, max(3.0, 420 / len(shown)))
    dot = min(4.0, step / 2)
    tall = round(step * len(shown))
    parts = [_line("even", scale(1.0), 0, scale(1.0), tall)]
    for k, d in enumerate(shown):
        y = f"{(k + 0.5) * step:.1f}"
        kind = d.rating.lower()
        told = _told(f"{d.name}: {d.ratio:.3f} [{d.low:.3f}, {d.high:.3f}]")
        parts.append(
            f'<a href="#{d.anchor}" tabindex="-1"><title>{told}</title>'
            f"{_line(f'whisker {kind}', scale(d.low), y, scale(d.high), y)}"
            f'<circle class="dot {kind}" cx="{_pc(scale(d.ratio))}" cy="{y}" r="{dot:.1f}"/></a>'
        )
    label = f"original time / port time: {shown[0].ratio:.3f} to {shown[-1].ratio:.3f}"
    return _svg(tall, label, *parts) + axis(scale, 8)
