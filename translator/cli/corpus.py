"""`cuteport corpus …`: the proven kernels that ports learn from."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translator.cli import corpus_write
from translator.cli.corpus_told import Names, chosen, tell, told
from translator.cli.options import Define, Device, Include, Json, Kernel, Std, numbers

if TYPE_CHECKING:
    from corpus.catalog import Item
    from translator.batch.corpus_check import Checked
    from verify.verdict import StageResult, Verdict

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Proven kernels in CuTe DSL, and their building blocks."
)


@app.callback()
def _root() -> None:
    pass


@app.command("list")
def list_(as_json: Json = False) -> int:
    """All entries: what they do, and what proves them."""
    from corpus.catalog import load
    from translator.batch.corpus_check import Checked

    items, problems = load()
    code = 1 if problems else 0
    if as_json:
        from translator.batch.corpus_documents import CorpusDocument
        from translator.documents import to_json

        checked = [Checked(i, [], i.proof()) for i in items]
        typer.echo(to_json(CorpusDocument.of(code, checked, problems)))
        return code
    for i in items:
        typer.echo(f"{i.entry.family}/{i.entry.id}: {i.entry.summary}")
        typer.echo(f"  {', '.join(i.entry.dtypes)}; {_proven(i)}")
    tell(problems)
    return code


def _proven(item: Item) -> str:
    """The devices whose proofs hold for the entry as it is now, or why none does."""
    if devices := [p.device for p in item.proofs()]:
        return f"proven: {', '.join(devices)}"
    why = f"a draft: {item.entry.draft}" if item.entry.draft else "; ".join(p.message for p in item.lacking())
    return f"proven: no, {why}"


@app.command("show")
def show(name: Annotated[str, typer.Argument(metavar="ID")], as_json: Json = False) -> int:
    """One entry: notes and kernel."""

    def work() -> int:
        from corpus.catalog import KERNEL, NOTES, find, load

        item = find(name, *load())
        if as_json:
            from translator.batch.corpus_documents import ShowDocument
            from translator.documents import to_json

            typer.echo(to_json(ShowDocument.of(item)))
            return 0
        typer.echo(f"{item.entry.summary}\n{item.folder}\n{_proven(item)}\n")
        typer.echo(item.text(NOTES))
        typer.echo(item.text(KERNEL))
        return 0

    return told(work, as_json)


@app.command("search")
def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]")] = None,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="FILE.cu", help="Entries to port its kernels after.")
    ] = None,
    kernel: Kernel = None,
    include: Include = None,
    define: Define = None,
    std: Std = None,
    most: Annotated[int | None, typer.Option("--most", metavar="N", help="Entries shown at most.")] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="With --for: the kernel's facts, and what scores are made of."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Proven entries that fit words, or a CUDA kernel, best; others can't be found."""
    if bool(words) == (for_ is not None):
        raise typer.BadParameter("give either words or --for FILE.cu", param_hint="WORD")
    if most is not None and most < 1:
        raise typer.BadParameter("it takes 1 or more", param_hint="--most")
    if for_ is not None:
        given = {"kernels": kernel, "include": include, "define": define, "std": std}
        return _search_for(for_, given, most or 3, explain, as_json)
    if explain or kernel or include or define or std:
        raise typer.BadParameter("it goes with --for FILE.cu", param_hint="--explain, -k, -I, -D, --std")
    from corpus.catalog import load, retrievable
    from corpus.search import search as ranked
    from translator.retrieval.tokens import typed_words

    hits = ranked(" ".join(words or ()), retrievable(load()[0]), most or 10, typed_words())
    if as_json:
        from translator.batch.corpus_documents import HitEntry, SearchDocument
        from translator.documents import to_json

        typer.echo(to_json(SearchDocument(hits=[HitEntry.of(h) for h in hits])))
        return 0
    for h in hits:
        entry = h.item.entry
        typer.echo(f"{entry.family}/{entry.id}: {entry.summary} ({', '.join(h.words)})")
    if not hits:
        typer.echo("nothing proven fits", err=True)
    return 0


