"""One kernel: several conversations side by side, the best verified candidate kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from translator.llm.messages import Client
from translator.llm.patient import Patient
from translator.loop.attempt import Conversation, Ended
from translator.loop.feedback import told
from translator.loop.goal import Goal, Mode
from translator.loop.judged import Judged, Reached
from translator.loop.log import Log
from translator.loop.material import Material
from translator.loop.purse import Purse
from translator.loop.tools import Desk
from translator.loop.workshop import Bench, Workshop


@dataclass(frozen=True, slots=True)
class Found:
    """What came of it. `best` passed, or is None; `nearest` is the candidate that got furthest."""

    best: Judged | None
    nearest: Judged | None
    code: str = ""
    why: str = ""
    candidates: int = 0
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """`client(k)` makes the client of conversation k, whose folder is given; `start` is the verified port
    that lift and tune begin with. Who sets `stop` ends it, however long an answer takes."""

    target: Path
    module: str
    mode: Mode
    material: Material
    folder: Path
    client: Callable[[int, Path], Client]
    bench: Bench
    candidates: int = 1
    start: str = ""
    stop: threading.Event = field(default_factory=threading.Event)


def search(job: Job, purse: Purse) -> Found:
    """Talk about one kernel until it is ported or the purse is empty."""
    own = job.folder / "start"
    first = Workshop.of(job.target, own, job.module, job.material.api, job.bench, own)
    start = None
    text = (job.material.draft or None) if job.mode == "port" else job.start
    if text is not None:
        start = first.compared(text)
        if job.stop.is_set():
            return Found(None, None)  # no verdict: whoever stopped it may have ended the children that judged
        Log(own).judged(start)
    if job.mode == "port" and start is not None:
        if start.passed:  # refused for want of certainty, which verify has
            return Found(start, start, candidates=1)
        if start.hopeless and start.verdict is not None:
            return Found(None, start, "CP5406", start.verdict.proven, 1)
    elif start is not None and not start.passed:
        words = start.verdict.proven if start.verdict is not None else "it uses unknown names"
        return Found(None, start, "CP5405", words)
    talks = [_conversation(job, k, purse, start) for k in range(job.candidates)]

    def one(talk: Conversation) -> Ended:
        ended = talk.run()
        if ended.fatal or (job.mode == "port" and ended.best is not None):
            job.stop.set()
        return ended

    try:
        with ThreadPoolExecutor(max(1, job.candidates)) as pool:
            ends = list(pool.map(one, talks))
    except BaseException:
        job.stop.set()
        raise
    return _found(talks, ends)


def _conversation(job: Job, k: int, purse: Purse, start: Judged | None) -> Conversation:
    """The k-th conversation: its exemplars begin with the k-th, so that several do not think alike."""
    folder = job.folder / f"candidate-{k + 1}"
    shop = Workshop.of(job.target, folder / "target", job.module, job.material.api, job.bench, folder)
    client = Patient(job.client(k, folder), job.stop, lambda: purse.seconds_left)
    brief, hidden = job.material.brief(job.mode, turned=k, tools=client.tools, start=start)
    lines = job.material.cuda.splitlines()
    said = told(start, lines) if start is not None and brief.draft else []
    desk = Desk(shop, job.material.api, job.material.blocks, job.material.items, source=brief.draft)
    goal = Goal(job.mode, start if job.mode != "port" else None, timed=job.bench.timed)
    return Conversation(client, brief, desk, goal, purse, Log(folder), lines, list(hidden), job.stop, said)


def _found(talks: Sequence[Conversation], ends: Sequence[Ended]) -> Found:
    best: Judged | None = None
    gain: float | None = None
    nearest: Judged | None = None
    for talk, end in zip(talks, ends, strict=True):
        if end.best is not None and end.best.better_than(best):
            best, gain = end.best, talk.goal.gain
        held = talk.policy.best
        if held is not None and held.reached > Reached.NOTHING and held.better_than(nearest):
            nearest = held
    count = sum(t.log.candidates for t in talks)
    if best is not None:
        return Found(best, best, candidates=count, gain=gain)
    told = next((e for e in ends if e.code), ends[0])
    return Found(None, nearest, told.code, told.why, count)
