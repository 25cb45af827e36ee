"""A verified target becomes an entry: the gates it passes, the files that are written."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from corpus.catalog import (
    ENTRY,
    FILES,
    KERNEL,
    KERNELS,
    NOTES,
    REFERENCE,
    SPEC,
    TWIN,
    Item,
    entry_of,
    unreadable,
)
from corpus.entry import LEAST_RATIO, LEAST_SCORE, LICENCES, NAME, Entry
from corpus.files import write
from corpus.inline import inlined
from corpus.place import put, taken
from corpus.problem import CorpusError, Problem
from corpus.proof import quoted
from corpus.shingles import ALIKE, likeness, shingles
from corpus.style import SECTIONS, check_style
from translator.batch.corpus_check import ratios_of, score_of, survivors, unscored
from translator.batch.corpus_specs import check_specs
from verify.certificate import CertificateError, read_certificate
from verify.files import irregular, read_text
from verify.run import hashes
from verify.spec import Spec
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


# Of a target: changes of its kernel that change no result, each with the reason, as in an entry's [same].
SAME = "same.toml"
# Licence, origin and summary of an entry that is yet to be written.
_TO_SAY = ("Apache-2.0", "written here", "TODO")


def add(target: Path, wanted: Wanted, items: Iterable[Item], root: Path = KERNELS, dry: bool = False) -> str:
    """Promote `target` to an entry and return what was written as a diff; with `dry`, only say it.

    CorpusError with every gate that is closed, about the target's own files: CP5001 to CP5003, CP5006 to
    CP5010, CP5012, CP5013. Nothing is written then.
    """
    said = {"license": wanted.license, "origin": wanted.origin, "summary": wanted.summary}
    if unsaid := [k for k, v in said.items() if v.encode("utf-8", "replace").decode() != v]:
        raise CorpusError([Problem("CP5001", target, f"{k}: no text in UTF-8") for k in unsaid])
    folder = root / wanted.family / wanted.id
    problems = _gates(target, wanted) + taken(wanted.family, wanted.id, root)
    try:
        spec = load_spec(target)
        if odd := _odd(target, spec):
            raise CorpusError(list(dict.fromkeys([*problems, *odd])))
        port = (target / spec.port.module).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, SpecError) as e:  # there is no entry to look at
        told = Problem("CP5013", target, str(e).splitlines()[0])
        raise CorpusError(list(dict.fromkeys([*problems, told]))) from e
    problems += near(port, target, items)
    with tempfile.TemporaryDirectory(prefix="cuteport-entry-") as scratch:
        made = Path(scratch)
        problems += _files(target, spec, port, wanted, made)
        problems += _rules(target, spec, port, wanted, made)
        if not problems:  # the files are there, and its entry.toml can be read
            problems += _spec_rules(target, made)
        if problems:
            raise CorpusError(problems)
        told_all = "".join(_diff(made / n, folder / n) for n in FILES)
        if not dry:
            put(wanted.family, wanted.id, root, lambda at: _copy(made, at))
    return told_all


def _copy(made: Path, at: Path) -> None:
    for name in FILES:
        shutil.copyfile(made / name, at / name)


def near(port: str, target: Path, items: Iterable[Item]) -> list[Problem]:
    """CP5009 for each entry whose kernel has nearly the structure of `port`."""
    if (own := _shingles(port)) is None:
        return []  # no Python, as its style says
    found = []
    for item in items:
        if (others := _shingles(item.text(KERNEL))) is None:
            continue
        alike = likeness(own, others)
        if alike >= ALIKE:
            words = f"{alike:.2f} of its structure is that of {item.entry.family}/{item.entry.id}"
            found.append(Problem("CP5009", target, words))
    return found


def _shingles(source: str) -> frozenset[tuple[str, ...]] | None:
    try:
        return shingles(source)
    except (SyntaxError, ValueError):
        return None


def _gates(target: Path, wanted: Wanted) -> list[Problem]:
    problems = []
    if wanted.license not in LICENCES:
        known = ", ".join(LICENCES)
        problems.append(Problem("CP5010", target, f"{wanted.license!r} is none of {known}"))
    try:
        verdict = read_certificate(target / "verdict.json")
        spec = load_spec(target)
        if odd := _odd(target, spec):
            return problems + odd
        if why := _stale(verdict, hashes(target, spec)):
            problems.append(Problem("CP5013", target, why))
    except (CertificateError, SpecError) as e:
        return [*problems, Problem("CP5013", target, str(e).splitlines()[0])]
    try:
        return problems + _judge(target, verdict, same_of(target))
    except CorpusError as e:
        return problems + e.problems


def same_of(target: Path) -> dict[str, str]:
    """What the target's same.toml says, if it has one. CorpusError CP5001 where it can't be read."""
    path = target / SAME
    if not path.exists():
        return {}
    try:
        found = tomllib.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as e:
        raise CorpusError([Problem("CP5001", path, f"can't be read: {e}")]) from e
    if wrong := [k for k, v in found.items() if not (isinstance(v, str) and v.strip())]:
        raise CorpusError([Problem("CP5001", path, f"{k!r}: the reason is a text") for k in wrong])
    return found


def _odd(target: Path, spec: Spec) -> list[Problem]:
    """CP5013 for files of the target that are none, or lie elsewhere: what is added is the target's own."""
    found = []
    for name in (spec.port.module, spec.original.source, REFERENCE, NOTES, SAME, "line_map.json"):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            found.append(Problem("CP5013", target / SPEC, f"{name} lies outside of the target"))
        elif irregular(target / name):
            found.append(Problem("CP5013", target / name, "not a regular file"))
    return found


