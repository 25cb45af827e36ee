"""mbarriers, bulk copies and clusters: what they do, and what is reported when a wait or fence is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.emulator.matrix_kernels import Array, Kernel, Map, entry, run

SCHEDULES = ("forward", "reverse", "random:1")
SHARED = ".shared .align 1024 .b8 data[16384];\n.shared .align 8 .b8 bar[64];\n"
REGISTERS = """
.reg .pred %first, %done, %q;
.reg .b32 %d, %bar, %x, %y, %z, %n, %w<4>;
.reg .b64 %state, %at, %g;
mov.u32 %d, data;
mov.u32 %bar, bar;
mov.u32 %n, %ntid.x;
setp.eq.u32 %first, %thread, 0;
"""
INIT = "@%first mbarrier.init.shared::cta.b64 [%bar], {count};\nbar.sync 0;\n"
WAIT = """
WAIT{n}:
mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], {parity};
@!%done bra WAIT{n};
"""


def wait(parity: int = 0, n: int = 0) -> str:
    return WAIT.format(parity=parity, n=n)


def codes(
    body: str,
    arrays: Sequence[Array | Map],
    threads: int = 64,
    schedules: Sequence[str] = SCHEDULES,
    blocks: int = 1,
    cluster: int = 1,
    head: str = SHARED,
) -> tuple[list[Array], set[str]]:
    """The arrays after the launches (which must agree), and all codes that were reported."""
    found: set[str] = set()
    first: list[Array] = []
    for schedule in schedules:
        kernel = Kernel(entry(len(arrays), REGISTERS + body, head), threads)
        out, ran = run(kernel, arrays, schedule, blocks, cluster)
        found |= {f.code for f in ran.findings}
        first = first or out
        assert found or all(np.array_equal(x, y) for x, y in zip(out, first, strict=True))
    return first, found


def row(body: str) -> str:
    """`body` between the thread's word %x of the first array and of the second."""
    load = "mad.wide.u32 %at, %thread, 4, %p0;\nld.global.u32 %x, [%at];\n"
    return f"{load}{body}\nmad.wide.u32 %at, %thread, 4, %p1;\nst.global.u32 [%at], %x;\n"


WORDS = np.arange(64, dtype=np.uint32) * 3 + 1

# Each thread hands its word to the thread on the other side.
EXCHANGE = """
mad.lo.u32 %y, %thread, 4, %d;
st.shared.u32 [%y], %x;
mbarrier.arrive.shared::cta.b64 %state, [%bar];
{wait}
sub.u32 %z, 63, %thread;
mad.lo.u32 %y, %z, 4, %d;
ld.shared.u32 %x, [%y];
"""
BY_STATE = """
WAIT:
mbarrier.test_wait.shared::cta.b64 %done, [%bar], %state;
@!%done bra WAIT;
"""


@pytest.mark.parametrize("how", [wait(), BY_STATE])
def test_an_mbarrier_orders_what_came_before_it(how: str) -> None:
    out, found = codes(INIT.format(count=64) + row(EXCHANGE.format(wait=how)), [WORDS, np.zeros_like(WORDS)])
    assert not found
    assert np.array_equal(out[1], WORDS[::-1])


def test_a_missing_wait_is_a_race() -> None:
    _, found = codes(INIT.format(count=64) + row(EXCHANGE.format(wait="")), [WORDS, np.zeros_like(WORDS)])
    assert "CP8011" in found


def test_a_relaxed_arrival_releases_nothing() -> None:
    text = EXCHANGE.format(wait=wait()).replace("arrive.shared", "arrive.relaxed.cta.shared")
    _, found = codes(INIT.format(count=64) + row(text), [WORDS, np.zeros_like(WORDS)])
    assert "CP8011" in found


def test_mbarriers_must_be_initialised_before_others_use_them() -> None:
    arrays = [WORDS, np.zeros_like(WORDS)]
    text = row(EXCHANGE.format(wait=wait()))
    assert codes(text, arrays)[1] == {"CP8005"}
    unordered = INIT.format(count=64).replace("bar.sync 0;", "")
    assert codes(unordered + text, arrays)[1] & {"CP8011", "CP8005"}


