"""What the page of one kernel says, brought into rows: a template only writes it down."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel

from verify.counts import CountFacts, SideCounts
from verify.facts import BenchFacts, CompileFacts, Difference, KernelResources, ParityFacts, RunFacts, Timing
from verify.report.charts import histogram
from verify.report.collect import Entry
from verify.report.words import count, size
from verify.verdict import StageResult, Verdict

# What the templates write of each model. A field that is not here is shown all the same, by `more`.
_WRITTEN: dict[type[BaseModel], str] = {
    Verdict: "schema_version target kernel status proven stages hashes environment seed created algorithm"
    " asked seal",
    StageResult: "stage target status code message line seconds compile parity sanitize bench",
    CompileFacts: "arch compile_seconds ptx_bytes ptx_sha256 cubin_bytes cubin_sha256 kernels features",
    ParityFacts: "device runs outputs rule deterministic order_dependent port_repeats original"
    " original_builder open_questions findings doubts counts mutation",
    Difference: "output dtype rule elements max_abs max_rel max_ulp bitwise_equal port_fp64 original_fp64"
    " limit bad first_bad port_value original_value unwritten_by_both port_error original_error",
    BenchFacts: "case grid block rating ratio ratio_low ratio_high port original method launches_per_sample"
    " buffer_sets bytes_per_launch clocks notes sm_mhz throttled_by launch first_call floor original_build"
    " checked also",
    Timing: "median_us p10_us p90_us samples gbytes_per_s quantiles",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure of both sides; `mean` says what a difference means, where anybody knows."""

    name: str
    original: str
    port: str
    mean: str = ""

    @property
    def differs(self) -> bool:
        return self.original != self.port


@dataclass(frozen=True, slots=True)
class RunGroup:
    """The runs of one case with one launch. `values` are kinds of inputs, each with its note's letter."""

    case: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    values: tuple[tuple[str, str], ...]
    seeds: str
    counted: int
    runs: int


def grouped(runs: Iterable[RunFacts]) -> tuple[list[RunGroup], list[tuple[str, str]]]:
    """Runs by case and launch, in their order; and what the letters beside them mean."""
    found: dict[tuple[Any, ...], list[RunFacts]] = {}
    letters: dict[str, str] = {}
    for r in runs:
        found.setdefault((r.case, r.grid, r.block), []).append(r)
        if r.note:
            letters.setdefault(r.note, _letter(len(letters)))
    groups = [
        RunGroup(
            case=case,
            grid=grid,
            block=block,
            values=_repeated([(r.kind, letters.get(r.note, "")) for r in group]),
            seeds=_spans(sorted({r.seed for r in group})),
            counted=sum(r.counted for r in group),
            runs=len(group),
        )
        for (case, grid, block), group in found.items()
    ]
    return groups, [(letter, note) for note, letter in letters.items()]


