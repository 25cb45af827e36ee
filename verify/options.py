"""What a verification is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verify.verdict import STAGES, StageName

DeviceChoice = Literal["auto", "gpu", "emulator"]
DEVICES: tuple[DeviceChoice, ...] = ("auto", "gpu", "emulator")


@dataclass(frozen=True, slots=True)
class Options:
    """What to run; a stage brings those that it stands on. `cases` empty means all; `arch` empty means the
    GPU's own, or sm_90a where there is none. `device` auto is the GPU where there is one, otherwise the
    emulator. `timeout` is seconds per compile and per run of a case."""

    stages: tuple[StageName, ...] = STAGES
    cases: tuple[str, ...] = ()
    seed: int = 0
    arch: str = ""
    timeout: float = 120.0
    record: bool = False
    jobs: int = 1
    device: DeviceChoice = "auto"

    def wants(self, stage: StageName) -> bool:
        """True for the stages asked for and those that they stand on."""
        return any(STAGES.index(stage) <= STAGES.index(s) for s in self.stages)