def _stale(verdict: Verdict, now: dict[str, str]) -> str:
    """Why a verdict is not about the target as it is, or is about a part of it, or ""."""
    if verdict.asked is not None and verdict.asked.cases:
        return f"its verdict.json is about the cases {', '.join(verdict.asked.cases)} alone"
    differ = {k for k in now.keys() | verdict.hashes.keys() if now.get(k) != verdict.hashes.get(k)}
    if differ == {"harness"}:
        return "its verdict.json was written by another version of verify"
    return "changed since its verdict.json was written" if differ else ""


def _judge(target: Path, verdict: Verdict, same: Mapping[str, str]) -> list[Problem]:
    if verdict.status is not Status.PASSED:
        code = "CP5008" if verdict.status is Status.SLOWER else "CP5006"
        return [Problem(code, target, f"{verdict.status}: {verdict.proven}")]
    problems = []
    share, ratios = score_of(verdict, same), ratios_of(verdict)
    if share is None:
        problems.append(Problem("CP5007", target, unscored(verdict)))
    elif share < LEAST_SCORE:
        through = ", ".join(survivors(verdict, same))
        words = f"{share:.2f} of the changed kernels are turned away: {through}; those that change no result"
        problems.append(Problem("CP5007", target, f"{words} may stand in {SAME} with the reason"))
    # What it is for must be no slower; other cases may be as slow as those of any entry. NaN is neither.
    wanting = [r for k, r in enumerate(ratios) if not (LEAST_RATIO if k else 1.0) <= r < math.inf]
    problems += [Problem("CP5008", target, f"{r:.3f} of the original's speed") for r in wanting]
    return problems


def _files(target: Path, spec: Spec, port: str, wanted: Wanted, made: Path) -> list[Problem]:
    """Write the entry's files into the folder `made`; CP5002 for what the target lacks."""
    text = (target / SPEC).read_text(encoding="utf-8")
    text = _renamed(text, "source", spec.original.source, TWIN)
    text = _renamed(text, "module", spec.port.module, KERNEL)
    if "module" not in tomllib.loads(text)["port"]:
        text = text.replace("[port]\n", f'[port]\nmodule = "{KERNEL}"\n', 1)
    # As drafted; with it no reference.py is ever asked, and without it the entry's own is.
    text = re.sub(r"""^[ \t]*rule[ \t]*=[ \t]*(["'])original\1.*\n""", "", text, flags=re.M)
    write(made / SPEC, text)
    write(made / KERNEL, port)
    lacking = []
    for source, name in ((spec.original.source, TWIN), (REFERENCE, REFERENCE)):
        if (target / source).is_file():
            shutil.copyfile(target / source, made / name)
        else:
            lacking.append(Problem("CP5002", target, f"no {source}"))
    write(made / NOTES, notes(target, wanted.id))
    types = sorted({b.dtype for b in spec.buffers if b.dtype})
    try:
        same = same_of(target)
    except CorpusError:  # that gate has spoken
        same = {}
    write(made / ENTRY, entry_text(wanted, _blocks(port), types, same))
    return lacking


