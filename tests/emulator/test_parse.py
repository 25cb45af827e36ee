"""PTX to data: what each part of the language becomes."""

from __future__ import annotations

import pytest

from tests.emulator.ptx_sample import HEAD, NVCC, kernel
from verify.emulator.ptx.module import (
    Addr,
    Call,
    Function,
    Imm,
    Instr,
    Label,
    Loc,
    Operand,
    Pair,
    Reg,
    Reloc,
    Special,
    Sym,
    Var,
    Vec,
)
from verify.emulator.ptx.parse import parse


def only(body: str, before: str = "") -> Instr:
    """The only instruction of a body."""
    (line,) = kernel(body, before).body
    assert isinstance(line, Instr)
    return line


def instructions(function: Function) -> list[Instr]:
    return [line for line in function.body if isinstance(line, Instr)]


def variable(text: str) -> Var:
    return parse(HEAD + ".global .b32 sym;\n" + text).variables[-1]


# --- whole modules ------------------------------------------------------------------------------------------


def test_module_of_nvcc() -> None:
    module = parse(NVCC)
    assert (module.version, module.target, module.address_size) == ((8, 8), "sm_90a", 64)
    assert module.files == {1: "/src/a // b.cu", 2: "/src/c.h"}
    assert module.entries == ("_Z1kPfi",)
    assert module.variables == (
        Var("$str", "global", "b8", 4, 1, init=b"%d\n", dims=(4,)),
        Var("buf", "shared", "b8", 0, 16, dynamic=True, extern=True, dims=(0,)),
    )
    printf = module.functions["vprintf"]
    assert not printf.defined and not printf.entry
    assert [p.name for p in printf.params] == ["vprintf_param_0", "vprintf_param_1"]
    assert printf.returns == (Var("func_retval0", "param", "b32", 4, 4),)


def test_kernel_of_nvcc() -> None:
    function = parse(NVCC).functions["_Z1kPfi"]
    assert function.entry and function.defined and function.ptx_line == 19
    assert function.params[1] == Var("_Z1kPfi_param_1", "param", "b8", 24, 8, dims=(24,))
    assert (function.reqntid, function.maxntid, function.cluster) == (None, (256, 1, 1), None)
    assert function.variables[0] == Var("__local_depot0", "local", "b8", 8, 8, dims=(8,))
    assert instructions(function)[-2] == Instr(
        "st.global.v2.f32",
        (Addr(Reg("%rd1"), -8), Vec((Reg("%f1"), Reg("%f2")))),
        None,
        Loc(2, 7),
        68,
        "st.global.v2.f32 [%rd1+-8], {%f1, %f2}",
    )


def test_places() -> None:
    lines = NVCC.split("\n")
    found = instructions(parse(NVCC).functions["_Z1kPfi"])
    for instruction in found:
        assert instruction.op in lines[instruction.ptx_line - 1]
    assert [(i.op, i.loc) for i in found[:5]] == [
        ("mov.u64", Loc(1, 18)),
        ("ld.param.u64", Loc(1, 18)),
        ("mov.u32", Loc(1, 20)),
        ("setp.lt.s32", Loc(1, 20)),
        ("bra", Loc(1, 20)),
    ]
    assert found[5].loc == Loc(2, 7)  # not the place that it was inlined at


