"""`cuteport corpus expand`, `inline`, `add` and `new`: what writes folders and files."""

from __future__ import annotations

import errno
import keyword
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translator.cli.corpus_told import Names, chosen, tell, told
from translator.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpus.problem import Problem

# What a place can't be made or written for that is the machine's lack, not the name's.
_LACKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS)


def expand(
    into: Annotated[Path, typer.Argument(metavar="DIR", help="Where the target folders go.")],
    names: Names = None,
    as_json: Json = False,
) -> int:
    """Write every variant as a target folder, to be verified on a machine that has only `verify`."""

    def work() -> int:
        from corpus.catalog import KERNELS
        from corpus.problem import CorpusError
        from translator.batch.corpus_check import expand_all

        if into.resolve().is_relative_to(KERNELS.resolve()):
            raise typer.BadParameter(f"{into} is part of the corpus", param_hint="DIR")
        items, problems = chosen(names)
        written: list[Path] = []
        for item in items:
            try:
                made = list(expand_all([item], into))
            except CorpusError as e:  # its spec, which keeps no other from being written
                problems += e.problems
                continue
            except OSError as e:
                if e.errno in _LACKS:
                    raise
                words = f"{os.fsdecode(e.filename or into)} can't be made: {e.strerror}"
                raise typer.BadParameter(words, param_hint="DIR") from e
            written += made
            if not as_json:
                typer.echo("\n".join(map(str, made)))
        tell(problems)
        return _ended(1 if problems else 0, as_json, written, problems=problems)

    return told(work, as_json)


def inline(names: Names = None, as_json: Json = False) -> int:
    """Put the blocks as they are now into the kernels that use them."""

    def work() -> int:
        from corpus.catalog import KERNEL
        from translator.batch.corpus_check import renew

        items, others = chosen(names)
        problems: list[Problem] = []
        written, stale = [], []
        for item, rewritten, wrong in renew(items):
            # What is as it was when it was proven, as after a block was changed by hand, is proven again.
            old = rewritten and bool(item.entry.verified) and item.proof() is None
            written += [item.folder / KERNEL] if rewritten else []
            stale += [item.entry.id] if old else []
            if rewritten and not as_json:
                typer.echo(f"{item.entry.id}: rewritten{'; its proof is out of date' if old else ''}")
            tell(wrong)
            problems += wrong
        tell(others)
        problems += others
        return _ended(1 if problems else 0, as_json, written, stale=stale, problems=problems)

    return told(work, as_json)


def add(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A verified target folder.")],
    name: Annotated[str, typer.Option("--as", metavar="FAMILY/ID", help="Where the entry goes.")],
    license_: Annotated[str, typer.Option("--license", metavar="SPDX", help="Of the CUDA source.")],
    origin: Annotated[str, typer.Option("--origin", metavar="TEXT", help="Project and path it comes from.")],
    summary: Annotated[str, typer.Option("--summary", metavar="TEXT", help="What it does, in a line.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")] = False,
    as_json: Json = False,
) -> int:
    """Promote a verified target to an entry, and print what was written as a diff for review."""

    def work() -> int:
        from corpus.catalog import KERNELS, load
        from translator.batch.corpus_add import Wanted, add, todos

        family, id_ = _placed(name, "--as")
        if not target.is_dir():
            raise typer.BadParameter(f"{target} is no folder", param_hint="TARGET")
        wanted = Wanted(family, id_, license_, origin, summary)
        diff = add(target, wanted, load()[0], KERNELS, dry=dry_run)
        if not as_json:
            typer.echo(diff, nl=False)
        if dry_run:
            return _ended(0, as_json, diff=diff)
        left = todos(KERNELS / family / id_)
        typer.echo("\n".join(["to be said by a person:", *left]), err=True)
        typer.echo(f"not proven until: cuteport corpus check {id_}", err=True)
        steps = [*left, f"cuteport corpus check {id_}"]
        return _ended(0, as_json, [KERNELS / family / id_], diff=diff, steps=steps)

    return told(work, as_json)


def new(name: Annotated[str, typer.Argument(metavar="FAMILY/ID")], as_json: Json = False) -> int:
    """Make an empty entry to fill in."""

    def work() -> int:
        from corpus.catalog import KERNELS, SPEC, load
        from translator.batch.corpus_add import model_for, skeleton

        family, id_ = _placed(name, "FAMILY/ID")
        folder = skeleton(family, id_, KERNELS)
        if not as_json:
            typer.echo(str(folder))
        steps = [f"fill in its files, as {KERNELS.parent / 'STYLE.md'} says"]
        if model := model_for(family, load()[0]):
            steps.append(f"a spec to go by: {model.folder / SPEC}")
        steps += [f"cuteport corpus inline {id_}", f"cuteport corpus check {id_} --device emulator"]
        for step in steps:
            typer.echo(f"next: {step}", err=True)
        return _ended(0, as_json, [folder], steps=steps)

    return told(work, as_json)


def _ended(
    code: int,
    as_json: bool,
    written: Sequence[Path] = (),
    *,
    stale: Sequence[str] = (),
    diff: str = "",
    steps: Sequence[str] = (),
    problems: Sequence[Problem] = (),
) -> int:
    """The exit code, with what was done as a document where one is asked for."""
    if as_json:
        from translator.batch.corpus_documents import ProblemEntry, WrittenDocument
        from translator.documents import to_json

        document = WrittenDocument(
            exit_code=code,
            written=[str(p) for p in written],
            stale=list(stale),
            diff=diff,
            next=list(steps),
            problems=[ProblemEntry.of(p) for p in problems],
        )
        typer.echo(to_json(document))
    return code


def _placed(name: str, hint: str) -> tuple[str, str]:
    """(family, id) of FAMILY/ID; wrong usage for what can be none."""
    from corpus.entry import LONGEST, NAME

    family, _, id_ = name.partition("/")
    if not all(re.fullmatch(NAME, part) and len(part) <= LONGEST for part in (family, id_)):
        words = "not FAMILY/ID, each a lower-case word of letters, digits and single _ between them"
        words += f", at most {LONGEST} characters"
        raise typer.BadParameter(f"{name!r} is {words}", param_hint=hint)
    if keyword.iskeyword(id_):
        raise typer.BadParameter(f"{id_} is a word of Python: no kernel can be called so", param_hint=hint)
    return family, id_
