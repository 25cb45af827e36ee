"""What agents can read by address: pages, proven kernels, tables, schemas, and what the tools wrote."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from translator.mcp.roots import RefusedError, Roots
from translator.mcp.skill import addressed

SCHEME = "cuteport://"
SKILL = f"{SCHEME}skill/"
_MOST = 1_000_000  # bytes of a file of the run folder


@dataclass(frozen=True, slots=True)
class Page:
    """One address, or a template of addresses."""

    uri: str
    name: str
    text: str
    mime: str = "text/markdown"


_SKILL = {
    "SKILL.md": "How a port is made and proven, and what must not be done.",
    "verdicts.md": "What each status and stage means, and what to do.",
    "by-hand.md": "From a refused kernel to a proven port.",
}
TEMPLATES = (
    Page(f"{SCHEME}explain/{{code}}", "explain", "What a diagnostic code means and how to fix it."),
    Page(f"{SCHEME}corpus/{{family}}/{{id}}", "corpus", "A proven kernel: notes, kernel and CUDA twin."),
    Page(f"{SCHEME}schema/{{name}}", "schema", "The JSON schema of a document.", "application/json"),
    Page(f"{SCHEME}run/{{+path}}", "run", "A file that a tool wrote into the run folder.", "text/plain"),
)


def pages() -> list[Page]:
    """Everything that is listed: fixed pages, and the proven entries of the corpus."""
    from corpus.catalog import load, retrievable

    fixed = [
        Page(f"{SCHEME}style", "style", "How a kernel of the corpus is written."),
        Page(f"{SCHEME}map", "map", "How CUDA builtins are written in CuTe DSL: the whole table."),
        Page(f"{SCHEME}explain", "codes", "All diagnostic codes, a line each.", "text/plain"),
    ]
    fixed += [Page(f"{SKILL}{name}", name, text) for name, text in _SKILL.items()]
    entries = [
        Page(f"{SCHEME}corpus/{i.entry.family}/{i.entry.id}", i.entry.id, i.entry.summary)
        for i in retrievable(load()[0])
    ]
    return fixed + entries


def read(uri: str, roots: Roots) -> tuple[str, str]:
    """(text, MIME type) of an address. RefusedError CP5511 where there is none."""
    for pattern, mime, made in _READERS:
        found = re.fullmatch(re.escape(SCHEME) + pattern, uri)
        if found is not None and (text := made(roots, *found.groups())) is not None:
            return text, mime
    raise RefusedError("CP5511", uri=uri)


def _style(roots: Roots) -> str:
    return files("corpus").joinpath("STYLE.md").read_text(encoding="utf-8")


def _map(roots: Roots) -> str:
    from translator.mapping.coverage import load_rules, markdown

    return markdown(list(load_rules()))


def _skill(roots: Roots, name: str) -> str | None:
    return addressed(SKILL).get(name)


def _codes(roots: Roots) -> str:
    from translator.explain import summary

    return summary()


def _page(roots: Roots, code: str) -> str | None:
    from translator.explain import page

    return page(code)


def _entry(roots: Roots, family: str, id_: str) -> str | None:
    from corpus.catalog import KERNEL, NOTES, TWIN, load, retrievable

    for item in retrievable(load()[0]):
        if (item.entry.family, item.entry.id) == (family, id_):
            return "\n\n".join(
                (
                    f"# {family}/{id_}: {item.entry.summary}",
                    item.text(NOTES).strip(),
                    f"## Kernel\n\n```python\n{item.text(KERNEL).strip()}\n```",
                    f"## The CUDA that it stands for\n\n```cuda\n{item.text(TWIN).strip()}\n```\n",
                )
            )
    return None


def _schema(roots: Roots, name: str) -> str | None:
    from translator.documents import NAMES, schema_of

    return schema_of(name) if name in NAMES else None


def _file(roots: Roots, path: str) -> str | None:
    place = (roots.run / path).resolve()
    if not place.is_relative_to(roots.run) or not stat.S_ISREG(place.stat().st_mode):
        return None
    with place.open("rb") as stream:
        data = stream.read(_MOST + 1)
    return None if len(data) > _MOST else data.decode("utf-8", "replace")


_READERS: tuple[tuple[str, str, Callable[..., str | None]], ...] = (
    ("style", "text/markdown", _style),
    ("map", "text/markdown", _map),
    (r"skill/([\w-]+\.md)", "text/markdown", _skill),
    ("explain", "text/plain", _codes),
    (r"explain/(CP\d{4})", "text/markdown", _page),
    (r"corpus/([a-z0-9_]+)/([a-z0-9_]+)", "text/markdown", _entry),
    (r"schema/([a-z-]+)", "application/json", _schema),
    (r"run/([\w./-]+)", "text/plain", _file),
)
