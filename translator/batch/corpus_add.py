"""A verified target becomes an entry: the gates it passes, the files that are written."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corpus.catalog import ENTRY, FILES, KERNEL, KERNELS, NOTES, REFERENCE, SPEC, TWIN, Item, load_item, named
from corpus.entry import LICENCES, NAME
from corpus.inline import inlined
from corpus.problem import CorpusError, Problem
from corpus.proof import write
from corpus.shingles import ALIKE, likeness, shingles
from corpus.style import SECTIONS, check_style
from translator.batch.corpus_check import LEAST_SCORE, ratios_of, score_of, survivors
from verify.certificate import CertificateError, read_certificate
from verify.run import hashes
from verify.spec_file import SpecError, load_spec
from verify.verdict import Status, Verdict


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person says of the new entry. `license` is an SPDX name; `origin` a project and path."""

    family: str
    id: str
    license: str
    origin: str
    summary: str


def add(target: Path, wanted: Wanted, items: Iterable[Item], root: Path = KERNELS, dry: bool = False) -> str:
    """Promote `target` to an entry and return what was written as a diff; with `dry`, only say it.

    CorpusError with every gate that is closed: CP5003 (style), CP5006 to CP5010, CP5012, CP5013. Nothing is
    written then.
    """
    items = list(items)
    folder = root / wanted.family / wanted.id
    problems = _gates(target, wanted)
    problems += _taken(wanted.family, wanted.id, root)
    try:
        port = (target / load_spec(target).port.module).read_text(encoding="utf-8")
    except (OSError, SpecError) as e:
        raise CorpusError([*problems, Problem("CP5013", target, str(e).splitlines()[0])]) from e
    problems += near(port, target, items)
    if any(p.code in ("CP5010", "CP5013") for p in problems):
        raise CorpusError(problems)  # there is no entry to look at
    with tempfile.TemporaryDirectory(prefix="cuteport-entry-") as scratch:
        made = Path(scratch) / wanted.family / wanted.id
        made.mkdir(parents=True)
        _files(target, port, wanted, made)
        problems += [_at(p, made, folder) for p in check_style(load_item(made), draft=True)]
        if problems:
            raise CorpusError(problems)
        told = "".join(_diff(made / n, folder / n) for n in (ENTRY, KERNEL, TWIN, REFERENCE, NOTES, SPEC))
        if not dry:
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(made, folder)
    return told


def _taken(family: str, name: str, root: Path) -> list[Problem]:
    """CP5012 where the place is taken, or the id, which is unique over all families."""
    folder = root / family / name
    if folder.exists():
        return [Problem("CP5012", folder, "exists already")]
    words = f"has the id {name}; an id is unique over all families"
    return [Problem("CP5012", other, words) for other in named(name, root)]


def near(port: str, target: Path, items: Iterable[Item]) -> list[Problem]:
    """CP5009 for each entry whose kernel has nearly the structure of `port`."""
    own = shingles(port)
    found = []
    for item in items:
        alike = likeness(own, shingles(item.text(KERNEL)))
        if alike >= ALIKE:
            words = f"{alike:.2f} of its structure is that of {item.entry.family}/{item.entry.id}"
            found.append(Problem("CP5009", target, words))
    return found


def _gates(target: Path, wanted: Wanted) -> list[Problem]:
    problems = []
    if wanted.license not in LICENCES:
        known = ", ".join(LICENCES)
        problems.append(Problem("CP5010", target, f"{wanted.license!r} is none of {known}"))
    try:
        verdict = read_certificate(target / "verdict.json")
        if verdict.hashes != hashes(target, load_spec(target)):
            problems.append(Problem("CP5013", target, "changed since its verdict.json was written"))
    except (CertificateError, SpecError) as e:
        return [*problems, Problem("CP5013", target, str(e).splitlines()[0])]
    return problems + _judge(target, verdict)


def _judge(target: Path, verdict: Verdict) -> list[Problem]:
    if verdict.status is not Status.PASSED:
        code = "CP5008" if verdict.status is Status.SLOWER else "CP5006"
        return [Problem(code, target, f"{verdict.status}: {verdict.proven}")]
    problems = []
    share, ratios = score_of(verdict), ratios_of(verdict)
    if share is None:
        problems.append(Problem("CP5007", target, "was verified without --mutate"))
    elif share < LEAST_SCORE:
        words = f"{share:.2f} of the changed kernels are turned away: {', '.join(survivors(verdict))}"
        problems.append(Problem("CP5007", target, words))
    if ratios and ratios[0] < 1.0:
        problems.append(Problem("CP5008", target, f"{ratios[0]:.3f} of the original's speed"))
    return problems


