"""Parity of one target in the emulator: which children are started, and how they are shared."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from verify.counting import Watched, counted
from verify.heldout import extra_runs
from verify.mutate.trial import Comparison, compare, with_mutants
from verify.options import Options
from verify.original_side import build_original
from verify.parity import not_compared
from verify.plan import plan
from verify.references import reference_for
from verify.sides import EMULATED_ORIGINAL, EMULATED_PORT, ChildSide, SideError
from verify.slots import Pool
from verify.spec import Spec
from verify.verdict import StageResult, Status

_LINES = {"CUTE_DSL_LINEINFO": "1"}  # where in port.py a finding is; changes no instruction
_TARGETS_PER_CHILD = 32  # what a port compiled stays in its child's memory


class Slot:
    """The children that serve one target after the other: importing the DSL takes seconds. One thread at a
    time; close it."""

    def __init__(self, arch: str, timeout: float) -> None:
        self.arch = arch
        self.original = ChildSide(EMULATED_ORIGINAL, {}, arch, timeout)
        self.port = ChildSide(EMULATED_PORT, {}, arch, timeout, _LINES)
        self._served = 0

    def serve(
        self, target: Path, spec: Spec, options: Options, beside: Sequence[ChildSide] = ()
    ) -> StageResult:
        """The parity stage of one target; `beside` are other slots' ports, which judge mutants too."""
        self._served += 1
        if self._served % _TARGETS_PER_CHILD == 0:
            self.port.restart()
        place = str(target.resolve())
        with tempfile.TemporaryDirectory(prefix="cuteport-build-") as folder:
            try:
                built = build_original(
                    self.original, place, self.arch, Path(folder), lines=True, disassemble=options.algorithm
                )
            except SideError as e:
                return not_compared(target, e)
            ptx = str(Path(folder) / "ptx.lines")
            self.original.reload({"target": place, "ptx": ptx, "names": built.names})
            module = str((target / spec.port.module).resolve())
            self.port.reload({"target": place, "module": module, "arch": self.arch})
            original, port = Watched(self.original), Watched(self.port)
            runs = plan(spec, options.cases, options.seed, "emulator")
            runs += extra_runs(target, spec, options.cases, options.seed, "emulator")
            words, role = built.words, EMULATED_ORIGINAL
            try:
                with reference_for(target, spec, options, self.original, role, self.arch) as reference:
                    comparison = Comparison(
                        target,
                        spec,
                        runs,
                        self.original,
                        self.port,
                        reference,
                        built.facts,
                        words,
                        "emulator",
                    )
                    found = compare(replace(comparison, original=original), port)
                    found = _with_counts(spec, found, original, port)
                    return with_mutants(comparison, found, options, beside)
            except SideError as e:
                return not_compared(target, e)

    def close(self) -> None:
        self.original.close()
        self.port.close()


def _with_counts(spec: Spec, found: StageResult, original: Watched, port: Watched) -> StageResult:
    """With counts and output bits of both sides where their values agree: of wrong ports they would mean
    nothing."""
    if found.parity is None or (found.status is not Status.PASSED and found.code != "CP7018"):
        return found
    facts = counted(spec, found.parity.runs, original, port)
    seen = {"counts": facts, "output_bits": {"original": original.bits, "port": port.bits}}
    return found.model_copy(update={"parity": found.parity.model_copy(update=seen)})


class Slots(Pool[Slot]):
    """As many slots as targets run at a time, each made when it is first needed."""

    def __init__(self, arch: str, timeout: float) -> None:
        super().__init__(lambda: Slot(arch, timeout))
