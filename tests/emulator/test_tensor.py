"""mma, ldmatrix, stmatrix, movmatrix and wmma give what numpy gives, from the fragments of the PTX ISA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from tests.emulator.matrix_kernels import (
    BITS,
    Array,
    Kernel,
    Place,
    entry,
    packed,
    run,
    unpacked,
    vector,
    words_io,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of mma; how many elements of a, b, c a lane holds, and where they lie (as PTX writes it)."""

    op: str
    m: int
    n: int
    k: int
    counts: tuple[int, int, int]
    a: Place
    b: Place


def high(i: int, *ranges: tuple[int, int]) -> int:
    """8 where `i` is in none of the ranges [from, to)."""
    return 0 if any(low <= i < end for low, end in ranges) else 8


def result_place(m: int) -> Place:
    if m == 8:
        return lambda g, t, i: (g, t * 2 + (i & 1))
    return lambda g, t, i: (g + (0 if i < 2 else 8), t * 2 + (i & 1))


SHAPES: dict[str, Shape] = {
    "half k16": Shape(
        "m16n8k16", 16, 8, 16, (8, 4, 4),
        lambda g, t, i: (g + high(i, (0, 2), (4, 6)), t * 2 + (i & 1) + (0 if i < 4 else 8)),
        lambda g, t, i: (t * 2 + (i & 1) + (0 if i < 2 else 8), g),
    ),
    "half k8": Shape(
        "m16n8k8", 16, 8, 8, (4, 2, 4),
        lambda g, t, i: (g + high(i, (0, 2)), t * 2 + (i & 1)),
        lambda g, t, i: (t * 2 + i, g),
    ),
    "word k4": Shape(
        "m16n8k4", 16, 8, 4, (2, 1, 4),
        lambda g, t, i: (g + 8 * i, t),
        lambda g, t, i: (t, g),
    ),
    "word k8": Shape(
        "m16n8k8", 16, 8, 8, (4, 2, 4),
        lambda g, t, i: (g + 8 * (i in (1, 3)), t + 4 * (i in (2, 3))),
        lambda g, t, i: (t + 4 * i, g),
    ),
    "double m8": Shape(
        "m8n8k4", 8, 8, 4, (1, 1, 2),
        lambda g, t, i: (g, t),
        lambda g, t, i: (t, g),
    ),
    "double k16": Shape(
        "m16n8k16", 16, 8, 16, (8, 4, 4),
        lambda g, t, i: (g + 8 * (i % 2), (i * 2 if i % 2 == 0 else i * 2 - 2) + t),
        lambda g, t, i: (t + i * 4, g),
    ),
    "byte m8": Shape(
        "m8n8k16", 8, 8, 16, (4, 4, 2),
        lambda g, t, i: (g, t * 4 + i),
        lambda g, t, i: (t * 4 + i, g),
    ),
    "byte k16": Shape(
        "m16n8k16", 16, 8, 16, (8, 4, 4),
        lambda g, t, i: (g + high(i, (0, 4)), t * 4 + (i & 3)),
        lambda g, t, i: (t * 4 + i, g),
    ),
    "byte k32": Shape(
        "m16n8k32", 16, 8, 32, (16, 8, 4),
        lambda g, t, i: (g + high(i, (0, 4), (8, 12)), t * 4 + (i & 3) + (0 if i < 8 else 16)),
        lambda g, t, i: (t * 4 + (i & 3) + (0 if i < 4 else 16), g),
    ),
    "nibble m8": Shape(
        "m8n8k32", 8, 8, 32, (8, 8, 2),
        lambda g, t, i: (g, t * 8 + i),
        lambda g, t, i: (t * 8 + i, g),
    ),
    "nibble k64": Shape(
        "m16n8k64", 16, 8, 64, (32, 16, 4),
        lambda g, t, i: (g + high(i, (0, 8), (16, 24)), t * 8 + (i & 7) + (0 if i < 16 else 32)),
        lambda g, t, i: (t * 8 + (i & 7) + (0 if i < 8 else 32), g),
    ),
    "bit k256": Shape(
        "m16n8k256", 16, 8, 256, (128, 64, 4),
        lambda g, t, i: (g + high(i, (0, 32), (64, 96)), t * 32 + (i & 31) + (0 if i < 64 else 128)),
        lambda g, t, i: (t * 32 + (i & 31) + (0 if i < 32 else 128), g),
    ),
}  # fmt: skip

