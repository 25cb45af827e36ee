"""What a port's functions are given: launch parameters that they take, constants, facts of a case."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from saxpy_target import SPEC, write_target

from verify.portcall import bind, known_when_compiled
from verify.resolve import Resolved, resolve
from verify.spec import Spec
from verify.spec_check import examine
from verify.spec_file import SpecError, parse_spec
from verify.specialise import BindError, specialisations

CONSTANTS = SPEC.replace("[port]", '[port]\nconstants = { dtype = "bf16", exact = true }')
AT = {"x": 4096, "y": 8192}


def case(text: str = SPEC) -> tuple[Spec, Resolved]:
    spec = parse_spec(text)
    return spec, resolve(spec, spec.case[0])


def test_launch_parameters_go_where_the_entry_takes_them() -> None:
    spec, resolved = case()
    seen: list[dict[str, Any]] = []

    def own_grid(n: int, a: float, x: int, y: int, *, stream: int) -> None:
        seen.append({"n": n, "a": a, "x": x, "y": y, "stream": stream})

    def given_block(n: int, a: float, x: int, y: int, *, block: Any, stream: int) -> None:
        seen.append({"block": block, "stream": stream})

    bind(own_grid, spec, resolved, AT, 7)()
    bind(given_block, spec, resolved, AT, 7)()
    assert seen[0] == {
        "n": resolved.scalars["n"],
        "a": resolved.scalars["a"],
        "x": 4096,
        "y": 8192,
        "stream": 7,
    }
    assert seen[1] == {"block": resolved.block, "stream": 7}


def test_a_port_without_a_stream_is_refused() -> None:
    spec, resolved = case()
    with pytest.raises(BindError, match="lacks the parameter stream"):
        bind(lambda n, a, x, y, grid: None, spec, resolved, AT, 7)


def test_constants_are_passed_by_keyword_also_to_renamed_parameters() -> None:
    spec, resolved = case(CONSTANTS)
    seen: list[tuple[Any, ...]] = []

    def renamed(count: int, a: float, x: int, y: int, *, dtype: str, exact: bool, stream: int) -> None:
        seen.append((count, dtype, exact))

    bind(renamed, spec, resolved, AT, 7)()
    assert seen == [(resolved.scalars["n"], "bf16", True)]
    with pytest.raises(BindError, match="no parameter for the constants exact"):
        bind(lambda n, a, x, y, dtype, stream: None, spec, resolved, AT, 7)


def test_what_is_compiled_for_follows_from_the_names_of_parameters() -> None:
    spec = parse_spec(CONSTANTS)
    known = [known_when_compiled(spec, resolve(spec, c)) for c in spec.case]
    counts = [int(resolve(spec, c).scalars["n"]) for c in spec.case]
    assert len(set(counts)) > 1

    def by_block(block: tuple[int, int, int]) -> None: ...

    @functools.cache
    def by_size(dtype: str, n: int, width: int = 0) -> None: ...

    assert specialisations(by_block, known) == [((256, 1, 1),)]
    assert specialisations(by_size, known) == [("bf16", n, 0) for n in dict.fromkeys(counts)]
    with pytest.raises(BindError, match="nothing in the spec says what hidden of compile_it is"):

        def compile_it(hidden: int) -> None: ...

        specialisations(compile_it, known)


@pytest.mark.parametrize(
    ("constants", "told"),
    [
        ("{ stream = 1 }", "'stream' can't name a constant"),
        ('{ "not a name" = 1 }', "'not a name' can't name a constant"),
        ("{ n = 1 }", "constants of the port are arguments too: n"),
    ],
)
def test_constants_that_can_not_be_are_told(constants: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        parse_spec(SPEC.replace("[port]", f"[port]\nconstants = {constants}"))


def test_spec_check_tells_constants_that_the_entry_lacks(tmp_path: Path) -> None:
    target = write_target(tmp_path / "t")
    (target / "spec.toml").write_text(CONSTANTS, encoding="utf-8")
    told = [str(r) for r in examine(target).remarks]
    assert any("has no parameter dtype, exact" in t for t in told), told
