"""Going on with a conversation that was recorded: the transcript answers while it fits, then the endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from translator.llm.messages import Client, LlmError, Message, Reply, Tool
from translator.llm.transcript import Replay

# The run goes another way than the transcript, or has come to its end.
_LEFT = frozenset({"CP5319", "CP5320"})


class Resumed:
    """Answers from the transcript at `path` first. What the endpoint is asked then is its own affair."""

    def __init__(self, live: Client, path: Path) -> None:
        """LlmError (CP5321) where the transcript can't be read."""
        self._live = live
        self._replay: Replay | None = Replay(path)

    @property
    def tools(self) -> bool:
        """Whether tools may be offered: as in the transcript, so that it fits."""
        return bool(getattr(self._replay or self._live, "tools", True))

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        """One answer. LlmError."""
        if (reply := self._recorded(messages, tools)) is not None:
            return reply
        self._replay = None
        return self._live.ask(messages, tools)

    def _recorded(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply | None:
        held = self._replay
        if held is None or not held.left or held.exchanges[-held.left].error is not None:
            return None  # what failed then is asked again
        try:
            return held.ask(messages, tools)
        except LlmError as error:
            if error.code not in _LEFT:
                raise
            return None
