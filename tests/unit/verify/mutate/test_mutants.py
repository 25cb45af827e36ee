"""Mutants of small ports: what is changed, what is left alone, and that nothing else of the text moves."""

from __future__ import annotations

import ast
import time
from collections import Counter
from pathlib import Path

import pytest

from verify.mutate.generate import Mutant, diff, mutants, sample

ROOT = Path(__file__).resolve().parents[4]
PORTS = sorted((ROOT / "targets").glob("*/port.py"))

HEAD = """import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32

WIDTH = 32


"""


def kernel(*lines: str, args: str = "x: cutlass.Pointer[Float32, gmem], n: Int32") -> str:
    body = "\n".join("    " + line for line in lines)
    return f"{HEAD}@cute.kernel\ndef k({args}):\n{body}\n"


def changed(source: str, kind: str | None = None) -> list[str]:
    """The changed line of each mutant, without its indent."""
    found = [m for m in mutants(source, "k") if kind is None or m.kind == kind]
    return [m.source.splitlines()[m.line - 1].strip() for m in found]


CASES = [
    ("barrier", ["cute.arch.sync_threads()"], ["pass"]),
    ("barrier", ["pipeline.consumer_wait(state)"], ["pass"]),
    ("barrier", ["cute.arch.cp_async_wait_group(0)"], ["pass"]),
    ("store", ["x[n] = y"], ["pass"]),
    ("store", ["cute.arch.atomic_add(x + n, v)"], ["pass"]),
    ("compare", ["while a < n:", "    a = f(a)"], ["while a <= n:"]),
    ("bound", ["while a < n:", "    a = f(a)"], ["while a < n - 1:"]),
    ("bound", ["while a >= 5:", "    a = f(a)"], ["while a >= 4:"]),
    ("compare", ["b = (a) == (  # why <\n    n)"], ["b = (a) != (  # why <"]),
    ("compare", ["b = 0 <= a < n"], ["b = 0 < a < n", "b = 0 <= a <= n"]),
    ("compare", ["b = v if v > w else w"], []),  # where they are equal, both give the same
    ("compare", ["b = v if v > w else u"], ["b = v if v >= w else u"]),
    ("compare", ["if v > top:", "    top = v"], []),
    ("bound", ["b = n if a > n else a"], ["b = n if a > (n + 1) else a"]),
    ("bound", ["b = f(n - 1)", "if a > n - 1:", "    g()"], []),  # constants
    ("constant", ["b = z if a > n - 1 else a"], ["b = z if a > n - 0 else a"]),  # the other one is >=
    ("guard", ["if a < n:", "    f(a)"], ["if True:"]),
    ("tail", ["if a < n:", "    f(a)"], ["if False:"]),
    ("guard", ["b = a and n and f(a)"], ["b = n and f(a)", "b = a and f(a)", "b = a and n"]),
    ("guard", ["b = u if a < n else v"], ["b = u if True else v"]),
    ("tail", ["b = a or n"], ["b = n", "b = a"]),
    ("constant", ["b = f(7)"], ["b = f(6)", "b = f(8)"]),
    ("constant", ["b = f(WIDTH)"], ["b = f(WIDTH + 1)", "b = f(WIDTH - 1)"]),
    ("constant", ["b = f(0.5)"], ["b = f(0.0)", "b = f(1.5)"]),
    ("constant", ["b = f(-3.4028235e38)"], ["b = f(-0.0)"]),
    ("constant", ["b = f(True)"], ["b = f(False)"]),
    ("constant", ["WIDTH = g()", "b = f(WIDTH)"], []),  # a name of its own
    ("mask", ["b = n & 31"], ["b = n & 30", "b = n & 0xf"]),
    ("mask", ["f(mask=0xFF)"], ["f(mask=0x7f)", "f(mask=254)"]),
    ("stride", ["b = n * 4"], ["b = n * 3", "b = n * 5"]),
    ("stride", ["b = n * n"], ["b = n * (n + 1)"]),
    ("stride", ["s = Array(p, shape=(8, 3))"], ["s = Array(p, shape=(8, 2))", "s = Array(p, shape=(8, 4))"]),
    ("stride", ["s = Array(Float32, (4, 5))"], ["s = Array(Float32, (4, 4))"]),  # its room grows with it
    ("room", ["p = cute.arch.alloc_smem(Float32, 64, 16)"], ["p = cute.arch.alloc_smem(Float32, 63, 16)"]),
    ("init", ["acc = Float32(0.0)", "acc = acc + n"], ["acc = Float32(1.0)"]),
    ("init", ["o = Int32(16)", "o = o >> 1"], ["o = Int32(15)", "o = Int32(8)"]),
    ("shuffle", ["v = shuffle_sync_up(v, o)"], ["v = shuffle_sync_down(v, o)"]),
    ("shuffle", ["v = shuffle_sync_idx(v, 2)"], ["v = shuffle_sync_idx(v, 1)", "v = shuffle_sync_idx(v, 3)"]),
    ("operator", ["b = (a + n) * n"], ["b = (a + n) + n", "b = (a * n) * n", "b = (a - n) * n"]),
    ("operator", ["b = a - n + c"], ["b = (a + n) + c", "b = (a - n) * c", "b = (a - n) - c"]),
    ("operator", ["b = x + n"], ["b = x - n"]),  # a pointer times a number is none
    ("operator", ["b = a + 0"], []),  # constants
    ("operator", ["a -= n"], ["a += n"]),
    ("operator", ["b = not a"], ["b = a"]),
    ("sign", ["b = -n"], ["b = n"]),
    ("minmax", ["b = cute.arch.fmax(a, n)"], ["b = cute.arch.fmin(a, n)"]),
    ("swap", ["b = a - n"], ["b = n - a"]),
    ("swap", ["b = s[a, n]"], ["b = s[n, a]"]),
    ("swap", ["i = n", "b = i * n + i"], []),
    ("swap", ["i, j, k = cute.arch.thread_idx()", "b = i * n + j"], ["b = j * n + i"]),
    ("swap", ["b = idiv(a, n)"], ["b = idiv(n, a)"]),
    ("swap", ["b = idiv(a, Int32(4))"], []),
    ("axis", ["i, j, _ = cute.arch.thread_idx()"], ["j, i, _ = cute.arch.thread_idx()"]),
    ("axis", ["_, j, _ = cute.arch.block_idx()"], ["j, _, _ = cute.arch.block_idx()"]),
    ("step", ["while i < n:", "    i = i + b"], ["i = i + (b + 1)"]),
    ("step", ["while i < n:", "    i = i + 4"], ["i = i + 3", "i = i + 5"]),
    ("step", ["for i in range(0, n, 2, unroll=4):", "    f()"], ["for i in range(0, n, 1, unroll=4):", "for i in range(0, n, 3, unroll=4):"]),  # noqa: E501
    ("bound", ["for i in range(n):", "    f()"], ["for i in range(n + 1):", "for i in range(n - 1):"]),
    ("atomic", ["cute.arch.atomic_add(x + n, v)"], ["(x + n)[0] = (x + n)[0] + v"]),
    ("atomic", ["old = cute.arch.atomic_or(p, v)"], ["old = p[0]; p[0] = old | v"]),
    ("narrow", ["b = x[n] * x[n]"], ["b = cutlass.Float32(cutlass.Float16(x[n] * x[n]))"]),
    ("narrow", ["b = Float32(1.0)", "c = n + 1"], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "lines", "wanted"), CASES, ids=lambda v: v[0] if isinstance(v, list) and v else str(v)
)
def test_what_a_kind_does(kind: str, lines: list[str], wanted: list[str]) -> None:
    assert sorted(set(changed(kernel(*lines), kind))) == sorted(set(wanted))


