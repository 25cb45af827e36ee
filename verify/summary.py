"""One line for each verdict, and what they say together: the figures in tables and reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.facts import Difference
from verify.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """`runs` counts those in which a null answer would fail. `error` is that of the output that is worst off,
    None where none was compared; `equal`: all outputs have the original's bits. `ratio` is original time /
    port time with the ends of its interval."""

    status: str
    name: str
    kernel: str
    runs: int | None = None
    device: str = ""
    error: float | None = None
    ulp: float | None = None
    equal: bool = False
    score: float | None = None
    ratio: tuple[float, float, float] | None = None
    rating: str = ""
    code: str = ""
    seconds: float = 0.0

    @property
    def error_words(self) -> str:
        """As in `1.2e-07 (2 ulp)`; empty where nothing was compared."""
        if self.error is None:
            return ""
        if self.equal:
            return "equal bits"
        return f"{self.error:.2g}" + (f" ({self.ulp:.3g} ulp)" if self.ulp else "")

    @property
    def ratio_words(self) -> str:
        """As in `1.008 [1.007, 1.009]`; empty where nothing was timed."""
        return "{:.3f} [{:.3f}, {:.3f}]".format(*self.ratio) if self.ratio is not None else ""


def row_of(verdict: Verdict, name: str = "") -> Row:
    """The figures of one verdict; `name` is by default its folder's."""
    parity = next((s.parity for s in verdict.stages if s.parity is not None), None)
    bench = next((s.bench for s in verdict.stages if s.bench is not None), None)
    worst = _worst(parity.outputs) if parity is not None else None
    failed = next((s.code for s in verdict.stages if s.code and s.status == verdict.status), None)
    return Row(
        status=str(verdict.status),
        name=name or Path(verdict.target).name,
        kernel=verdict.kernel,
        runs=sum(r.counted for r in parity.runs) if parity is not None else None,
        device=parity.device if parity is not None else "",
        error=worst.max_abs if worst is not None else None,
        ulp=worst.max_ulp if worst is not None else None,
        equal=parity is not None and bool(parity.outputs) and all(d.bitwise_equal for d in parity.outputs),
        score=parity.mutation.share if parity is not None and parity.mutation is not None else None,
        ratio=(bench.ratio, bench.ratio_low, bench.ratio_high) if bench is not None else None,
        rating=bench.rating if bench is not None else "",
        code=failed or "",
        seconds=sum(s.seconds for s in verdict.stages),
    )


def _worst(outputs: Sequence[Difference]) -> Difference | None:
    """The output with wrong elements before any other, then the largest difference; NaN counts as largest."""

    def size(d: Difference) -> tuple[bool, float]:
        return d.bad > 0, math.inf if math.isnan(d.max_abs) else d.max_abs

    return max(outputs, key=size, default=None)


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """None for no ratios, or where one is no positive number."""
    found = list(ratios)
    if not found or not all(0.0 < r < math.inf for r in found):
        return None
    return math.exp(math.fsum(math.log(r) for r in found) / len(found))