def _at(p: Problem, made: Path, folder: Path) -> Problem:
    """A problem told where the file will be, not where it was tried."""
    path = folder / p.path.relative_to(made) if p.path.is_relative_to(made) else p.path
    return Problem(p.code, path, p.message, p.line)


def _files(target: Path, port: str, wanted: Wanted, made: Path) -> None:
    spec = load_spec(target)
    text = (target / SPEC).read_text(encoding="utf-8")
    text = re.sub(rf'^source = "{re.escape(spec.original.source)}"', f'source = "{TWIN}"', text, flags=re.M)
    text = re.sub(r'^module = "[^"]*"', f'module = "{KERNEL}"', text, flags=re.M)
    if not re.search(r"^module = ", text, re.M):
        text = text.replace("[port]\n", f'[port]\nmodule = "{KERNEL}"\n', 1)
    write(made / SPEC, text)
    write(made / KERNEL, port)
    shutil.copyfile(target / spec.original.source, made / TWIN)
    if (target / REFERENCE).is_file():
        shutil.copyfile(target / REFERENCE, made / REFERENCE)
    else:
        raise CorpusError([Problem("CP5002", target, f"no {REFERENCE}")])
    write(made / NOTES, notes(target, wanted.id))
    types = sorted({b.dtype for b in spec.buffers if b.dtype})
    write(made / ENTRY, entry_text(wanted, [i.name for i in inlined(port)], types))


def notes(target: Path, name: str) -> str:
    """A first notes.md: one row for each CUDA line that the line map knows, to be worded by a person."""
    rows = []
    try:
        lines = json.loads((target / "line_map.json").read_text(encoding="utf-8"))["lines"]
        port = (target / "port.py").read_text(encoding="utf-8").splitlines()
        for emitted, path, cuda in lines:
            source = (target / "original" / Path(path).name).read_text(encoding="utf-8").splitlines()
            rows.append(f"| `{source[cuda - 1].strip()}` | `{port[emitted - 1].strip()}` |")
    except (OSError, ValueError, KeyError, IndexError):
        rows = ["| TODO | TODO |"]
    table = "\n".join(dict.fromkeys(rows))
    return f"# {name}\n\n| CUDA | CuTe DSL |\n| --- | --- |\n{table}\n\n## Pitfalls\n\n- TODO\n"


def entry_text(wanted: Wanted, blocks: list[str], dtypes: list[str]) -> str:
    """A first entry.toml; what only a person can say is asked for by TODO."""
    return f"""schema = 1
id = "{wanted.id}"
family = "{wanted.family}"
summary = {json.dumps(wanted.summary)}
idioms = ["TODO"]
teaches = ["TODO"]
dtypes = {json.dumps(dtypes or ["f32"])}
arch_min = "sm_80"
arch_tested = []
dsl = ">=4.8,<4.9"
blocks = {json.dumps(blocks)}
lessons = []

[provenance]
origin = {json.dumps(wanted.origin)}
license = "{wanted.license}"
technique = "TODO"

[[variant]]
name = "all"
values = {{}}
"""


def _diff(made: Path, at: Path) -> str:
    lines = made.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(difflib.unified_diff([], lines, "/dev/null", str(at)))


def todos(folder: Path) -> list[str]:
    """What a person has yet to say in an entry, as `path:line: text`."""
    found = []
    for path in (folder / name for name in FILES):
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        found += [f"{path}:{k}: {line.strip()}" for k, line in lines if "TODO" in line]
    return found


def model_for(family: str, items: Iterable[Item]) -> Item | None:
    """A proven entry whose spec is a model for a new one of the family: of that family if there is one."""
    proven = [i for i in items if i.proof() is not None]
    return next((i for i in proven if i.entry.family == family), next(iter(proven), None))


def skeleton(family: str, name: str, root: Path = KERNELS) -> Path:
    """An empty entry to fill in. CorpusError CP5012 where it is there, CP5001 for a name that can't be."""
    folder = root / family / name
    if not (re.fullmatch(NAME, family) and re.fullmatch(NAME, name)):
        raise CorpusError([Problem("CP5001", folder, "families and ids are lower-case words")])
    if taken := _taken(family, name, root):
        raise CorpusError(taken)
    folder.mkdir(parents=True)
    wanted = Wanted(family, name, "Apache-2.0", "written here", "TODO")
    write(folder / ENTRY, entry_text(wanted, [], ["f32"]))
    sections = "".join(f"{s} TODO\n" for s in SECTIONS)
    write(folder / KERNEL, f'"""TODO\n\n{sections}"""\n')
    write(folder / TWIN, "// TODO\n")
    write(folder / REFERENCE, '"""TODO"""\n')
    write(folder / NOTES, f"# {name}\n\n| CUDA | CuTe DSL |\n| --- | --- |\n\n## Pitfalls\n\n")
    write(folder / SPEC, f'schema = 1\nname = "{name}"\n')
    return folder
