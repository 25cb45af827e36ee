"""Both sides of a target compiled, and what the port asks of the device: the cheap half of a check."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.check.identity import ptx_code
from verify.compile import job_of
from verify.cubin import facts
from verify.facts import CompileFacts
from verify.original_side import build_original
from verify.sides import EMULATED_ORIGINAL, ChildSide, Role, SideError
from verify.slots import Pool
from verify.spec import Spec

# Compiling takes the port's host code along: a death or a hang is told as the compile stage tells it.
_PORTS = Role("", "", "CP6104", "CP6103", foreign=True, gpu=False)
_PORTS_PER_CHILD = 48  # compiled modules stay in a child's memory
_BLAMED = frozenset({"died", "timeout"})


@dataclass(frozen=True, slots=True)
class Trace:
    """What was compiled, and hashes of its instructions. `launches` is the digest of what the port asks for,
    by case; where that can't be seen, or not of all cases, `unseen` says why."""

    port: CompileFacts
    original: CompileFacts
    port_code: str
    original_code: str
    launches: dict[str, str]
    builder: str = ""  # of the original, as in "NVRTC 13.0"
    unseen: str = ""


class _Lane:
    """One thread's children: one runs ports, and is renewed after a death, a hang or many of them; one builds
    originals."""

    def __init__(self, arch: str, timeout: float) -> None:
        self.arch = arch
        self.timeout = timeout
        self._ports = ChildSide(_PORTS, {}, arch, timeout)
        self._builder = ChildSide(EMULATED_ORIGINAL, {}, arch, timeout)
        self._served = 0

    def trace(self, target: Path, spec: Spec, cases: Sequence[str] = ()) -> Trace:
        """Trace the spec's cases and those named, see heldout. SideError where a side does not compile."""
        if self._served >= _PORTS_PER_CHILD:
            self._restart()
        fresh = self._served == 0
        try:
            return self._attempt(target, spec, cases)
        except SideError as e:
            if e.how not in _BLAMED:
                raise
            self._restart()
            if fresh:
                raise
            return self._attempt(target, spec, cases)  # an earlier port may be to blame

    def _attempt(self, target: Path, spec: Spec, cases: Sequence[str]) -> Trace:
        self._served += 1
        place, known = str(target.resolve()), dict(job_of(target, spec).known)
        job = {"do": "trace_port", "target": place, "arch": self.arch, "known": known, "cases": list(cases)}
        reply = self._ports.once(job, self.timeout)
        ptx, cubin = Path(reply["ptx"]).read_text(encoding="utf-8"), Path(reply["cubin"]).read_bytes()
        shutil.rmtree(Path(reply["ptx"]).parent, ignore_errors=True)
        try:
            port = facts(self.arch, reply["seconds"], ptx, cubin)
        except ValueError as e:
            raise SideError("refused", "CP6105", str(e)) from e
        with tempfile.TemporaryDirectory(prefix="cuteport-trace-") as folder:
            built = build_original(self._builder, place, self.arch, Path(folder))
            original = (Path(folder) / "ptx").read_text(encoding="utf-8")
        return Trace(
            port=port,
            original=built.facts,
            port_code=ptx_code(ptx),
            original_code=ptx_code(original),
            launches=reply["launches"],
            builder=built.words.partition(";")[0].partition(" (")[0],
            unseen=reply["blind"] or reply["failed"],
        )

    def _restart(self) -> None:
        self._ports.restart()
        self._served = 0

    def close(self) -> None:
        self._ports.close()
        self._builder.close()


class Lanes(Pool[_Lane]):
    """As many children as targets are traced at a time, each made when it is first needed."""

    def __init__(self, arch: str, timeout: float) -> None:
        super().__init__(lambda: _Lane(arch, timeout))
