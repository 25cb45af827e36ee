"""The page behind a code: what it means, why it matters on the GPU, what is emitted, how to fix."""

from __future__ import annotations

from importlib.resources import files

from translator.diag.codes import CODES


def page(code: str) -> str | None:
    """The Markdown page of `code` (any case), or None for a code that does not exist.

    A code of the table whose page is missing still says its severity and message.
    """
    code = code.strip().upper()
    for package in ("translator.diag", "verify"):
        found = files(package).joinpath("pages", f"{code}.md")
        if found.is_file():
            return found.read_text(encoding="utf-8")
    known = severity_and_message(code)
    return f"# {code}\n\n{known[0]}: {known[1]}\n" if known else None


def severity_and_message(code: str) -> tuple[str, str] | None:
    """(severity, message template) of a code of the translator's table."""
    row = CODES.get(code)
    return (row.severity, row.message) if row else None


def known_codes() -> list[str]:
    """All codes that have a page or a row, sorted."""
    found = set(CODES)
    for package in ("translator.diag", "verify"):
        folder = files(package).joinpath("pages")
        if folder.is_dir():
            found |= {p.name.removesuffix(".md") for p in folder.iterdir() if p.name.endswith(".md")}
    return sorted(found)
