"""The loop with parts of it left out: what each part adds, on the same kernels and the same model.

    python -m tests.assisted.ablate RUN-FOLDER TASK… --without exemplars,api --model M [--base-url U]

`exemplars`: no entry of the corpus in the prompt. `draft`: nothing of what the compiler wrote. `api`: no
names of the DSL, no blocks, and no check of names before a compile. The target folders are not written to.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from translator.batch.assist import Wanted, ask, session
from translator.loop.material import Leave
from translator.settings import load

PARTS = ("exemplars", "draft", "api")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="+", type=Path)
    parser.add_argument("--without", default="")
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--turns", type=int, default=16)
    given = parser.parse_args()
    without = [w for w in given.without.split(",") if w]
    if unknown := [w for w in without if w not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    flags = {"model": given.model, "base_url": given.base_url or None, "turns": given.turns}
    given.folder.mkdir(parents=True)
    work = session(load(flags), given.folder)
    work.leave = Leave(**dict.fromkeys(without, True))
    if work.leave.api:
        work.api = None
    copies = []
    for task in given.tasks:
        copy = given.folder / "tasks" / task.name
        shutil.copytree(task, copy, ignore=shutil.ignore_patterns("port.py", "verdict.json"))
        copies.append(Wanted(task.name, copy, copy, "port"))
    for came in ask(work, copies, lambda *_: None):
        e = came.entry
        tokens = e.prompt_tokens + e.answer_tokens
        print(f"{e.kernel}: {e.outcome} {e.code} {e.turns} turns, {e.candidates} candidates, {tokens} tokens")


if __name__ == "__main__":
    main()
