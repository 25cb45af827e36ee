"""Cases that the spec does not list: sizes and seeds which a port that knows its spec can't know.

They are drawn from a digest of the port and the spec, so that the same files are judged alike, and no port
can hold the answers to what its own bytes decide. Sizes stay within what the listed cases span, and keep what
all of those have in common: a divisor, powers of two, which size is not larger than which, or divides it.
Besides these there are other launches and other scalars, see `variants`, and a call as users write it, see
`plain_call`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import gcd
from pathlib import Path

from verify import unordered
from verify.dtypes import lookup
from verify.expr import ExprError, evaluate, names_of
from verify.plan import HELD_OUT, Device, Run, is_big, too_large
from verify.resolve import Dim3, Resolved, resolve
from verify.spec import Case, Spec
from verify.spec_args import ScalarArg
from verify.variants import launch_parameters, other_launches, other_whole_numbers

_CASES = 2
_PLAINLY = "tensors and its own launch"
_GRID, _BLOCK = "launch.grid", "launch.block"  # as names of held-out cases call them
_TRIES = 200


def digest(target: Path, spec: Spec, seed: int) -> bytes:
    """What decides the cases. OSError where the files can't be read."""
    own = hashlib.sha256(seed.to_bytes(8, "little", signed=True))
    for name in ("spec.toml", spec.port.module):
        own.update((target / name).read_bytes() + b"\0")
    return own.digest()


def extra_runs(target: Path, spec: Spec, cases: Sequence[str], seed: int, device: Device) -> list[Run]:
    """The held-out runs of a target. OSError where its files can't be read."""
    takes = launch_parameters(target / spec.port.module, spec.port.entry)
    return held_out(spec, cases, digest(target, spec, seed), device, takes)


def held_out(
    spec: Spec, cases: Sequence[str], key: bytes, device: Device, takes: frozenset[str] = frozenset()
) -> list[Run]:
    """Runs of sizes that are not listed; none where only some cases are asked for, or where the listed cases
    leave no room. For a fixed set of sizes still another seed. With other launches, where the port `takes`
    grid and block, and other scalars."""
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
    made += _varied(spec, made, listed, takes, device)
    return [Run(case, rng.getrandbits(31), "spec") for case in made]


def _varied(
    spec: Spec, made: Sequence[Case], listed: Sequence[Case], takes: frozenset[str], device: Device
) -> list[Case]:
    """Small cases under other launches and, in the emulator, with other whole numbers."""
    small = [c for c in (*made, *listed) if not c.scalars and _runs(spec, c, device)]
    if not small:
        return []
    several = next((c for c in small if resolve(spec, c).grid[0] > 1), small[0])
    names = [
        name_of(several.sizes, {}, grid, block)
        for grid, block in other_launches(spec, several, takes, device == "emulator")
    ]
    names += [name_of(several.sizes, plainly=True)] if takes else []
    if device == "emulator":  # elsewhere nobody sees what the original reads with them
        names += [name_of(small[0].sizes, {name: value}) for name, value in other_whole_numbers(spec)]
    return [c for c in (case_named(spec, name) for name in names) if _runs(spec, c, device)]


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


def name_of(
    sizes: Mapping[str, int],
    scalars: Mapping[str, float] | None = None,
    grid: Dim3 | None = None,
    block: Dim3 | None = None,
    plainly: bool = False,
) -> str:
    """The name of a case with these sizes, scalars and launch: it says all there is to it."""
    others = [f"{n}={v!r}" for n, v in (scalars or {}).items()]
    others += [f"{n}={'x'.join(map(str, v))}" for n, v in ((_GRID, grid), (_BLOCK, block)) if v is not None]
    others += [_PLAINLY] if plainly else []
    name = HELD_OUT + ", ".join(f"{n}={v}" for n, v in sizes.items())
    return f"{name}; {', '.join(others)}" if others else name


def case_named(spec: Spec, name: str) -> Case:
    """A case of the spec, or a held-out one. KeyError where the name is neither's."""
    for case in spec.case:
        if case.name == name:
            return case
    if not name.startswith(HELD_OUT):
        raise KeyError(name)
    sizes, _, others = name.removeprefix(HELD_OUT).partition("; ")
    told = dict(_pairs(others.removesuffix(_PLAINLY)))
    dims = {n: told.pop(n).split("x") for n in (_GRID, _BLOCK) if n in told}
    return Case(
        name=name,
        role="boundary",
        sizes={n: int(v) for n, v in _pairs(sizes)},
        scalars={n: int(v) if v.lstrip("-").isdecimal() else float(v) for n, v in told.items()},
        grid=[int(v) for v in dims[_GRID]] if _GRID in dims else None,
        block=[int(v) for v in dims[_BLOCK]] if _BLOCK in dims else None,
    )


def called_plainly(case: Case) -> bool:
    """True where a port is to be called as its users call it: with tensors, and without a launch."""
    return case.name.startswith(HELD_OUT) and case.name.endswith(f"; {_PLAINLY}")


def own_launch(case: Case) -> str:
    """The name of the same case under the spec's own launch, or "" where it has that itself."""
    if not case.name.startswith(HELD_OUT) or (case.grid is None and case.block is None):
        return ""
    return name_of(case.sizes)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(", ") if text else ():
        name, _, value = part.partition("=")
        yield name, value


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