# (shape, types d a b c, what stands before and after the types)
CASES = [
    *(("half k16", t, "", "") for t in ("f32 f16 f16 f32", "f16 f16 f16 f16", "f32 bf16 bf16 f32")),
    *(("half k8", t, "", "") for t in ("f32 f16 f16 f32", "f16 f16 f16 f16", "f32 bf16 bf16 f32")),
    ("word k4", "f32 tf32 tf32 f32", "", ""),
    ("word k8", "f32 tf32 tf32 f32", "", ""),
    ("double m8", "f64 f64 f64 f64", "", ""),
    ("double k16", "f64 f64 f64 f64", "", ""),
    ("byte m8", "s32 s8 u8 s32", "", ""),
    ("byte k16", "s32 u8 s8 s32", "", ""),
    ("byte k32", "s32 s8 s8 s32", ".satfinite", ""),
    ("byte k32", "f32 e4m3 e5m2 f32", "", ""),
    ("byte k32", "f16 e5m2 e4m3 f16", "", ""),
    ("nibble m8", "s32 s4 u4 s32", "", ""),
    ("nibble k64", "s32 u4 s4 s32", ".satfinite", ""),
    ("bit k256", "s32 b1 b1 s32", "", ".xor.popc"),
    ("bit k256", "s32 b1 b1 s32", "", ".and.popc"),
]


def values(rng: np.random.Generator, element: str, rows: int, columns: int) -> Floats:
    """Values that every type has, and whose products sum exactly."""
    ranges = {"u8": (0, 256), "s8": (-128, 128), "u4": (0, 16), "s4": (-8, 8), "b1": (0, 2)}
    low, end = ranges.get(element, (-8, 9))
    return rng.integers(low, end, (rows, columns)).astype(np.float64)


def mma_kernel(shape: Shape, types: str, before: str, after: str, words: tuple[int, int, int, int]) -> Kernel:
    d, a, b, c = types.split()
    bits = 64 if d == "f64" else 32
    op = f"mma.sync.aligned.{shape.op}.row.col{before}.{d}.{a}.{b}.{c}{after}"
    operands = ", ".join(vector(x, n) for x, n in zip("dabc", words, strict=True))
    body = [words_io(x, i, n, bits) for i, (x, n) in enumerate(zip("abc", words[1:], strict=True))]
    body += [
        f".reg .b{bits} %d<{words[0]}>;",
        f"{op} {operands};",
        words_io("d", 3, words[0], bits, store=True),
    ]
    return Kernel(entry(4, "\n".join(body)))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} {c[1]}{c[2]}{c[3]}")
