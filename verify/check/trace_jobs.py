"""What a port asks of the device, case by case, without running a kernel. Child side only.

Buffers get made-up addresses that are the same everywhere, so that two traces are equal exactly where the
port's host code does the same: same modules, kernels, grids, blocks, shared memory, arguments and copies.
"""

from __future__ import annotations

import functools
import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verify.check.identity import digest, ptx_code
from verify.device_jobs import call_port
from verify.emulator.port import dsl
from verify.emulator.port.launches import Launch, Session
from verify.emulator.ptx.module import Module, PtxError
from verify.emulator.ptx.parse import parse
from verify.heldout import case_named
from verify.jobs import Emit, JobError, describe, load_module
from verify.levels import compiling_at
from verify.resolve import resolve
from verify.spec import Case, Spec
from verify.spec_file import load_spec
from verify.specialise import specialisations

_BUFFERS, _VARIABLES = 1 << 40, 1 << 46  # far from each other, and multiples of any alignment


class Tracer:
    """What one child holds: a session that notes what is asked of it. `blind` says why there is none."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.blind = ""
        self.events: list[Any] = []
        self._modules: dict[str, Module] = {}
        self._variables: dict[tuple[str, str], int] = {}

    def start(self, arch: str) -> None:
        """Hook the DSL before its first import; with a version whose insides are unknown go without."""
        if self.session is not None or self.blind:
            return
        try:
            dsl.prepare()
        except PtxError as e:
            self.blind = f"{e.code}: {e.message}"
        try:
            importlib.import_module("cutlass.cute")
        except BaseException as e:
            raise JobError("CP9001", describe(e)[0]) from e
        if not self.blind:
            try:
                session = Session(arch, self._launched, self._symbol)
                dsl.attach(session, self._copied)
                self.session = session
            except PtxError as e:
                self.blind = f"{e.code}: {e.message}"

    def begin(self) -> None:
        """Another port comes."""
        self._modules.clear()
        self._variables.clear()

    def _module(self, ptx: str) -> Module:
        if ptx not in self._modules:
            self._modules[ptx] = parse(ptx)
        return self._modules[ptx]

    def _launched(self, launch: Launch) -> None:
        function = self._module(launch.ptx).functions.get(launch.kernel)
        if function is None or not function.entry:
            raise PtxError("CP7104", f"no kernel {launch.kernel} in the PTX")
        values = [v.hex() for v in launch.values(tuple(p.size for p in function.params))]
        shape = [launch.grid, launch.block, launch.smem, launch.cluster, launch.cooperative]
        self.events.append(["launch", ptx_code(launch.ptx), launch.kernel, shape, values])

    def _symbol(self, ptx: str, name: str) -> tuple[int, int]:
        found = [v for v in self._module(ptx).variables if v.name == name and v.space in ("global", "const")]
        if not found:
            raise PtxError("CP7104", f"no variable {name} in the PTX")
        at = self._variables.setdefault((ptx, name), _VARIABLES + (len(self._variables) << 32))
        self.events.append(["variable", ptx_code(ptx), name, at, found[0].size])
        return at, found[0].size

    def _copied(self, to: int, source: int, size: int) -> None:
        self.events.append(["copy", to, source, size])


HELD = Tracer()


def trace_port(job: dict[str, Any], _emit: Emit) -> dict[str, Any]:
    """Compile the port for what is `known`, see portcall, then call it once per case of the spec and of
    `cases`, see heldout.

    Replies with the files of its PTX and machine code, and the digest of what each case asks for; `blind`
    says why that can't be seen, and cases whose call fails are left out with the reason in `failed`.
    """
    HELD.start(job["arch"])
    HELD.begin()
    target, out = Path(job["target"]), Path(tempfile.mkdtemp())
    spec = load_spec(target)
    cases = [*spec.case, *(case_named(spec, name) for name in job["cases"])]
    path = (target / spec.port.module).resolve()
    module = load_module(path, f"_port_{spec.port.entry}")
    entry, build = (getattr(module, n, None) for n in (spec.port.entry, f"compile_{spec.port.entry}"))
    if not callable(entry) or not callable(build):
        raise JobError("CP6004", f"port.py has no function {spec.port.entry} or compile_{spec.port.entry}")
    with compiling_at(spec.port.opt_level):
        start = time.monotonic()
        try:
            compiled = build(*specialisations(build, [job["known"]])[0])
        except BaseException as e:
            message, line = describe(e, path)
            raise JobError("CP6102", message, line) from e
        seconds = time.monotonic() - start
        artifacts = getattr(compiled, "artifacts", None)
        ptx, cubin = getattr(artifacts, "PTX", None), getattr(artifacts, "CUBIN", None)
        if not ptx or not cubin:
            raise JobError("CP6105", f"compile_{spec.port.entry} gave no PTX and CUBIN")
        (out / "ptx").write_bytes(ptx.encode() if isinstance(ptx, str) else bytes(ptx))
        (out / "cubin").write_bytes(bytes(cubin))
        traced, failed = _cases(spec, cases, entry, path) if HELD.session is not None else ({}, "")
    files = {"ptx": str(out / "ptx"), "cubin": str(out / "cubin")}
    return {"seconds": seconds, **files, "launches": traced, "blind": HELD.blind, "failed": failed}


def _cases(spec: Spec, cases: Sequence[Case], entry: Any, path: Path) -> tuple[dict[str, str], str]:
    """Each case at well and at badly aligned addresses, as parity runs them."""
    session = HELD.session
    assert session is not None
    well = {a.name: _BUFFERS * (1 + i) for i, a in enumerate(spec.buffers)}
    badly = {a.name: well[a.name] + (0 if a.symbol else a.least_align) for a in spec.buffers}
    found: dict[str, str] = {}
    for case in cases:
        resolved = resolve(spec, case)
        if not resolved.launchable:
            continue
        for name, addresses in ((case.name, well), (f"{case.name}, shifted addresses", badly)):
            HELD.events.clear()
            try:
                session.call(functools.partial(call_port, entry, spec, resolved, addresses, 0, path))
            except (JobError, PtxError) as e:
                return found, f"case {name}: {e.code}: {e.message}"
            found[name] = digest(HELD.events)
    return found, ""


HANDLERS = {"trace_port": trace_port}
