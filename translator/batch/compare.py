"""Two runs with a model, kernel by kernel."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from translator.batch.run_file import folder_of, read_run
from translator.loop.ledger import Entry


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pair(Strict):
    """One kernel in both runs; null where a run has it not."""

    kernel: str
    mode: str
    old: Entry | None
    new: Entry | None

    @property
    def lost(self) -> bool:
        """It passed, and does not any more."""
        passed = self.old is not None and self.old.outcome == "PASSED"
        return passed and (self.new is None or self.new.outcome != "PASSED")


class Comparison(Strict):
    """What `runs compare --json` prints."""

    schema_version: int = 1
    old: str
    new: str
    pairs: list[Pair]
    exit_code: int


def compared(old: Path, new: Path, runs: Path) -> Comparison:
    """The kernels of both, in order of name. RunFileError."""
    first, second = (read_run(folder_of(f, runs)) for f in (old, new))
    sides = [{(e.kernel, e.mode): e for e in side.entries} for side in (first, second)]
    keys = sorted(set(sides[0]) | set(sides[1]))
    pairs = [Pair(kernel=k, mode=m, old=sides[0].get((k, m)), new=sides[1].get((k, m))) for k, m in keys]
    code = 1 if any(p.lost for p in pairs) else 0
    return Comparison(old=first.folder, new=second.folder, pairs=pairs, exit_code=code)