def _search_for(path: str, given: Mapping[str, object], most: int, explain: bool, as_json: bool) -> int:
    from corpus.catalog import load
    from translator.batch.corpus_search import search_for
    from translator.settings import load as load_settings

    searched = search_for(path, load_settings(given), load()[0], most)
    if as_json:
        from translator.batch.corpus_documents import SearchForDocument
        from translator.documents import to_json

        typer.echo(to_json(SearchForDocument.of(searched)))
        return searched.exit_code
    for f in searched.problems:
        typer.echo(f"{f.code}: {f.span}: {f.message}" if f.span.path else f"{f.code}: {f.message}", err=True)
    for found in searched.kernels:
        facts = found.query.facts
        typer.echo(f"{found.query.path}: {facts.kernel}")
        if explain:
            why = f", as the frontend refuses it: {', '.join(facts.refused_by)}" if facts.refused_by else ""
            typer.echo(f"  facts from its {facts.origin}{why}")
            for name in ("idioms", "access", "sync", "dtypes"):
                typer.echo(f"    {name}: {', '.join(getattr(facts, name)) or 'none seen'}")
            typer.echo(f"    arch: {facts.arch or 'any'}")
        for h in found.hits:
            typer.echo(f"  {h.item.entry.family}/{h.item.entry.id}: {h.item.entry.summary}")
            typer.echo(f"    {'; '.join(h.reasons)}")
            if explain:
                parts = ", ".join(f"{name} {value:.2f}" for name, value in h.ranked.parts)
                typer.echo(f"    score {h.ranked.score:.3f}: {parts}")
        if not found.hits:
            typer.echo("nothing proven fits", err=True)
    return searched.exit_code


@app.command("check")
def check(
    names: Names = None,
    device: Device = None,
    mutate: Annotated[bool, typer.Option("--mutate/--no-mutate", help="Judge changed kernels too.")] = True,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Verify and record, or look at recorded proofs only.")
    ] = True,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", metavar="DIR", help="Take verdicts of `corpus expand DIR`, made elsewhere."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", metavar="N", help="Variants, or changed kernels of one, at a time.")
    ] = 1,
    as_json: Json = False,
) -> int:
    """Check entries: style, inlined blocks, and every variant by `verify`; record what was proven."""

    def work() -> int:
        from corpus.catalog import load
        from translator.batch import corpus_check as c
        from translator.terminal import Progress
        from verify.options import DEVICES, Options

        where = next((d for d in DEVICES if d == (device or "auto")), None)
        if where is None:
            raise typer.BadParameter(f"{device!r} is none of {', '.join(DEVICES)}", param_hint="--device")
        numbers(jobs=jobs)
        if verdicts is not None and not run:
            raise typer.BadParameter("it looks at recorded proofs, not at verdicts", param_hint="--no-run")
        if verdicts is not None and not verdicts.is_dir():
            raise typer.BadParameter(f"{verdicts} is no folder", param_hint="--verdicts")
        items, others = chosen(names)
        others = others + c.examine_blocks()
        checked = c.examine(items, among=load()[0] if names else ())
        if verdicts is not None:
            c.take(checked, verdicts)
        elif run:
            options = Options(device=where, jobs=jobs, mutate="some" if mutate else None)

            progress, many = Progress(), sum(len(one.item.entry.variant) for one in checked)
            ended: list[str] = []

            def show(verdict: Verdict) -> None:
                progress.clear()
                ended.append(verdict.target)
                typer.echo(f"{Path(verdict.target).name}: {verdict.status}: {verdict.proven}", err=True)

            def show_stage(stage: StageResult) -> None:
                if sys.stderr.isatty():  # elsewhere the lines of the verdicts are enough
                    name = Path(stage.target).name
                    progress("check", len(ended) + 1, many, f"{name}: {stage.stage} {stage.status}")

            with tempfile.TemporaryDirectory(prefix="cuteport-corpus-") as scratch:
                c.run(checked, Path(scratch), options, show, on_stage=show_stage)
            progress.clear()
        else:
            c.with_recorded(checked)
        code = 1 if others or any(one.problems for one in checked) else 0
        if verdicts is None and any(one.unjudged for one in checked):
            code = 3
        if as_json:
            from translator.batch.corpus_documents import CorpusDocument
            from translator.documents import to_json

            typer.echo(to_json(CorpusDocument.of(code, checked, others)))
            return code
        for one in checked:
            tell(one.problems)
            good = one.proof is not None and not one.problems
            typer.echo(f"{one.item.entry.id}: {_proof(one) if good else 'refused'}")
        tell(others)
        return code

    return told(work, as_json)


def _proof(one: Checked) -> str:
    proof = one.proof
    assert proof is not None
    # The verdicts' own lines count these among what got through.
    changes = f"{one.apart} change{'s' if one.apart > 1 else ''}"
    apart = f" without {changes} known to change nothing (`[same]`)" if one.apart else ""
    parts = [f"{proof.device}, {proof.date}", f"{len(proof.variants)} variants PASSED"]
    parts += [f"mutation score {proof.mutation:.2f}{apart}"] if proof.mutation is not None else []
    parts += [f"{proof.ratio:.2f}x of the CUDA twin's speed"] if proof.ratio is not None else []
    return "; ".join(parts)


app.command("expand")(corpus_write.expand)
app.command("inline")(corpus_write.inline)
app.command("add")(corpus_write.add)
app.command("new")(corpus_write.new)
