"""The pages behind the codes: one for each, none left over, all of one shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from translator.diag.codes import CODES

PAGES = Path(__file__).parents[2] / "translator" / "diag" / "pages"
SECTIONS = ["What it means", "Why it matters on the GPU", "CUDA", "What is emitted", "How to fix"]


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
