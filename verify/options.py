"""What a verification is asked to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from verify.verdict import STAGES, StageName

Mutate = int | Literal["some", "all"]

DeviceChoice = Literal["auto", "gpu", "emulator"]
DEVICES: tuple[DeviceChoice, ...] = ("auto", "gpu", "emulator")


@dataclass(frozen=True, slots=True)
class Options:
    """What to run; a stage brings those that it stands on. `cases` empty means all; `arch` empty means the
    GPU's own, or sm_90a where there is none. `device` auto is the GPU where there is one, otherwise the
    emulator. `timeout` is seconds per compile and per run of a case. `mutate` is how many mutants of a port
    that passed are tried; `min_score` fails a target that turns away a smaller share of them. `algorithm`
    takes machine code apart too. `write` leaves verdict.json in the target's folder. ValueError for numbers
    that can't be meant."""

    stages: tuple[StageName, ...] = STAGES
    cases: tuple[str, ...] = ()
    seed: int = 0
    arch: str = ""
    timeout: float = 120.0
    record: bool = False
    jobs: int = 1
    device: DeviceChoice = "auto"
    mutate: Mutate | None = None
    min_score: float | None = None
    algorithm: bool = False
    write: bool = True

    def __post_init__(self) -> None:
        usable(self.seed, self.timeout, self.jobs)

    def wants(self, stage: StageName) -> bool:
        """True for the stages asked for and those that they stand on. Times do not stand on sanitize."""
        if stage == "sanitize":
            return stage in self.stages
        return any(STAGES.index(stage) <= STAGES.index(s) for s in self.stages)


def usable(seed: int = 0, timeout: float = 1.0, jobs: int = 1) -> None:
    """ValueError for numbers of a command line that can't be meant."""
    if not -(2**63) <= seed < 2**63:
        raise ValueError(f"--seed {seed} does not fit into 64 bits")
    if not 0 < timeout < math.inf:
        raise ValueError(f"--timeout {timeout:g}: it takes seconds, more than 0")
    if jobs < 1:
        raise ValueError(f"--jobs {jobs}: it takes a number from 1")


def mutate_of(text: str) -> Mutate | None:
    """What --mutate says: some, all, or a number from 1; nothing for "". ValueError for anything else."""
    if text in ("", "some", "all"):
        return text or None  # type: ignore[return-value]
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ValueError(f"{text!r} is neither a number from 1 nor all")


def score_of(text: str, mutate: Mutate | None) -> float | None:
    """What --min-score says: a share from 0 to 1; nothing for "". ValueError for anything else."""
    if not text:
        return None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{text!r} is no share from 0 to 1")
    if mutate is None:
        raise ValueError("a score needs --mutate")
    return share


def with_values(arguments: Sequence[str]) -> list[str]:
    """A --mutate that stands alone gets its value: parsers would take the next argument, a folder, for it."""
    made: list[str] = []
    for argument in arguments:
        if made and made[-1] == "--mutate=some" and (argument == "all" or argument.isdecimal()):
            made[-1] = f"--mutate={argument}"
        else:
            made.append("--mutate=some" if argument == "--mutate" else argument)
    return made
