"""Kernels about which a model is asked: those that the compiler refused, and ports that are to become faster.

For each: what must be there before anything is sent ▸ the loop ▸ what is kept is written ▸ the ledger.
`verify` judges what was written once more, like any port. A kernel that fails costs its own budget and never
another's.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from corpus.catalog import Item, load, retrievable
from translator.batch.corpus_search import queries_of
from translator.batch.judge import options_of
from translator.batch.kept import keep
from translator.batch.run_file import Asked, RunFile, write_run
from translator.diag.codes import CODES
from translator.grounding.api import Api, load_api
from translator.grounding.blocks import Blocks, corpus_blocks
from translator.llm.budget import Budget, Price, price_of
from translator.llm.client import Client, LlmError, OpenAIClient
from translator.llm.resumed import Resumed
from translator.llm.transcript import Recording, Replay
from translator.loop.goal import Mode
from translator.loop.ledger import Entry, Ledger
from translator.loop.log import logged
from translator.loop.material import Leave, Material, device_text, facts_of, ranked
from translator.loop.purse import Purse
from translator.loop.search import Found, Job, search
from translator.loop.workshop import Bench
from translator.output import unwritten
from translator.retrieval.rank import Exemplar
from translator.retrieval.read import Query
from translator.settings import Settings
from translator.task import Task, TaskError, load_task
from verify.isolate import end_all
from verify.options import Options
from verify.origin import Origin
from verify.run import verify_target
from verify.spec import Spec
from verify.spec_check import load_checked
from verify.spec_file import SpecError, load_spec
from verify.verdict import Status
from verify.where import Where, choose

Tell = Callable[[str, int, int, str], None]
TRANSCRIPT = "transcript.jsonl"
# Who proposed what passed before anybody was asked.
OWN_DRAFT = "the compiler's own draft"
_PASSED, _REFUSED = "PASSED", "REFUSED"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One target folder: what is kept is written to `out`, which may be the same. `name` is its folder in the
    run."""

    name: str
    target: Path
    out: Path
    mode: Mode


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one; its entry says why nothing was kept."""

    wanted: Wanted
    entry: Entry

    @property
    def passed(self) -> bool:
        return self.entry.outcome == _PASSED


@dataclass(slots=True)
class Session:
    """One run with a model. `replay` is a run folder whose transcripts answer in the model's place; `resumed`
    goes on after what this run's own transcripts hold; `leave` says what prompts leave out. `alone`: nobody
    judges afterwards what was written."""

    settings: Settings
    folder: Path
    api: Api | None
    blocks: Blocks
    items: Sequence[Item]
    where: Where
    price: Price | None
    ledger: Ledger
    endpoint: str = ""
    queries: dict[str, Query] = field(default_factory=dict)
    exemplars: dict[str, list[Exemplar]] = field(default_factory=dict)
    replay: Path | None = None
    resumed: bool = False
    leave: Leave = field(default_factory=Leave)
    alone: bool = False
    stops: list[threading.Event] = field(default_factory=list)

    @property
    def problems(self) -> tuple[str, ...]:
        """What of this run's own files is not written, with codes."""
        return (f"CP0002: {self.ledger.unwritten}",) if self.ledger.unwritten else ()

    def end(self) -> None:
        """End every loop that is under way, and the children that judge for it."""
        for stop in self.stops:
            stop.set()
        end_all()

    def stop(self) -> threading.Event:
        """What ends one kernel's loop."""
        self.stops.append(threading.Event())
        return self.stops[-1]

    def client(self, name: str, folder: Path) -> Client:
        """Of one conversation; what is said is recorded in `folder`. LlmError."""
        if self.replay is not None:
            return Replay(self.replay / name / folder.name / TRANSCRIPT)
        live: Client = OpenAIClient(self.settings)
        path = folder / TRANSCRIPT
        if path.is_file():  # evidence: it is set aside, never written over
            before = next(p for n in count(1) if not (p := folder / f"transcript-{n}.jsonl").exists())
            path.replace(before)
            live = Resumed(live, before)
        return Recording(live, path)


