"""compile_cache: what a key depends on, and launches from memory, from disk, and from where neither works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpus.inline import BLOCKS
from verify.compile import child_env
from verify.static import check_static
from verify.verdict import Status

ROOT = Path(__file__).resolve().parents[2]


def started(dump: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tests.corpus.compile_cache_run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **child_env("sm_90a", dump), "PYTHONPATH": str(ROOT), **more},
    )


def told(process: subprocess.Popen[str]) -> Any:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error[-3000:]
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    dump, folder = tmp_path_factory.mktemp("dump"), tmp_path_factory.mktemp("cache") / "own"
    # Another order of sets and dictionaries in each, as in every process.
    both = [started(dump, "cold", str(folder), PYTHONHASHSEED=seed) for seed in ("1", "2")]
    found: dict[str, Any] = {"cold": [told(p) for p in both]}
    found["files"] = sorted(p.name for p in folder.iterdir())
    found["mode"] = folder.stat().st_mode & 0o777
    found["warm"] = told(started(dump, "warm", str(folder)))
    found["keys"] = [cold.pop() for cold in found["cold"]]
    return found


@pytest.mark.dsl
def test_threads_and_processes_that_ask_at_once_get_one_launch(given: Any) -> None:
    for got, threaded, again, counts in given["cold"]:
        assert got == [36] * 8 and again == [46, 46]
        assert threaded["memory"] == 7 and threaded.get("compiled", 0) + threaded.get("disk", 0) == 1
        assert counts["memory"] == 8 and counts.get("compiled", 0) + counts.get("disk", 0) == 2
        assert "damaged" not in counts
    assert sum(c[3].get("compiled", 0) for c in given["cold"]) == sum(
        c[3].get("stored", 0) for c in given["cold"]
    )
    assert len({name.split(".")[0] for name in given["files"]}) == 2
    assert all(name.endswith(".o") for name in given["files"])
    assert given["mode"] == 0o700


@pytest.mark.dsl
def test_another_process_loads_what_was_stored(given: Any) -> None:
    assert given["warm"]["loaded"] == [36, 46, {"disk": 2}]


@pytest.mark.dsl
def test_damaged_files_are_compiled_again_and_replaced(given: Any) -> None:
    first, second, counts = given["warm"]["damaged"]
    assert (first, second) == (36, 46)
    assert counts["compiled"] == counts["stored"] == 2 and counts["damaged"] >= 2
    assert given["warm"]["mended"] == [36, 46, {"disk": 2}]


@pytest.mark.dsl
def test_where_nothing_can_be_stored_or_trusted_memory_is_left(given: Any) -> None:
    assert given["warm"]["open"] == [36, {"compiled": 1}]
    assert given["warm"]["no folder"] == given["warm"]["none"] == [36, 36, {"compiled": 1, "memory": 1}]
    assert given["warm"]["wrong"] == [True, True, {}]  # fails twice, and leaves nothing
    assert given["warm"]["left"] == ["file"]


@pytest.mark.dsl
def test_a_key_tells_everything_apart_and_is_the_same_in_every_process(given: Any) -> None:
    first, second = ({k: v for k, v in keys.items() if k != "refused"} for keys in given["keys"])
    assert first == second
    assert first.pop("again") == first["base"]  # addresses and values of numbers do not matter
    assert len(set(first.values())) == len(first) == 23
    assert given["keys"][0]["refused"] == [True] * 6


def test_a_port_may_not_contain_it(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_bytes((BLOCKS / "compile_cache.py").read_bytes())
    assert check_static(tmp_path, "kernel.py", "compiled_once").status is Status.REJECTED_STATIC
