"""Waiting for an answer without being held by it: who is told to stop leaves the request behind."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from translator.llm.messages import Client, LlmError, Message, Reply, Tool

_LOOKS = 0.2  # seconds between looks at `stop`


class StoppedError(Exception):
    """The wait was given up: somebody said stop."""


class Patient:
    """Another client, asked in a thread of its own that nobody joins."""

    def __init__(
        self, client: Client, stop: threading.Event, left: Callable[[], float] = lambda: math.inf
    ) -> None:
        self._client = client
        self._stop = stop
        self._left = left

    @property
    def tools(self) -> bool:
        """As of the client that is asked."""
        return bool(getattr(self._client, "tools", True))

    def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Reply:
        """One answer. LlmError; StoppedError once `stop` is set or no second is `left`."""
        came: list[Reply] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                came.append(self._client.ask(messages, tools))
            except BaseException as error:  # raised again by who waits
                failed.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_LOOKS)
            if (self._stop.is_set() or self._left() <= 0) and thread.is_alive():
                raise StoppedError
        if failed:
            raise failed[0]
        if not came:
            raise LlmError.of("CP5309", endpoint="the endpoint", tries="1 try", reason="nothing came")
        return came[0]