def test_scopes_keep_names_apart() -> None:
    function = parse(NVCC).functions["_Z1kPfi"]
    found = instructions(function)
    outer, inner = found[2].operands[0], found[6].operands[0]
    assert outer == Reg("%r1") and isinstance(inner, Reg) and inner != outer
    assert function.regs[inner.name] == "b32" and function.regs["%r1"] == "b32"
    predicate = found[5].operands[0]
    assert (
        isinstance(predicate, Pair) and predicate.second is None and predicate.first == found[6].operands[3]
    )
    labels = [line.name for line in function.body if isinstance(line, Label)]
    assert len(set(labels)) == len(labels) == 2
    assert found[7].operands == (Sym(labels[0]),) and found[7].guard == predicate.first
    assert found[4].operands == (Sym("$L__BB0_2"),) and labels[1] == "$L__BB0_2"
    assert found[4].guard == Reg("%p1", negated=True)
    stored = [i.operands[0] for i in found if i.op == "st.param.b64"]
    assert len({v.name for v in function.variables}) == len(function.variables) == 4
    assert stored[0] != stored[1]
    (call,) = (line for line in function.body if isinstance(line, Call))
    assert call.target == Sym("vprintf") and call.uniform and not call.prototype
    assert [Addr(argument) for argument in call.arguments if isinstance(argument, Sym)] == [stored[0]] * 2
    loaded = next(i for i in found if i.op == "ld.param.b32")
    assert loaded.operands[1] == Addr(Sym(call.returns[0]))
    assert call.text == "call.uni (retval0), vprintf, ( param0, param0 )"


def test_module_of_the_dsl() -> None:
    module = parse(
        HEAD
        + """
// __static_shmem__0 has been demoted
.visible .entry kernel_0(
	.param .u64 .ptr .global .align 1 kernel_0_param_0,
	.param .align 64 .b8 kernel_0_param_1[128]
)
.reqntid 256, 2
.explicitcluster
.reqnctapercluster 2, 1, 1
{
	.reg .b32 	%r<3>;
	.shared .align 1024 .b8 __static_shmem__0[32];
	mov.b32 	%r1, __static_shmem__0;
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
	[%r1], [kernel_0_param_1, {%r1, 8}], [%r1+16];
	ret;
}
\0"""
    )
    function = module.functions["kernel_0"]
    assert function.params[0] == Var("kernel_0_param_0", "param", "u64", 8, 8)
    assert (function.reqntid, function.cluster) == ((256, 2, 1), (2, 1, 1))
    assert function.variables == (Var("__static_shmem__0", "shared", "b8", 32, 1024, dims=(32,)),)
    load = instructions(function)[1]
    assert load.op == ("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes")
    assert load.operands[1] == Addr(Sym("kernel_0_param_1"), coords=(Reg("%r1"), Imm(8)))


def test_ranges_that_look_alike() -> None:
    function = kernel(".reg .b32 x<10>; .reg .b64 x1<3>; .reg .b16 x13; mov.b32 x1, x12; mov.b32 x13, x9;")
    assert function.regs == {"x13": "b16", "x1": "b32", "x12": "b64", "x9": "b32"}


def test_registers_that_nothing_mentions_are_left_out() -> None:
    assert kernel("mov.b32 %r8, %r0;").regs == {"%r8": "b32", "%r0": "b32"}


# --- functions, calls, tables -------------------------------------------------------------------------------

DEVICE = ".visible .func (.param .b32 r) f(.param .b32 x) { ret; }"


@pytest.mark.parametrize(
    ("text", "returns", "arguments", "uniform"),
    [
        ("call f;", (), (), False),
        ("call.uni f, (%r1, 3);", (), (Reg("%r1"), Imm(3)), True),
        ("call (q), f, (q);", ("q",), (Sym("q"),), False),
        ("call (q), f;", ("q",), (), False),
    ],
)
def test_calls(text: str, returns: tuple[str, ...], arguments: tuple[Operand, ...], uniform: bool) -> None:
    (call,) = kernel(f".param .b32 q; {text}", DEVICE).body
    assert isinstance(call, Call)
    assert (call.target, call.returns, call.arguments, call.uniform) == (
        Sym("f"),
        returns,
        arguments,
        uniform,
    )


def test_indirect_call() -> None:
    function = kernel(
        "prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _)\n;\n"
        "{ .param .b32 q; @%p1 call (q), %rd1, (q), prototype_0; }"
    )
    (call,) = function.body
    assert isinstance(call, Call)
    assert call.target == Reg("%rd1") and call.guard == Reg("%p1") and call.prototype == "prototype_0"
    assert function.prototypes == {"prototype_0": "(.param .b32 _) _ (.param .b32 _)"}


