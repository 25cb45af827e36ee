"""Outputs whose elements may stand in any order: each run is brought into the order of the original's first.

Buffers of one `group` move together, element i of each being one tuple. Tuples of equal bits (all NaN being
one value) are paired first, each as often as both sides have it; what is left is paired in sorted order.
Values are then compared in place: by the same rules and limits as any other output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.buffers import poison_byte
from verify.dtypes import lookup
from verify.expr import ExprError, Number, evaluate_int, names_of
from verify.inputs import Bytes, Lane, decode, lanes, view
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.int64]
Doubles: TypeAlias = npt.NDArray[np.float64]
Outputs: TypeAlias = Mapping[str, Bytes]


class CountError(Exception):
    """`count` of an output is no number of its elements."""


class MisfitError(Exception):
    """A run that can't be brought into the first one's order: other elements of it count, or were written."""


def groups(spec: Spec) -> list[list[BufferArg]]:
    """Outputs of free order, those of one group together."""
    found: dict[str, list[BufferArg]] = {}
    for arg in spec.buffers:
        if arg.order == "free":
            found.setdefault(f"group {arg.group}" if arg.group else f"buffer {arg.name}", []).append(arg)
    return list(found.values())


def counters(spec: Spec) -> dict[str, BufferArg]:
    """Outputs whose elements `count` may name: integers of fixed order."""
    return {
        a.name: a
        for a in spec.buffers
        if a.compared and a.order != "free" and a.dtype and not lookup(a.dtype).is_float
    }


def check(spec: Spec, resolved: Resolved) -> None:
    """ExprError, with its place, where the free orders of a spec make no sense in this case."""
    known = counters(spec)
    for group in groups(spec):
        first = group[0]
        for arg in group[1:]:
            both = f"'{arg.name}' and '{first.name}' of group '{arg.group}'"
            if (arg.count, arg.within) != (first.count, first.within):
                raise ExprError(f"{both} differ in count or within", _place(spec, arg, "group"))
            if resolved.elems[arg.name] != resolved.elems[first.name]:
                raise ExprError(f"{both} differ in elems", _place(spec, arg, "elems"))
        total = resolved.elems[first.name]
        row = _row(first, resolved)
        if row < 1 or total % row:
            words = f"within of '{first.name}' is {row}, no divisor of its {total} elements"
            raise ExprError(words, _place(spec, first, "within"))
        rows = total // row if first.within is not None else 1
        for name in sorted(names_of(first.count) if first.count is not None else ()):
            if why := _no_count(name, known, resolved, max(1, rows)):
                words = f"count of '{first.name}': '{name}' {why}"
                raise ExprError(words, _place(spec, first, "count"))
        narrow = sum(lane.dtype.size for a in group for lane in lanes(a)) < 4
        if narrow and first.count is None and all(a.role == "out" for a in group):
            words = f"'{first.name}' needs a count: what was written can't be told of so few bytes"
            raise ExprError(words, _place(spec, first, "order"))


def _no_count(name: str, known: Mapping[str, BufferArg], resolved: Resolved, rows: int) -> str:
    """Why a count can't use this name, or ""."""
    if name not in known:
        return "" if name in resolved.names else "is no size, scalar or integer output"
    if name in resolved.names:
        return "is an output and a size or scalar"
    return "has too few elements" if resolved.elems[name] < rows else ""


def _place(spec: Spec, arg: BufferArg, key: str) -> tuple[str | int, ...]:
    index = next(k for k, a in enumerate(spec.arg) if a.name == arg.name.partition(".")[0])
    return "arg", index, key


def _row(arg: BufferArg, resolved: Resolved) -> int:
    """Elements within which the order is free."""
    total = resolved.elems[arg.name]
    return max(1, total) if arg.within is None else evaluate_int(arg.within, resolved.names)