def test_counts_of_mbarriers() -> None:
    arrays = [WORDS, np.zeros_like(WORDS)]
    assert codes(INIT.format(count=65) + row(EXCHANGE.format(wait=wait())), arrays)[1] == {"CP8024"}
    late = "bar.sync 0;\n@%first mbarrier.arrive.shared::cta.b64 %state, [%bar], 65;\n"
    assert codes(INIT.format(count=64) + row(late), arrays)[1] == {"CP8022"}


def test_states_and_dropped_arrivals() -> None:
    """Four are expected: two arrive, one of them for good; then the next phase needs three."""
    body = """
mbarrier.init.shared.b64 [%bar], 4;
mbarrier.arrive.shared.b64 %state, [%bar], 1;
mbarrier.arrive_drop.shared.b64 %state, [%bar];
mbarrier.pending_count.b64 %w0, %state;
mbarrier.arrive.shared.b64 %state, [%bar], 2;
mbarrier.test_wait.shared.b64 %q, [%bar], %state;
selp.u32 %w1, 1, 0, %q;
mbarrier.arrive.noComplete.shared.b64 %state, [%bar], 2;
mbarrier.pending_count.b64 %w2, %state;
mbarrier.test_wait.parity.shared.b64 %q, [%bar], 1;
selp.u32 %w3, 1, 0, %q;
st.global.v4.u32 [%p0], {%w0, %w1, %w2, %w3};
"""
    out, found = codes(body, [np.zeros(4, np.uint32)], threads=1)
    assert not found
    assert out[0].tolist() == [3, 1, 3, 0]


LOAD = """
@!%first bra LOADED;
mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d], [%p0], 256, [%bar];
LOADED:
"""
USE = """
mad.lo.u32 %y, %thread, 4, %d;
ld.shared.u32 %x, [%y];
"""


def test_a_bulk_copy_and_its_wait() -> None:
    arrays = [WORDS, np.zeros_like(WORDS)]
    head = INIT.format(count=1)
    out, found = codes(head + row(LOAD + wait() + USE), arrays)
    assert not found
    assert np.array_equal(out[1], WORDS)
    # Not waited for: nothing is there yet, even where a barrier comes between.
    assert "CP8005" in codes(head + row(LOAD + "bar.sync 0;\n" + USE), arrays)[1]
    # Only one thread waits, and nothing orders the others after it.
    only = "@!%first bra ON;\n" + wait() + "ON:\n"
    assert codes(head + row(LOAD + "bar.sync 0;\n" + only + USE), arrays)[1] & {"CP8005", "CP8011"}
    # The copy overwrites what another thread may still read.
    early = "mad.lo.u32 %y, %thread, 4, %d;\nst.shared.u32 [%y], %x;\n"
    assert "CP8011" in codes(head + row(early + LOAD + wait() + USE), arrays)[1]
    assert not codes(head + row(early + "bar.sync 0;\n" + LOAD + wait() + USE), arrays)[1]


def test_a_write_into_a_copy_under_way() -> None:
    body = LOAD + "bar.sync 0;\n@%first st.shared.u32 [%d+64], %x;\n" + wait() + USE
    assert "CP8011" in codes(INIT.format(count=1) + row(body), [WORDS, np.zeros_like(WORDS)])[1]


def test_bytes_that_never_come() -> None:
    body = LOAD.replace("[%d], [%p0], 256", "[%d], [%p0], 128") + wait() + USE
    assert codes(INIT.format(count=1) + row(body), [WORDS, np.zeros_like(WORDS)])[1] == {"CP8024"}


def test_bulk_copies_stay_in_bounds() -> None:
    body = LOAD.replace("[%p0], 256", "[%p0+16], 256") + wait()
    assert "CP8001" in codes(INIT.format(count=1) + row(body), [WORDS, np.zeros_like(WORDS)])[1]
    body = LOAD.replace("[%d], ", "[%d+8], ") + wait()
    assert "CP8004" in codes(INIT.format(count=1) + row(body), [WORDS, np.zeros_like(WORDS)])[1]