def test_branch_table() -> None:
    function = kernel("$T: .branchtargets A, B;\nbrx.idx %r1, $T;\nA: B: ret;")
    assert function.tables == {"$T": ("A", "B")}
    assert instructions(function)[0].operands == (Reg("%r1"), Sym("$T"))
    assert [line.name for line in function.body if isinstance(line, Label)] == ["A", "B"]


def test_prototype_then_definition_and_alias() -> None:
    module = parse(
        HEAD
        + ".func f\n(.param .b32 x) .noreturn;\n.visible .func g;\n"
        + ".weak .func f(.param .b32 x) { trap; }\n.func f(.param .b32 x);\n.alias g, f;\n"
    )
    assert module.functions["f"].defined and module.functions["f"].ptx_line == 7
    assert module.functions["g"].name == "g" and module.functions["g"].body == module.functions["f"].body


def test_functions_may_call_themselves() -> None:
    assert parse(HEAD + ".func f { call f; }").functions["f"].body[0].target == Sym("f")  # type: ignore[union-attr]


# --- variables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".global .u32 v;", Var("v", "global", "u32", 4, 4)),
        (".visible .const .align 16 .f32 v[3][4];", Var("v", "const", "f32", 48, 16, dims=(3, 4))),
        (".shared .v4 .f32 v[2];", Var("v", "shared", "f32", 32, 16, dims=(2, 4))),
        (".extern .const .b8 v[];", Var("v", "const", "b8", 0, 1, dynamic=True, extern=True, dims=(0,))),
        (".global .attribute(.managed) .b64 v;", Var("v", "global", "b64", 8, 8)),
        (".shared .b8 v[4*8+1];", Var("v", "shared", "b8", 33, 1, dims=(33,))),
    ],
)
def test_variables(text: str, expected: Var) -> None:
    assert variable(text) == expected


def test_global_variables_of_a_function_are_the_module_s_own() -> None:
    own = "{ .reg .b64 %rd<2>; { .global .align 4 .u32 v; mov.u64 %rd1, v; } ret; }"
    module = parse(HEAD + f".global .u32 v;\n.func f {own}\n.func g {own}\n")
    names = [v.name for v in module.variables]
    assert len(set(names)) == 3 and names[0] == "v"
    used = [next(i for i in instructions(module.functions[f]) if i.op == "mov.u64") for f in "fg"]
    assert [i.operands[1] for i in used] == [Sym(names[1]), Sym(names[2])]


@pytest.mark.parametrize(
    ("text", "size", "data"),
    [
        (".b8 v[4] = {1, -1, 0xfe, 017}", 4, b"\x01\xff\xfe\x0f"),
        (".b16 v[] = {1, 2}", 4, b"\x01\0\x02\0"),
        (".s32 v = -2", 4, b"\xfe\xff\xff\xff"),
        (".f32 v = 0f3F800000", 4, b"\0\0\x80\x3f"),
        (".f32 v[2] = {1.5, 0dC000000000000000}", 8, b"\0\0\xc0\x3f\0\0\0\xc0"),
        (".f64 v = 0f3F800000", 8, b"\0\0\0\0\0\0\xf0\x3f"),
        (".b32 v = 0f3F800000", 4, b"\0\0\x80\x3f"),
        (".u8 v[2][3] = {{1}, {2, 3}}", 6, b"\x01\0\0\x02\x03"),
        (".u64 v[9] = {}", 72, b""),
    ],
)
def test_initial_values(text: str, size: int, data: bytes) -> None:
    found = variable(f".global {text};")
    assert (found.size, found.init) == (size, data)


def test_initial_addresses() -> None:
    found = variable(".global .u64 v[4] = {sym, generic(sym)+8, 7, sym-4};")
    assert found.init == bytes(16) + b"\x07" + bytes(15)
    assert found.relocs == (Reloc(0, "sym"), Reloc(8, "sym", 8, True), Reloc(24, "sym", -4))
    assert variable(".global .u32 v = sym;").relocs == (Reloc(0, "sym", size=4),)


