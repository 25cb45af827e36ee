"""Arguments of a kernel on the host: random memory of the right types, kept twice and compared."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from translator.model.expr import Var
from translator.model.kernel import KernelModel
from translator.model.types import Pointer, Scalar, Type, leaf_scalars

Value: TypeAlias = "int | float | Sequence[int | float]"
Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
_CODES = {"bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q"}
_CODES |= {"u64": "Q", "f16": "e", "f32": "f", "f64": "d"}
_MARGIN = 4096  # bytes on each side of a buffer: what is written there is noticed


def pack(value: int | float, t: Scalar) -> bytes:
    """One scalar as it lies in memory."""
    if t.name == "bf16":
        return struct.pack("f", value)[2:]
    if t.name in ("f8e4m3", "f8e5m2"):
        return struct.pack("B", int(value) & 0x77)
    return struct.pack(
        _CODES[t.name], value if t.is_float else int(value) if t.name != "bool" else bool(value)
    )


def unpack(data: bytes, t: Scalar) -> int | float:
    if t.name == "bf16":
        return float(struct.unpack("f", b"\0\0" + data)[0])
    if t.is_float and t.bits == 8:
        return data[0]
    return struct.unpack(_CODES[t.name], data)[0]  # type: ignore[no-any-return]


def random_scalar(t: Scalar, rng: np.random.Generator) -> int | float:
    """Small, large and special values; floats stay where a conversion to int is defined."""
    if t.name == "bool":
        return int(rng.integers(2))
    if t.is_float:
        kind = rng.integers(4)
        if kind == 0:
            return float(rng.integers(-8, 9))
        return float(np.float32(rng.uniform(-4, 4) if kind < 3 else rng.uniform(-100, 100)))
    low, high = (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.signed else (0, (1 << t.bits) - 1)
    kind = rng.integers(4)
    if kind == 0:
        return (low, high, 0, 1, max(low, -1), min(high, 255), min(high, 128))[rng.integers(7)]
    if kind == 1:
        return int(rng.integers(max(low, -20), 21))
    return int.from_bytes(rng.bytes(8), "little") % (high - low + 1) + low


def fill(t: Type, count: int, rng: np.random.Generator) -> bytes:
    """`count` objects of type `t`; padding is zero."""
    leaves = leaf_scalars(t)
    assert leaves is not None
    made = bytearray(t.size * count)
    for k in range(count):
        for offset, leaf in leaves:
            if isinstance(leaf, Scalar):
                data = pack(random_scalar(leaf, rng), leaf)
                made[k * t.size + offset : k * t.size + offset + len(data)] = data
    return bytes(made)


@dataclass
class Buffer:
    """Memory behind a pointer, once for each side."""

    name: str
    type: Type
    start: bytes
    sides: list[Bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        margin = b"\xa5" * _MARGIN
        for _ in range(2):
            self.sides.append(_aligned(margin + self.start + margin))

    def address(self, side: int) -> int:
        return int(self.sides[side].ctypes.data) + _MARGIN

    def values(self, side: int) -> list[int | float]:
        """All leaves, in order, as one side has them."""
        data = self.sides[side][_MARGIN : _MARGIN + len(self.start)].tobytes()
        leaves = [(o, leaf) for o, leaf in leaf_scalars(self.type) or [] if isinstance(leaf, Scalar)]
        starts = range(0, len(data), self.type.size)
        return [unpack(data[s + o : s + o + leaf.size], leaf) for s in starts for o, leaf in leaves]

    def difference(self) -> str:
        """Where the two sides differ beyond rounding; "" if nowhere."""
        a, b = (s.tobytes() for s in self.sides)
        if a == b:
            return ""
        inner_a, inner_b = (s[_MARGIN : _MARGIN + len(self.start)] for s in (a, b))
        leaves = leaf_scalars(self.type) or []
        for k in range(len(self.start) // self.type.size):
            for offset, leaf in leaves:
                if not isinstance(leaf, Scalar):
                    continue
                at = k * self.type.size + offset
                x, y = inner_a[at : at + leaf.size], inner_b[at : at + leaf.size]
                if x != y and not close(unpack(x, leaf), unpack(y, leaf), leaf):
                    where = f"{self.name}[{k}]" + (f"+{offset}" if len(leaves) > 1 else "")
                    return f"{where}: C++ {unpack(x, leaf)!r}, port {unpack(y, leaf)!r}"
        outside = (a[:_MARGIN], a[_MARGIN + len(self.start) :]), (b[:_MARGIN], b[_MARGIN + len(self.start) :])
        return f"{self.name}: written outside its bounds" if outside[0] != outside[1] else ""


def _aligned(data: bytes) -> Bytes:
    """`data` at a 64-byte boundary (the margin is a multiple of it)."""
    room: Bytes = np.zeros(len(data) + 64, np.uint8)
    at = -room.ctypes.data % 64
    room[at : at + len(data)] = np.frombuffer(data, np.uint8)
    return room[at : at + len(data)]


def close(x: int | float, y: int | float, t: Scalar) -> bool:
    """Equal, or for floats at most one unit in the last place apart."""
    if not t.is_float:
        return x == y
    if x == y or (x != x and y != y):
        return True
    kind: Any = {"f64": np.float64, "f16": np.float16}.get(t.name, np.float32)
    if t.name == "bf16":
        return abs(x - y) <= 2.0**-7 * max(abs(x), abs(y))
    return bool(np.nextafter(kind(x), kind(y)) == kind(y))


@dataclass
class Arguments:
    """All that a kernel is called with. `values` holds the bytes of each parameter that is no pointer."""

    params: tuple[Var, ...]
    buffers: dict[str, Buffer]
    values: dict[str, bytes]

    def packed(self, side: int) -> list[Bytes]:
        """Each parameter's value in memory of its own."""
        made = []
        for p in self.params:
            data = self.values.get(p.name)
            if data is None:
                data = struct.pack("Q", self.buffers[p.name].address(side))
            made.append(np.frombuffer(data + b"\0" * 16, np.uint8).copy())
        return made

    def flat(self, side: int) -> list[int | float]:
        """Scalars and addresses in the order of the port's parameters, without globals."""
        found: list[int | float] = []
        for p in self.params:
            data = self.values.get(p.name)
            if data is None:
                found.append(self.buffers[p.name].address(side))
                continue
            for offset, leaf in leaf_scalars(p.type) or []:
                assert isinstance(leaf, Scalar)
                found.append(unpack(data[offset : offset + leaf.size], leaf))
        return found