STORE = """
mad.lo.u32 %y, %thread, 4, %d;
st.shared.u32 [%y], %x;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%first bra STORED;
cp.async.bulk.global.shared::cta.bulk_group [%p1], [%d], 256;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
STORED:
ret;
"""


def test_a_bulk_store_its_fence_and_its_waits() -> None:
    arrays = [WORDS, np.zeros_like(WORDS)]
    out, found = codes(row(STORE), arrays)
    assert not found
    assert np.array_equal(out[1], WORDS)
    assert codes(row(STORE.replace("fence.proxy.async.shared::cta;", "")), arrays)[1] == {"CP8011"}
    assert codes(row(STORE.replace("bar.sync 0;", "")), arrays)[1] & {"CP8011", "CP8005"}
    assert codes(row(STORE.replace("cp.async.bulk.wait_group 0;", "")), arrays)[1] == {"CP8011"}
    assert codes(row(STORE.replace("wait_group 0", "wait_group.read 0")), arrays)[1] == set()
    again = "st.shared.u32 [%d], %x;\n"
    overwritten = STORE.replace("cp.async.bulk.wait_group 0;", again + "cp.async.bulk.wait_group 0;")
    assert codes(row(overwritten), arrays)[1] == {"CP8011"}
    assert not codes(row(STORE.replace("STORED:", again + "STORED:")), arrays)[1]


@pytest.mark.parametrize(
    ("op", "kind", "wanted"),
    [
        ("add.u32", np.uint32, lambda x, y: x + y),
        ("max.s32", np.int32, np.maximum),
        ("xor.b32", np.uint32, np.bitwise_xor),
        ("add.noftz.f16", np.float16, lambda x, y: x + y),
        ("add.f32", np.float32, lambda x, y: x + y),
    ],
)
def test_bulk_reductions(op: str, kind: type, wanted: object) -> None:
    rng = np.random.default_rng(0)
    count = 256 // np.dtype(kind).itemsize
    x, y = (rng.integers(0, 50, count).astype(kind) for _ in range(2))
    text = STORE.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global")
    text = text.replace("bulk_group [", f"bulk_group.{op} [")
    out, found = codes(row(text), [x, y])
    assert not found
    assert np.array_equal(out[1], wanted(x, y))  # type: ignore[operator]


# ---- tensor maps