LEFT_ALONE = [
    '"""Adds 1 to 2."""',
    "x = load_vector(p, 4, 16)",
    "p = q.load(count=4, alignment=16)",
    "s = cutlass.Array(p, shape=64, dtype=Float32)",
    "p: cutlass.Pointer[Float32, 3] = q",
    "if f(a):\n        pass",
]


@pytest.mark.parametrize("line", LEFT_ALONE)
def test_what_changes_no_value_is_left_alone(line: str) -> None:
    assert changed(kernel(line)) == []


def test_only_device_code_of_the_entry_is_changed() -> None:
    source = HEAD + (
        "@cute.jit\ndef used(a):\n    return a + 2\n\n"
        "@cute.jit\ndef unused(a):\n    return a + 3\n\n"
        "def host_helper(a):\n    return a + 4\n\n"
        "@cute.kernel\ndef other_kernel():\n    used(5)\n\n"
        "@cute.kernel\ndef my_kernel():\n    host_helper(used(6))\n\n"
        "@cute.jit\ndef my_launch(block):\n    my_kernel().launch(grid=(7, 1, 1), block=block)\n\n"
        "def compile_my(block):\n    return cute.compile(my_launch, block, 8)\n\n"
        "def my(n):\n    compile_my((9, 1, 1))(n)\n"
    )
    lines = source.splitlines()
    assert {lines[m.line - 1].strip() for m in mutants(source, "my")} == {
        "return a + 2",
        "host_helper(used(6))",
    }
    both = {"return a + 2", "host_helper(used(6))", "used(5)"}
    assert {lines[m.line - 1].strip() for m in mutants(source, "absent")} == both


