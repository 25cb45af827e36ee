"""memory_order alone: every operation with every type, messages between blocks, what the compiler keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verify.compile import child_env

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f32": "f4"}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tests.corpus.block_kernels_order"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", tmp_path_factory.mktemp("dump")), "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def rank(x: Any) -> Any:
    """Where values stand among all of their type; of floats by sign, then magnitude, NaN beyond infinity."""
    if x.dtype.kind != "f":
        return x
    magnitude = (x.view("u4") & 0x7FFFFFFF).astype(np.int64)
    return np.where(np.signbit(x), -1 - magnitude, magnitude)


def after(what: str, old: Any, value: Any, expected: Any) -> Any:
    """What memory must hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        match what:
            case "load":
                return old
            case "store" | "exch":
                return value
            case "add":
                return old + value
            case "max":
                return np.where(rank(old) < rank(value), value, old)
            case "min":
                return np.where(rank(old) > rank(value), value, old)
            case "cas":
                bits = f"u{old.itemsize}"
                return np.where(old.view(bits) == expected.view(bits), value, old)
            case _:
                return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[what](old, value)


def same(got: Any, want: Any) -> bool:
    """Equal bits, any NaN for a NaN that was computed."""
    bits = f"u{got.itemsize}"
    equal = got.view(bits) == want.view(bits)
    return bool(np.all(equal | (np.isnan(got) & np.isnan(want)) if got.dtype.kind == "f" else equal))


@pytest.mark.dsl
def test_every_operation_changes_memory_and_tells_what_was_there(given: Any) -> None:
    met = set()
    for name, (plan, x, memory, back) in given["once"].items():
        kind = np.dtype(KINDS[name])
        x, memory, back = (np.array(a, f"u{kind.itemsize}").view(kind) for a in (x, memory, back))
        for k, (what, order, scope, shared) in enumerate(plan):
            old, value, expected = x[k]
            where = f"{name} {what} {order} {scope} {shared}"
            assert same(memory[k], after(what.removeprefix("red "), old, value, expected)), where
            if what != "store" and not what.startswith("red "):
                assert same(back[k], old), where
            met.add((what.partition(" ")[0], order, scope))
    assert {m[2] for m in met} == {"cta", "cluster", "gpu", "sys"}
    assert {m[1] for m in met if m[0] == "add"} == {"relaxed", "acquire", "release", "acq_rel"}
    assert {m[:2] for m in met if m[0] in ("load", "store", "red")} == {
        (w, o) for w, last in (("load", "acquire"), ("store", "release"), ("red", "release"))
        for o in ("relaxed", last)
    }  # fmt: skip


@pytest.mark.dsl
def test_threads_of_two_blocks_lose_nothing(given: Any) -> None:
    for name, (whats, x, cells) in given["all"].items():
        x, got = np.array(x, KINDS[name]), np.array(cells, KINDS[name])
        for k, what in enumerate(whats):
            want = x[0, :1]
            for value in x.ravel():
                want = after(what, want, np.array([value]), want)
            assert np.array_equal(got[k], [want[0]] * 2), (name, what)


@pytest.mark.dsl
def test_a_message_is_seen_by_whoever_acquires_it(given: Any) -> None:
    want = [[100 * step + 31 - thread for thread in range(32)] for step in (1, 2)]
    assert {by: given["message"][by] for by in ("block", "reduction", "fence")} == dict.fromkeys(
        ("block", "reduction", "fence"), want
    )
    assert given["message"]["nothing"] == "CP8012"  # a relaxed store tells, but hands nothing on


@pytest.mark.dsl
def test_accesses_around_an_ordered_one_are_all_made(given: Any) -> None:
    assert given["kept"]["False"] == [2, 3]
    # Why the block is PTX. Once the DSL keeps them too, cute.arch.load and store can be used.
    assert given["kept"]["True"] == [1, 2]
