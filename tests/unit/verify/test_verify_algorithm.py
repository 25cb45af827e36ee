"""How the code of two sides is counted and compared: small PTX texts, each rule of the table, the words."""

from __future__ import annotations

import pytest

from verify.__main__ import _tell_algorithm
from verify.algorithm import AlgorithmDiff, in_lines
from verify.algorithm_rows import difference
from verify.counts import CountFacts, LaunchSize, SideCounts, counts_of
from verify.disassembly import find_nvdisasm, machine_code_mix, read_sass
from verify.facts import CompileFacts, KernelResources
from verify.instructions import CodeFacts, opcodes, read_code
from verify.terminal import Shown
from verify.verdict import Status, Verdict

PTX = """
.version 9.0
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.visible .entry k( // ld.global.f32 in a comment
	.param .u64 k_param_0,
	.param .f32 k_param_1
)
.maxntid 256
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.loc	1 4 0
	ld.param.u64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
$L__BB0_1: /* st.global.f32 here too */
	@%p1 bra 	$L__BB0_2;
	ld.global.nc.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	ld.global.b64 	%rd2, [%rd1+16];
	ld.f32 	%f9, [%rd1];
	st.shared.f32 	[%r1], %f1;
	bar.sync 	0;
	@!%p2 ld.shared.v2.b32 	{%r2, %r3}, [%r1];
	bar.warp.sync 	-1;
	{ cvt.rn.f16x2.f32 %r4, %f6, %f5; }
	{.reg .f16 low,high;
	mov.b32 {low,high},%r4;
	cvt.f32.f16 %f7, low;}
	fma.rn.f32 	%f8, %f1, %f2, %f3;
	div.rn.f32 	%f8, %f8, %f1;
	ex2.approx.ftz.f32 	%f8, %f8;
	add.rn.f64 	%fd1, %fd2, %fd3;
	add.s32 	%r5, %r4, 1;
	shfl.sync.bfly.b32 	%r6|%p1, %r5, 16, 31, -1;
	atom.shared.add.u32 	%r7, [%r1], 1;
	red.global.add.f32 	[%rd1], %f8;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2};
	cp.async.ca.shared.global 	[%r1], [%rd1], 16;
	call.uni (retval0),
	helper,
	(param0);
	st.global.v2.f64 	[%rd1], {%fd1, %fd2};
	st.local.u32 	[%rd3], %r1;
$L__BB0_2: ret;
}
"""


def test_a_text_is_counted_by_kind() -> None:
    found = read_code(PTX)
    assert found == CodeFacts(
        instructions=27,
        classes=found.classes,
        loads={"global 64": 1, "global 128": 1, "shared 64": 1, "generic 32": 1},
        stores={"global 128": 1, "shared 32": 1, "local 32": 1},
        atomics={"global add f32": 1, "shared add b32": 1},
        barriers=1,
        shuffles=1,
        arithmetic={"f32": 3, "f64": 1},
        rounded={"div": 1},
        approximate={"ex2": 1},
        narrowed={"f32 to f16": 1},
        matrix={"f32 f16 f16 f32": 1},
        asynchronous=1,
        dynamic_shared=True,
    )
    assert sum(found.classes.values()) == 27
    assert found.classes["memory"] == 9  # with the parameter and the asynchronous copy


def test_opcodes_keep_their_modifiers_and_comments_count_nothing() -> None:
    found = opcodes(PTX)
    assert found["ld.global.nc.v4.f32"] == 1
    assert found["bra"] == 1
    assert found["call.uni"] == 1
    assert "ld.global.f32" not in found
    assert "low" not in found


# ---- the table

PLAIN = "ld.global.f32 %f1, [%rd1];\nfma.rn.f32 %f1, %f1, %f1, %f1;\nst.global.f32 [%rd1], %f1;\n"


def facts(ptx: str = PLAIN, **kernel: int) -> CompileFacts:
    return CompileFacts(
        arch="sm_90a",
        compile_seconds=0,
        ptx_bytes=1,
        ptx_sha256="",
        cubin_bytes=1,
        cubin_sha256="",
        kernels=[KernelResources.model_validate({"name": "k", "registers": 20, **kernel})],
        code=read_code(ptx),
    )


def told(diff: AlgorithmDiff) -> dict[str, str]:
    return {r.key: r.telling for r in diff.telling}


def test_the_same_code_tells_nothing() -> None:
    diff = difference(facts(), facts())
    assert told(diff) == {}
    assert diff.words == "the same algorithm, as far as the compiled code tells"
    assert {r.judgement for r in diff.rows} == {"same"}
    assert in_lines(diff) == []


SHARED = PLAIN + "st.shared.f32 [%r1], %f1;\nbar.sync 0;\nld.shared.f32 %f1, [%r1];\n"
WIDE = PLAIN.replace("ld.global.f32 %f1,", "ld.global.v4.f32 {%f1,%f2,%f3,%f4},")
ATOMIC = PLAIN + "atom.global.add.f32 %f2, [%rd1], %f1;\n"
DOUBLE = PLAIN.replace(".f32", ".f64")
HALF = PLAIN + "cvt.rn.f16.f32 %rs1, %f1;\nadd.rn.f16 %rs1, %rs1, %rs1;\n"
MMA = PLAIN + "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};\n"
MMA_HALF = MMA.replace("tf32", "f16")


