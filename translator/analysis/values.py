"""Values of the bounds analysis: what is known of an integer or an address at a point of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from translator.analysis.poly import Poly
from translator.model.expr import Var
from translator.model.types import Type

LOADED = "@"  # a symbol `@x` stands for the largest value stored in buffer x
LAUNCHED = "$"  # a symbol `$…` is a number of blocks or threads; a guard says more than it


Origins: TypeAlias = "frozenset[tuple[str, Var | None]]"


@dataclass(frozen=True, slots=True)
class Value:
    """An integer between `lo` and `hi`, both inclusive; None where that is unknown.

    `exact` is its value if that is one polynomial; `offset_of` says it is that variable plus a constant.
    `loads` are the buffers whose contents it was computed from. `reached` says that some thread or round has
    the value `hi`; `step` how far apart the values are that it takes between its bounds (0: it has one, None:
    not known); `origins` which thread or block index or loop counter it comes from, by way of which variable.
    """

    lo: Poly | None = None
    hi: Poly | None = None
    exact: Poly | None = None
    offset_of: tuple[Var, int] | None = None
    loads: frozenset[str] = frozenset()
    reached: bool = False
    step: Poly | None = None
    origins: Origins = frozenset()

    @property
    def dense(self) -> bool:
        """True if it takes every integer between its bounds."""
        return self.step == ONE


@dataclass(frozen=True, slots=True)
class Address:
    """`offset` bytes (largest possible; None unknown) into the memory of `root` ("" unknown).

    `room` is the size in bytes of a local or shared array.
    """

    root: str
    offset: Value
    room: int | None = None


ONE = Poly.const(1)
Known: TypeAlias = "Value | Address"
TOP = Value()


@dataclass(frozen=True, slots=True)
class Access:
    """A read or write of `size` bytes at up to `offset` bytes into `root`; `reached`: one is surely there;
    `divided`: sizes that the kernel has tested to be multiples of a number before it comes there."""

    root: str
    offset: Value
    size: int
    writes: bool
    type: Type
    room: int | None = None  # bytes of a local or shared array, whose size is known
    reached: bool = False
    divided: frozenset[tuple[str, int]] = frozenset()


def exact(p: Poly, loads: frozenset[str] = frozenset()) -> Value:
    return Value(p, p, p, None, loads, True, Poly())


def const(value: int) -> Value:
    return exact(Poly.const(value))


def add(a: Value, b: Value) -> Value:
    return Value(
        None if a.lo is None or b.lo is None else a.lo + b.lo,
        None if a.hi is None or b.hi is None else a.hi + b.hi,
        None if a.exact is None or b.exact is None else a.exact + b.exact,
        _shifted(a, b, 1),
        a.loads | b.loads,
        a.reached and b.reached,
        _step_of_sum(a, b),
        a.origins | b.origins,
    )


def _step_of_sum(a: Value, b: Value) -> Poly | None:
    """`blockIdx * blockDim` goes in steps, and `threadIdx` fills them."""
    for one, other in ((a, b), (b, a)):
        if one.step == Poly() or (one.dense and other.step is not None and fills(one, other.step)):
            return other.step if one.step == Poly() else ONE
    return None


def fills(value: Value, step: Poly) -> bool:
    """Whether `value` takes as many neighbouring integers as a step is long."""
    if not value.dense or value.lo is None or value.hi is None:
        return False
    return (value.hi - value.lo).plus(1).covers(step)


def subtract(a: Value, b: Value) -> Value:
    return Value(
        None if a.lo is None or b.hi is None else a.lo - b.hi,
        None if a.hi is None or b.lo is None else a.hi - b.lo,
        None if a.exact is None or b.exact is None else a.exact - b.exact,
        _shifted(a, b, -1),
        a.loads | b.loads,
        a.reached and b.exact is not None,
        a.step if b.exact is not None else None,
        a.origins | b.origins,
    )


def _shifted(a: Value, b: Value, sign: int) -> tuple[Var, int] | None:
    """The variable that the result differs from by a constant."""
    right = b.exact.constant if b.exact is not None else None
    if a.offset_of is not None and right is not None:
        return a.offset_of[0], a.offset_of[1] + sign * right
    left = a.exact.constant if a.exact is not None else None
    if sign > 0 and b.offset_of is not None and left is not None:
        return b.offset_of[0], b.offset_of[1] + left
    return None


def multiply(a: Value, b: Value) -> Value:
    loads = a.loads | b.loads
    known = None if a.exact is None or b.exact is None else a.exact * b.exact
    for one, other in ((a, b), (b, a)):
        factor = one.exact.constant if one.exact is not None else None
        if factor is not None and factor < 0:
            return Value(
                None if other.hi is None else other.hi.times(factor),
                None if other.lo is None else other.lo.times(factor),
                known,
                None,
                loads,
            )
    lo = a.lo * b.lo if a.lo is not None and b.lo is not None and _natural(a.lo) and _natural(b.lo) else None
    hi = None if a.hi is None or b.hi is None else a.hi * b.hi
    if hi is not None and hi.too_big():
        hi = None
    known = known if known is None or not known.too_big() else None
    step = _step_of_product(a, b)
    return Value(lo, hi, known, None, loads, a.reached and b.reached, step, a.origins | b.origins)


def _step_of_product(a: Value, b: Value) -> Poly | None:
    for one, other in ((a, b), (b, a)):
        if one.exact is not None and other.step is not None:
            return one.exact * other.step
    return None


def _natural(p: Poly) -> bool:
    return p.covers(Poly())


def divide(a: Value, b: Value) -> Value:
    """C division of values that are not negative."""
    loads = a.loads | b.loads
    by = b.exact
    if by is None:
        return Value(Poly(), a.hi, None, None, loads)
    known = quotient(a.exact, by) if a.exact is not None else None
    hi = quotient(a.hi, by) if a.hi is not None else None
    lo = quotient(a.lo, by) if a.lo is not None and a.lo.constant is not None else None
    lo = lo if lo is not None and lo.constant is not None else Poly()
    return Value(lo, hi, known, None, loads, a.reached, ONE if a.dense else None, a.origins)


def quotient(a: Poly, by: Poly) -> Poly:
    """`a / by` rounded down, as a polynomial or as one symbol."""
    if by.constant == 0:
        return a
    if a.constant is not None and by.constant is not None:
        return Poly.const(a.constant // by.constant)
    made = a.divide(by)
    if made is not None:
        return made
    if any(s[0] == LOADED for s in a.symbols):
        return a  # still a bound, and one that keeps the loaded value in sight
    mark = LAUNCHED if _awkward(a) else ""
    top = a.text()
    top = f"({top})" if " " in top else top
    bottom = by.text()
    bottom = f"({bottom})" if " " in bottom else bottom
    return Poly.symbol(f"{mark}{top} / {bottom}")


def modulo(a: Value, b: Value) -> Value:
    loads = a.loads | b.loads
    if b.hi is None:
        return Value(Poly(), a.hi, None, None, loads)
    limit = b.hi.plus(-1)
    if a.hi is not None and limit.covers(a.hi) and a.lo is not None and _natural(a.lo):
        return a
    return Value(Poly(), limit, None, None, loads)


def join(a: Known, b: Known) -> Known:
    """What holds of either of two values."""
    if isinstance(a, Address) or isinstance(b, Address):
        if isinstance(a, Address) and isinstance(b, Address) and a.root == b.root:
            both = join(a.offset, b.offset)
            return Address(a.root, both if isinstance(both, Value) else TOP)
        return Address("", TOP)
    return Value(
        _lower(a.lo, b.lo),
        upper(a.hi, b.hi),
        a.exact if a.exact == b.exact else None,
        a.offset_of if a.offset_of == b.offset_of else None,
        a.loads | b.loads,
    )


def _lower(a: Poly | None, b: Poly | None) -> Poly | None:
    if a is None or b is None:
        return None
    return b if a.covers(b) else a if b.covers(a) else None


def upper(a: Poly | None, b: Poly | None) -> Poly | None:
    """A bound that covers both."""
    if a is None or b is None:
        return None
    if a.covers(b):
        return a
    if b.covers(a):
        return b
    one, other = sorted((a.text(), b.text()))
    mark = LAUNCHED if _awkward(a) or _awkward(b) else ""
    return None if LOADED in one + other else Poly.symbol(f"{mark}max({one}, {other})")


def minimum(a: Value, b: Value) -> Value:
    loads = a.loads | b.loads
    known = [h for h in (a.hi, b.hi) if h is not None]
    hi = min(known, key=lambda p: (_awkward(p), p.constant is None)) if known else None
    if len(known) == 2:
        hi = known[0] if known[1].covers(known[0]) else known[1] if known[0].covers(known[1]) else hi
    return Value(_lower(a.lo, b.lo), hi, None, None, loads)


def maximum(a: Value, b: Value) -> Value:
    lo = a.lo if b.lo is None else b.lo if a.lo is None or b.lo.covers(a.lo) else a.lo
    return Value(lo, upper(a.hi, b.hi), None, None, a.loads | b.loads)


def _awkward(p: Poly) -> bool:
    """A bound in terms of the launch or of loaded values says less than one in terms of sizes."""
    return any(s[0] in LOADED + LAUNCHED for s in p.symbols)


def better(old: Poly | None, new: Poly | None) -> Poly | None:
    """Of two bounds that both hold, the one that says more; a guard's over its definition's."""
    if old is None or new is None:
        return new if old is None else old
    if _awkward(new) or _awkward(old):
        return old if _awkward(new) else new
    if old.constant is not None:
        return new if new.constant is None or new.constant < old.constant else old
    return old


def below(value: Value, limit: Poly, exactly: bool = False) -> Value:
    """`value` once a guard has shown that it is at most `limit`; `exactly`: and kept nothing else away.

    A grid is taken to be as large as the guard against its rounding up expects.
    """
    old = value.hi
    if old is not None and (limit.covers(old) or (_awkward(limit) and not _awkward(old))):
        return value
    wide = old is None or any(s[0] == LAUNCHED for s in old.symbols) or old.covers(limit)
    return replace(value, hi=limit, reached=exactly and value.dense and wide)


def above(value: Value, limit: Poly) -> Value:
    """`value` once a guard has shown that it is at least `limit`."""
    if value.lo is not None and value.lo.covers(limit):
        return value
    return replace(value, lo=limit)