def test_mma(case: tuple[str, str, str, str]) -> None:
    shape, (d, a, b, c) = SHAPES[case[0]], case[1].split()
    rng = np.random.default_rng(0)
    left, right = values(rng, a, shape.m, shape.k), values(rng, b, shape.k, shape.n)
    add = rng.integers(-100, 100, (shape.m, shape.n)).astype(np.float64)
    place = result_place(shape.m)
    arrays: list[Array] = [
        packed(left, a, shape.counts[0], shape.a),
        packed(right, b, shape.counts[1], shape.b),
        packed(add, c, shape.counts[2], place),
    ]
    result = np.zeros((32, shape.counts[2] * BITS[d] // max(32, BITS[d])), arrays[0].dtype)
    counts = (result.shape[1], *(x.shape[1] for x in arrays))
    kernel = mma_kernel(shape, *case[1:], counts)  # type: ignore[arg-type]
    out, ran = run(kernel, [*arrays, result])
    assert not ran.findings
    got = unpacked(out[3], d, shape.m, shape.n, place)
    if a == "b1":
        meets = np.logical_xor if "xor" in case[3] else np.logical_and
        wanted = add + np.array(
            [[meets(x, y).sum() for y in right.T.astype(bool)] for x in left.astype(bool)]
        )
    else:
        wanted = left @ right + add
    assert np.array_equal(got, wanted)


def test_integers_wrap_or_saturate() -> None:
    shape = SHAPES["byte k32"]
    most = np.full((16, 8), 2.0**31 - 1)
    ones = np.ones((16, 32)), np.ones((32, 8))
    place = result_place(16)
    arrays: list[Array] = [packed(ones[0], "s8", 16, shape.a), packed(ones[1], "s8", 8, shape.b)]
    arrays += [packed(most, "s32", 4, place), np.zeros((32, 4), np.uint32)]
    results = {}
    for before in ("", ".satfinite"):
        out, _ = run(mma_kernel(shape, "s32 s8 s8 s32", before, "", (4, 4, 2, 4)), arrays)
        results[before] = unpacked(out[3], "s32", 16, 8, place)
    assert np.all(results[".satfinite"] == 2**31 - 1)
    assert np.all(results[""] == -(2**31) + 31)


def test_products_are_rounded_once() -> None:
    """1 + 2^-24 + 2^-24 is above 1 only when the sum is not rounded in between."""
    shape, place = SHAPES["half k16"], result_place(16)
    left, right = np.zeros((16, 16)), np.zeros((16, 8))
    left[:, :2] = 2.0**-12
    right[:2, :] = 2.0**-12
    arrays = [packed(left, "f16", 8, shape.a), packed(right, "f16", 4, shape.b)]
    arrays += [packed(np.ones((16, 8)), "f32", 4, place), np.zeros((32, 4), np.uint32)]
    out, _ = run(mma_kernel(shape, "f32 f16 f16 f32", "", "", (4, 4, 2, 4)), arrays)
    assert np.all(unpacked(out[3], "f32", 16, 8, place) == 1 + 2.0**-23)


def test_an_instruction_of_a_part_of_the_warp_is_reported() -> None:
    shape = SHAPES["half k16"]
    kernel = mma_kernel(shape, "f32 f16 f16 f32", "", "", (4, 4, 2, 4))
    early = "setp.eq.u32 %e, %lane, 7;\n@%e ret;\nmma.sync"
    broken = Kernel(kernel.ptx.replace("mma.sync", f".reg .pred %e;\n{early}", 1))
    arrays = [np.zeros((32, n), np.uint32) for n in (4, 2, 4, 4)]
    _, ran = run(broken, arrays)
    assert {f.code for f in ran.findings} == {"CP8021"}


def _moved(count: int, transposed: bool, body: str, words: Array) -> tuple[Array, Array, set[str]]:
    """Runs `body` between a row of 16 shared bytes for each thread and registers %r0 …"""
    rows = np.arange(32 * 8, dtype=np.uint16).reshape(32, 8)
    text = "\n".join(
        [
            ".reg .b32 %row, %in<4>, %back<4>;",
            ".reg .b64 %ra, %rb;",
            "mov.u32 %row, buffer;",
            "mad.lo.u32 %row, %thread, 16, %row;",
            "mad.wide.u32 %ra, %thread, 16, %p0;",
            "ld.global.v4.b32 {%in0, %in1, %in2, %in3}, [%ra];",
            "st.shared.v4.b32 [%row], {%in0, %in1, %in2, %in3};",
            "bar.sync 0;",
            words_io("r", 1, count),
            body,
            words_io("r", 1, count, store=True),
            "bar.sync 0;",
            "ld.shared.v4.b32 {%back0, %back1, %back2, %back3}, [%row];",
            "st.global.v4.b32 [%ra], {%back0, %back1, %back2, %back3};",
        ]
    )
    kernel = Kernel(entry(2, text, ".shared .align 16 .b8 buffer[512];"))
    out, ran = run(kernel, [rows, words])
    return out[0], out[1], {f.code for f in ran.findings}


def _fragment(rows: Array, matrix: int, lane: int, transposed: bool) -> int:
    tile = rows[8 * matrix : 8 * matrix + 8]
    tile = tile.T if transposed else tile
    row, column = lane // 4, lane % 4 * 2
    return int(tile[row, column]) | int(tile[row, column + 1]) << 16


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count: int, transposed: bool) -> None:
    op = f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"
    words = np.zeros((32, count), np.uint32)
    rows, got, codes = _moved(count, transposed, f"{op} {vector('r', count)}, [%row];", words)
    assert not codes
    assert np.array_equal(rows, np.arange(256, dtype=np.uint16).reshape(32, 8))
    wanted = [[_fragment(rows, j, lane, transposed) for j in range(count)] for lane in range(32)]
    assert np.array_equal(got, np.array(wanted, np.uint32))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix(count: int, transposed: bool) -> None:
    op = f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"
    words = np.random.default_rng(1).integers(0, 2**32, (32, count), np.uint32)
    rows, got, codes = _moved(count, transposed, f"{op} [%row], {vector('r', count)};", words)
    assert not codes
    assert np.array_equal(got, words)
    assert np.array_equal(rows[8 * count :], np.arange(256, dtype=np.uint16).reshape(32, 8)[8 * count :])
    wanted = [[_fragment(rows, j, lane, transposed) for j in range(count)] for lane in range(32)]
    assert np.array_equal(words, np.array(wanted, np.uint32))


def test_ldmatrix_of_unwritten_and_misaligned_rows() -> None:
    words = np.zeros((32, 1), np.uint32)
    load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row"
    assert _moved(1, False, f"{load}+8];", words)[2] == {"CP8004"}
    assert _moved(1, False, f"{load}+512];", words)[2] == {"CP8002"}
    text = f".reg .b32 %r0, %row; mov.u32 %row, buffer; {load}];"
    _, ran = run(Kernel(entry(1, text, ".shared .align 16 .b8 buffer[512];")), [words])
    assert {f.code for f in ran.findings} == {"CP8005"}


def test_movmatrix() -> None:
    words = np.random.default_rng(2).integers(0, 2**32, (32, 1), np.uint32)
    body = "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;"
    out, _ = run(
        Kernel(entry(1, "\n".join([words_io("r", 0, 1), body, words_io("r", 0, 1, store=True)]))), [words]
    )
    before = words.view(np.uint16).reshape(8, 8)
    assert np.array_equal(out[0].view(np.uint16).reshape(8, 8), before.T)


WMMA = [
    *((s, "f16", d, 8, 8) for s in ("m16n16k16", "m8n32k16", "m32n8k16") for d in ("f16", "f32")),
    ("m16n16k16", "bf16", "f32", 4, 4),
    ("m8n32k16", "bf16", "f32", 2, 8),
    ("m16n16k8", "tf32", "f32", 4, 4),
    ("m16n16k16", "s8", "s32", 2, 2),
    ("m32n8k16", "u8", "s32", 4, 1),
    ("m8n8k4", "f64", "f64", 1, 1),
]
_NUMPY = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64}
_NUMPY |= {"s8": np.int8, "u8": np.uint8, "s32": np.int32}


