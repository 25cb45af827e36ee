"""What commands about runs with a model print as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from translator.batch.improve import Done
from translator.batch.run_file import Listed, Strict
from translator.loop.ledger import Entry


class RunDocument(Strict):
    """What `lift`, `tune` and `runs` resume, replay and csv print with --json; `folder` holds the logs, and
    `problems` say what of them could not be written."""

    schema_version: int = 1
    exit_code: int
    folder: str
    entries: list[Entry]
    problems: list[str] = Field(default_factory=list)

    @classmethod
    def of(cls, done: Done) -> Self:
        return cls(
            exit_code=done.exit_code,
            folder=done.folder,
            entries=list(done.entries),
            problems=list(done.problems),
        )


class RunsDocument(Strict):
    """What `runs list --json` prints; `problems` says of folders why they can't be read."""

    schema_version: int = 1
    runs: list[Listed]
    problems: list[str]
