"""What a conversation leaves in its folder: a file per prompt, answer, candidate and verdict; its events.

Debugging is `ls` and `diff`. Nothing here ever sees a key: requests are logged as messages, not as HTTP.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from translator.llm.messages import Message, Reply
from translator.loop.judged import Judged
from translator.output import naming, write_file


class Log:
    """Numbered in the order in which things happen; a line of `events.jsonl` for each.

    What can't be written raises nothing, so that a full disk never costs a candidate that passed: `unwritten`
    is the first that failed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._events = folder / "events.jsonl"
        self._prompts = self._answers = self._candidates = 0
        self._start = time.monotonic()
        self.unwritten: OSError | None = None

    def prompt(self, messages: Sequence[Message]) -> None:
        """A conversation begins, or begins anew."""
        self._prompts += 1
        text = "\n\n".join(f"<!-- {m.role} -->\n{m.content}" for m in messages)
        self._write(self.folder / f"50-prompt-{self._prompts}.md", text)
        self._event("prompt", characters=len(text))

    def reply(self, reply: Reply) -> None:
        """The model's answer, tool calls written out."""
        self._answers += 1
        parts = [reply.content, *(f"[{c.name}] {c.arguments}" for c in reply.calls)]
        self._write(self.folder / f"51-answer-{self._answers}.md", "\n\n".join(p for p in parts if p))
        self._event(
            "answer",
            calls=[c.name for c in reply.calls],
            tokens=[reply.usage.prompt, reply.usage.answer],
            seconds=round(reply.seconds, 3),
            finish=reply.finish,
        )

    def answer(self, tool: str, text: str) -> None:
        """What a tool answered."""
        self._event("tool", tool=tool, characters=len(text))

    def judged(self, judged: Judged) -> None:
        """A candidate and what became of it."""
        self._candidates += 1
        self._write(self.folder / f"52-candidate-{self._candidates}.py", judged.source)
        if judged.verdict is not None:
            text = judged.verdict.model_dump_json(indent=1, exclude_none=True)
            self._write(self.folder / f"60-verdict-{self._candidates}.json", text)
        self._event(
            "candidate",
            number=self._candidates,
            digest=judged.digest,
            reached=judged.reached.name,
            signature=judged.signature,
            speed=judged.speed,
        )

    def said(self, text: str) -> None:
        """What the model is told next."""
        self._event("said", text=text)

    def step(self, step: str, why: str) -> None:
        """A change of strategy."""
        self._event("step", step=step, why=why)

    @property
    def candidates(self) -> int:
        return self._candidates

    def _event(self, what: str, **facts: object) -> None:
        line = {"at": round(time.monotonic() - self._start, 3), "what": what, **facts}
        try:
            with naming(self._events), self._events.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            self.unwritten = self.unwritten or error

    def _write(self, path: Path, text: str) -> None:
        try:
            write_file(path, text)
        except OSError as error:
            self.unwritten = self.unwritten or error


def logged(folder: Path, source: str) -> Path | None:
    """The candidate of exactly this text in the logs of one kernel, if it is there."""
    for path in sorted(folder.glob("*/52-candidate-*.py")):
        with contextlib.suppress(OSError, ValueError):
            if path.read_text(encoding="utf-8") == source:
                return path
    return None
