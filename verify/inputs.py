"""Input values: seeded, of every element type, with the odd values that find bugs."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from verify.dtypes import DType, lookup
from verify.expr import evaluate_int
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg, Filled

Bytes: TypeAlias = npt.NDArray[np.uint8]
Values = Literal["spec", "small_int", "constant", "large", "special", "rising", "few", "tiny"]
_SHAPED = frozenset({"rising", "few"})  # kinds that keep to a lane's own domain where it has one
_F8_BIAS = {"f8e4m3": (4, 3, 7), "f8e5m2": (5, 2, 15)}


@dataclass(frozen=True, slots=True)
class Lane:
    """One scalar member of a buffer's elements: values of `dtype`, `offset` bytes into every `stride`."""

    name: str
    dtype: DType
    offset: int
    stride: int
    init: str
    low: float | None
    high: float | None
    values: tuple[int | float, ...] | None = None  # the first ones; zeros follow

    @property
    def varies(self) -> bool:
        """True where other values than the spec's make sense: floats without a domain of their own."""
        free = self.values is None and self.init == "normal"
        return self.dtype.is_float and free and self.low is None and self.high is None

    @property
    def ranges(self) -> bool:
        """True where values are drawn from a range: any order and any ties of them are inputs too."""
        return self.values is None and self.init in ("normal", "uniform", "small_int")


def lanes(arg: BufferArg) -> list[Lane]:
    """The lanes of a buffer: one for plain elements, one per field for structs."""
    if arg.dtype is not None:
        t = lookup(arg.dtype)
        return [_lane(arg.name, t, 0, t.size, arg)]
    return [_lane(f"{arg.name}.{f.name}", lookup(f.dtype), f.offset, arg.size or 0, f) for f in arg.fields]


def _lane(name: str, t: DType, offset: int, stride: int, how: Filled) -> Lane:
    values = None if how.values is None else tuple(how.values)
    return Lane(name, t, offset, stride, how.init, how.low, how.high, values)


def view(data: Bytes, lane: Lane) -> npt.NDArray[Any]:
    """The lane's values in its carrier type: a writable view into `data`."""
    count = len(data) // lane.stride
    return np.ndarray((count,), lane.dtype.carrier, data, lane.offset, (lane.stride,))


def _f8_values(name: str) -> npt.NDArray[np.float64]:
    """Value of each of the 256 bit patterns."""
    exponent_bits, mantissa_bits, bias = _F8_BIAS[name]
    out = np.empty(256)
    for bits in range(256):
        sign = -1.0 if bits & 0x80 else 1.0
        e = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
        m = bits & ((1 << mantissa_bits) - 1)
        top = e == (1 << exponent_bits) - 1
        if name == "f8e5m2" and top:
            out[bits] = sign * np.inf if m == 0 else np.nan
        elif name == "f8e4m3" and top and m == 7:
            out[bits] = np.nan
        else:
            fraction = m / (1 << mantissa_bits)
            out[bits] = sign * (
                fraction * 2.0 ** (1 - bias) if e == 0 else (1 + fraction) * 2.0 ** (e - bias)
            )
    return out


def decode(values: npt.NDArray[Any], dtype: DType) -> npt.NDArray[np.float64]:
    """Carrier values as float64."""
    if dtype.name == "bf16":
        wide = np.ascontiguousarray(values).astype(np.uint32) << 16
        values = wide.view(np.float32)
    elif dtype.bits_only:
        return _f8_values(dtype.name)[values]
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return values.astype(np.float64)