def session(
    settings: Settings, folder: Path, *, replay: Path | None = None, resumed: bool = False
) -> Session:
    """Everything that all kernels of a run share. LlmError where the endpoint or the price can't be used."""
    # what is wrong with the address or the key is said before anything else
    endpoint = OpenAIClient(settings).endpoint if replay is None else ""
    return Session(
        settings,
        folder,
        load_api(),
        corpus_blocks(),
        retrievable(load()[0]),
        choose(options_of(settings)),
        price_of(settings),
        Ledger(folder),
        endpoint,
        replay=replay,
        resumed=resumed,
    )


def ask(work: Session, wanted: Sequence[Wanted], tell: Tell) -> list[Came]:
    """Every target's loop, several at a time; in the order of `wanted`. `ledger.json` grows with each."""
    s = work.settings
    if not work.resumed:
        write_run(work.folder, _run_file(work, wanted))
    work.queries = _queries(wanted, s)
    # Here and not in the threads: the index reads twins with a parser that takes one thread at a time.
    work.exemplars = {name: ranked(query, work.items) for name, query in work.queries.items()}
    # What nobody is asked about is told by its outcome: to announce a request would be false.
    sent = {w.name for w in wanted if _sendable(work, w)}
    stage = "asked" if work.replay is None else "replayed"
    if sent:
        tell(stage, 0, len(sent), "")
    came: dict[str, Came] = {}
    with ThreadPoolExecutor(max(1, min(s.workers, len(wanted)))) as pool:
        waiting = {pool.submit(_one, work, w): w for w in wanted}
        try:
            for future in as_completed(waiting):
                w = waiting[future]
                entry = future.result()
                work.ledger.add(entry)
                came[w.name] = Came(w, entry)
                if w.name in sent:
                    tell(stage, len(sent & came.keys()), len(sent), f"{w.name} {entry.outcome}")
        except BaseException:
            for future in waiting:
                future.cancel()
            work.end()
            raise
    return [came[w.name] for w in wanted]


def _queries(wanted: Sequence[Wanted], settings: Settings) -> dict[str, Query]:
    """Each target's kernel as retrieval reads it, by its name in the run; absent where it can't be."""
    specs: dict[str, tuple[str, str]] = {}
    for w in wanted:
        with contextlib.suppress(SpecError):
            original = load_spec(w.target).original
            kernel = original.kernel.partition("<")[0].rpartition("::")[2].strip()
            specs[w.name] = (str(w.target / original.source), kernel)
    read = queries_of([path for path, _ in specs.values()], settings) if specs else []
    found: dict[str, Query] = {}
    for (name, (_, kernel)), queries in zip(specs.items(), read, strict=True):
        own = [q for q in queries if q.kernel.rpartition("::")[2] == kernel]
        if own:
            found[name] = own[0]
    return found


def _run_file(work: Session, wanted: Sequence[Wanted]) -> RunFile:
    s = work.settings
    return RunFile(
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        model=s.model,
        base_url=work.endpoint,
        turns=s.turns,
        tokens=s.tokens,
        money=s.money,
        seconds=s.seconds,
        candidates=s.candidates,
        device=s.device,
        arch=s.arch,
        asked=[Asked(name=w.name, target=str(w.target), mode=w.mode, out=str(w.out)) for w in wanted],
    )