def test_address_of_masked_bytes() -> None:
    whole = ", ".join(f"0xFF{'00' * i}(generic(sym)+8)" for i in range(8))
    found = variable(f".global .align 8 .b8 v[10] = {{1, {whole}}};")
    assert found.init == b"\x01" + bytes(8) and found.relocs == (Reloc(1, "sym", 8, True),)


def test_declaration_lists() -> None:
    assert [v.name for v in parse(HEAD + ".global .u32 x, y[2];").variables] == ["x", "y"]


# --- operands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%r1", Reg("%r1")),
        ("!%p1", Reg("%p1", negated=True)),
        ("12", Imm(12)),
        ("-12", Imm(-12)),
        ("0x1fU", Imm(31)),
        ("0b101", Imm(5)),
        ("017", Imm(15)),
        ("0", Imm(0)),
        ("0xFFFFFFFFFFFFFFFF", Imm(2**64 - 1)),
        ("0f3F800000", Imm(0x3F800000, "f32")),
        ("0dBFF0000000000000", Imm(0xBFF0000000000000, "f64")),
        ("-1.5e0", Imm(0xBFF8000000000000, "f64")),
        ("4*(2+1)-1", Imm(11)),
        ("-WARP_SZ", Imm(-32)),
        ("1<<4|3", Imm(19)),
        ("~5", Imm(-6)),
        ("%tid.x", Special("%tid.x")),
        ("%clock64", Special("%clock64")),
        ("%envreg3", Special("%envreg3")),
        ("WARP_SZ", Special("WARP_SZ")),
        ("g", Sym("g")),
        ("g+8", Sym("g", 8)),
        ("g-8", Sym("g", -8)),
        ("[%rd1]", Addr(Reg("%rd1"))),
        ("[ %rd1 + 0x10 ]", Addr(Reg("%rd1"), 16)),
        ("[%rd1+-8]", Addr(Reg("%rd1"), -8)),
        ("[%rd1+4*8]", Addr(Reg("%rd1"), 32)),
        ("[g+4+4]", Addr(Sym("g"), 8)),
        ("[a]", Addr(Sym("a"))),
        ("[16]", Addr(None, 16)),
        ("[g, {%r1,%r2}]", Addr(Sym("g"), 0, (Reg("%r1"), Reg("%r2")))),
        ("[%rd1, {0}]", Addr(Reg("%rd1"), 0, (Imm(0),))),
        ("{%r1, _, 3}", Vec((Reg("%r1"), None, Imm(3)))),
        ("%p1|%p2", Pair(Reg("%p1"), Reg("%p2"))),
        ("_|%p2", Pair(None, Reg("%p2"))),
        ("%r1 | _", Pair(Reg("%r1"), None)),
        ("_", None),
    ],
)
def test_operands(text: str, expected: Operand | None) -> None:
    assert only(f"op.b32 %r0, {text};", ".global .b32 g;").operands == (Reg("%r0"), expected)


def test_white_space_in_an_opcode() -> None:
    found = only("@ ! %p1 cvt .rn\n.f32.s32\t%f1,%r1;")
    assert (found.op, found.guard, found.text) == (
        "cvt.rn.f32.s32",
        Reg("%p1", negated=True),
        "@ ! %p1 cvt .rn .f32.s32 %f1,%r1",
    )


def test_declarations_hide_outer_ones_from_then_on() -> None:
    function = kernel(
        "mov.b32 %r1, 0;\n{ mov.b32 %r1, 1; .reg .b32 %r<2>; mov.b32 %r1, 2; }\nmov.b32 %r1, 3;"
    )
    first, second, third, fourth = (i.operands[0] for i in instructions(function))
    assert first == second == fourth == Reg("%r1") and third != first