@pytest.mark.parametrize(
    ("original", "port", "keys"),
    [
        (WIDE, PLAIN, {"load_width"}),
        (PLAIN, WIDE, set()),
        (PLAIN.replace("st.global.f32", "st.global.v2.f32"), PLAIN, {"store_width"}),
        (SHARED.replace("ld.shared.f32", "ld.shared.v4.f32"), SHARED, set()),  # the assembler joins them
        (SHARED, PLAIN, {"barriers"}),
        (PLAIN, SHARED, {"barriers"}),
        (ATOMIC, PLAIN, {"atomics"}),
        (PLAIN, ATOMIC, {"atomics"}),
        (ATOMIC, ATOMIC.replace("atom.global", "atom.shared"), {"atomics"}),
        (ATOMIC, ATOMIC.replace("atom.global.add.f32 %f2,", "red.global.add.f32"), set()),
        (DOUBLE, PLAIN, {"arithmetic_f64", "load_width", "store_width"}),
        (PLAIN, DOUBLE, {"arithmetic_f64", "arithmetic_f32"}),
        (PLAIN, HALF, {"arithmetic_f16", "narrowed"}),
        (HALF, PLAIN, set()),
        (MMA, PLAIN, {"matrix"}),
        (PLAIN, MMA, {"matrix"}),
        (MMA, MMA_HALF, {"matrix"}),
        (PLAIN + "div.rn.f32 %f1, %f1, %f2;", PLAIN + "div.full.f32 %f1, %f1, %f2;", {"rounding_div"}),
        (PLAIN + "sqrt.rn.f32 %f1, %f1;", PLAIN + "sqrt.approx.ftz.f32 %f1, %f1;", {"rounding_sqrt"}),
        (PLAIN + "div.full.f32 %f1, %f1, %f2;", PLAIN + "div.rn.f32 %f1, %f1, %f2;", set()),
        (PLAIN, PLAIN + "st.local.u32 [%rd3], %r1;", {"local"}),
        (PLAIN + "shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1;", PLAIN, {"shuffles"}),
        (PLAIN + "cp.async.cg.shared.global [%r1], [%rd1], 16;", PLAIN, {"asynchronous"}),
        (PLAIN + "ld.const.f32 %f1, [c];", PLAIN, {"constant_loads"}),
    ],
)
def test_a_difference_that_means_something_is_told(original: str, port: str, keys: set[str]) -> None:
    assert set(told(difference(facts(original), facts(port)))) == keys


def test_resources() -> None:
    assert told(difference(facts(static_shared_bytes=4096), facts())) == {
        "shared": "shared memory lost: the original keeps data in it"
    }
    assert set(told(difference(facts(), facts(spill_bytes=16)))) == {"spills"}
    assert told(difference(facts(registers=60), facts(registers=128))) == {
        "registers": "2.1x of the original's registers"
    }
    assert told(difference(facts(registers=20), facts(registers=64))) == {}
    assert told(difference(facts(registers=100), facts(registers=128))) == {}


def test_dynamic_shared_memory_is_shared_memory() -> None:
    dynamic = ".extern .shared .align 16 .b8 buffer[];\n" + PLAIN
    diff = difference(facts(dynamic), facts(static_shared_bytes=1024))
    (row,) = [r for r in diff.rows if r.key == "shared"]
    assert (row.original, row.port, row.judgement, row.telling) == ("dynamic", 1024, "differs", "")
    assert set(told(difference(facts(dynamic), facts()))) == {"shared"}


def side(launches: int = 1, **more: object) -> SideCounts:
    rows = [[4, 1, 1, 256, 1, 1, 0]] * launches
    found = counts_of(
        {"ld.global.f32": 100, "add.f32": 100, "bar.sync": 64, "atom.global.add.f32": 10},
        {"x": (400, 0)},
        rows,
    )
    return found.model_copy(update=more)


def executed(port: SideCounts) -> AlgorithmDiff:
    return difference(facts(), facts(), CountFacts(case="typical", original=side(), port=port))


def test_what_was_executed() -> None:
    assert told(executed(side())) == {}
    assert executed(side()).case == "typical"
    assert told(executed(side(barriers=32))) == {"executed_barriers": "arrivals at barriers: 64 → 32"}
    assert told(executed(side(traffic_bytes=800))) == {"traffic": "2.0x of the original's bytes moved"}
    assert set(told(executed(side(loads={"32": 120})))) == {"executed_loads"}
    assert set(told(executed(side(instructions=500)))) == {"executed_instructions"}
    assert told(executed(side(launches=2))) == {"launches": "launches: 1 → 2"}
    small = [LaunchSize(grid=(4, 1, 1), block=(128, 1, 1))]
    assert told(executed(side().model_copy(update={"launches": small}))) == {
        "block": "block: 256x1x1 → 128x1x1"
    }


