"""Choosing a row and writing its text."""

from __future__ import annotations

import pytest

from tests.mapping.row_kernels import STRUCTS
from translator.mapping.coverage import count, describe, find, load_rules, markdown, nearest
from translator.mapping.resolve import (
    call_name,
    ffi_line,
    helper,
    refusal,
    render,
    render_fields,
    resolve,
    result_type,
)
from translator.mapping.rule import Rule
from translator.model.types import BOOL, F16, F32, F64, I32, I64, U32, VOID, Pointer, Scalar, Type

HALF2 = STRUCTS["half2"]
FULL = 0xFFFFFFFF


def rule(name: str, *types: Type, result: Type = F32, consts: tuple[int | float | None, ...] = ()) -> Rule:
    found = resolve(name, types, result, consts=consts)
    assert found is not None, refusal(name, types, consts=consts)
    return found


def text(name: str, args: list[str | tuple[str, ...]], *types: Type, result: Type = F32, consts=()) -> str:  # type: ignore[no-untyped-def]
    return render(rule(name, *types, result=result, consts=consts), args, types, result, consts)


def test_overloads_by_type() -> None:
    assert text("sqrt", ["x"], F32) == "cute.math.sqrt(x)"
    assert rule("sqrt", F32).id == "math.sqrtf"
    assert rule("sqrt", F64, result=F64).id == "math.sqrt"
    assert rule("__hadd", I32, I32).id == "bits.hadd"
    assert rule("__hadd", F16, F16).id == "half.hadd"
    assert text("max", ["a", "b"], I32, I32, result=I32) == "max(a, b)"


def test_names_with_a_namespace_or_a_builtin_prefix() -> None:
    assert rule("std::sqrt", F32).id == "math.sqrtf"
    assert rule("::fabsf", F32).id == "math.fabsf"
    assert rule("__builtin_fabsf", F32).id == "math.fabsf"
    assert rule("std::max", F32, F32).id == "math.std_max.f32"


def test_shuffle_forms() -> None:
    types = (U32, F32, I32, I32)
    args: list[str | tuple[str, ...]] = ["Uint32(0xFFFFFFFF)", "v", "Int32(16)", "Int32(32)"]
    whole = text("__shfl_xor_sync", args, *types, consts=(FULL, None, 16, 32))
    assert whole == "cute.arch.shuffle_sync_bfly(v, Int32(16))"
    defaulted = text("__shfl_xor_sync", args[:3], *types[:3], consts=(FULL, None, 16))
    assert defaulted == whole
    narrow = text("__shfl_down_sync", ["m", "v", "d", "w"], U32, F32, U32, I32, consts=(None,) * 4)
    assert narrow == "cute.arch.shuffle_sync_down(v, d, mask=m, mask_and_clamp=((32 - w) << 8) | 31)"
    up = text("__shfl_up_sync", ["m", "v", "d", "8"], U32, F32, U32, I32, consts=(FULL, None, None, 8))
    assert up == "cute.arch.shuffle_sync_up(v, d, mask=0xFFFFFFFF, mask_and_clamp=(32 - 8) << 8)"


def test_arguments_are_parenthesised_where_the_text_needs_it() -> None:
    assert text("__float_as_int", ["a + b"], F32, result=I32) == "(a + b).bitcast(Int32)"
    assert text("__float_as_int", ["x[i]"], F32, result=I32) == "x[i].bitcast(Int32)"
    assert text("__float_as_int", ["-x"], F32, result=I32) == "(-x).bitcast(Int32)"
    assert text("__hmul", ["a + b", "c"], F16, F16, result=F16) == "(a + b) * c"
    assert text("fmaf", ["a + b", "c", "d"], F32, F32, F32) == "cute.math.fma(a + b, c, d)"
    assert text("__ldg", ["p + i"], Pointer(F32)) == "(p + i).load(is_invariant=True)"
    assert text("atomicAdd", ["p + i", "v"], Pointer(F32), F32) == "cute.arch.atomic_add(p + i, v)"


