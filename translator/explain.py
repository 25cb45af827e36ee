"""The page behind a code, of the translator, the verifier or the corpus: what it means and how to fix it."""

from __future__ import annotations

from importlib.resources import files

from corpus.codes import CODES as CORPUS_CODES
from translator.diag.codes import CODES
from verify.codes import CODES as VERIFY_CODES

_PACKAGES = ("translator.diag", "verify", "corpus")


def page(code: str) -> str | None:
    """The Markdown page of `code` (any case), or None for a code that does not exist.

    A code of a table whose page is missing still says its message.
    """
    code = code.strip().upper()
    for package in _PACKAGES:
        found = files(package).joinpath("pages", f"{code}.md")
        if found.is_file():
            return found.read_text(encoding="utf-8")
    if code in CODES:
        return f"# {code}\n\n{CODES[code].severity}: {CODES[code].message}\n"
    others = {**VERIFY_CODES, **CORPUS_CODES}
    return f"# {code}\n\n{others[code]}\n" if code in others else None


def summary() -> str:
    """One line per code: what it says, and how grave it is where that does not depend on the case."""
    lines = [f"{code}  {row.severity:<7}  {row.message}" for code, row in CODES.items()]
    lines += [f"{code}           {meaning}" for code, meaning in {**VERIFY_CODES, **CORPUS_CODES}.items()]
    return "\n".join(sorted(lines))
