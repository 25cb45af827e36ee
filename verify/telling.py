"""Whether a run could have failed at all: null answers that would pass it, results that vary too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.inputs import Bytes, Lane, decode, lanes, view
from verify.judge import output_lanes, unwritten
from verify.spec import Spec, Tolerance
from verify.spec_args import BufferArg
from verify.tolerance import compare
from verify.unordered import Order

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Outputs: TypeAlias = Mapping[str, Bytes]
_ELEMENTS = 1 << 20  # null answers are tried on the first so many elements
# Of the elements in a wrong place that the tolerance alone would tell, so many must be told for all that the
# original's own results vary.
_TOLD = 0.5
_HINTS = {
    "zeros": '; if the kernel is to write zeros, say means = "fill"',
    "a constant": '; if the kernel is to write one value, say means = "fill"',
    "a copy": '; if the kernel is to copy, say means = "copy"',
    "as it was before": '; for a counter or lock of the kernel\'s own, role = "scratch"',
}
# Null answers that are no objection where the spec says so.
_MEANT = {"fill": ("zeros", "a constant"), "copy": ("a copy of ",)}


@dataclass(slots=True)
class Telling:
    """What the runs of a comparison can tell. `told` are outputs that some run tells from null answers,
    `fooled` in how many runs which null answers would pass, `vague` why an output varies too much."""

    told: set[str] = field(default_factory=set)
    fooled: dict[str, Counter[str]] = field(default_factory=dict)
    vague: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    def look(self, spec: Spec, inputs: Outputs, wanted: Sequence[Outputs], order: Order, varies: bool) -> str:
        """Why a run proves nothing of some output, or "". `wanted` are the original's runs in one order, the
        constant comes from the first run's output."""
        why = ""
        together = 0
        if varies:
            together = sum(
                _moves(arg, lane, wanted) for arg, lane in output_lanes(spec) if arg.order != "free"
            )
        for arg, lane in output_lanes(spec):
            values = view(wanted[0][arg.name], lane)
            if not len(values):
                continue  # nothing to tell
            constant = self.constants.setdefault(lane.name, values[0].copy())
            fooled = _fooled_by(arg, lane, spec, inputs, wanted[0], constant, order)
            vague = _vague(arg, lane, wanted, spec.tolerance, together) if varies else ""
            if fooled:
                self.fooled.setdefault(lane.name, Counter()).update(fooled)
                why = why or "a null answer would pass here"
            elif vague:
                self.vague.setdefault(lane.name, vague)
                why = why or f"{lane.name} varies too much here"
            else:
                self.told.add(lane.name)
        return why

    def blind(self, spec: Spec) -> tuple[str, str] | None:
        """The code and the words for outputs that no run could tell, or None."""
        untold = [lane.name for _, lane in output_lanes(spec) if lane.name not in self.told]
        vague = [n for n in untold if n in self.vague and n not in self.fooled]
        if vague:
            return "CP7029", "; ".join(f"{n}: {self.vague[n]}" for n in vague)
        if untold:
            return "CP7017", "; ".join(self._untold(n) for n in untold)
        return None

    def _untold(self, name: str) -> str:
        if name not in self.fooled:
            return f"{name} has no elements in any run"
        what = self.fooled[name].most_common(1)[0][0]
        hint = _HINTS.get(what, _HINTS["a copy"] if what.startswith("a copy of ") else "")
        return f"in every run {name} could be {what} and pass{hint}"


def _moves(arg: BufferArg, lane: Lane, wanted: Sequence[Outputs]) -> bool:
    """Whether the original puts the same values elsewhere from run to run."""
    first, *others = (view(w[arg.name], lane) for w in wanted)
    return any(not np.array_equal(o, first) and np.array_equal(np.sort(o), np.sort(first)) for o in others)


def odd_ones_move(arg: BufferArg, lane: Lane, wanted: Sequence[Outputs]) -> bool:
    """Whether the original puts NaN or infinities at other places from run to run."""
    first, *others = (np.isfinite(decode(view(w[arg.name], lane), lane.dtype)) for w in wanted)
    return any(not np.array_equal(o, first) for o in others)


def whole_ones_vary(arg: BufferArg, lane: Lane, port: Sequence[Outputs], wanted: Sequence[Outputs]) -> bool:
    """Whether the port differs only where the original's own whole numbers do from run to run, and those are
    not the same ones in another order: who came last, or first, shows there, and neither side is wrong."""
    if lane.dtype.is_float or arg.order == "free":
        return False
    kept = ~unwritten(arg, lane, list(wanted))
    first, *others = (view(w[arg.name], lane)[kept] for w in wanted)
    if all(np.array_equal(np.sort(o), np.sort(first)) for o in others):
        return False
    steady = np.all([o == first for o in others], axis=0)
    return all(np.array_equal(view(p[arg.name], lane)[kept][steady], first[steady]) for p in port)


