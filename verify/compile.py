"""The compile stage: port → PTX and cubin in a child, no GPU needed. A warm child serves many ports."""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify import space
from verify.cubin import facts
from verify.isolate import Child, ChildDiedError, ChildTimeoutError, memory_limit
from verify.portcall import known_when_compiled
from verify.resolve import resolve
from verify.spec import Spec
from verify.verdict import StageResult, Status

ARCHES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
DEFAULT_ARCH = "sm_90a"
_WARM_SECONDS = 180.0  # the DSL's import; 8 s were seen on a cold machine
_JOBS_PER_CHILD = 48  # compiled modules stay in a child's memory


@dataclass(frozen=True, slots=True)
class CompileJob:
    """`target` names the job in its result; `known` is what its first typical case says to `compile_<entry>`,
    `level` the optimisation level of the machine code where the spec pins one. `disassemble`: say what
    instructions that has."""

    target: str
    module: Path
    entry: str
    known: Mapping[str, Any]
    level: int | None = None
    disassemble: bool = False


def job_of(target: Path, spec: Spec, *, disassemble: bool = False) -> CompileJob:
    """The job for a target folder, for its first typical case. ExprError for a bad one."""
    case = next((c for c in spec.case if c.role == "typical"), spec.case[0])
    module = (target / spec.port.module).resolve()
    known = known_when_compiled(spec, resolve(spec, case))
    return CompileJob(str(target), module, spec.port.entry, known, spec.port.opt_level, disassemble)


def child_env(arch: str, dump: Path) -> dict[str, str]:
    """What a child that compiles for `arch` finds in its environment; `dump` must exist."""
    return {
        "CUTE_DSL_ARCH": arch,
        "CUTE_DSL_KEEP": "ptx,cubin",
        "CUTE_DSL_NO_CACHE": "1",
        "CUTE_DSL_DUMP_DIR": str(dump),
    }


class DslMissingError(Exception):
    """The CuTe DSL can't be imported; the text says why."""