def encode(values: npt.NDArray[Any], dtype: DType) -> npt.NDArray[Any]:
    """Numbers as carrier values, rounded to nearest even (fp8 to the nearest); integers wrap as in C."""
    if dtype.name == "bf16":
        bits = np.asarray(values, np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
    if dtype.bits_only:
        table = _f8_values(dtype.name)
        order = np.argsort(np.where(np.isfinite(table), table, np.inf), kind="stable")
        order = order[: int(np.isfinite(table).sum())]
        known = table[order]
        at = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
        lower = np.abs(values - known[at - 1]) <= np.abs(known[at] - values)
        found = order[np.where(lower, at - 1, at)].astype(np.uint8)
        return np.where(np.isnan(values), 0x7F, found).astype(np.uint8)
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(dtype.carrier)
    if dtype.name == "bool":
        return (np.asarray(values) != 0).astype(np.uint8)
    wide = np.asarray(values)
    if wide.dtype.kind == "f":
        wide = np.trunc(wide).astype(np.int64)
    return wide.astype(dtype.carrier)


def scalar_bytes(value: int | float, dtype: DType) -> bytes:
    """One value as the bytes a kernel parameter holds; integers wrap as in C."""
    if dtype.is_float:
        return bytes(encode(np.array([float(value)]), dtype).tobytes())
    if dtype.name == "bool":
        return b"\1" if value else b"\0"
    return (int(value) & ((1 << 8 * dtype.size) - 1)).to_bytes(dtype.size, "little")


def scalar_value(value: int | float, dtype: DType) -> int | float | bool:
    """The same value as a Python number, after wrapping to the type."""
    if dtype.is_float:
        return float(value)
    if dtype.name == "bool":
        return bool(value)
    signed = dtype.name.startswith("i")
    return int.from_bytes(scalar_bytes(value, dtype), "little", signed=signed)


def generate(spec: Spec, resolved: Resolved, seed: int, values: Values) -> dict[str, Bytes]:
    """Bytes of every buffer that a run finds filled. The same arguments give the same bytes.

    `values` other than "spec" replace only lanes that are free to vary (see Lane.varies); "rising" and "few"
    also order and repeat values of lanes that have a range.
    """
    return {
        arg.name: contents(arg, resolved.elems[arg.name], resolved, seed, values)
        for arg in spec.buffers
        if not arg.poisoned
    }


def contents(arg: BufferArg, count: int, resolved: Resolved, seed: int, values: Values) -> Bytes:
    """Bytes of `count` elements of a buffer, whatever its role."""
    data: Bytes = np.zeros(count * arg.element_bytes, np.uint8)
    for lane in lanes(arg):
        key = [seed, zlib.crc32(lane.name.encode()), zlib.crc32(resolved.case.name.encode())]
        rng = np.random.default_rng(key)
        target = view(data, lane)
        given = lane.varies or (values in _SHAPED and lane.ranges)
        kind: Values = values if given else "spec"
        target[:] = _fill(lane, len(target), rng, kind, resolved)
    return data


def _fill(
    lane: Lane, count: int, rng: np.random.Generator, values: Values, resolved: Resolved
) -> npt.NDArray[Any]:
    t = lane.dtype
    if values == "small_int":
        return encode(rng.integers(-3, 4, count).astype(np.float32), t)
    if values == "constant":
        return encode(np.full(count, 0.5, np.float32), t)
    if values == "large":
        return encode(rng.standard_normal(count, np.float32) * (60.0 if t.size < 4 else 3e4), t)
    if values == "special":
        return encode(_with_specials(rng.standard_normal(count, np.float32), rng), t)
    if values == "tiny":
        return encode(rng.standard_normal(count, np.float32) * np.float32(1e-39), t)
    if values == "rising":
        return encode(_rising(lane, count, rng), t)
    if values == "few":
        a, b = (-0.5, 0.5) if lane.varies else _range(lane)
        between = 0.25 if lane.varies else (a + b) / 2
        return encode(rng.choice(np.array([a, between, b]), count), t)
    return _by_init(lane, count, rng, resolved)


def _with_specials(x: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """A few NaN, infinities, zeros of both signs and denormals among ordinary values."""
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-41, -1e-41], np.float32)
    chosen = rng.random(len(x)) < 0.02
    if len(x):
        chosen[rng.integers(0, len(x))] = True
    x[chosen] = rng.choice(odd, int(chosen.sum()))
    return x


def _range(lane: Lane) -> tuple[float, float]:
    """Least and most of a lane's values; where only a distribution is given, what it usually gives."""
    if lane.init == "small_int":
        usual = (0.0, 3.0)
    elif lane.dtype.is_float:
        usual = (-1.0, 1.0)
    else:
        usual = (0.0, 1.0) if lane.dtype.name == "bool" else (-100.0, 100.0)
        usual = (0.0, usual[1]) if lane.dtype.name.startswith("u") else usual
    return usual[0] if lane.low is None else lane.low, usual[1] if lane.high is None else lane.high


def _rising(lane: Lane, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Values in rising order, the last the largest; far apart where the lane has no range of its own."""
    if not lane.varies:
        return np.linspace(*_range(lane), count)
    wide = lane.dtype.size >= 4 or lane.dtype.name == "bf16"
    return np.sort(rng.standard_normal(count)) * (1e5 if wide else 1e3)


def _listed(values: tuple[int | float, ...], count: int, t: DType) -> npt.NDArray[Any]:
    """`values`, then zeros."""
    made: npt.NDArray[Any] = np.zeros(count, t.carrier)
    if t.is_float:
        made[: len(values)] = encode(np.array(values, np.float64), t)
    else:  # one by one: an array of them would take uint64 for float64
        given = b"".join(scalar_bytes(v, t) for v in values)
        made[: len(values)] = np.frombuffer(given, t.carrier)
    return made


def _by_init(lane: Lane, count: int, rng: np.random.Generator, resolved: Resolved) -> npt.NDArray[Any]:
    t, init, low, high = lane.dtype, lane.init, lane.low, lane.high
    if lane.values is not None:
        return _listed(lane.values[:count], count, t)
    if init == "zeros":
        return encode(np.zeros(count, np.float32), t)
    if init == "ones":
        return encode(np.ones(count, np.float32), t)
    if init == "arange":
        return encode(np.arange(count, dtype=np.int64), t)
    if init == "permutation":
        return encode(rng.permutation(count) + (0 if low is None else int(low)), t)
    if init.startswith("index:"):
        bound = evaluate_int(init.removeprefix("index:"), resolved.names)
        least = 0 if low is None else int(low)
        return encode(rng.integers(least, max(least + 1, bound), count), t)
    if init == "small_int":
        least = 0 if low is None else int(low)
        most = 3 if high is None else int(high)
        return encode(rng.integers(least, most + 1, count), t)
    if t.is_float:
        if init == "uniform":
            a, b = (-1.0 if low is None else low), (1.0 if high is None else high)
            wide = np.float64 if t.name == "f64" else np.float32
            return encode(a + (b - a) * rng.random(count, dtype=wide), t)
        wide = np.float64 if t.name == "f64" else np.float32
        x = rng.standard_normal(count, dtype=wide)
        return encode(x if low is None and high is None else np.clip(x, low, high), t)
    if t.name == "bool":
        return rng.integers(0, 2, count, np.uint8)
    a = int(low) if low is not None else (0 if t.name.startswith("u") else -100)
    b = int(high) if high is not None else 100
    return encode(rng.integers(a, b + 1, count), t)