def swizzled(data: Array, span: int) -> Array:
    """Bytes of a box as they lie in shared memory when rows of `span` bytes are swizzled."""
    chunks = data.reshape(-1, 16)
    index = np.arange(len(chunks))
    place = index ^ (index >> 3 & span // 16 - 1)
    out = np.empty_like(chunks)
    out[place] = chunks
    return out.reshape(-1)


def box_of(tensor: Array, at: Sequence[int], box: Sequence[int]) -> Array:
    """A box from coordinates `at` (axis order of the array), with zeros outside of the tensor."""
    padded = np.pad(tensor, [(8, 64)] * tensor.ndim)
    return padded[tuple(slice(a + 8, a + 8 + b) for a, b in zip(at, box, strict=True))]


TENSORS = [
    ((40, 64), (16, 64), (8, 0), "f16", 3),
    ((40, 64), (16, 32), (30, 40), "f16", 2),
    ((40, 64), (16, 16), (-3, -8), "f16", 1),
    ((40, 64), (5, 24), (2, 48), "f16", 0),
    ((40, 64), (8, 32), (33, 32), "u32", 3),
    ((256,), (64,), (220,), "f32", 0),
    ((5, 12, 32), (2, 4, 32), (4, 10, 8), "bf16", 2),
    ((3, 4, 6, 32), (2, 2, 3, 16), (-1, 3, 4, 16), "u8", 0),
    ((2, 3, 4, 6, 8), (2, 1, 2, 3, 8), (0, 2, -1, 4, 4), "u32", 1),
]
_KINDS = {"f16": np.float16, "bf16": np.uint16, "u32": np.uint32, "f32": np.float32, "u8": np.uint8}


@pytest.mark.parametrize("case", TENSORS, ids=lambda c: f"{len(c[0])}d {c[3]} {c[4]}")
def test_tensor_copies(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], str, int]) -> None:
    """A box comes in through one map, swizzled; it leaves for another tensor through a second."""
    shape, box, at, element, swizzle = case
    tensor = np.arange(1, 1 + int(np.prod(shape))).astype(_KINDS[element]).reshape(shape)
    size = int(np.prod(box)) * tensor.itemsize
    stored_at = tuple(max(x, 0) for x in at)
    coords, stored_coords = ("{" + ", ".join(str(x) for x in c[::-1]) + "}" for c in (at, stored_at))
    body = f"""
@!%first bra LOADED;
mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], {size};
cp.async.bulk.tensor.{len(shape)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
  [%d], [%p1, {coords}], [%bar];
LOADED:
{wait()}
mov.u32 %y, %thread;
COPY:
setp.ge.u32 %done, %y, {size};
@%done bra COPIED;
add.u32 %z, %d, %y;
ld.shared.u8 %x, [%z];
cvt.u64.u32 %g, %y;
add.u64 %at, %p2, %g;
st.global.u8 [%at], %x;
add.u32 %y, %y, %n;
bra COPY;
COPIED:
bar.sync 0;
@!%first bra END;
cp.async.bulk.tensor.{len(shape)}d.global.shared::cta.tile.bulk_group [%p4, {stored_coords}], [%d];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
END:
"""
    arrays: list[Array | Map] = [
        tensor,
        Map(0, box, element, swizzle),
        np.zeros(size, np.uint8),
        np.zeros_like(tensor),
        Map(3, box, element, swizzle),
    ]
    out, found = codes(INIT.format(count=1) + body, arrays)
    assert not found
    wanted = np.ascontiguousarray(box_of(tensor, at, box))
    assert np.array_equal(out[2], swizzled(wanted.view(np.uint8).reshape(-1), 16 << swizzle))
    stored = np.zeros_like(tensor)
    room = tuple(slice(a, a + b) for a, b in zip(stored_at, box, strict=True))
    stored[room] = wanted[tuple(slice(n) for n in stored[room].shape)]
    assert np.array_equal(out[3], stored)


STORE_BOX = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%p1, {at}], [%d];"


def test_a_strange_tensor_map_is_refused() -> None:
    """Interleave, NaN as fill, tf32, another rank."""
    text = STORE_BOX.format(at="{0, 0}")
    tensor = np.zeros((16, 64), np.float16)
    for strange in (1 << 11, 1 << 15, 1 << 16, 1 << 4):
        assert codes(text, [tensor, Map(0, (8, 64), "f16", 3, strange)], threads=1)[1] == {"CP7110"}
    for known in (1 << 1 | 1 << 18, 1 << 17, 1 << 21):
        assert "CP7110" not in codes(text, [tensor, Map(0, (8, 64), "f16", 3, known)], threads=1)[1]


@pytest.mark.parametrize(("at", "code"), [("{4, 0}", "CP8004"), ("{-8, 0}", "CP8001"), ("{0, -1}", "CP8001")])
def test_coordinates_that_an_h200_refuses(at: str, code: str) -> None:
    arrays = [np.zeros((16, 64), np.float16), Map(0, (8, 64), "f16", 3)]
    assert codes(STORE_BOX.format(at=at), arrays, threads=1)[1] == {code}


# ---- cp.async