class CompileChild:
    """A child with the DSL loaded, for one architecture. Use as a context manager, from one thread."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self._dump = tempfile.TemporaryDirectory(prefix="cuteport-dump-", ignore_cleanup_errors=True)
        self.child = Child(
            child_env(arch, Path(self._dump.name)), writable=[self._dump.name], memory=memory_limit()
        )
        try:
            reply = self.child.request({"do": "warm"}, _WARM_SECONDS)
            failure = None if reply["ok"] else reply["message"]
        except (ChildDiedError, ChildTimeoutError) as e:
            failure = f"importing it ended the process: {e}"
        except BaseException:
            self.close()
            raise
        if failure is not None:
            self.close()
            raise DslMissingError(failure)

    def __enter__(self) -> CompileChild:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.child.close()
        self._dump.cleanup()

    def run(self, job: CompileJob, timeout: float) -> StageResult:
        """Compile one port. ChildDiedError and ChildTimeoutError pass through: the child is then gone."""
        start = time.monotonic()
        out = Path(tempfile.mkdtemp(dir=self.child.scratch))
        request: dict[str, Any] = {
            "do": "compile",
            "id": self.child.jobs,
            "module": str(job.module),
            "entry": job.entry,
            "known": dict(job.known),
            "level": job.level,
            "out": str(out),
        }
        reply = self.child.request(request, timeout)
        seconds = time.monotonic() - start
        if not reply["ok"]:
            return _failed(job, reply.get("code") or "CP6102", reply["message"], seconds, reply.get("line"))
        try:
            ptx, cubin = (out / "ptx").read_text(encoding="utf-8"), (out / "cubin").read_bytes()
            found = facts(self.arch, reply["seconds"], ptx, cubin, disassemble=job.disassemble)
        except (OSError, ValueError) as e:
            return _failed(job, "CP6105", str(e), seconds)
        return StageResult(
            stage="compile", target=job.target, status=Status.PASSED, seconds=round(seconds, 4), compile=found
        )


def _failed(
    job: CompileJob,
    code: str,
    message: str,
    seconds: float,
    line: int | None = None,
    status: Status | None = None,
) -> StageResult:
    return StageResult(
        stage="compile",
        target=job.target,
        status=status or Status.COMPILE_ERROR,
        code=code,
        message=message,
        line=line,
        seconds=round(seconds, 4),
    )


def not_run(job: CompileJob, why: str, code: str | None = None) -> StageResult:
    return StageResult(stage="compile", target=job.target, status=Status.NOT_RUN, code=code, message=why)


class _Lane:
    """One thread's warm child, renewed after a death, a timeout or many jobs."""

    def __init__(self, arch: str, timeout: float) -> None:
        self.arch = arch
        self.timeout = timeout
        self.warm: CompileChild | None = None
        self.stopped = False
        self.missing = ""  # why there is no DSL: asked once, not for each port

    def compile(self, job: CompileJob) -> StageResult:
        if self.missing:
            return not_run(job, self.missing, "CP9001")
        if self.warm is not None and self.warm.child.jobs >= _JOBS_PER_CHILD:
            self.close()
        try:
            fresh = self.warm is None
            first = self._attempt(job)
            # Earlier ports in the same process may be to blame; alone, the port answers for itself.
            blamed = first.status in (Status.TIMEOUT, Status.CRASHED)
            return self._attempt(job) if blamed and not fresh and not self.stopped else first
        except DslMissingError as e:
            self.missing = f"the CuTe DSL can't be used: {e}"
            return not_run(job, self.missing, "CP9001")
        except OSError as e:
            self.close()
            if not space.from_full_disk(e):
                raise
            return not_run(job, space.words(e), space.CODE)

    def _attempt(self, job: CompileJob) -> StageResult:
        if self.warm is None:
            self.warm = CompileChild(self.arch)
        start = time.monotonic()
        try:
            return self.warm.run(job, self.timeout)
        except ChildTimeoutError:
            self.close()
            message = f"no end after {self.timeout:.0f} s"
            return _failed(job, "CP6103", message, time.monotonic() - start, status=Status.TIMEOUT)
        except ChildDiedError as e:
            self.close()
            message = f"{e.how}; last output: {e.log.strip()[-600:] or '(none)'}"
            return _failed(job, "CP6104", message, time.monotonic() - start, status=Status.CRASHED)

    def close(self) -> None:
        if self.warm is not None:
            self.warm.close()
            self.warm = None

    def stop(self) -> None:
        """From another thread: end the port in work; the lane's own thread cleans up."""
        self.stopped = True
        if (warm := self.warm) is not None:
            warm.child.kill()


def compile_ports(
    jobs: Iterable[CompileJob], arch: str = DEFAULT_ARCH, jobs_n: int = 1, timeout: float = 120.0
) -> Iterator[StageResult]:
    """Compile many ports, `jobs_n` at a time; yields each result as it is ready, in no fixed order.

    A port that kills or hangs its child is compiled again alone before it is blamed. `timeout` is in seconds
    per port. Closing the iterator ends the children.
    """
    waiting: queue.SimpleQueue[CompileJob] = queue.SimpleQueue()
    listed = list(jobs)
    for job in listed:
        waiting.put(job)
    done: queue.SimpleQueue[StageResult | BaseException] = queue.SimpleQueue()

    def serve(lane: _Lane) -> None:
        try:
            while not lane.stopped:
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                done.put(lane.compile(job))
        except BaseException as e:
            done.put(e)
        finally:
            lane.close()

    workers = max(1, min(jobs_n, len(listed), os.cpu_count() or 1))
    lanes = [_Lane(arch, timeout) for _ in range(workers if listed else 0)]
    threads = [threading.Thread(target=serve, args=(lane,), daemon=True) for lane in lanes]
    for t in threads:
        t.start()
    try:
        for _ in listed:
            item = done.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        for lane in lanes:
            lane.stop()
        for t in threads:
            t.join(timeout=30)
