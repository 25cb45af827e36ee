"""multimem alone: every form that the PTX manual has is written as it stands there, and ptxas takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
INTEGERS = {"i32": "s32", "u32": "u32", "i64": "s64", "u64": "u64"}
PAIRS = {"f16": "f16x2", "bf16": "bf16x2"}
SCOPES = {"cta", "cluster", "gpu", "sys"}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_multimem"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def element(kind: str, operation: str) -> str:
    """The PTX type of an operation."""
    if operation in ("and", "or", "xor"):
        return "b" + kind[1:]
    if kind == "i64" and operation == "add":
        return "u64"
    return INTEGERS.get(kind) or PAIRS.get(kind) or kind


def registers(count: int) -> str:
    return "{" + ", ".join("r" * count) + "}" if count > 1 else "r"


def instruction(access: str, order: str, scope: str, rest: str, count: int, kind: str) -> str:
    how = f"{order}.{scope}" if scope else order
    many = f".v{count}" if count > 1 else ""
    return f"multimem.{access}.{how}.global{'.' if rest else ''}{rest}{many}.{kind}"


@pytest.mark.dsl
def test_loads_reduce_every_type_by_what_it_has(given: Any) -> None:
    plan, found = given["loads"]
    want = []
    for kind, operation, count, order, scope, wide in plan:
        rest = operation + (".acc::f32" if wide and operation == "add" and kind in PAIRS else "")
        code = instruction("ld_reduce", order, scope, rest, count, element(kind, operation))
        want.append(f"{code} {registers(count)}, [r];")
    assert found == want
    assert {(o, s) for _, _, _, o, s, _ in plan} == {
        ("weak", ""), *((o, s) for o in ("relaxed", "acquire") for s in SCOPES)
    }  # fmt: skip
    operations: dict[str, set[str]] = {}
    for kind, operation, *_ in plan:
        operations.setdefault(kind, set()).add(operation)
    pairs, whole = {"add", "max", "min"}, {"add", "max", "min", "and", "or", "xor"}
    assert operations == {"f32": {"add"}, **dict.fromkeys(PAIRS, pairs), **dict.fromkeys(INTEGERS, whole)}
    assert {(k, c) for k, _, c, *_ in plan} == {
        *((k, c) for k in ("f32", *PAIRS) for c in (1, 2, 4)), *((k, 1) for k in INTEGERS)
    }  # fmt: skip


@pytest.mark.dsl
def test_stores_and_reductions_take_registers_and_constants(given: Any) -> None:
    plan, found = given["writes"]
    want = []
    for what, kind, operation, count, order, scope, _ in plan:
        stored = "f32" if count > 1 else "b64" if kind.endswith("64") else "b32"
        name = stored if what == "st" else element(kind, operation)
        want.append(f"{instruction(what, order, scope, operation, count, name)} [r], {registers(count)};")
    assert found == want  # that a constant stands in a register is what ptxas asks for
    assert {(w, k, o) for w, k, o, *_ in plan if w == "red"} == {
        *(("red", k, "add") for k in ("f32", *PAIRS)),
        *(("red", k, o) for k in INTEGERS for o in ("add", "max", "min", "and", "or", "xor")),
    }
    strong = {(o, s) for o in ("relaxed", "release") for s in SCOPES}
    assert {(o, s) for w, _, _, _, o, s, _ in plan if w == "st"} == {("weak", ""), *strong}
    assert {(o, s) for w, _, _, _, o, s, _ in plan if w == "red"} == strong


@pytest.mark.dsl
def test_accesses_around_them_are_all_made(given: Any) -> None:
    assert given["kept"] == [2, 4, 2]


@pytest.mark.dsl
def test_what_ptx_has_not_is_refused(given: Any) -> None:
    assert given["refused"] == [
        "multimem.ld_reduce has no max of Float32",
        "multimem.red has no max of BFloat16",
        "multimem.red has no xor of Float16",
        "multimem.red has no exch of Int32",
        "multimem.ld_reduce has no add of Float64",
        "multimem.st is not acquire at scope sys",
        "multimem.ld_reduce is not release at scope sys",
        "multimem.red is not weak at scope none",
        "multimem.ld_reduce is not weak at scope sys",
        "multimem.ld_reduce is not acquire at scope none",
        "multimem.ld_reduce takes no 2 words of u32",
        "multimem.st takes no 8 words of f32",
    ]
