"""wgmma: products from every layout of shared memory, and what is reported when its rules are broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.emulator.matrix_kernels import (
    BITS,
    Array,
    Kernel,
    codes,
    entry,
    packed,
    run,
    values_of,
    vector,
    words_io,
)

Floats = npt.NDArray[np.float64]
HEAD = ".shared .align 1024 .b8 data[49152];\n"
B_AT = 24576  # offset of b
SPANS = {0: 16, 1: 128, 2: 64, 3: 32}  # layout type of a descriptor → bytes of a row


def laid(matrix: Floats, element: str, layout: int, mn_major: bool) -> tuple[Array, int, int]:
    """Bytes of a matrix (rows × k) as CUTLASS's canonical layouts have it, with the leading and stride byte
    offsets of its descriptor. Pieces of 16 bytes; the words are those of cute/arch/mma_sm90_desc.hpp."""
    each, span = 128 // BITS[element], SPANS[layout] // 16
    bits = codes(matrix, element)
    rows, depth = bits.shape
    kind = {8: np.uint8, 16: np.uint16, 32: np.uint32}[BITS[element]]
    if mn_major:
        # ((each, span, m), (8, k)): within 8 of k, `span` pieces of the rows lie side by side.
        chunks, eights = rows // each, depth // 8
        if layout == 0:
            stride, leading = eights * 8, 8  # of pieces of rows; of eights of k

            def at(p: int, k: int) -> int:
                return p * stride + k // 8 * leading + k % 8
        else:
            stride = 8 * span
            leading = stride * eights

            def at(p: int, k: int) -> int:
                return p % span + p // span * leading + k // 8 * stride + k % 8 * span

        out = np.zeros((max(at(p, k) for p in range(chunks) for k in range(depth)) + 1, each), kind)
        for p in range(chunks):
            for k in range(depth):
                out[at(p, k)] = bits[p * each : (p + 1) * each, k]
    else:
        # ((8, m), (each, 2)): rows of `span` pieces in groups of 8.
        groups, pieces = rows // 8, depth // each
        leading = 8 * groups if layout == 0 else 1
        stride = 8 if layout == 0 else 8 * span

        def at(row: int, p: int) -> int:
            return row // 8 * stride + row % 8 * span + p * leading

        out = np.zeros((max(at(r, p) for r in range(rows) for p in range(pieces)) + span, each), kind)
        for r in range(rows):
            for p in range(pieces):
                out[at(r, p)] = bits[r, p * each : (p + 1) * each]
    index = np.arange(len(out))
    place = index ^ (index >> 3 & span - 1)
    whole = np.zeros((-(-len(out) // 64) * 64, each), kind)
    whole[place] = out
    return whole.reshape(-1).view(np.uint8), leading * 16, stride * 16


def descriptor(offset: int, layout: int, leading: int, stride: int) -> int:
    return offset >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | layout << 62


def result_place(g: int, t: int, i: int) -> tuple[int, int]:
    return g + (0 if i % 4 < 2 else 8), 8 * (i // 4) + 2 * t + (i & 1)


COPY = """
mov.u32 %y, %thread;
COPY{n}:
setp.ge.u32 %q, %y, {words};
@%q bra COPIED{n};
mad.wide.u32 %at, %y, 4, %p{pointer};
ld.global.u32 %x, [%at];
mad.lo.u32 %z, %y, 4, %d;
st.shared.u32 [%z+{offset}], %x;
add.u32 %y, %y, 128;
bra COPY{n};
COPIED{n}:
"""
START = """
.reg .pred %q, %scale;
.reg .b32 %d, %x, %y, %z;
.reg .b64 %at, %da, %db;
mov.u32 %d, data;
"""


def kernel(
    types: str, a: Array, b: Array, descriptors: tuple[int, int], n: int, k: int, flags: str, count: int,
    scale: int = 1, change: Callable[[str], str] = lambda text: text,
) -> Kernel:  # fmt: skip
    """Copies a (or reads its registers) and b, multiplies once, stores the accumulators."""
    registers = a.dtype == np.uint32
    parts = [START, words_io("a", 0, 4) if registers else ""]
    copies = [(1, b, B_AT)] if registers else [(0, a, 0), (1, b, B_AT)]
    for i, (pointer, data, offset) in enumerate(copies):
        parts.append(COPY.format(n=i, words=data.nbytes // 4, pointer=pointer, offset=offset))
    d, ta, tb = types.split()
    operand = vector("a", 4) if registers else "%da"
    parts.append(
        f"""{words_io("d", 2, count)}