def arguments(model: KernelModel, n: int, seed: int, given: Mapping[str, Value]) -> Arguments:
    """Random arguments; `given` by parameter name: a number, or a struct's leaves in order.

    Buffers hold 4n objects, or as many as `given` has for them; `n` is n.
    """
    rng = np.random.default_rng(seed)
    buffers: dict[str, Buffer] = {}
    values: dict[str, bytes] = {}
    launch = model.launches[0] if model.launches else None
    known = launch.arg_values if launch is not None else ()
    for k, p in enumerate(model.kernel.params):
        wanted = given.get(p.name)
        if isinstance(p.type, Pointer):
            count = 4 * n if wanted is None or isinstance(wanted, Sequence) else int(wanted)
            data = fill(p.type.to, count, rng)
            if isinstance(wanted, Sequence):
                assert isinstance(p.type.to, Scalar)
                data = b"".join(pack(v, p.type.to) for v in wanted)
            buffers[p.name] = Buffer(p.name, p.type.to, data)
            continue
        leaves = leaf_scalars(p.type)
        assert leaves is not None
        constant = known[k] if k < len(known) else None
        if wanted is None and p.name == "n":
            wanted = n
        if wanted is None and constant is not None:
            wanted = constant
        listed = None if wanted is None else list(wanted) if isinstance(wanted, Sequence) else [wanted]
        value = bytearray(fill(p.type, 1, rng))
        for j, (offset, leaf) in enumerate(leaves if listed is not None else ()):
            assert isinstance(leaf, Scalar) and listed is not None
            value[offset : offset + leaf.size] = pack(listed[j], leaf)
        values[p.name] = bytes(value)
    return Arguments(model.kernel.params, buffers, values)