class _NotAskedError(Exception):
    """Nothing may be asked of a model about this target."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        self.why = why
        super().__init__(why)

    @classmethod
    def of(cls, code: str, **args: str) -> _NotAskedError:
        return cls(code, CODES[code].message.format(**args))


def _one(work: Session, w: Wanted) -> Entry:
    """One target from its folder to its ledger entry."""
    s = work.settings
    purse = Purse(Budget.of(s), work.price)
    folder = work.folder / w.name
    found = Found(None, None)
    try:
        spec = _checked(work, w)
        material = _material(work, w, spec)
        start = (w.target / spec.port.module).read_text(encoding="utf-8") if w.mode != "port" else ""
        options = options_of(s)
        bench = Bench(work.where.arch, options.device, options.timeout, work.where.gpu is not None)
        job = Job(
            w.target,
            spec.port.module,
            w.mode,
            material,
            folder,
            lambda _, at: work.client(w.name, at),
            bench,
            s.candidates,
            start,
            work.stop(),
        )
        purse.begin()
        found = search(job, purse)
        if found.best is not None:
            found = _keep(work, w, spec, found, purse)
        if found.best is not None and (w.mode != "port" or work.alone):
            found = _once_more(w, bench, found)  # other ports are judged with all of their run
    except _NotAskedError as error:
        found = Found(None, None, error.code, error.why)
    except SpecError as error:  # `verify` sees what lies beside the spec as well
        found = Found(None, None, "CP6001", "; ".join(error.problems))
    except LlmError as error:
        found = Found(None, None, error.code, error.message)
    except OSError as error:
        found = Found(None, found.nearest, "CP0002", unwritten(error, w.out), found.candidates)
    except ValueError as error:  # a source that is no text, a name that Python has taken
        found = Found(None, None, "CP5406", f"{w.target}: {error}")
    return _entry(work, w, found, purse)


def _sendable(work: Session, w: Wanted) -> bool:
    """Whether a model may be asked about it at all; why not is in its entry."""
    try:
        _checked(work, w)
        _task(w)
    except (_NotAskedError, SpecError, OSError, ValueError):
        return False
    return True


def _checked(work: Session, w: Wanted) -> Spec:
    """The spec, where a candidate could pass it."""
    try:
        spec = load_checked(w.target)
    except SpecError as error:
        raise _NotAskedError("CP6001", "; ".join(error.problems)) from None
    if asked := spec.open_questions:
        raise _NotAskedError.of("CP5401", questions="; ".join(q.text for q in asked[:3]))
    if not work.where.runs:
        raise _NotAskedError.of("CP5402", why=work.where.why)
    return spec


def _task(w: Wanted) -> Task | None:
    """What its folder says of a refused kernel; its original must run, as candidates are judged by it."""
    try:
        task = load_task(w.target) if w.mode == "port" else None
    except TaskError:
        task = None  # a folder made by hand: its spec and its original say enough
    if task is not None and task.original.runs is False:
        raise _NotAskedError.of("CP5406", why=task.original.why or "it did not run in the emulator")
    return task


def _material(work: Session, w: Wanted, spec: Spec) -> Material:
    task = _task(w)
    query = work.queries.get(w.name)
    return Material(
        spec,
        device_text(w.target, spec),
        work.where.arch,
        work.api,
        work.blocks,
        work.items,
        work.exemplars.get(w.name, []),
        task,
        facts_of(query, task),
        work.leave,
    )


def _keep(work: Session, w: Wanted, spec: Spec, found: Found, purse: Purse) -> Found:
    """Write what passed, with its origin; what can't be written is CP0002, and says where the text lies."""
    assert found.best is not None
    spent = purse.spent
    origin = Origin(
        by=work.settings.model if spent.turns else OWN_DRAFT,
        mode=w.mode,
        turns=spent.turns,
        candidates=found.candidates,
        tokens=spent.tokens,
        money=spent.money,
        seconds=round(purse.seconds, 1),
    )
    try:
        keep(w.target, w.out, spec.port.module, found.best.source, origin)
    except OSError as error:
        why = unwritten(error, w.out)
        if (held := logged(work.folder / w.name, found.best.source)) is not None:
            why += f"; what passed is {held}"
        return Found(None, found.nearest, "CP0002", why, found.candidates)
    return found


def _once_more(w: Wanted, bench: Bench, found: Found) -> Found:
    """What was written, judged where it lies; its verdict stays there."""
    options = Options(arch=bench.arch, device=bench.device, timeout=bench.timeout)
    verdict = verify_target(w.out, options)
    if verdict.status is Status.PASSED:
        return found
    code = next((s.code for s in verdict.stages if s.code and s.status is verdict.status), "") or ""
    return Found(None, found.nearest, code, f"{w.out}: {verdict.proven}", found.candidates)


def _entry(work: Session, w: Wanted, found: Found, purse: Purse) -> Entry:
    spent = purse.spent
    return Entry(
        kernel=w.name,
        target=str(w.target),
        mode=w.mode,
        model=work.settings.model,
        outcome=_PASSED if found.best is not None else _REFUSED,
        code=found.code,
        why=found.why,
        attempts=work.settings.candidates,
        turns=spent.turns,
        prompt_tokens=spent.prompt,
        answer_tokens=spent.answer,
        money=spent.money,
        seconds=round(purse.seconds, 2),
        candidates=found.candidates,
        reached=found.nearest.reached.name if found.nearest is not None else "",
        gain=found.gain,
        folder=str(work.folder / w.name),
    )