setp.ne.u32 %scale, {scale}, 0;
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %z, %d, 4;
cvt.u64.u32 %at, %z;
add.u64 %da, %at, {descriptors[0]:#x};
add.u64 %db, %at, {descriptors[1]:#x};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{ta}.{tb} {vector("d", count)}, {operand}, %db, %scale{flags};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{words_io("d", 2, count, store=True)}"""
    )
    return Kernel(change(entry(3, "\n".join(parts), HEAD)), 128)


# types d a b, k, majors that exist
TYPES = [
    *((f"{d} f16 f16", 16, (0, 1)) for d in ("f32", "f16")),
    ("f32 bf16 bf16", 16, (0, 1)),
    ("f32 tf32 tf32", 8, (0,)),
    ("f32 e4m3 e5m2", 32, (0,)),
    ("f16 e5m2 e5m2", 32, (0,)),
    ("s32 s8 u8", 32, (0,)),
]
CASES = [
    (types, k, layout, major_a, major_b)
    for types, k, majors in TYPES
    for layout in SPANS
    for major_a in majors
    for major_b in majors
]


def multiply(
    types: str,
    k: int,
    layout: int,
    major_a: int,
    major_b: int,
    from_registers: bool = False,
    **options: object,
) -> tuple[Floats, Floats, Floats, set[str]]:
    """(got, a @ b, what was added to, codes)."""
    d, ta, tb = types.split()
    rng = np.random.default_rng(layout)
    n = 64
    a = rng.integers(0 if ta == "u8" else -4, 5, (64, k)).astype(np.float64)
    b = rng.integers(0 if tb == "u8" else -4, 5, (n, k)).astype(np.float64)
    c = rng.integers(-9, 9, (64, n)).astype(np.float64)
    bytes_b, leading_b, stride_b = laid(b, tb, layout, bool(major_b))
    dab = descriptor(B_AT, layout, leading_b, stride_b)
    per = n // 2 * BITS[d] // 32
    accumulators = np.concatenate(
        [packed(c[16 * w : 16 * w + 16], d, n // 2, result_place) for w in range(4)]
    )
    if from_registers:
        e = 32 // BITS[ta]
        data = np.concatenate(
            [
                packed(
                    a[16 * w : 16 * w + 16], ta, 4 * e,
                    lambda g, t, i: (g + 8 * (i // e & 1), t * e + i % e + 4 * e * (i // (2 * e))),
                )
                for w in range(4)
            ]
        )  # fmt: skip
        da = 0
    else:
        data, leading, stride = laid(a, ta, layout, bool(major_a))
        da = descriptor(0, layout, leading, stride)
    flags = ""
    if d != "s32":
        negate = options.pop("negate", (1, 1))
        flags = ", {}, {}".format(*negate)  # type: ignore[misc]
        if ta in ("f16", "bf16"):
            flags += f", {major_b}" if from_registers else f", {major_a}, {major_b}"
    text = kernel(types, data, bytes_b, (da, dab), n, k, flags, per, **options)  # type: ignore[arg-type]
    out, ran = run(text, [data, bytes_b, accumulators])
    words = out[2].reshape(4, 32, per)
    got = np.zeros((64, n))
    for w in range(4):
        for lane in range(32):
            for i in range(n // 2):
                word = int(words[w, lane, i * BITS[d] // 32]) >> (i * BITS[d] % 32) & ((1 << BITS[d]) - 1)
                row, column = result_place(lane // 4, lane % 4, i)
                got[16 * w + row, column] = values_of(np.array([word], np.uint64), d)[0]
    return got, a @ b.T, c, {f.code for f in ran.findings}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} layout {c[2]} majors {c[3]}{c[4]}")
def test_products(case: tuple[str, int, int, int, int]) -> None:
    got, product, c, found = multiply(*case)
    assert not found
    assert np.array_equal(got, product + c)


@pytest.mark.parametrize(
    "types", ["f32 f16 f16", "f16 f16 f16", "f32 tf32 tf32", "f32 e4m3 e4m3", "s32 s8 s8"]
)
def test_a_from_registers(types: str) -> None:
    k = {"f16": 16, "tf32": 8}.get(types.split()[1], 32)
    got, product, c, found = multiply(types, k, 1 if k * 4 > 64 else 2, 0, 0, from_registers=True)
    assert not found
    assert np.array_equal(got, product + c)


def test_scale_and_signs() -> None:
    got, product, c, _ = multiply("f32 f16 f16", 16, 1, 0, 0, scale=0)
    assert np.array_equal(got, product)
    got, product, c, _ = multiply("f32 f16 f16", 16, 1, 0, 0, negate=(-1, 1))
    assert np.array_equal(got, c - product)
    got, product, c, _ = multiply("f32 f16 f16", 16, 1, 0, 0, negate=(-1, -1))
    assert np.array_equal(got, c + product)


def without(line: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert line in text
        return text.replace(line, "", 1)

    return change


@pytest.mark.parametrize(
    "line",
    [
        "fence.proxy.async.shared::cta;",
        "bar.sync 0;",
        "wgmma.fence.sync.aligned;",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ],
)
def test_what_is_missing_is_reported(line: str) -> None:
    assert multiply("f32 f16 f16", 16, 1, 0, 0, change=without(line))[3] & {"CP8011", "CP8005"}


def test_operands_must_stay_until_the_wait() -> None:
    def change(text: str) -> str:
        wait = "wgmma.wait_group.sync.aligned 0;"
        return text.replace(wait, f"st.shared.u32 [%d+16], %y;\n{wait}")

    assert "CP8011" in multiply("f32 f16 f16", 16, 1, 0, 0, change=change)[3]


def test_accumulators_of_another_wgmma_may_be_used() -> None:
    """Two products under way: the first is waited for, then used."""

    def change(text: str) -> str:
        start = text.index("wgmma.mma_async")
        end = text.index("\n", start)
        second = text[start:end].replace("%d", "%e").replace("%ea", "%da").replace("%eb", "%db")
        more = f".reg .b32 %e<32>;\nwgmma.commit_group.sync.aligned;\n{second}"
        text = text[:end] + "\n" + more + text[end:]
        return text.replace("wait_group.sync.aligned 0", "wait_group.sync.aligned 1") + ""

    found = multiply("f32 f16 f16", 16, 1, 0, 0, change=change)[3]
    assert found == {"CP8011"}  # only of the second, which nobody waits for

    def late(text: str) -> str:
        return change(text).replace("ret;\n}", "wgmma.wait_group.sync.aligned 0;\nret;\n}")

    assert not multiply("f32 f16 f16", 16, 1, 0, 0, change=late)[3]
