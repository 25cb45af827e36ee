"""The whitelist: what it takes, what it refuses, and that its rows hold together."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.emulator.single.cases import cases
from verify.emulator import ops
from verify.emulator.ops.load import rows
from verify.emulator.ops.rule import parse_pattern, resolve
from verify.emulator.ptx.module import PtxError


@pytest.mark.parametrize(
    "op",
    [
        "add.rn.s32",  # a rounding of integers
        "add.f32.sat",  # the wrong order
        "add.rn.rz.f32",
        "fma.f32",  # the rounding is required
        "mul.s32",  # so is lo, hi or wide
        "cvt.f32.f64",
        "cvt.sat.u32.u8",
        "ld.global.v4.f16",
        "ld.global.L1::no_allocate.ca.u32",
        "st.nc.global.u32",
        "atom.global.add.f16",  # .noftz is required
        "atom.add.v4.s32",
        "shfl.idx.b32",  # without .sync
        "setp.lo.s32",
        "setp.eq.ftz.f64",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32",
        "mov.f16",
        "",
        "add",
        "add.",
        "add.u32.",
    ],
)
def test_what_is_not_in_the_tables_is_refused_by_name(op: str) -> None:
    with pytest.raises(PtxError) as caught:
        ops.find(op)
    assert caught.value.code == "CP7103"
    assert caught.value.message.startswith(op)


def test_arithmetic_has_c_with_its_modifiers() -> None:
    names = {"a": "R_1", "b": "R_2", "c": "R_3"}
    op = ops.find("fma.rz.ftz.sat.f32")
    assert op.signature == ("d:f32", "a:f32", "b:f32", "c:f32")
    assert op.text(names) == "sat32(f32_fma_rz_ftz(R_1, R_2, R_3))"
    assert ops.find("fma.rn.f32").text(names) == "(f32_fma_rn(R_1, R_2, R_3))"


def test_operands_that_are_expressions_keep_their_meaning() -> None:
    assert ops.find("mul.lo.u32").text({"a": "x + 1", "b": "y"}) == "(u32)((u64)(x + 1) * y)"


def test_a_pair_of_predicates_has_a_second_text() -> None:
    op = ops.find("setp.lt.and.s32")
    assert op.signature == ("d|p:pred", "a:s32", "b:s32", "c:pred")
    places = {"a": "R_1", "b": "R_2", "c": "P_3"}
    assert op.text(places) == "(u8)(((s32)R_1 < (s32)R_2) & P_3)"
    assert op.second_text(places) == "(u8)(!((s32)R_1 < (s32)R_2) & P_3)"


def test_vectors_of_mov_have_a_shape() -> None:
    assert ops.find("mov.b64", "unpack2").signature == ("d:v2.b32", "a:b64")
    assert ops.find("mov.b64", "pack4").signature == ("d:b64", "a:v4.b16")
    with pytest.raises(PtxError):
        ops.find("mov.b32", "pack8")


@pytest.mark.parametrize(
    ("op", "by", "fields"),
    [
        (
            "ld.global.nc.L1::no_allocate.L2::128B.v4.f32",
            "ld",
            {"space": "global", "order": "nc", "vec": "v4"},
        ),
        ("ld.volatile.shared.u32", "ld", {"space": "shared", "order": "volatile", "type": "u32"}),
        ("ld.acquire.gpu.global.u64", "ld", {"order": "acquire", "scope": "gpu"}),
        ("ld.param::func.b8", "ld", {"space": "param::func", "type": "b8"}),
        ("st.release.sys.global.u32", "st", {"order": "release", "scope": "sys"}),
        ("atom.add.acq_rel.gpu.global.u32", "atom", {"op": "add", "order": "acq_rel", "scope": "gpu"}),
        ("ld.global.volatile.u32", "ld", {"order": "volatile", "space": "global"}),
        ("vote.ballot.sync.b32", "vote", {"what": "ballot"}),
        ("atom.relaxed.gpu.global.add.u32", "atom", {"op": "add", "order": "relaxed", "type": "u32"}),
        ("red.global.add.noftz.f16x2", "red", {"op": "add", "type": "f16x2"}),
        ("atom.global.add.v4.f32", "atom", {"vec": "v4", "type": "f32"}),
        ("bar.red.popc.u32", "bar", {"what": "popc"}),
        ("fence.acq_rel.gpu", "fence", {"order": "acq_rel", "scope": "gpu"}),
        (
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
            "wgmma",
            {"shape": "m64n128k16", "a": "bf16"},
        ),
        ("cvta.to.shared.u64", "cvta", {"to": "to", "space": "shared"}),
        ("prefetch.global.L2::evict_last", "hint", {}),
    ],
)
def test_handlers_get_the_modifiers_as_fields(op: str, by: str, fields: dict[str, str]) -> None:
    found = ops.find(op)
    assert found.by == by
    assert {name: found.fields[name] for name in fields} == fields


def test_another_order_of_modifiers_is_the_same_opcode() -> None:
    assert ops.find("cvt.sat.rzi.s32.f32") == ops.find("cvt.rzi.sat.s32.f32")
    assert ops.find("add.ftz.rn.f32").name == "add.rn.ftz.f32"
    for op in (
        "cvt.rn.f64.f32",
        "cvt.rzi.f32.s32",
        "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
        "add.sat.sat.s32",
    ):
        with pytest.raises(PtxError):
            ops.find(op)


def test_special_registers() -> None:
    assert ops.special("%tid.x") == "u32"
    assert ops.special("%globaltimer") == "u64"
    with pytest.raises(PtxError) as caught:
        ops.special("%pm0")
    assert caught.value.code == "CP7103"


def test_no_opcode_of_arithmetic_stands_in_two_rows() -> None:
    pure = [row for row in rows() if "c" in row.values]
    keys = Counter((name, row.values.get("shape", "")) for row in pure for name, _ in row.pattern.expand())
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_expansion_matches_its_own_pattern() -> None:
    """Of every 997th opcode of each row: what expand() writes, match() reads, with the same fields."""
    for row in rows():
        for number, (name, fields) in enumerate(row.pattern.expand()):
            if number % 997 == 0:
                matched = row.pattern.match(name)
                assert matched is not None, name
                assert row.pattern.match(name + ".x") is None
                assert set(matched) == set(fields)


def test_texts_use_only_the_operands_of_their_signature() -> None:
    count = 0
    for case in cases("sm_100"):
        places = {slot.place for slot in case.sources} | {"e"}
        places |= {slot.place for slot in case.results} if case.op.statement else set()
        for text in (case.op.c or "", case.op.second or ""):
            assert "<" not in re.sub(r" <=? | << ", "", text), f"{case.key}: an unresolved field in {text}"
            assert set(re.findall(r"\{(\w+)\}", text)) <= places, case.key
        count += 1
    assert count > 4500


def test_alternatives_end_at_a_dot() -> None:
    pattern = parse_pattern("min<r:|.relu><t:.s16|.s16x2>", {})
    assert pattern.match("min.s16x2") == {"r": "", "t": "s16x2"}
    assert pattern.match("min.relu.s16") == {"r": "relu", "t": "s16"}
    assert pattern.match("min.s16y") is None


def test_templates() -> None:
    maps = {"wide": {"u16": "u32"}}
    fields = {"t": "u16", "r": "", "z": "ftz"}
    assert resolve("<t> <t.wide> <r:rn> <z?f> <r?a!b>", fields, maps) == "u16 u32 rn f b"
    with pytest.raises(ValueError, match="unknown field"):
        resolve("<q>", fields, maps)
    with pytest.raises(ValueError, match="lacks"):
        resolve("<z.wide>", fields, maps)
    with pytest.raises(ValueError, match="unknown set"):
        parse_pattern("add<t:@nothing>", {})