def test_cp_async_completes_at_an_mbarrier() -> None:
    copy = """
mad.wide.u32 %at, %thread, 4, %p0;
mad.lo.u32 %y, %thread, 4, %d;
cp.async.ca.shared.global [%y], [%at], 4;
cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%bar];
{wait}
sub.u32 %z, 63, %thread;
mad.lo.u32 %y, %z, 4, %d;
ld.shared.u32 %x, [%y];
"""
    arrays = [WORDS, np.zeros_like(WORDS)]
    out, found = codes(INIT.format(count=64) + row(copy.format(wait=wait())), arrays)
    assert not found
    assert np.array_equal(out[1], WORDS[::-1])
    assert codes(INIT.format(count=64) + row(copy.format(wait="")), arrays)[1] & {"CP8005", "CP8011"}
    counted = copy.replace(".noinc", "").format(wait=wait())  # counts itself in: nobody arrives for the 64
    assert codes(INIT.format(count=64) + row(counted), arrays)[1] == {"CP8024"}


@pytest.mark.parametrize(
    ("operands", "kept"),
    [("16", 16), ("16, 16", 16), ("16, 5", 5), ("16, 0", 0), ("16, %q", 0), ("16, %first", 16)],
)
def test_cp_async_fills_with_zeros(operands: str, kept: int) -> None:
    body = f"""
setp.eq.u32 %q, 0, 0;
setp.ne.u32 %first, 0, 0;
cp.async.cg.shared.global [%d], [%p0], {operands};
cp.async.commit_group;
cp.async.wait_group 0;
ld.shared.v4.u32 {{%w0, %w1, %w2, %w3}}, [%d];
st.global.v4.u32 [%p1], {{%w0, %w1, %w2, %w3}};
"""
    source = np.arange(1, 17, dtype=np.uint8)
    out, found = codes(body, [source, np.zeros(16, np.uint8)], threads=1)
    assert not found
    assert out[1].tolist() == [*range(1, kept + 1), *[0] * (16 - kept)]


# ---- clusters

CLUSTER = """
.reg .b32 %rank, %peer, %far;
mov.u32 %rank, %cluster_ctarank;
xor.b32 %peer, %rank, 1;
mov.u32 %z, %ctaid.x;
mad.lo.u32 %z, %z, 64, %thread;
mad.wide.u32 %at, %z, 4, %p0;
ld.global.u32 %x, [%at];
mad.lo.u32 %y, %thread, 4, %d;
"""
LEAVE = """
mad.wide.u32 %at, %z, 4, %p1;
st.global.u32 [%at], %x;
"""
SYNC = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
PAIR = np.arange(256, dtype=np.uint32) * 7


def swap(parts: str) -> tuple[list[Array], set[str]]:
    """Four blocks in clusters of two; each thread ends up with a word of the other block's thread."""
    body = CLUSTER + parts + LEAVE
    return codes(body, [PAIR, np.zeros_like(PAIR)], blocks=4, cluster=2)


SWAPPED = PAIR.reshape(2, 2, 64)[:, ::-1].reshape(-1)
READ = f"""
st.shared.u32 [%y], %x;
{SYNC}
mapa.shared::cluster.u32 %far, %y, %peer;
ld.shared::cluster.u32 %x, [%far];
{SYNC}
"""


def test_reading_another_block() -> None:
    out, found = swap(READ)
    assert not found
    assert np.array_equal(out[1], SWAPPED)
    assert swap(READ.replace(SYNC, "", 1))[1] & {"CP8011", "CP8005"}
    relaxed = READ.replace("arrive.aligned", "arrive.relaxed.aligned", 1)
    assert "CP8011" in swap(relaxed)[1]


def test_a_block_may_not_end_before_others_have_read_its_memory() -> None:
    _, found = swap(READ.rpartition(SYNC)[0])
    assert found == {"CP8002"}


def test_generic_addresses_of_another_block() -> None:
    text = READ.replace(
        "mapa.shared::cluster.u32 %far, %y, %peer;\nld.shared::cluster.u32 %x, [%far];",
        "cvt.u64.u32 %g, %y;\ncvta.shared.u64 %g, %g;\nmapa.u64 %g, %g, %peer;\n"
        "getctarank.u64 %w0, %g;\ncvta.to.shared::cluster.u64 %g, %g;\ncvt.u32.u64 %far, %g;\n"
        "getctarank.shared::cluster.u32 %w1, %far;\nxor.b32 %w0, %w0, %w1;\n"
        "ld.shared::cluster.u32 %x, [%far];\nadd.u32 %x, %x, %w0;",
    )
    out, found = swap(text)
    assert not found
    assert np.array_equal(out[1], SWAPPED)