def test_types_in_the_text() -> None:
    sub = text("atomicSub", ["p", "v"], Pointer(U32), U32, result=U32)
    assert sub == "cute.arch.atomic_add(p, Uint32(0) - v)"
    vector = text("__ldg", ["p"], Pointer(HALF2), result=HALF2)
    assert vector == "p.load(count=2, alignment=4, is_invariant=True)"


def test_pairs() -> None:
    types = (HALF2, HALF2)
    made = render_fields(rule("__heq2", *types), [("ax", "ay"), ("bx", "by")], types, HALF2)
    assert made == {"x": "Float16(ax == bx)", "y": "Float16(ay == by)"}
    added = text("__hadd2", [("ax", "ay"), ("bx", "by")], *types, result=HALF2)
    assert added == 'pair_op("add", (ax, ay), (bx, by))'
    assert rule("h2exp", HALF2).scalar == "hexp"


def test_libdevice() -> None:
    r = rule("lgammaf", F32)
    assert call_name(r) == "nv_lgammaf"
    assert (
        ffi_line(r)
        == 'nv_lgammaf = cute.ffi(name="__nv_lgammaf", params_types=[Float32], return_type=Float32)'
    )
    assert render(r, ["x"], (F32,), F32) == "Float32(nv_lgammaf(x))"


def test_result_types() -> None:
    assert result_type(rule("isnan", F32), (F32,), I32) == "Boolean"
    assert result_type(rule("__popc", U32), (U32,), I32) == "Int32"
    assert result_type(rule("__ldg", Pointer(I64)), (Pointer(I64),), I64) == "Int64"
    assert result_type(rule("__syncthreads"), (), VOID) == "none"


def test_outs() -> None:
    r = rule("sincosf", F32, Pointer(F32), Pointer(F32))
    assert r.outs == ("s", "c")
    assert rule("frexpf", F32, Pointer(I32)).outs == ("out",)


def test_effects() -> None:
    assert rule("expf", F32).pure
    for name, types in (
        ("__syncthreads", ()),
        ("__ldg", (Pointer(F32),)),
        ("atomicAdd", (Pointer(F32), F32)),
    ):
        assert not rule(name, *types).pure  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "types", "code"),
    [
        ("no_such_builtin", (F32,), "CP2101"),
        ("expf", (I32,), "CP2102"),
        ("atomicMin", (Pointer(F32), F32), "CP2102"),
        ("memcpy", (Pointer(F32), Pointer(F32), Scalar("u64", 64, False)), "CP2103"),
        ("tex2D", (I64, F32, F32), "CP1111"),
        ("cub::BlockReduce", (), "CP1118"),
        ("curand_uniform", (Pointer(I32),), "CP1121"),
        ("malloc", (I64,), "CP1117"),
        ("__shfl_down", (F32, U32), "CP2111"),
    ],
)
def test_refusals(name: str, types: tuple[Type, ...], code: str) -> None:
    assert resolve(name, types, VOID) is None
    assert refusal(name, types).code == code


def test_find_and_nearest() -> None:
    assert {r.group for r in find("__shfl_xor_sync")} == {"warp"}
    assert len(find("__shfl_")) > len(find("__shfl_xor_sync"))
    assert find("no_such_builtin") == []
    assert nearest("__shfl_xr_sync")[0] == "__shfl_xor_sync"
    assert "CP1111" in describe(find("tex2D"))
    assert "T: f16, bf16" in describe(find("__shfl_sync"))


def test_markdown_has_a_row_for_each_rule() -> None:
    table = markdown(load_rules())
    assert table.count("\n| `") == len(load_rules()) == sum(count().values())


def test_helper_sources() -> None:
    made = helper("half_exp")
    assert made.needs == ("ptx_op",)
    assert made.imports == ("import cutlass", "from cutlass import Float16, Float32, Uint16")
    with pytest.raises(KeyError):
        helper("no_such_helper")


def test_bool_is_no_int() -> None:
    assert resolve("__popc", (BOOL,), I32) is None
