"""Nothing malformed gets through, and no text makes the parser slow or fail otherwise than it should."""

from __future__ import annotations

import random
import time

import pytest

from tests.emulator.ptx_sample import HEAD, NVCC, kernel
from verify.emulator.ptx.module import Module, PtxError
from verify.emulator.ptx.parse import parse


def refused(text: str) -> tuple[str, int]:
    with pytest.raises(PtxError) as error:
        parse(text)
    return error.value.code, error.value.line


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "CP7101", 1),
        ("hello\n", "CP7101", 1),
        ("\n.version 6.5\n.target sm_90\n", "CP7102", 2),
        (".version 10.0\n.target sm_90\n", "CP7102", 1),
        (".version 8.8\n.target compute_90\n", "CP7102", 2),
        (".version 8.8\n.target sm_90b\n", "CP7102", 2),
        (".version 8.8\n.address_size 64\n", "CP7101", 2),
        (".version 8.8\n.target sm_90\n.address_size 32\n", "CP7102", 3),
        (HEAD + ".unknown 5;\n", "CP7101", 4),
        (HEAD + "\n}\n", "CP7101", 5),
        (HEAD + ".entry k { ret; }\n.entry k { ret; }", "CP7101", 5),
        (HEAD + ".entry k { ret;\n", "CP7101", 4),
        (HEAD + ".entry k { {\nret; }\n", "CP7101", 5),
        (HEAD + ".entry k;", "CP7101", 4),
        (HEAD + ".entry k .reqntid 0 { ret; }", "CP7101", 4),
        (HEAD + ".entry k .surprise 1 { ret; }", "CP7101", 4),
        (HEAD + ".entry k(.param .b32 a, .param .b32 a) { ret; }", "CP7101", 4),
        (HEAD + ".func f(.reg .b32 a) { ret; }", "CP7103", 4),
        (HEAD + ".global .texref t;", "CP7103", 4),
        (HEAD + ".global .b32 a;\n.global .b32 a;", "CP7101", 5),
        (HEAD + ".global .b32 a[];", "CP7101", 4),
        (HEAD + ".global .b32 a[-1];", "CP7101", 4),
        (HEAD + ".global .align 3 .b32 a;", "CP7101", 4),
        (HEAD + ".global .x32 a;", "CP7101", 4),
        (HEAD + ".global .b8 a = 256;", "CP7101", 4),
        (HEAD + ".global .b8 a[2] = {1,2,3};", "CP7101", 4),
        (HEAD + ".global .b8 a[2][2] = {1,2};", "CP7101", 4),
        (HEAD + ".global .f32 a = 1;", "CP7101", 4),
        (HEAD + ".global .b8 a[4] = {0xFF(a), 0xFF00(a), 0xFF0000(a), 0xFF000000(a)};", "CP7101", 4),
        (HEAD + ".shared .b32 a = 1;", "CP7101", 4),
        (HEAD + ".global .u64 a = nothing;", "CP7101", 4),
        (HEAD + ".global .b8 a[999999999999] = {1};", "CP7101", 4),
        (HEAD + ".alias f, g;", "CP7101", 4),
        (HEAD + "/* no end\n", "CP7101", 4),
        (HEAD + '.file 1 "no end\n', "CP7101", 4),
    ],
)
def test_malformed_modules(text: str, code: str, line: int) -> None:
    assert refused(text) == (code, line)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("add.s32 %r1, %r2, %r9;", "CP7101"),  # of nine registers
        ("add.s32 %r1, %r2, %r01;", "CP7101"),
        ("add.s32 %r1, nothing, 1;", "CP7101"),
        ("add.s32 %r1, , 1;", "CP7101"),
        ("add.s32 %r1, %r2,;", "CP7101"),
        ("add.s32;", "CP7101"),
        ("add.s32 %r1, %r2, 1", "CP7101"),
        ("add.s32 %r1, %r2 %r3;", "CP7101"),
        ("add.s32 %r1, %r2, 08;", "CP7101"),
        ("add.s32 %r1, %r2, 0x10000000000000000;", "CP7101"),
        ("add.s32 %r1, %r2, 1<<64;", "CP7101"),
        ("add.s32 %r1, %r2, (1;", "CP7101"),
        ("add.s32 %r1, %r2, 1);", "CP7101"),
        ("add.s32 %r1, %r2, !%r3;", "CP7101"),
        ("add.s32 %r1, %r2, %r3+1;", "CP7101"),
        ("add.s32 %r1, %r2, %r3.b0;", "CP7103"),
        ("ld.b32 %r1, [%rd1;", "CP7101"),
        ("ld.b32 %r1, [];", "CP7101"),
        ("ld.b32 %r1, [%rd1+%rd2];", "CP7101"),
        ("ld.b32 %r1, [%rd1, {%r1}, {%r2}];", "CP7103"),
        ("ld.v2.b32 {%r1, %r2, [%rd1];", "CP7101"),
        ("ld.v2.b32 {}, [%rd1];", "CP7101"),
        ("mov.b32 %r1, 1|%p2|3;", "CP7101"),
        ("@%r1 bra L; L:", "CP7101"),
        ("bra L;", "CP7101"),
        ("bra L; { L: }", "CP7101"),
        ("L: L:", "CP7101"),
        (".reg .b32 %r3;", "CP7101"),
        (".reg .b32 %r<3>;", "CP7101"),
        (".reg .b32 x1<3>, x<11>;", "CP7101"),
        (".reg .b32 x<11>, x1<3>;", "CP7101"),
        (".reg .b32 %<3>;", "CP7101"),
        (".reg .b32 x2, x<3>;", "CP7101"),
        (".reg .b32 x<3>, x2;", "CP7101"),
        ("{" * 200, "CP7101"),
        (".reg .b32 x, x;", "CP7101"),
        (".reg .b99 x;", "CP7101"),
        (".reg .v4 .b32 x;", "CP7103"),
        (".loc 1 2", "CP7101"),
        ('.pragma "x"', "CP7101"),
        (".surprise;", "CP7101"),
        ("call nobody;", "CP7101"),
        ("call %rd1, (%r1);", "CP7101"),
        ("call %rd1, (%r1), nobody;", "CP7101"),
        ("T: .branchtargets nobody;", "CP7101"),
        ("T: .branchtargets ;", "CP7101"),
        (";", "CP7101"),
        ("\x00", "CP7101"),
        ("add.s32 %r1, %r2, \u0661;", "CP7101"),
    ],
)
def test_malformed_bodies(text: str, code: str) -> None:
    with pytest.raises(PtxError) as error:
        kernel(text)
    assert error.value.code == code
    assert error.value.line in (5, 6)  # 6: the brace after a statement without an end


