"""Cases that the spec does not list: sizes and seeds which a port that knows its spec can't know.

They are drawn from a digest of the port and the spec, so that the same files are judged alike, and no port
can hold the answers to what its own bytes decide. Sizes stay within what the listed cases span, and keep what
all of those have in common: a divisor, powers of two, which size is not larger than which, or divides it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import gcd
from pathlib import Path

from verify import unordered
from verify.dtypes import lookup
from verify.expr import ExprError, evaluate, names_of
from verify.plan import HELD_OUT, Device, Run, is_big, too_large
from verify.resolve import Resolved, resolve
from verify.spec import Case, Spec
from verify.spec_args import ScalarArg

_CASES = 2
_TRIES = 200


def digest(target: Path, spec: Spec, seed: int) -> bytes:
    """What decides the cases. OSError where the files can't be read."""
    own = hashlib.sha256(seed.to_bytes(8, "little", signed=True))
    for name in ("spec.toml", spec.port.module):
        own.update((target / name).read_bytes() + b"\0")
    return own.digest()


def held_out(spec: Spec, cases: Sequence[str], key: bytes, device: Device) -> list[Run]:
    """Runs of sizes that are not listed; none where only some cases are asked for, or where the listed cases
    leave no room. For a fixed set of sizes still another seed."""
    listed = [c for c in spec.case if c.grid is None and c.block is None and c.role != "large"]
    if cases or not listed or any(c.sizes.keys() != listed[0].sizes.keys() for c in listed):
        return []
    rng = random.Random(key)
    known = [c.sizes for c in spec.case]
    found: dict[str, Case] = {}
    for _ in range(_TRIES):
        case = case_named(spec, name_of(_drawn(rng, listed)))
        if len(found) < _CASES and case.sizes not in known and _runs(spec, case, device):
            found.setdefault(case.name, case)
    if not found:
        small = [c for c in listed if _runs(spec, c, device)]
        found = {c.name: c for c in small[-1:]}
    made = list(found.values())
    if made and (scalars := _other_scalars(rng, spec)):
        made.append(case_named(spec, name_of(made[0].sizes, scalars)))
    return [Run(case, rng.getrandbits(31), "spec") for case in made]


def _other_scalars(rng: random.Random, spec: Spec) -> dict[str, float]:
    """Other values for float scalars that the spec gives one number for all cases: a port that holds that
    number itself is wrong for them. Whole numbers stay: they may be choices or bounds."""
    used = {n for e in (*spec.launch.grid, *spec.launch.block, spec.launch.smem) for n in names_of(e)}
    used |= {n for b in spec.buffers for n in names_of(b.elems)}
    found = {}
    for arg in spec.arg:
        if not isinstance(arg, ScalarArg) or arg.name in used or not lookup(arg.dtype).is_float:
            continue
        if isinstance(arg.value, bool) or names_of(arg.value):
            continue
        value = float(evaluate(arg.value, {}))
        # Near the spec's own, since other values may be outside the kernel's domain.
        found[arg.name] = (value or 1.0) * (1 + rng.randint(1, 7) / 16)
    return found


def name_of(sizes: Mapping[str, int], scalars: Mapping[str, float] | None = None) -> str:
    """The name of a case with these sizes and scalars: it says all there is to it."""
    name = HELD_OUT + ", ".join(f"{n}={v}" for n, v in sizes.items())
    return name + "; " + ", ".join(f"{n}={v!r}" for n, v in scalars.items()) if scalars else name


def case_named(spec: Spec, name: str) -> Case:
    """A case of the spec, or a held-out one. KeyError where the name is neither's."""
    for case in spec.case:
        if case.name == name:
            return case
    if not name.startswith(HELD_OUT):
        raise KeyError(name)
    sizes, _, scalars = name.removeprefix(HELD_OUT).partition("; ")
    return Case(
        name=name,
        role="boundary",
        sizes={n: int(v) for n, v in _pairs(sizes)},
        scalars={n: float(v) for n, v in _pairs(scalars)},
    )


def _pairs(text: str) -> list[list[str]]:
    return [part.split("=") for part in text.split(", ") if part]


def _runs(spec: Spec, case: Case, device: Device) -> bool:
    try:
        resolved: Resolved = resolve(spec, case)
        unordered.check(spec, resolved)
    except ExprError:
        return False
    small = device == "gpu" or not is_big(spec, case)
    return resolved.launchable and small and not too_large(resolved, device)


def _drawn(rng: random.Random, listed: Sequence[Case]) -> dict[str, int]:
    """Sizes like those of the listed cases; some listed ones where they don't fit together."""
    columns = {name: [c.sizes[name] for c in listed] for name in listed[0].sizes}
    drawn = {name: _one(rng, values) for name, values in columns.items()}
    return drawn if _kept(columns, drawn) else listed[0].sizes


def _one(rng: random.Random, values: Sequence[int]) -> int:
    low, high = min(values), max(values)
    positive = [v for v in values if v > 0]
    if low == high or not positive:
        return low
    if all(v & (v - 1) == 0 for v in positive) and len(set(positive)) > 1:
        return 1 << rng.randint(min(positive).bit_length() - 1, high.bit_length() - 1)
    step = gcd(*positive)
    least = max(min(positive), step)
    # Spread by their logarithm, a little towards large ones: most listed sizes are small.
    drawn = least * (high / least) ** rng.random() ** 0.5 if high > least else least
    return min(max(int(drawn) // step * step, least), high)


def _kept(columns: Mapping[str, Sequence[int]], drawn: Mapping[str, int]) -> bool:
    """Whether sizes keep the order and the divisibility that all listed cases share."""
    for a, b in permutations(columns, 2):
        pairs = list(zip(columns[a], columns[b], strict=True))
        if all(x <= y for x, y in pairs) and drawn[a] > drawn[b]:
            return False
        divides = all(x > 0 and y % x == 0 for x, y in pairs) and any(x > 1 for x, _ in pairs)
        if divides and drawn[b] % drawn[a]:
            return False
    return True
