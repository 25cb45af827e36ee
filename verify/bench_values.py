"""Whether the outputs of timed launches are the original's: by the rule that parity goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from verify.judge import Judged, Outputs, judge, output_lanes
from verify.resolve import Resolved
from verify.right_values import Doubles, Reference, fits, right_values
from verify.sides import Inputs, SideError
from verify.spec import Spec
from verify.unordered import CountError, MisfitError, Order

# Starts what gives a target's right values, if anything does, and ends it. It may use the GPU.
References: TypeAlias = Callable[[], AbstractContextManager[Reference | None]]


class _Right:
    """The right values of one case, asked for once they are needed: until then nothing of it has run."""

    def __init__(self, spec: Spec, resolved: Resolved, inputs: Inputs, references: References | None) -> None:
        self.spec = spec
        self.resolved = resolved
        self.inputs = inputs
        self.references = references
        self._found: dict[str, Doubles] | None = None
        self.missing = ""  # why there are none, where there should be some

    def of(self, original: Outputs) -> dict[str, Doubles]:
        """By lane; none where there is no reference, or not in this case."""
        if self._found is None:
            self._found = {}
            if self.references is not None and fits(self.spec, self.resolved):
                try:
                    with self.references() as reference:
                        if reference is not None:
                            case = self.resolved.case.name
                            self._found = right_values(self.spec, case, reference, self.inputs, original)
                except SideError as e:
                    self.missing = f"; there are no right values: {e.code} {e.message}"
        return self._found


def difference(
    spec: Spec,
    resolved: Resolved,
    inputs: Inputs,
    outputs: Mapping[str, Sequence[Outputs]],
    order_dependent: bool,
    references: References | None = None,
) -> str:
    """What of the outputs of timed launches is not the original's, in words; "" where nothing. `outputs` are
    those of bench_jobs.bench.

    They are compared by the dtype's own tolerance, which takes no reference. Where a float differs by more,
    the right values are asked for, and decide as they do in parity: of another order of additions, or of one
    more step of a narrow type, the original's own error tells that it is no fault."""
    right = _Right(spec, resolved, inputs, references)
    # What varies from launch to launch is looked at in several of the original's timed ones.
    looked = [("", "")] if order_dependent else [("", ""), ("last_", "a call after the timed ones: ")]
    for which, words in looked:
        try:
            found = _wrong(spec, resolved, outputs, which, order_dependent, right)
        except (CountError, MisfitError) as e:
            return f"{words}{e}"
        if found is not None:
            return f"{words}{found.message}{right.missing}"
    return ""


def _wrong(
    spec: Spec,
    resolved: Resolved,
    outputs: Mapping[str, Sequence[Outputs]],
    which: str,
    order_dependent: bool,
    right: _Right,
) -> Judged | None:
    """The first lane that is wrong, or None."""
    order = Order(spec, resolved)
    first, *others = outputs[f"{which}original"]
    wanted = [order.begin(first), *(order.original(o, 0) for o in others)]
    got = [order.port(o, 0) for o in outputs[f"{which}port"]]
    for arg, lane in output_lanes(spec):
        found = judge(arg, lane, got, wanted, spec.tolerance, None, order_dependent)
        if found.code == "CP7012" and lane.dtype.is_float:
            expected = order.reference(right.of(wanted[0])).get(lane.name)
            if expected is not None:
                found = judge(arg, lane, got, wanted, spec.tolerance, expected, order_dependent)
        if found.code is not None:
            return found
    return None
