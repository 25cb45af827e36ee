"""The two sides of a comparison as the parent sees them: each a child that runs one case at a time."""

from __future__ import annotations

import contextlib
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from verify.compile import child_env
from verify.emulator.build import cache_folder
from verify.inputs import Bytes
from verify.isolate import Child, ChildDiedError, ChildTimeoutError, memory_limit

_START_SECONDS = 240.0  # imports, context creation, loading; cold file systems are slow


class SideError(Exception):
    """A run that gave no outputs. `how` tells a refusal or fault from a death and from a hang."""

    def __init__(self, how: str, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.how = how  # "refused", "died" or "timeout"
        self.code = code
        self.message = message
        self.line = line


@dataclass(slots=True)
class Inputs:
    """Input bytes by buffer, written to files once for both sides. `shifted`: see buffers.run_once."""

    data: dict[str, Bytes]
    folder: Path
    shifted: bool = False
    ask: tuple[str, int] | None = None  # a buffer and a byte of it: who wrote there last?
    _files: dict[str, str] = field(default_factory=dict)
    _key: bytes = b""

    def key(self) -> bytes:
        """A digest of the bytes: equal inputs, equal keys."""
        if not self._key:
            own = blake2b(b"shifted" if self.shifted else b"", digest_size=16)
            for name, data in self.data.items():
                own.update(f"{name} {len(data)}\0".encode())
                own.update(np.ascontiguousarray(data).data)
            self._key = own.digest()
        return self._key

    def files(self) -> dict[str, str]:
        if not self._files:
            for i, (name, data) in enumerate(self.data.items()):
                path = self.folder / f"in{i}.bin"
                data.tofile(path)
                self._files[name] = str(path)
        return self._files


@dataclass(slots=True)
class SideRan:
    """What one launch left, see buffers.Ran."""

    outputs: dict[str, Bytes]
    overrun: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    # see emulated_jobs; empty on a GPU
    findings: list[dict[str, Any]] = field(default_factory=list)
    touched: dict[str, tuple[int, int]] = field(default_factory=dict)
    opcodes: dict[str, int] = field(default_factory=dict)
    steps: int = 0  # of the emulator's budget
    launches: list[list[int]] = field(default_factory=list)  # grid, block, dynamic shared bytes of each
    foreign: list[str] = field(default_factory=list)  # buffers that something else than a launch changed
    strayed: list[str] = field(default_factory=list)  # kernels launched on another stream than given
    writer: tuple[int, int, str, int] | None = None  # linear block and thread, file, line; see Inputs.ask


class Side(Protocol):
    """One side: runs a case; after a SideError it must be restarted before it runs again."""

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan: ...
    def restart(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Role:
    """Job names and codes that differ between the sides."""

    load: str
    run: str
    died: str
    hung: str
    code: str = ""
    foreign: bool = False  # runs a port: writes to its own folders only
    gpu: bool = True


ORIGINAL = Role("load_original", "run_original", "CP7002", "CP7006")
PORT = Role("load_port", "run_port", "CP7004", "CP7005", "code_of_port", foreign=True)
# The emulator sees what a kernel does wrong; where it dies all the same, it is at fault itself.
EMULATED_ORIGINAL = Role("load_emulated_original", "emulate_original", "CP7099", "CP7006", gpu=False)
EMULATED_PORT = Role(
    "load_emulated_port", "emulate_port", "CP7004", "CP7005", "code_of_emulated_port", foreign=True, gpu=False
)


class ChildSide:
    """A side in its own process, started and loaded on first use. Use from one thread; close it."""

    def __init__(
        self,
        role: Role,
        load: Mapping[str, Any],
        arch: str,
        timeout: float,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.role = role
        self.load = dict(load)
        self.timeout = timeout
        self._arch = arch
        self._env = dict(env or {})
        self.budgets: Mapping[str, int] = {}  # steps that a run of a case may take in the emulator
        self._loaded = False
        self._dump = tempfile.TemporaryDirectory(prefix="cuteport-dump-", ignore_cleanup_errors=True)
        self._child: Child | None = None

    def close(self) -> None:
        self.restart()
        self._dump.cleanup()

    def restart(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
        self._loaded = False

    def reload(self, load: Mapping[str, Any]) -> None:
        """Serve another target from now on, in the same child as long as it lives."""
        self.load = dict(load)
        self._loaded = False

    def _start(self) -> Child:
        if self._child is None:
            # Builders write where they are told to; a port's child only to what is its own.
            places = [self._dump.name] if self.role.foreign else [tempfile.gettempdir()]
            with contextlib.suppress(OSError):
                cache_folder().mkdir(parents=True, exist_ok=True)
                places.append(str(cache_folder()))
            self._child = Child(
                {**child_env(self._arch, Path(self._dump.name)), **self._env},
                writable=places,
                memory=None if self.role.gpu else memory_limit(),
            )
        return self._child

    @property
    def child(self) -> Child:
        """The loaded child. SideError where it can't be loaded."""
        child = self._start()
        if not self._loaded:
            try:
                self.ask({"do": self.role.load, **self.load}, _START_SECONDS)
            except BaseException:
                self.restart()  # half loaded is of no use to the next caller
                raise
            self._loaded = True
        return child

    def ask(self, job: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Run a job in the child. SideError for each way it can fail."""
        assert self._child is not None
        try:
            reply = self._child.request(job, timeout)
        except ChildTimeoutError:
            self.restart()
            raise SideError("timeout", self.role.hung, f"no answer within {timeout:.0f} s") from None
        except ChildDiedError as e:
            self.restart()
            tail = e.log.strip()[-600:] or "(no output)"
            raise SideError("died", self.role.died, f"{e.how}; last output: {tail}") from None
        if not reply["ok"]:
            code = reply.get("code") or self.role.died
            message = "\n".join(m for m in (reply["message"], reply.get("trace", "")) if m)
            raise SideError("refused", code, message, reply.get("line"))
        return reply

    def once(self, job: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        """Run a job that needs nothing loaded. SideError."""
        self._start()
        return self.ask(job, timeout)

    def code(self, known: Sequence[Mapping[str, Any]]) -> str:
        """Compile the port for what its cases say (portcall.known_when_compiled): hashes of its machine code.
        SideError CP6102 where it does not compile."""
        _ = self.child
        job = {"do": self.role.code, "known": list(known), "module": self.load.get("module", "")}
        code: str = self.ask(job, self.timeout)["code"]
        return code

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        scratch = Path(tempfile.mkdtemp(dir=self.child.scratch))
        job = {
            "do": self.role.run,
            "case": case,
            "inputs": inputs.files(),
            "repeat": repeat,
            "shifted": inputs.shifted,
            "ask": inputs.ask,
            "out": str(scratch),
            "module": self.load.get("module", ""),
            "budget": self.budgets.get(case, 0),
        }
        reply = self.ask(job, self.timeout)
        return SideRan(
            read_outputs(reply["outputs"], scratch),
            reply["overrun"],
            reply["changed"],
            reply.get("findings", []),
            {n: (int(r), int(w)) for n, (r, w) in reply.get("touched", {}).items()},
            reply.get("opcodes", {}),
            steps=reply.get("steps", 0),
            launches=reply.get("launches", []),
            foreign=reply.get("foreign", []),
            strayed=reply.get("strayed", []),
            writer=tuple(w) if (w := reply.get("writer")) else None,
        )


def read_outputs(files: Mapping[str, str], folder: Path) -> dict[str, Bytes]:
    """Bytes of each file, which is then removed: outputs of one side do not lie about for the other.

    SideError for what is no plain file below `folder`: the child names them.
    """
    found: dict[str, Bytes] = {}
    for name, given in files.items():
        path = Path(given)
        inside = path.resolve().is_relative_to(folder.resolve())
        if not inside or not stat.S_ISREG(path.lstat().st_mode):
            raise SideError("refused", "CP7099", f"the child names {given} as its output")
        found[name] = np.fromfile(path, np.uint8)
        path.unlink()
    return found