@pytest.mark.parametrize("majors", ["row row", "row col", "col row", "col col"])
@pytest.mark.parametrize("case", WMMA, ids=lambda c: f"{c[0]} {c[1]} {c[2]}")
def test_wmma(case: tuple[str, str, str, int, int], majors: str) -> None:
    shape, kind, result, na, nb = case
    m, n, k = (int(x) for x in shape.replace("n", " ").replace("k", " ").removeprefix("m").split())
    major_a, major_b = majors.split()
    rng = np.random.default_rng(3)
    a, b, c = values(rng, kind, m, k), values(rng, kind, k, n), values(rng, "s8", m, n)
    bits = 64 if kind == "f64" else 32
    nc = m * n * BITS[result] // bits // 32
    types = f"{result}.{result}" if kind == "f16" else f"{result}.{kind}.{kind}.{result}"
    stride = {"row": (k, n), "col": (m, k)}
    sa, sb = stride[major_a][0], stride[major_b][1]
    body = [
        *(f".reg .b{bits} %{x}<{count}>;" for x, count in (("a", na), ("b", nb), ("c", nc), ("d", nc))),
        f"wmma.load.a.sync.aligned.{major_a}.{shape}.global.{kind} {vector('a', na)}, [%p0], {sa};",
        f"wmma.load.b.sync.aligned.{major_b}.{shape}.global.{kind} {vector('b', nb)}, [%p1], {sb};",
        f"wmma.load.c.sync.aligned.row.{shape}.global.{result} {vector('c', nc)}, [%p2];",
        f"wmma.mma.sync.aligned.{major_a}.{major_b}.{shape}.{types} "
        f"{vector('d', nc)}, {vector('a', na)}, {vector('b', nb)}, {vector('c', nc)};",
        f"wmma.store.d.sync.aligned.col.{shape}.global.{result} [%p3], {vector('d', nc)}, {m};",
    ]

    def laid(x: Floats, major: str) -> Array:
        x = np.ascontiguousarray(x if major == "row" else x.T)
        if kind == "bf16":
            return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return x.astype(_NUMPY[kind])

    arrays: list[Array] = [laid(a, major_a), laid(b, major_b), c.astype(_NUMPY[result])]
    out, ran = run(Kernel(entry(4, "\n".join(body))), [*arrays, np.zeros((n, m), _NUMPY[result])])
    assert not ran.findings
    assert np.array_equal(out[3].T.astype(np.float64), a @ b + c)
