"""The table of pitfalls: what it holds, what a source meets, and that its snippets are true of the DSL."""

from __future__ import annotations

import ast
import re
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.unit.prompts.pitfall_kernels import HEAD, compiled, kernel, load, together
from translator.prompts.pitfalls import all_pitfalls, pitfalls_for
from verify.static import offences

ROWS: list[dict[str, Any]] = tomllib.loads(
    files("translator.prompts").joinpath("pitfalls.toml").read_text(encoding="utf-8")
)["pitfall"]
KEYS = {"id", "when", "port", "text", "silent", "wrong", "right", "trap", "ptx", "no_ptx"}
ALWAYS = {"typed-pointer", "declare-before-branch", "one-type-per-name", "strict-store"}


def ids(cuda: str, port: str = "") -> set[str]:
    return {p.id for p in pitfalls_for(cuda, port)} - ALWAYS


def test_rows_are_well_formed() -> None:
    assert len({r["id"] for r in ROWS}) == len(ROWS) == len(all_pitfalls())
    for row in ROWS:
        assert set(row) <= KEYS, row["id"]
        assert len(row["text"]) <= 260, row["id"]
        assert "right" in row or not {"wrong", "ptx", "no_ptx"} & set(row), row["id"]
        assert "wrong" in row or "trap" not in row, row["id"]
    assert {r["id"] for r in ROWS if "when" not in r} == ALWAYS


@pytest.mark.parametrize(
    ("cuda", "met"),
    [
        ("if (i >= n) return;", {"early-return"}),
        ("for (int i = 0; i < n; i++) { if (a[i]) break; }", {"break", "loop-variable-changed"}),
        ("for (int i = t; i < n; i += 32) {}", {"loop-step", "loop-variable-changed"}),
        ("for (int i = n - 1; i >= 0; i--) {}", {"count-down", "loop-variable-changed"}),
        ("if (i < n && a[i] > 0) x = 1;", {"eager-and-or"}),
        ("v += __shfl_xor_sync(m, v, 4);", {"shuffle-arguments", "levels-of-sync", "barrier-in-branch"}),
        ("extern __shared__ float s[];", {"dynamic-shared", "shared-memory"}),
        ("atomicMax(&m, v);", {"atomics", "min-max"} - {"min-max"}),
        ("x = y * 0.5;", {"double-literals"}),
        ("x = y * 0.5f;", set()),
        ("__nv_bfloat16 b = p[i];", {"half-math"}),
        ("q = a / b % c;", {"integer-division", "integer-remainder"}),
        ("unsigned u = v >> 3;", {"shift-type", "unsigned-index"}),
        ("float4 v = p[i];", {"vector-access", "alignment-lost"}),
        ("x = cub::BlockReduce<float, 256>();", {"libraries"}),
    ],
)
def test_a_source_meets_what_its_text_shows(cuda: str, met: set[str]) -> None:
    assert ids(cuda) == met


def test_comments_and_strings_are_no_code() -> None:
    assert ids('// if (x) break; atomicAdd\n/* __shfl_sync % */ f("a / b && c");') == set()


def test_a_port_shows_more() -> None:
    assert ids("", "cute.arch.block_dim()") == {"block-dim"}
    assert ids("", "cute.make_layout((4, 8))") == {"column-major"}


def test_a_hostile_source_is_read_in_time() -> None:
    """Linear in its length: a pattern that goes back over it all would take hours."""
    start = time.monotonic()
    for part in ("for(", "for(;", "(<", "{", "while (a ", "/*", '"', "__shfl(,", "1.1.", "reinterpret_cast<"):
        pitfalls_for(part * (30_000 // len(part)))
    assert time.monotonic() - start < 20


def test_what_is_called_right_is_what_a_port_may_contain() -> None:
    text = HEAD + "".join(kernel(r["id"].replace("-", "_"), r["right"]) for r in ROWS if "right" in r)
    assert offences(ast.parse(text), "no_entry") == []


@pytest.mark.dsl
def test_what_is_called_right_compiles_to_what_it_means(tmp_path: Path) -> None:
    rows = [(r["id"].replace("-", "_"), r) for r in ROWS if "right" in r]
    text = "".join(kernel(name, row["right"]) for name, row in rows)
    module = load(tmp_path / "right.py", text + together("all_of_them", [name for name, _ in rows]))
    parts = by_kernel(compiled(module.all_of_them))
    for name, row in rows:
        assert name in parts
        assert [p for p in row.get("ptx", ()) if not re.search(p, parts[name])] == [], name
        assert [p for p in row.get("no_ptx", ()) if re.search(p, parts[name])] == [], name


@pytest.mark.dsl
def test_what_is_called_wrong_still_is(tmp_path: Path) -> None:
    """A trap that a later DSL has closed is to be taken out of the table."""
    rows = [(r["id"].replace("-", "_"), r) for r in ROWS if "wrong" in r]
    silent = [(name, row) for name, row in rows if row.get("silent")]
    text = "".join(kernel(name, row["wrong"]) for name, row in silent)
    module = load(tmp_path / "silent.py", text + together("all_of_them", [name for name, _ in silent]))
    parts = by_kernel(compiled(module.all_of_them))
    for name, row in silent:
        assert re.search(row.get("trap", ""), parts[name]), name
    for name, row in rows:
        if not row.get("silent"):
            module = load(tmp_path / f"{name}.py", kernel(name, row["wrong"]))
            with pytest.raises(Exception, match=row["trap"]):
                compiled(getattr(module, f"{name}_launch"))


def by_kernel(ptx: str) -> dict[str, str]:
    """Kernel of `pitfall_kernels` → its PTX, behind what the module declares."""
    head, *parts = re.split(r"(?=\.visible \.entry)", ptx)
    names = [re.search(r"kernel_cutlass_(\w+?)_kernel_", part) for part in parts]
    return {m[1]: head + part for m, part in zip(names, parts, strict=True) if m}