def _letter(k: int) -> str:
    return ("" if k < 26 else _letter(k // 26 - 1)) + "abcdefghijklmnopqrstuvwxyz"[k % 26]


def _repeated(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each pair once; `spec ×2` for two."""
    times = Counter(pairs)
    return tuple((word if n == 1 else f"{word} ×{n}", letters) for (word, letters), n in times.items())


def _spans(numbers: Sequence[int]) -> str:
    """`0–5, 9`."""
    made: list[list[int]] = []
    for n in numbers:
        if made and made[-1][1] == n - 1:
            made[-1][1] = n
        else:
            made.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in made)


def resources(port: CompileFacts | None, original: CompileFacts | None, features: bool = True) -> list[Pair]:
    """What the compiled code of both sides takes and, with `features`, holds; an empty text for what one side
    does not tell."""
    if port is None and original is None:
        return []
    rows = [Pair("architecture", original.arch if original else "", port.arch if port else "")]
    old, new = (list(c.kernels) if c else [] for c in (original, port))
    for k in range(max(len(old), len(new))):
        a, b = (side[k] if k < len(side) else None for side in (old, new))
        suffix = f" [{k}]" if max(len(old), len(new)) > 1 else ""
        rows += [Pair(name + suffix, _of(a, key), _of(b, key)) for key, name in _RESOURCES]
    telling = [name for side in (original, port) if side and features for name in side.features]
    for name in dict.fromkeys(telling):
        sides = (str(c.features.get(name, 0)) if c else "" for c in (original, port))
        rows.append(Pair(f"{name.replace('_', ' ')} in the PTX", *sides))
    for key, name in (("ptx_bytes", "PTX"), ("cubin_bytes", "machine code")):
        rows.append(Pair(name, *(size(getattr(c, key)) if c else "" for c in (original, port))))
    return rows


_RESOURCES = (
    ("registers", "registers per thread"),
    ("spill_bytes", "spilled bytes per thread"),
    ("frame_bytes", "stack bytes per thread"),
    ("static_shared_bytes", "static shared memory, bytes"),
)


def _of(kernel: KernelResources | None, key: str) -> str:
    value = getattr(kernel, key) if kernel is not None else None
    return "" if value is None else count(value)


def counted(facts: CountFacts) -> list[Pair]:
    """What both sides executed and moved in one case, in the emulator."""
    a, b = facts.original, facts.port
    rows = [Pair("instructions", count(a.instructions), count(b.instructions))]
    rows += _each("{}", a.classes, b.classes)
    rows += _each("global loads of {} bits", a.loads, b.loads)
    rows += _each("global stores of {} bits", a.stores, b.stores)
    for key in ("shared_loads", "shared_stores", "barriers"):
        sides: list[int] = [getattr(s, key) for s in (a, b)]
        if any(sides):
            rows.append(Pair(key.replace("_", " "), *map(count, sides)))
    for name in dict.fromkeys([*a.traffic, *b.traffic]):
        rows.append(Pair(f"bytes of {name}, read + written", *(_moved(s, name) for s in (a, b))))
    rows.append(Pair("distinct bytes moved", size(a.traffic_bytes), size(b.traffic_bytes)))
    return rows


def _each(name: str, old: dict[str, int], new: dict[str, int]) -> list[Pair]:
    return [
        Pair(name.format(k), *(count(s.get(k, 0)) for s in (old, new))) for k in dict.fromkeys([*old, *new])
    ]


def _moved(side: SideCounts, name: str) -> str:
    moved = side.traffic.get(name)
    return f"{size(moved.read)} + {size(moved.written)}" if moved is not None else ""


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One comparison of an output: what with what, and how far apart."""

    what: str
    max_abs: float | None
    max_rel: float | None = None
    max_ulp: float | None = None


def errors(d: Difference) -> list[ErrorLine]:
    """The port against the original, then both against float64 where there is a reference."""
    made = [ErrorLine("port − original", d.max_abs, d.max_rel, d.max_ulp)]
    for side, known, worst in (
        ("original", d.original_error, d.original_fp64),
        ("port", d.port_error if d.original_error is not None else None, d.port_fp64),
    ):
        if known is not None:
            made.append(ErrorLine(f"{side} − fp64", known.max_abs, known.max_rel, known.max_ulp))
        elif worst is not None:
            made.append(ErrorLine(f"{side} − fp64", worst))
    return made


def histograms(d: Difference) -> list[tuple[str, Markup]]:
    """How many elements are how far off, in units in the last place, for each side that was measured."""
    known = [(s, e) for s, e in (("original", d.original_error), ("port", d.port_error)) if e is not None]
    used = max((k + 1 for _, e in known for k, n in enumerate(e.histogram) if n), default=0)
    if not any(n for _, e in known for n in e.histogram[1:]):
        return []  # nothing is off
    last = max(len(e.histogram) for _, e in known) - 1
    names = [_ulps(k, last) for k in range(used)]
    return [
        (side, histogram(e.histogram[:used], names, side, f"{d.output}: errors of the {side} in ulp"))
        for side, e in known
    ]


def _ulps(k: int, last: int) -> str:
    """The name of a bin: 0, below 1/2, below 1, below 2, and so on; the last holds what is larger."""
    if k == 0:
        return "0"
    limit = 2.0 ** (k - 2) if k < last else 2.0 ** (k - 3)
    told = "½" if limit == 0.5 else f"{limit:g}" if limit < 1e4 else f"2^{k - 2 if k < last else k - 3}"
    return f"<{told}" if k < last else f"≥{told}"


def more(model: BaseModel | None) -> list[tuple[str, str]]:
    """What a model holds that no template knows: recorded is shown, if plainly."""
    if model is None:
        return []
    written = _WRITTEN[type(model)].split()
    held = model.model_dump(mode="json", exclude_none=True)
    return [
        (name.replace("_", " "), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in held.items()
        if name not in written and value not in ("", [], {})
    ]


def replay(entry: Entry) -> str:
    """The command that repeats a verdict."""
    assert entry.verdict is not None
    if entry.verdict.asked is not None and entry.verdict.seal:
        return f"cuteport verify --replay {shlex.quote(f'{entry.verdict.target}/verdict.json')}"
    parity = entry.verdict.stage("parity")
    device = parity.parity.device if parity is not None and parity.parity is not None else "auto"
    return (
        f"cuteport verify {shlex.quote(entry.verdict.target)} --seed {entry.verdict.seed} --device {device}"
    )