class Order:
    """The order of one run's outputs. `begin` with the original's first run; after it every other run is
    rearranged. `places` says of the last one rearranged where an element came from, by buffer."""

    def __init__(self, spec: Spec, resolved: Resolved) -> None:
        self.spec = spec
        self.resolved = resolved
        self.groups = groups(spec)
        self.places: dict[str, Indices] = {}
        self._first: Outputs = {}
        self._repeat = 0
        self._fixed: dict[str, Mask | None] = {}  # where all of the original's runs wrote; None: it varies

    def begin(self, outputs: Outputs, repeat: int = 0) -> Outputs:
        """The run that others are compared with. CountError."""
        self._first, self._repeat = outputs, repeat
        for group in self.groups:
            counts = self.counts(group, outputs)
            row = _row(group[0], self.resolved)
            if counts is not None and len(counts) and (counts.min() < 0 or counts.max() > row):
                bad = counts.min() if counts.min() < 0 else counts.max()
                raise CountError(f"count of {group[0].name}, '{group[0].count}', is {bad} of {row} elements")
            self._fixed[group[0].name] = self.written(group, outputs, repeat)
        return outputs

    def original(self, outputs: Outputs, repeat: int) -> Outputs:
        """Another run of the original in the first one's order. MisfitError."""
        for group in self.groups:
            fixed = self._fixed[group[0].name]
            if fixed is not None and not np.array_equal(fixed, self.written(group, outputs, repeat)):
                self._fixed[group[0].name] = None
        return self._rearranged(outputs, repeat)

    def port(self, outputs: Outputs, repeat: int) -> Outputs:
        """A run of the port in the order of the original's first. MisfitError, also where it writes elsewhere
        than the original always does."""
        for group in self.groups:
            fixed = self._fixed[group[0].name]
            written = self.written(group, outputs, repeat)
            if group[0].count is None and fixed is not None and fixed.sum() == written.sum():
                other = fixed & ~written
                if other.any():
                    at = int(np.argmax(other))
                    raise MisfitError(
                        f"{group[0].name}[{at}] is not written, as it is by the original each time"
                    )
        return self._rearranged(outputs, repeat)

    def reference(self, expected: Mapping[str, Doubles]) -> dict[str, Doubles]:
        """Right values in the first run's order. Those of a group count only where all of them are there, and
        where it is known which elements they belong to."""
        made = dict(expected)
        for group in self.groups:
            own = [lane for a in group for lane in lanes(a)]
            if not any(lane.name in made for lane in own):
                continue
            valid = self._valid(group, self._first)
            told = group[0].count is not None or self.written(group, self._first, self._repeat).all()
            if not told or not all(lane.name in made for lane in own):
                for lane in own:
                    made.pop(lane.name, None)
                continue
            at = np.flatnonzero(valid)
            rows: Indices = at // _row(group[0], self.resolved)
            here = self._columns(group, self._first)
            a = _Tuples(rows, [decode(c, x.dtype)[at] for x, c in here], [x.dtype.is_float for x in own])
            b = _Tuples(rows, [made[x.name][at] for x in own], a.floats)
            ia, ib = _nearest(a, b)
            for lane in own:
                values = made[lane.name].copy()
                values[at[ia]] = made[lane.name][at[ib]]
                made[lane.name] = values
        return made

    def counts(self, group: Sequence[BufferArg], outputs: Outputs) -> Indices | None:
        """Elements that count, by row; None where that is all that was written. A counter that ran over is
        no error here."""
        first = group[0]
        if first.count is None:
            return None
        total = self.resolved.elems[first.name]
        rows = total // _row(first, self.resolved) if total else 0
        known = counters(self.spec)
        used = sorted(names_of(first.count) & known.keys() - self.resolved.names.keys())
        columns = []
        for name in used:
            (lane,) = lanes(known[name])
            values = view(outputs[name], lane).astype(np.int64)
            columns.append(values[:rows] if first.within is not None else values[:1].repeat(rows))
        table = np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int64)
        if not len(table):
            return np.zeros(0, np.int64)
        distinct, which = np.unique(table, axis=0, return_inverse=True) if columns else (table[:1], None)
        found = []
        for row in distinct:
            names: dict[str, Number] = {
                **self.resolved.names,
                **{n: int(v) for n, v in zip(used, row, strict=True)},
            }
            try:
                found.append(evaluate_int(first.count, names))
            except ExprError as e:
                raise CountError(f"count of {first.name}: {e}") from e
        values = np.clip(np.array(found, dtype=object), -1, 1 << 62).astype(np.int64)
        return values.repeat(rows) if which is None else values[which.reshape(-1)]

    def written(self, group: Sequence[BufferArg], outputs: Outputs, repeat: int) -> Mask:
        """Elements of which something is not as it was before the run, as far as that can be told."""
        found: Mask = np.zeros(self.resolved.elems[group[0].name], bool)
        for arg in group:
            if arg.role != "out":
                return np.ones_like(found)
            for lane in lanes(arg):
                size = lane.dtype.size
                poison = int.from_bytes(bytes([poison_byte(arg, repeat)]) * size, "little")
                bits = np.ascontiguousarray(view(outputs[arg.name], lane)).view(f"u{size}")
                found |= bits != np.array(poison, f"u{size}")
        return found

    def telling(self, arg: BufferArg) -> Mask:
        """Elements of the first run whose values say something: that count, or were written."""
        group = next(g for g in self.groups if arg in g)
        return self._valid(group, self._first) & self.written(group, self._first, self._repeat)

    def _valid(self, group: Sequence[BufferArg], outputs: Outputs) -> Mask:
        total, counts = self.resolved.elems[group[0].name], self.counts(group, outputs)
        if counts is None or not total:
            return np.ones(total, bool)
        row = _row(group[0], self.resolved)
        valid: Mask = np.arange(total) % row < counts[np.arange(total) // row]
        return valid

    def _columns(self, group: Sequence[BufferArg], outputs: Outputs) -> list[tuple[Lane, Array]]:
        return [(lane, np.ascontiguousarray(view(outputs[a.name], lane))) for a in group for lane in lanes(a)]

    def _rearranged(self, outputs: Outputs, repeat: int) -> Outputs:
        made = dict(outputs)
        self.places = {}
        for group in self.groups:
            first = group[0]
            total = self.resolved.elems[first.name]
            if not total or all(np.array_equal(outputs[a.name], self._first[a.name]) for a in group):
                continue
            valid, own = self._valid(group, self._first), self._valid(group, outputs)
            if not np.array_equal(valid, own):
                words = f"{int(own.sum())} elements count, {int(valid.sum())} of the original's first run"
                raise MisfitError(f"{first.name}: {words}")
            source = np.arange(total)
            for arg in group:
                self.places[arg.name] = source
            here, there = valid.copy(), valid.copy()
            if first.count is None:
                here &= self.written(group, self._first, self._repeat)
                there &= self.written(group, outputs, repeat)
            a, b = np.flatnonzero(here), np.flatnonzero(there)
            row = _row(first, self.resolved)
            ours, theirs = self._columns(group, self._first), self._columns(group, outputs)
            columns = [(x[a], y[b], lane) for (lane, x), (_, y) in zip(ours, theirs, strict=True)]
            pairs = _paired((a // row, b // row), columns)
            source[:] = np.where(valid, -1, source)
            source[a[pairs[0]]] = b[pairs[1]]
            left = np.setdiff1d(np.flatnonzero(valid), source[source >= 0])
            source[source < 0] = left
            for arg in group:
                size = arg.element_bytes
                made[arg.name] = outputs[arg.name].reshape(total, size)[source].reshape(-1)
        return made


class _Tuples:
    """Rows and columns of tuples: exact ones first when sorted, floats after them."""

    def __init__(self, rows: Indices, columns: list[Doubles], floats: list[bool]) -> None:
        self.rows = rows
        self.columns = columns
        self.floats = floats

    def sorted(self, lead: int) -> Indices:
        """Indices in rising order; of the floats, the one at `lead` decides first."""
        exact = [c for c, f in zip(self.columns, self.floats, strict=True) if not f]
        loose = [c for c, f in zip(self.columns, self.floats, strict=True) if f]
        loose = loose[lead:] + loose[:lead]
        order: Indices = np.lexsort([*reversed(loose), *reversed(exact), self.rows])
        return order


def _paired(
    rows: tuple[Indices, Indices], columns: Sequence[tuple[Array, Array, Lane]]
) -> tuple[Indices, Indices]:
    """Indices of tuples of both sides that belong together, as many as the smaller side has. Of each column
    there are the values of one side, of the other, and the lane."""
    if same := _same_tuples(rows, columns):
        return same
    ra, rb = np.arange(len(rows[0])), np.arange(len(rows[1]))
    ia = ib = ra[:0]
    for one_nan in (False, True):  # equal bits first: a NaN's own are kept where both sides have them
        if len(ra) and len(rb):
            held = [np.concatenate([rows[0][ra], rows[1][rb]])]
            for x, y, lane in columns:
                held.append(np.concatenate([_plain(x[ra], lane, one_nan), _plain(y[rb], lane, one_nan)]))
            ids = _identities(held)
            xa, xb = _equal(ids[: len(ra)], ids[len(ra) :])
            ia, ib = np.concatenate([ia, ra[xa]]), np.concatenate([ib, rb[xb]])
            ra, rb = np.delete(ra, xa), np.delete(rb, xb)
    if not len(ra) or not len(rb):
        return ia, ib
    floats = [lane.dtype.is_float for _, _, lane in columns]
    a = _Tuples(rows[0][ra], [_number(x[ra], lane) for x, _, lane in columns], floats)
    b = _Tuples(rows[1][rb], [_number(y[rb], lane) for _, y, lane in columns], floats)
    na, nb = _nearest(a, b)
    return np.concatenate([ia, ra[na]]), np.concatenate([ib, rb[nb]])


def _same_tuples(
    rows: tuple[Indices, Indices], columns: Sequence[tuple[Array, Array, Lane]]
) -> tuple[Indices, Indices] | None:
    """The pairs where both sides hold the same tuples, bit for bit, as is nearly always so; else None."""
    if len(rows[0]) != len(rows[1]):
        return None
    sides = [[rows[k], *(_plain(c[k], c[2], False) for c in columns)] for k in range(2)]
    most = int(max((r.max() for r in rows if len(r)), default=0))
    keys = [_packed(side, most.bit_length()) for side in sides]
    a, b = (np.argsort(k[0]) if len(k) == 1 else np.lexsort(list(reversed(k))) for k in keys)
    return (a, b) if all(np.array_equal(x[a], y[b]) for x, y in zip(*keys, strict=True)) else None


def _packed(columns: Sequence[Array], row_bits: int) -> list[Array]:
    """Columns of unsigned numbers, the first of so few bits, as one of 64 where they fit: it sorts faster."""
    bits = [row_bits, *(8 * c.dtype.itemsize for c in columns[1:])]
    if sum(bits) > 64:
        return list(columns)
    made: Array = np.zeros(len(columns[0]), np.uint64)
    for column, width in zip(columns, bits, strict=True):
        wide = column.astype(np.uint64)
        made = wide if width == 64 else made << np.uint64(width) | wide
    return [made]


def _number(values: Array, lane: Lane) -> Array:
    return decode(values, lane.dtype) if lane.dtype.is_float else values


def _plain(values: Array, lane: Lane, one_nan: bool) -> Array:
    """Bit patterns as unsigned integers; with `one_nan` all NaN are one of them."""
    bits = np.ascontiguousarray(values).view(f"u{lane.dtype.size}")
    if not lane.dtype.is_float or not one_nan:
        return bits
    return np.where(np.isnan(decode(values, lane.dtype)), np.iinfo(bits.dtype).max, bits)


def _identities(columns: Sequence[Array]) -> Indices:
    """A number for each tuple, equal ones having the same."""
    order = np.lexsort(list(reversed(columns)))
    changes: Indices = np.zeros(len(order), np.int64)
    for c in columns:
        s = c[order]
        changes[1:] |= s[1:] != s[:-1]
    ids: Indices = np.empty(len(order), np.int64)
    ids[order] = np.cumsum(changes)
    return ids


def _equal(a: Indices, b: Indices) -> tuple[Indices, Indices]:
    """Indices of equal numbers of both sides, each used once: the k-th of one with the k-th of the other."""

    def ranked(ids: Indices) -> tuple[Indices, Indices]:
        order = np.argsort(ids, kind="stable")
        held = ids[order]
        rank = np.arange(len(held)) - np.searchsorted(held, held, "left")
        return order, held << 32 | rank

    (oa, ka), (ob, kb) = ranked(a), ranked(b)
    _, xa, xb = np.intersect1d(ka, kb, assume_unique=True, return_indices=True)
    return oa[xa], ob[xb]


def _nearest(a: _Tuples, b: _Tuples) -> tuple[Indices, Indices]:
    """Pairs in sorted order. Of tuples of several floats, whose first ones may be near ties, that order which
    leaves them nearest to each other."""
    best: tuple[float, Indices, Indices] | None = None
    for lead in range(max(1, sum(a.floats))):
        sa, sb = a.sorted(lead), b.sorted(lead)
        most = min(len(sa), len(sb))
        sa, sb = sa[:most], sb[:most]
        cost = sum(_apart(x[sa], y[sb]) for x, y, f in zip(a.columns, b.columns, a.floats, strict=True) if f)
        if best is None or cost < best[0]:
            best = cost, sa, sb
    assert best is not None
    return best[1], best[2]


def _apart(x: Doubles, y: Doubles) -> float:
    with np.errstate(all="ignore"):
        d, size = np.abs(x - y), np.abs(x)
        d, size = d[np.isfinite(d)], size[np.isfinite(size)]
        return float(d.sum() / max(float(size.sum()), 1e-300))


def free_lanes(spec: Spec) -> Iterator[tuple[str, str]]:
    """(output, how it is compared, in words) of every lane of free order."""
    for group in groups(spec):
        names = [lane.name for a in group for lane in lanes(a)]
        where = f" within each {group[0].within}" if group[0].within is not None else ""
        of = f"a multiset of ({', '.join(names)})" if len(names) > 1 else "a multiset"
        for name in names:
            yield name, f"{of}{where}"