def test_the_text_is_kept_but_for_the_edit() -> None:
    source = kernel("é = 'ü'; b = n*2  # ×2, kept", "c   =  (b", "   +  n)", "", "# the end")
    for m in mutants(source, "k"):
        old, new = source.splitlines(), m.source.splitlines()
        assert next(k for k, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b) == m.line
        assert "# ×2, kept" in m.source and "# the end" in m.source
    assert "    é = 'ü'; b = n*3  # ×2, kept" in [m.source.splitlines()[9] for m in mutants(source, "k")]


def test_windows_line_ends_and_tabs_are_kept() -> None:
    source = kernel("b = n * 2", "c = b + n").replace("\n", "\r\n").replace("    ", "\t")
    for m in mutants(source, "k"):
        assert m.source.count("\r\n") == source.count("\r\n") and m.source.count("\t") == source.count("\t")
        ast.parse(m.source)


def test_a_port_that_does_not_parse_is_an_error() -> None:
    with pytest.raises(SyntaxError):
        mutants("def f(:", "f")


@pytest.mark.parametrize("port", PORTS, ids=lambda p: p.parent.name)
def test_every_mutant_of_a_target_is_python_and_another_program(port: Path) -> None:
    source = port.read_text(encoding="utf-8")
    entry = port.parent.name.partition("__")[2]
    times = []
    for _ in range(3):  # the least: a collection of another test's garbage is not the mutator's
        start = time.process_time()
        every = mutants(source, entry)
        times.append(time.process_time() - start)
    assert min(times) < 0.5  # 0.01 to 0.05 s on a quiet machine
    assert len(every) >= 20
    assert len({m.id for m in every}) == len(every)
    programs = {ast.dump(ast.parse(m.source)) for m in every}
    assert len(programs) == len(every)
    assert ast.dump(ast.parse(source)) not in programs
    assert every == mutants(source, entry)


def test_each_barrier_of_the_targets_is_deleted_once() -> None:
    for port in PORTS:
        source = port.read_text(encoding="utf-8")
        kinds = Counter(m.kind for m in mutants(source, port.parent.name.partition("__")[2]))
        assert kinds["barrier"] == source.count("cute.arch.sync_threads()")


def numbered(kinds: str) -> list[Mutant]:
    return [Mutant(f"{kind}-{k}", kind, k, "", "") for k, kind in enumerate(kinds)]


def test_a_sample_hears_rare_kinds_and_keeps_the_order() -> None:
    every = numbered("aaaaaaaaaabaaaaaaaaaacaaaa")
    chosen = sample(every, 6, seed=3)
    assert Counter(m.kind for m in chosen) == {"a": 4, "b": 1, "c": 1}
    assert [m.line for m in chosen] == sorted(m.line for m in chosen)
    assert chosen == sample(every, 6, seed=3)
    assert any(sample(every, 6, seed=s) != chosen for s in range(4, 9))
    assert sample(every, 100) == every


def test_a_small_sample_is_not_always_of_the_same_kinds() -> None:
    every = numbered("abcdefgh")
    assert {m.kind for s in range(40) for m in sample(every, 2, seed=s)} == set("abcdefgh")


def test_a_diff_names_the_mutant_and_shows_one_line() -> None:
    source = kernel("b = n * n", "c = b")
    mutant = next(m for m in mutants(source, "k") if m.kind == "stride")
    lines = diff(source, mutant).splitlines()
    assert lines[:2] == ["--- port.py", "+++ port.py (stride-10-1)"]
    assert [line for line in lines[3:] if line[0] in "+-"] == ["-    b = n * n", "+    b = n * (n + 1)"]