def _renamed(text: str, key: str, old: str, new: str) -> str:
    """A spec's text with another file for a key, however it is written."""
    return re.sub(rf"""\b({key}[ \t]*=[ \t]*)(["']){re.escape(old)}\2""", rf'\1"{new}"', text)


def _blocks(port: str) -> list[str]:
    try:
        return [i.name for i in inlined(port)]
    except ValueError:
        return []  # a marker without its end, as its style says


def _rules(target: Path, spec: Spec, port: str, wanted: Wanted, made: Path) -> list[Problem]:
    """What the entry in `made` breaks, told of the target's file that it comes from, or else of the target:
    an entry that can't be is looked at nevertheless."""
    came_from = {SPEC: SPEC, KERNEL: spec.port.module, TWIN: spec.original.source, REFERENCE: REFERENCE}
    found = [p for name in came_from for p in unreadable(made / name)]
    entry = Entry.model_construct(id=wanted.id, family=wanted.family, blocks=_blocks(port))
    try:
        entry_of((made / ENTRY).read_text(encoding="utf-8"), made)
    except CorpusError as e:
        found += [p for p in e.problems if p.code != "CP5010"]  # that gate has spoken
    found += check_style(Item(made, entry), draft=True)
    return [Problem(p.code, target / came_from.get(p.path.name, ""), p.message, p.line) for p in found]


def _spec_rules(target: Path, made: Path) -> list[Problem]:
    """CP5001 for what the entry's spec could not be judged by, told of the target's."""
    path = made / ENTRY
    found = check_specs(Item(made, entry_of(path.read_text(encoding="utf-8"), path)))
    return [Problem(p.code, target / SPEC, p.message, p.line) for p in found]


def notes(target: Path, name: str) -> str:
    """The target's own notes.md; without it a first one, to be worded by a person: a row for each CUDA line
    that the line map knows, if that is about the port as it is now."""
    with suppress(OSError, ValueError):
        if (own := read_text(target / NOTES)).strip():
            return own
    rows = []
    try:
        mapped, port = json.loads(read_text(target / "line_map.json")), read_text(target / "port.py")
        if mapped["port_sha256"] == hashlib.sha256(port.encode()).hexdigest():
            for emitted, path, cuda in mapped["lines"]:
                source = read_text(target / "original" / Path(path).name).splitlines()
                ours = port.splitlines()[emitted - 1].strip()
                rows.append(f"| `{source[cuda - 1].strip()}` | `{ours}` |")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # not as `port` wrote it
        rows = []
    table = "\n".join(dict.fromkeys(rows or ["| TODO | TODO |"]))
    return f"# {name}\n\n| CUDA | CuTe DSL |\n| --- | --- |\n{table}\n\n## Pitfalls\n\n- TODO\n"


def entry_text(
    wanted: Wanted, blocks: list[str], dtypes: list[str], same: Mapping[str, str] | None = None
) -> str:
    """A first entry.toml; what only a person can say is asked for by TODO."""
    known = "".join(f"{quoted(what)} = {quoted(why)}\n" for what, why in (same or {}).items())
    known = f"[same]\n{known}\n" if known else ""
    return f"""schema = 1
id = {quoted(wanted.id)}
family = {quoted(wanted.family)}
summary = {quoted(wanted.summary)}
idioms = ["TODO"]
teaches = ["TODO"]
dtypes = {json.dumps(dtypes or ["f32"])}
arch_min = "sm_80"
arch_tested = []
dsl = ">=4.8,<4.9"
blocks = {json.dumps(blocks)}
lessons = []

[provenance]
origin = {quoted(wanted.origin)}
license = {quoted(wanted.license)}
technique = "TODO"

{known}[[variant]]
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
    return put(family, name, root, lambda at: _skeleton(Wanted(family, name, *_TO_SAY), at))


def _skeleton(wanted: Wanted, folder: Path) -> None:
    write(folder / ENTRY, entry_text(wanted, [], ["f32"]))
    sections = "".join(f"{s} TODO\n" for s in SECTIONS)
    write(folder / KERNEL, f'"""TODO\n\n{sections}"""\n')
    write(folder / TWIN, "// TODO\n")
    write(folder / REFERENCE, '"""TODO"""\n')
    write(folder / NOTES, f"# {wanted.id}\n\n| CUDA | CuTe DSL |\n| --- | --- |\n\n## Pitfalls\n\n")
    write(folder / SPEC, f'schema = 1\nname = "{wanted.id}"\n')
