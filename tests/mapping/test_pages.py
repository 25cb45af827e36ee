"""The pages behind the codes: one for each, none left over, all of one shape."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from translator.cli.main import app
from translator.diag.codes import CODES

PAGES = Path(__file__).parents[2] / "translator" / "diag" / "pages"
SECTIONS = ["What it means", "Why it matters on the GPU", "CUDA", "What is emitted", "How to fix"]


# Refusals of kernels that can be ported without a change of their source: inline PTX, goto, device libraries,
# fragments, grid barriers, cuRAND, bit-fields.
BY_HAND = ["CP1110", "CP1113", "CP1118", "CP1119", "CP1120", "CP1121", "CP1124"]


@pytest.mark.parametrize("code", BY_HAND)
def test_a_refusal_that_a_person_or_a_model_can_port_says_how(code: str) -> None:
    fix = (PAGES / f"{code}.md").read_text(encoding="utf-8").partition("## How to fix")[2]
    port: Any = typer.main.get_command(app).commands["port"]  # type: ignore[attr-defined]
    flags = {o for p in port.params for o in p.opts}
    assert re.findall(r"`cuteport port FILE (--\w+)`", fix) == ["--tasks"] and "`--model NAME`" in fix
    assert {"--tasks", "--model"} <= flags


def test_one_page_for_each_code_and_none_left_over() -> None:
    assert {p.stem for p in PAGES.glob("*")} == set(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_page_has_the_shape_of_a_page(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert re.match(rf"# {code}: \S", text)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert all(body.strip() for body in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:])
    assert 10 <= len(text.splitlines()) <= 40
    assert text.count("```") % 2 == 0