def test_writing_and_adding_to_another_block() -> None:
    text = f"""
mov.u32 %w0, 0;
st.shared.u32 [%y], %w0;
{SYNC}
mapa.shared::cluster.u32 %far, %y, %peer;
atom.relaxed.cluster.shared::cluster.add.u32 %w1, [%far], %x;
add.u32 %far, %far, 4096;
st.shared::cluster.u32 [%far], %x;
{SYNC}
ld.shared.u32 %w0, [%y];
ld.shared.u32 %x, [%y+4096];
add.u32 %x, %x, %w0;
add.u32 %x, %x, %w1;
"""
    out, found = swap(text)
    assert not found
    assert np.array_equal(out[1], 2 * SWAPPED)


REMOTE = f"""
@%first mbarrier.init.shared::cta.b64 [%bar], 1;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 256;
fence.mbarrier_init.release.cluster;
{SYNC}
mapa.shared::cluster.u32 %far, %y, %peer;
mapa.shared::cluster.u32 %w0, %bar, %peer;
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%far], %x, [%w0];
{{wait}}
ld.shared.u32 %x, [%y];
{SYNC}
"""


def test_asynchronous_stores_to_another_block() -> None:
    out, found = swap(REMOTE.format(wait=wait()))
    assert not found
    assert np.array_equal(out[1], SWAPPED)
    assert swap(REMOTE.format(wait=""))[1] & {"CP8005", "CP8011"}


def test_arrivals_at_another_blocks_mbarrier() -> None:
    text = f"""
@%first mbarrier.init.shared::cta.b64 [%bar], 64;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.acquire.aligned;
mapa.shared::cluster.u32 %far, %y, %peer;
st.shared::cluster.u32 [%far], %x;
mapa.shared::cluster.u32 %w0, %bar, %peer;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%w0];
{wait()}
xor.b32 %w1, %thread, 33;
mad.lo.u32 %y, %w1, 4, %d;
ld.shared.u32 %x, [%y];
{SYNC}
"""
    out, found = swap(text)
    assert not found
    other = SWAPPED.reshape(4, 64)[:, np.arange(64) ^ 33].reshape(-1)
    assert np.array_equal(out[1], other)


def test_multicast() -> None:
    """The first block of each cluster loads for both."""
    text = f"""
@%first mbarrier.init.shared::cta.b64 [%bar], 1;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], 256;
fence.mbarrier_init.release.cluster;
{SYNC}
or.b32 %w0, %rank, %thread;
setp.ne.u32 %q, %w0, 0;
@%q bra SENT;
.reg .b16 %mask;
mov.b16 %mask, 3;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
  [%d], [%at], 256, [%bar], %mask;
SENT:
{wait()}
ld.shared.u32 %x, [%y];
{SYNC}
"""
    out, found = swap(text)
    assert not found
    wanted = PAIR.reshape(2, 2, 64)[:, [0, 0]].reshape(-1)
    assert np.array_equal(out[1], wanted)


def test_the_cluster_barrier_waits_for_all() -> None:
    assert "CP8022" in swap("barrier.cluster.wait.aligned;\n")[1]
    alone = "setp.eq.u32 %q, %rank, 1;\n@%q bra ON;\n" + SYNC + "ON:\n@%q bar.sync 1, 128;\n"
    assert "CP8024" in swap(alone)[1]


def test_hints_of_the_scheduler_change_nothing() -> None:
    body = "griddepcontrol.wait;\nsetmaxnreg.inc.sync.aligned.u32 232;\ngriddepcontrol.launch_dependents;\n"
    out, found = codes(row(body), [WORDS, np.zeros_like(WORDS)])
    assert not found
    assert np.array_equal(out[1], WORDS)
