"""What the host allocates for a kernel's pointers, and how that compares with what the kernel touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from translator.analysis.launch_shape import names_in, number, poly_of
from translator.analysis.poly import Poly
from translator.model.kernel import Allocation, KernelModel, Launch

_ROUND = 1024 * 9 * 5 * 7  # whole blocks and vectors of any usual size
# values of one to four sizes tried together: odd ones, powers of two and their neighbours
_SMALL = (
    (),
    range(1, 130),
    (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 64),
    (1, 2, 3, 7, 8, 9, 33),
    (1, 2, 7, 16, 33),
)


@dataclass(frozen=True, slots=True)
class Room:
    """Elements of the pointee that the host allocated for a parameter; `certain` as in model.Allocation."""

    elems: Poly
    certain: bool


def allocations(model: KernelModel, launch: Launch | None) -> dict[str, Allocation]:
    """By parameter, as far as they were seen."""
    made = () if launch is None else launch.allocations
    return {p.name: a for p, a in zip(model.kernel.params, made, strict=False) if a is not None}


def rooms(model: KernelModel, launch: Launch | None) -> dict[str, Room]:
    """By parameter, where the arguments say how many elements."""
    found: dict[str, Room] = {}
    for name, made in allocations(model, launch).items():
        e = made.elements
        if e.python or e.value is not None:
            found[name] = Room(poly_of(e.python or str(e.value)), made.certain)
    return found


def given(model: KernelModel, launch: Launch | None) -> dict[str, int]:
    """Integer arguments whose values the source shows."""
    values = () if launch is None else launch.arg_values
    named = zip(model.kernel.params, values, strict=False)
    return {p.name: v for p, v in named if isinstance(v, int)}


def exceeds(one: Poly, other: Poly, known: Mapping[str, int]) -> bool:
    """Whether `one` is more than `other` for sizes that no block or vector leaves a rest of, and for those of
    the source where it gives them all."""
    texts = [one.text(), other.text()]
    names = sorted(set().union(*map(names_in, texts)))
    tried = [{n: _ROUND << k for k, n in enumerate(order)} for order in (names, names[::-1])]
    if names and all(n in known for n in names):
        tried.append({n: known[n] for n in names})
    counted = [[number(t, sizes) for t in texts] for sizes in tried]
    return all(a is not None and b is not None and a > b for a, b in counted)


def never_exceeds(one: Poly, other: Poly) -> bool:
    """Whether `one` is at most `other` for small sizes of all kinds: what divisions leave shows there."""
    texts = [one.text(), other.text()]
    names = sorted(set().union(*map(names_in, texts)))
    if not 0 < len(names) < len(_SMALL):
        return False
    for values in product(_SMALL[len(names)], repeat=len(names)):
        a, b = (number(t, dict(zip(names, values, strict=True))) for t in texts)
        if a is None or b is None or a > b:
            return False
    return True
