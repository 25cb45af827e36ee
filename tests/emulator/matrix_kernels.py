"""Kernels of one matrix instruction, in PTX, and where PTX says that each element of a fragment lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from verify.emulator.launch import LaunchShape, Program, Ran, RunOptions
from verify.emulator.memory import Memory

Array = npt.NDArray[np.generic]
Place = Callable[[int, int, int], tuple[int, int]]  # (group, thread in group, i) → (row, column)

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor map of array number `of`, whose last axis is dimension 0; `box` as the axes of the array.

    `element` is a key of MAP_TYPES; `swizzle` 0 (none) to 3 (128 bytes).
    """

    of: int
    box: tuple[int, ...]
    element: str
    swizzle: int = 0
    strange: int = 0  # bits to change in word 2

    def encoded(self, array: Array, address: int) -> npt.NDArray[np.uint32]:
        """The 128 bytes, as the CuTe DSL's host code writes them; the driver leaves bit 1 of word 2 out."""
        words = np.zeros(32, np.uint32)
        words[0], words[1] = address & 0xFFFFFFFF, address >> 32
        rank, sizes, box = array.ndim, array.shape[::-1], self.box[::-1]
        words[2] = 0x40002 | (rank - 1) << 4 | MAP_TYPES[self.element] << 7 | self.swizzle << 13
        words[2] ^= np.uint32(self.strange)
        words[3 : 3 + rank - 1] = [s // 16 for s in array.strides[::-1][1:]]
        words[8 : 8 + rank] = [n - 1 for n in sizes]
        words[13] = box[0] - 1 << 24
        words[14] = sum(n - 1 << 8 * i for i, n in enumerate(box[1:]))
        return words


MAP_TYPES = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "f16": 6, "f32": 7, "bf16": 10}


@dataclass(frozen=True, slots=True)
class Kernel:
    """PTX of a kernel `k` whose parameters are pointers to its arrays."""

    ptx: str
    threads: int = 32
    smem: int = 0


def run(
    kernel: Kernel, given: Sequence[Array | Map], schedule: str = "forward", blocks: int = 1, cluster: int = 1
) -> tuple[list[Array], Ran]:
    """The arrays after one launch, and what it reported."""
    memory = Memory()
    arrays: list[Array] = [np.zeros(32, np.uint32) if isinstance(a, Map) else a for a in given]
    places = [memory.alloc(a.nbytes, f"array {i}") for i, a in enumerate(arrays)]
    held = [_bytes_at(p, a.nbytes) for a, p in zip(arrays, places, strict=True)]
    for h, a in zip(held, arrays, strict=True):
        h[:] = np.frombuffer(a.tobytes(), np.uint8)
    for h, m in zip(held, given, strict=True):
        if isinstance(m, Map):
            h[:] = m.encoded(arrays[m.of], places[m.of]).view(np.uint8)
    shape = LaunchShape((blocks, 1, 1), (kernel.threads, 1, 1), kernel.smem, (cluster, 1, 1))
    params = [p.to_bytes(8, "little") for p in places]
    ran = Program(kernel.ptx).run("k", shape, params, memory, RunOptions(schedule=schedule, budget=5_000_000))
    return [h.copy().view(a.dtype).reshape(a.shape) for h, a in zip(held, arrays, strict=True)], ran


def _bytes_at(address: int, count: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer((ctypes.c_uint8 * count).from_address(address), np.uint8)


def entry(parameters: int, body: str, head: str = "") -> str:
    """A kernel `k` with pointers %p0 … as u64, the lane in %lane and the thread in %tid."""
    names = ", ".join(f".param .u64 p{i}" for i in range(parameters))
    loads = "\n".join(
        f"ld.param.u64 %p{i}, [p{i}];\ncvta.to.global.u64 %p{i}, %p{i};" for i in range(parameters)
    )
    return f"""{HEAD}{head}
.visible .entry k({names}) {{
.reg .b64 %p<{parameters}>;
.reg .b32 %thread, %lane;
{loads}
mov.u32 %thread, %tid.x;
and.b32 %lane, %thread, 31;
{body}
ret;
}}
"""


def words_io(name: str, pointer: int, count: int, bits: int = 32, store: bool = False) -> str:
    """Loads (or stores) registers %name0 … of each thread from (to) a row of `count` words of an array."""
    lines = [] if store else [f".reg .b{bits} %{name}<{count}>;"]
    address = f"%at_{name}_{'s' if store else 'l'}"
    lines += [f".reg .b64 {address};", f"mad.wide.u32 {address}, %thread, {count * bits // 8}, %p{pointer};"]
    for i in range(count):
        where, register = f"[{address}+{i * bits // 8}]", f"%{name}{i}"
        lines.append(
            f"st.global.b{bits} {where}, {register};" if store else f"ld.global.b{bits} {register}, {where};"
        )
    return "\n".join(lines)


def vector(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


# Bits and numpy type of an element; the fp8 and tf32 codes are those of `codes`.
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8}
BITS |= {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32}


def codes(values: npt.NDArray[np.float64], element: str) -> npt.NDArray[np.uint64]:
    """The bits of each value; the value must be one that the type has (bf16 and tf32 are cut)."""
    if element == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if element in ("f32", "tf32"):
        return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
    if element == "f64":
        return values.view(np.uint64)
    if element == "e5m2":
        return (values.astype(np.float16).view(np.uint16) >> 8).astype(np.uint64)
    if element == "e4m3":
        sign = (values < 0).astype(np.uint64) << np.uint64(7)
        table = np.array([_e4m3(c) for c in range(0x7F)])
        nearest = [np.argmin(np.abs(table - abs(v))) for v in values.ravel()]
        return sign | np.array(nearest, np.uint64).reshape(values.shape)
    return values.astype(np.int64).astype(np.uint64) & np.uint64((1 << BITS[element]) - 1)


def _e4m3(code: int) -> float:
    exponent, fraction = code >> 3, code & 7
    return fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10)


def values_of(bits: npt.NDArray[np.uint64], element: str) -> npt.NDArray[np.float64]:
    """The value of each code of a result: f16, f32, f64 or s32."""
    if element == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if element == "f64":
        return bits.view(np.float64)
    kind = np.float32 if element == "f32" else np.int32
    return bits.astype(np.uint32).view(kind).astype(np.float64)


def packed(matrix: npt.NDArray[np.float64], element: str, per_lane: int, place: Place) -> Array:
    """Words (32 bits, 64 for f64) of each lane's fragment of `per_lane` elements: (32, words)."""
    bits = codes(matrix, element)
    width = BITS[element]
    unit = max(width, 32)
    words = np.zeros((32, per_lane * width // unit), np.uint64)
    for lane in range(32):
        for i in range(per_lane):
            row, column = place(lane // 4, lane % 4, i)
            words[lane, i * width // unit] |= bits[row, column] << np.uint64(i * width % unit)
    return words if unit == 64 else words.astype(np.uint32)


def unpacked(words: Array, element: str, rows: int, columns: int, place: Place) -> npt.NDArray[np.float64]:
    """The matrix whose fragments are `words`."""
    width = BITS[element]
    unit = max(width, 32)
    matrix = np.zeros((rows, columns), np.uint64)
    for lane in range(32):
        for i in range(words.shape[1] * unit // width):
            word = int(words[lane, i * width // unit]) >> (i * width % unit)
            matrix[place(lane // 4, lane % 4, i)] = word & ((1 << width) - 1)
    return values_of(matrix, element)