def test_without_counts_nothing_executed_is_claimed() -> None:
    sources = {r.source for r in difference(facts(), facts()).rows}
    assert sources == {"cubin", "ptx"}
    old = facts().model_copy(update={"code": None})  # recorded before there were counts
    diff = difference(old, facts(WIDE))
    assert told(diff) == {}
    assert {r.judgement for r in diff.rows if r.source == "ptx"} == {"unknown"}


def test_the_table_is_compact() -> None:
    diff = difference(facts(WIDE, static_shared_bytes=4096), facts(registers=24))
    assert diff.words == (
        "2 telling differences: shared memory lost: the original keeps data in it; "
        "narrower loads: 32 bits at a time at most, the original's are 128"
    )
    assert in_lines(diff) == [
        "algorithm             original  port",
        "static shared memory      4096  none  shared memory lost: the original keeps data in it",
        "widest global load         128    32  "
        "narrower loads: 32 bits at a time at most, the original's are 128",
    ]
    whole = in_lines(diff, whole=True)
    assert whole[1] == "registers                          20    24"
    assert len(whole) == 1 + len(diff.rows)


class Heard(Shown):
    def __init__(self, brief: bool) -> None:
        self.brief = brief
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.parametrize(
    ("original", "brief", "whole", "lines"),
    [
        (PLAIN, False, False, 0),
        (PLAIN, True, False, 0),
        (WIDE, False, False, 2),  # the head and a row
        (WIDE, True, False, 1),
        (PLAIN, False, True, 8),
        (PLAIN, True, True, 9),
    ],
)
def test_the_terminal_tells_what_is_telling_and_the_rest_if_asked(
    original: str, brief: bool, whole: bool, lines: int
) -> None:
    diff = difference(facts(original), facts(PLAIN))
    verdict = Verdict(
        target="targets/t", kernel="k", status=Status.NOT_RUN, proven="", stages=[], algorithm=diff
    )
    heard = Heard(brief)
    _tell_algorithm(verdict, heard, whole)
    assert len(heard.lines) == lines, heard.lines
    if brief and lines:
        assert heard.lines[0] == f"t: {diff.words}"


# ---- machine code

SASS = """
	.section	.text.k,"ax",@progbits
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R8, SR_CTAID.X ;
        /*0020*/               @P0 EXIT ;
        /*0030*/                   IMAD.WIDE R8, R8, 0x4, RZ ;
        /*0040*/                   LDG.E.128.CONSTANT R4, desc[UR4][R8.64] ;
        /*0050*/                   LDG.E R6, desc[UR4][R8.64] ;
        /*0060*/                   LDG.E.U8 R7, desc[UR4][R8.64] ;
        /*0070*/                   STS.64 [R1], R6 ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/             @!UP0 FFMA R4, R4, R5, R6 ;
        /*00a0*/                   DADD R4, R4, R6 ;
        /*00b0*/                   MUFU.EX2 R4, R4 ;
        /*00c0*/                   F2I.S8.NTZ R4, R4 ;
        /*00d0*/                   SHFL.BFLY PT, R4, R4, 0x1, 0x1f ;
        /*00e0*/                   REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R4 ;
        /*00f0*/                   HMMA.1688.F32.TF32 R4, R4, R6, R4 ;
        /*0100*/                   BRA `(.L_x_1) ;
        /*0110*/                   NOP;
"""


def test_machine_instructions_by_class() -> None:
    assert read_sass(SASS) == {
        "LDG 128": 1,
        "LDG 32": 1,
        "LDG 8": 1,
        "STS 64": 1,
        "control": 2,
        "convert": 1,
        "float": 2,
        "instructions": 17,
        "integer": 1,
        "matrix": 1,
        "memory": 5,
        "move": 2,
        "special": 1,
        "sync": 1,
        "warp": 1,
    }


def test_machine_code_is_compared_where_both_sides_have_it() -> None:
    old, new = ({"instructions": 20, "float": 8, f"LDS {bits}": 4} for bits in (128, 32))
    with_mix = [facts().model_copy(update={"machine": mix}) for mix in (old, new)]
    diff = difference(*with_mix)
    assert told(diff) == {
        "machine_LDS": "narrower loads of shared memory: 32 bits at a time at most, the original's are 128"
    }
    rows = {r.key: (r.original, r.port, r.source) for r in diff.rows if r.source == "sass"}
    assert rows["machine_LDS"] == ("4 of 128 bits", "4 of 32 bits", "sass")
    assert rows["machine_float"] == (8, 8, "sass")
    assert {r.judgement for r in difference(with_mix[0], facts()).rows if r.source == "sass"} == {"unknown"}


@pytest.mark.skipif(find_nvdisasm() is None, reason="no nvdisasm")
def test_what_is_no_cubin_has_no_mix() -> None:
    assert machine_code_mix(b"no cubin") == {}
