"""House rules that a tool can hold: sizes and names of files, and documents that agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

from translator.analysis.effort import table as effort_table
from translator.cli.main import app
from translator.diag.codes import CODES
from translator.outcome import (
    EXIT_BUG,
    EXIT_DONE,
    EXIT_ENVIRONMENT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
)
from verify.exits import EXIT_UNREAD

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 500  # "about 400", with room for a table
PACKAGES = ("translator", "verify", "corpus")


def sources() -> list[Path]:
    return sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))


def test_files_do_one_job() -> None:
    # A kernel of the corpus has its blocks in it; what it may have of its own, its style says (CP5003).
    ours = [p for p in sources() if ROOT / "corpus/kernels" not in p.parents]
    long = {str(p.relative_to(ROOT)): n for p in ours if (n := len(p.read_text().splitlines())) > LONGEST}
    assert long == {}
    vague = [p for p in sources() if p.stem in ("utils", "util", "helpers", "common", "misc", "manager")]
    assert vague == []


def test_every_module_says_what_it_is_for() -> None:
    texts = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8").strip() for p in sources()}
    silent = [name for name, text in texts.items() if text and not text.startswith(('"""', "#"))]
    assert silent == []


HEADINGS = ("What it means", "Why it matters on the GPU", "CUDA", "What is emitted", "How to fix")


def test_every_code_has_a_page() -> None:
    pages = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "translator/diag/pages").glob("*.md")}
    assert set(pages) == set(CODES)
    for code, text in pages.items():
        assert text.startswith(f"# {code}"), code
        missing = [h for h in HEADINGS if not re.search(rf"^#+ {h}", text, re.MULTILINE)]
        assert missing == [], code
        assert "verify it yourself" not in text.lower(), code


def test_every_code_is_reported_somewhere() -> None:
    used = [
        p for p in (ROOT / "translator").rglob("*") if p.suffix in (".py", ".toml") and p.name != "codes.py"
    ]
    text = "\n".join(p.read_text(encoding="utf-8") for p in used if p.name != "effort.toml")
    assert [c for c in CODES if c not in text] == []


def test_the_effort_table_names_codes_that_exist() -> None:
    assert set(effort_table()) <= set(CODES)


def test_codes_are_in_their_block_once() -> None:
    text = (ROOT / "translator" / "diag" / "codes.py").read_text(encoding="utf-8")
    written = re.findall(r'^\s+"(CP\d{4})":', text, re.MULTILINE)
    assert len(written) == len(set(written)) == len(CODES)
    assert all(re.fullmatch(r"CP(?:[0-4]\d|5[1-5])\d{2}", c) for c in CODES)


def test_the_readme_names_every_command_and_only_those() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"^```\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
    commands = {c.name for c in app.registered_commands} | {g.name for g in app.registered_groups}
    assert set(re.findall(r"^cuteport (\w+)", shown, re.MULTILINE)) == commands


def test_the_readme_documents_every_exit_code() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    documented = {int(n) for n in re.findall(r"^\| (\d+) \|", readme, re.MULTILINE)}
    exits = {EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_ENVIRONMENT, EXIT_BUG, EXIT_INTERRUPTED}
    assert documented == exits | {EXIT_UNREAD}


def test_documents_name_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:translator|verify|tests|targets|corpus)/[\w./]+)`", text):
            assert "nnnn" in path or (ROOT / path).exists(), f"{name}: {path}"