# --- fuzz and speed -----------------------------------------------------------------------------------------


def parsed(text: str) -> Module | None:
    """The module, or None where the text is refused as it should be."""
    try:
        return parse(text)
    except PtxError as error:
        assert error.code in ("CP7101", "CP7102", "CP7103")
        assert 1 <= error.line <= text.count("\n") + 1
        return None


def test_no_truncated_text_passes() -> None:
    body_end = NVCC.index("\n}\n") + 2
    for end in range(body_end):
        module = parsed(NVCC[:end])
        assert module is None or not module.entries


def test_random_damage_is_refused_or_parsed() -> None:
    rng = random.Random(20240607)
    pieces = [
        *'{}()[];,.:%"/*\n @!|<>=-+0x_$1\0é',
        "/*",
        "//",
        "{{",
        ".loc 1 2",
        ".reg .b32 %r<5>;",
        "9" * 5000,
    ]
    outcomes = []
    for _ in range(1500):
        text = NVCC
        for _ in range(rng.choice((1, 1, 2, 8))):
            at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
            end = min(end, at + rng.choice((0, 0, 1, 1, 30)))
            text = text[:at] + rng.choice(["", rng.choice(pieces), text[end : end + 20]]) + text[end:]
        outcomes.append(parsed(text) is None)
    assert 300 < sum(outcomes) < 1500  # both happen


@pytest.mark.parametrize(
    "text",
    [
        "{" * 20000,
        ".entry k {" + "{" * 20000,
        ".entry k { mov.b32 " + "(" * 20000 + ";}",
        ".entry k { mov.b32 1" + "+1" * 20000 + ";}",
        ".entry k { add" + " " * 50000 + "{" * 100 + "}",
        ".entry k { add" + ".x" * 50000,
        ".entry k { add {" + "}{" * 50000,
        ".global .b8 x" + "[1]" * 5000 + " = " + "{" * 5000 + ";",
        ".entry k { .reg .b32 %r<999999999>; ret; }",
        ".entry k { .reg .b32 r;" + "{ mov.b32 r, r;" * 20000,
        ".entry k {" + "".join(f".reg .b32 a{i}b<3>, c{i}d3;" for i in range(5000)) + "ret; }",
        ".entry k { mov.b32 r" + "1" * 100000 + ", 2; }",
        ".global .u64 x = {y" + " " * 100000 + "z};",
        ".entry k (" + "(" * 50000,
        "/*" * 50000,
        ".entry " + "k" * 100000,
    ],
)
def test_pathological_text_takes_no_time(text: str) -> None:
    start = time.process_time()
    parsed(HEAD + text)
    assert time.process_time() - start < 1.0


def test_a_megabyte_takes_about_a_second() -> None:
    lines = [
        f"\t.loc\t1 {i} 3\n\tfma.rn.f32 \t%f{i}, %f{i - 1}, %f1, 0f3F80{i % 9999:04d};\n"
        f"\t@%p1 ld.global.v2.f32 \t{{%f1, %f{i}}}, [%rd1+{4 * i}];\n$L{i}:\n"
        for i in range(1, 9500)
    ]
    registers = ".reg .f32 %f<10000>;.reg .b64 %rd<2>;.reg .pred %p<2>;"
    text = f"{HEAD}.entry k {{{registers}\n{''.join(lines)}ret;}}"
    assert len(text) > 1_000_000
    start = time.process_time()
    assert len(parse(text).functions["k"].body) == 3 * 9499 + 1
    assert time.process_time() - start < 3.0
