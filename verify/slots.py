"""Things that one thread uses at a time, as many as there are threads at work."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Generic, Protocol, TypeVar


class Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closes)


class Pool(Generic[T]):
    """Made when first needed, kept for the next user, closed together."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._made: list[T] = []

    @contextmanager
    def one(self) -> Iterator[T]:
        """One of them for the calling thread alone."""
        try:
            taken = self._free.get_nowait()
        except queue.Empty:
            taken = self._make()
            self._made.append(taken)
        try:
            yield taken
        finally:
            self._free.put(taken)

    @contextmanager
    def some(self, count: int) -> Iterator[list[T]]:
        """As many of them, for the calling thread alone."""
        with ExitStack() as held:
            yield [held.enter_context(self.one()) for _ in range(count)]

    def close(self) -> None:
        for made in self._made:
            made.close()