def _vague(arg: BufferArg, lane: Lane, wanted: Sequence[Outputs], tolerance: Tolerance, together: int) -> str:
    """Why a comparison that allows for the original's own variation can't tell elements that were lost,
    doubled or swapped; or "". `together` outputs of the original move from run to run."""
    first, *again = (view(w[arg.name], lane)[:_ELEMENTS] for w in wanted)
    if all(np.array_equal(a, first) for a in again):
        return ""
    other = np.roll(first, 1)
    if not lane.dtype.is_float:
        if arg.order == "free" or together < 2 or not compare(other, first, lane.dtype, tolerance).bad:
            return ""
        return f'{together} outputs change their order together: give them order = "free" and one group'
    plain = compare(other, first, lane.dtype, tolerance)
    wide = compare(other, first, lane.dtype, tolerance, None, again, True)
    if wide.bad >= _TOLD * plain.bad:
        return ""
    words = f"{plain.bad - wide.bad} of {plain.bad} elements in a wrong place pass (limit {wide.limit})"
    moves = arg.order != "free" and _moves(arg, lane, wanted)
    return words + ('; the same values only change places: order = "free" compares them' if moves else "")


def _fooled_by(
    arg: BufferArg, lane: Lane, spec: Spec, inputs: Outputs, original: Outputs, constant: Array, order: Order
) -> list[str]:
    """The null answers that would pass for this output."""
    kept = order.telling(arg) if arg.order == "free" else None
    values = view(original[arg.name], lane)
    wanted = (values if kept is None else values[kept])[:_ELEMENTS]
    if not len(wanted):
        return ["an empty output"]
    passing = []
    if kept is not None:
        wanted = _sorted(wanted, lane)
    for what, answer in _null_answers(arg, lane, spec, inputs, wanted, constant, kept):
        if arg.means is not None and what.startswith(_MEANT[arg.means]):
            continue
        if kept is not None:
            answer = _sorted(answer, lane)
        if not compare(answer, wanted, lane.dtype, spec.tolerance).bad:
            passing.append(what)
    return passing


def _sorted(values: Array, lane: Lane) -> Array:
    return np.ascontiguousarray(values[np.argsort(decode(values, lane.dtype), kind="stable")])


def _null_answers(
    arg: BufferArg,
    lane: Lane,
    spec: Spec,
    inputs: Outputs,
    wanted: Array,
    constant: Array,
    kept: Mask | None,
) -> Iterator[tuple[str, Array]]:
    """Answers that need no work. `kept` are the elements that count where their order is free; `wanted` is
    sorted then."""
    yield "zeros", np.zeros_like(wanted)
    yield "a constant", np.full_like(wanted, constant)
    for source in spec.buffers:
        if source.name not in inputs:
            continue
        for other in lanes(source):
            if other.dtype != lane.dtype:
                continue
            values = view(inputs[source.name], other)
            if kept is not None:
                values = values[kept] if len(values) == len(kept) else values[:0]
            values = values[: len(wanted)]
            if len(values) == len(wanted):
                what = "as it was before" if source is arg else f"a copy of {other.name}"
                yield what, np.ascontiguousarray(values)
    alone = lane.dtype.is_float and kept is not None and len(wanted) > 1
    if alone and not any(not x.dtype.is_float for x in _mates(arg, spec)):
        yield "one element lost and another doubled", _doubled(wanted, lane)


def _mates(arg: BufferArg, spec: Spec) -> list[Lane]:
    """Lanes of the tuples that an output of free order is part of."""
    own = [a for a in spec.buffers if a is arg or (arg.group is not None and a.group == arg.group)]
    return [lane for a in own for lane in lanes(a)]


def _doubled(values: Array, lane: Lane) -> Array:
    """Sorted values without the least, the largest finite one twice, and all of them rounded otherwise: in
    sorted order each may come to stand near its neighbour."""
    made = values.copy()
    finite = np.flatnonzero(np.isfinite(decode(made, lane.dtype)))
    if len(finite) > 1:
        made[finite[0]] = made[finite[-1]]
        bits = made.view(f"u{lane.dtype.size}")
        bits[finite] ^= np.array(1, bits.dtype)
    return made
