"""Where a candidate is judged: a scratch copy of the target, the name check, then `verify` in its children.

A candidate's text is never imported or run here: `verify` does, behind its own walls.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translator.grounding.api import Api
from translator.grounding.check import Unknown, unknown_names
from translator.loop.judged import Judged
from translator.loop.recorded import Recorded, known, recorded
from translator.output import naming, write_file
from verify.options import DeviceChoice, Options
from verify.run import verify_target
from verify.verdict import StageName, Verdict

# What a target consists of besides its port; recorded results are no part of a question.
_COPIED = ("spec.toml", "original", "reference.py")
_COMPILE: tuple[StageName, ...] = ("static", "compile")
_VALUES: tuple[StageName, ...] = ("static", "compile", "parity", "sanitize")
_ALL: tuple[StageName, ...] = (*_VALUES, "bench")

Judge = Callable[[Path, Options], Verdict]


@dataclass(frozen=True, slots=True)
class Bench:
    """How candidates are judged: `timeout` in seconds per compile and per run of a case; `timed` measures
    speed too, where there is a GPU."""

    arch: str = ""
    device: DeviceChoice = "auto"
    timeout: float = 120.0
    timed: bool = False


@dataclass(slots=True)
class Workshop:
    """One target's candidates. `folder` is its scratch copy; every text is judged once. `before` is what was
    judged before the run was cut short."""

    folder: Path
    module: str
    api: Api | None
    bench: Bench = field(default_factory=Bench)
    judge: Judge = verify_target
    before: Recorded = field(default_factory=dict)
    _seen: dict[tuple[str, tuple[StageName, ...]], Judged] = field(default_factory=dict)

    @classmethod
    def of(
        cls, target: Path, folder: Path, module: str, api: Api | None, bench: Bench, log: Path | None = None
    ) -> Workshop:
        """A workshop in `folder`, which is made, for the target folder `target`, only read; `log` may
        hold what was judged before."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _COPIED:
            source, copy = target / name, folder / name
            with naming(copy):
                if source.is_dir():
                    shutil.copytree(source, copy, dirs_exist_ok=True)
                elif source.is_file():
                    shutil.copyfile(source, copy)
        return cls(folder, module, api, bench, before=recorded(log) if log is not None else {})

    def names(self, source: str) -> tuple[Unknown, ...]:
        """The names of `source` that the installed DSL and the corpus do not have."""
        try:
            return tuple(unknown_names(source, self.api)) if self.api is not None else ()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()  # the static stage says what is no Python

    def compiled(self, source: str) -> Judged:
        """`source` checked and compiled, not run."""
        return self._judged(source, _COMPILE)

    def compared(self, source: str) -> Judged:
        """`source` with its values compared with the original's, and its faults looked for."""
        return self._judged(source, _ALL if self.bench.timed else _VALUES)

    def _judged(self, source: str, stages: Sequence[StageName]) -> Judged:
        unknown = self.names(source)
        if unknown:
            return Judged(source, unknown)
        key = (Judged(source).digest, tuple(stages))
        if key not in self._seen:
            write_file(self.folder / self.module, source)
            options = Options(
                stages=tuple(stages),
                arch=self.bench.arch,
                timeout=self.bench.timeout,
                device=self.bench.device,
                write=False,
            )
            verdict = known(self.before, self.folder, options) or self.judge(self.folder, options)
            self._seen[key] = Judged(source, (), verdict)
        return self._seen[key]
