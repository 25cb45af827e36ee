"""Runs kernels of a PTX module: compiles each on first use, lays out its arguments, collects what it did."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from verify.emulator import abi
from verify.emulator.build import Mode, shared_object
from verify.emulator.emit.module import Emitted, emit_kernel
from verify.emulator.memory import Memory
from verify.emulator.ptx.module import Module, PtxError, Var
from verify.emulator.ptx.parse import parse
from verify.emulator.report import Finding, Writer, describe, writer_of

_MAX_FINDINGS = 256
_MAX_OUTPUT = 1 << 20
_WORKSPACE = 64  # bytes; cooperative groups use the first eight
_MAX_SHARED = 227 * 1024
_MAX_THREADS = 1024


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """`smem` is dynamic shared memory in bytes; a cooperative launch has all blocks resident at once."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    smem: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`schedule` is forward, reverse or random:<seed>: the order in which runnable threads run. `budget`
    counts backward branches and waits; beyond it the launch ends with CP8041. `count` asks for counts,
    `jitter` (a seed, 0: none) perturbs approximate instructions within their documented error. `asked` is an
    address whose last writer is wanted; needs the checks."""

    schedule: str = "forward"
    checks: bool = True
    count: bool = False
    budget: int = 2_000_000_000
    jitter: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """What one launch did. `opcodes` are dynamic counts per full opcode (with `count`), over all threads;
    `steps` is how much of the budget it used."""

    findings: tuple[Finding, ...]
    timed_out: bool
    stopped: str  # the code that ended the launch early, or ""
    seconds: float
    printed: str = ""
    opcodes: Mapping[str, int] = field(default_factory=dict)
    steps: int = 0
    writer: Writer | None = None


@dataclass(slots=True)
class _Loaded:
    emitted: Emitted
    library: ctypes.CDLL
    kernel: abi.Kernel


class Program:
    """One PTX module. Its global and constant variables live as long as it does, with what kernels leave in
    them, and are exposed to a kernel's launches together with the memory given there."""

    def __init__(self, ptx: str, files: Mapping[int, str] | None = None, cache: Path | None = None) -> None:
        """`files` replaces names of the PTX's `.file` directives. PtxError where the text can't be used."""
        self.module: Module = parse(ptx)
        self.files = {**self.module.files, **(files or {})}
        self._cache = cache
        self._loaded: dict[tuple[str, Mode], _Loaded] = {}
        self._own = Memory()
        self._symbols: dict[str, int] = {}
        self._pointed: dict[int, bytes] = {}  # by address: the function's that was put there

    def symbol(self, name: str) -> tuple[int, int]:
        """(host address, bytes) of a global or constant variable. KeyError where there is none."""
        var = next(v for v in self.module.variables if v.name == name) if self._has(name) else None
        if var is None:
            raise KeyError(name)
        return self._address(var), var.size

    def _has(self, name: str) -> bool:
        return any(v.name == name and v.space in ("global", "const") for v in self.module.variables)

    def _address(self, var: Var) -> int:
        """Where a variable lives: made and initialised when first asked for."""
        if var.name in self._symbols:
            return self._symbols[var.name]
        address = self._own.alloc(max(var.size, 1), var.name)
        self._symbols[var.name] = address
        if var.init:
            ctypes.memmove(address, var.init, len(var.init))
        for r in var.relocs:
            if not self._has(r.symbol):
                continue  # a function: each compilation has its own address for it
            target, _ = self.symbol(r.symbol)
            ctypes.memmove(address + r.offset, (target + r.addend).to_bytes(8, "little"), r.size)
        return address

    def _point_to_functions(self, loaded: _Loaded) -> None:
        """Put the addresses that functions have in this compilation into the variables that start with them,
        but for those that a kernel has overwritten."""
        layout = loaded.emitted.layout
        places = {f.name: n for n, f in enumerate(layout.functions[1:])}
        table = (abi.Function * max(1, len(places))).in_dll(loaded.library, "emu_functions")
        for var in layout.symbols:
            for r in var.relocs:
                if r.symbol not in places:
                    continue
                at = self._address(var) + r.offset
                now = (table[places[r.symbol]].at + r.addend).to_bytes(8, "little")[: r.size]
                if ctypes.string_at(at, r.size) == self._pointed.get(at, bytes(r.size)):
                    ctypes.memmove(at, now, r.size)
                    self._pointed[at] = now

    def emitted(self, kernel: str) -> Emitted:
        """The C of a kernel. PtxError CP7104 where it is not there, CP7103 for an unsupported opcode."""
        for (name, _), loaded in self._loaded.items():
            if name == kernel:
                return loaded.emitted
        return emit_kernel(self.module, kernel)

    def load(self, kernel: str, mode: Mode) -> _Loaded:
        """A kernel, compiled. PtxError as for `emitted`, CP7106 without a C compiler."""
        found = self._loaded.get((kernel, mode))
        if found is None:
            emitted = self.emitted(kernel)
            place = shared_object(emitted.text, mode, self._cache)
            try:
                library = ctypes.CDLL(str(place))
            except OSError as e:
                raise PtxError("CP7106", f"what the C compiler made can't be loaded: {e}") from e
            found = _Loaded(emitted, library, abi.Kernel.in_dll(library, "emu_kernel"))
            if found.kernel.abi != abi.ABI:
                raise PtxError("CP7107", f"the runtime's ABI is {found.kernel.abi}, not {abi.ABI}")
            self._loaded[kernel, mode] = found
        return found

    def run(
        self,
        kernel: str,
        shape: LaunchShape,
        params: Sequence[bytes],
        memory: Memory,
        options: RunOptions = RunOptions(),
    ) -> Ran:
        """One launch, to its end. PtxError if it can't start: CP7104, CP7105 (arguments), CP7108 (size)."""
        loaded = self.load(kernel, Mode(options.checks, options.count, options.jitter != 0))
        emitted = loaded.emitted
        own = emitted.layout.kernel.cluster  # a kernel that says its clusters is launched in them
        if own is not None and shape.cluster == (1, 1, 1):
            shape = replace(shape, cluster=own)
        _check(emitted, shape, params)
        block = _parameters(emitted, params)
        symbols = [self._address(v) for v in emitted.layout.symbols] or [0]
        self._point_to_functions(loaded)
        meeting = Memory()
        workspace = meeting.alloc(_WORKSPACE, "the grid's workspace") if shape.cooperative else 0
        exposed = sorted((*memory, *self._own, *meeting), key=lambda a: a.base)
        constants = {self._address(v) for v in emitted.layout.symbols if v.space == "const"}
        rows = [
            abi.Allocation(e.base, e.size, e.state.ctypes.data, int(e.base in constants), k, None, 0)
            for k, e in enumerate(exposed)
        ]
        if emitted.param_bytes:  # generic addresses may lead there
            rows.append(
                abi.Allocation(ctypes.addressof(block), emitted.param_bytes, None, 1, len(rows), None, 0)
            )
        rows.sort(key=lambda row: int(row.base))
        table = (abi.Allocation * max(1, len(rows)))(*rows)
        findings = (abi.Finding * _MAX_FINDINGS)()
        counts = np.zeros(max(1, loaded.kernel.counters), np.uint64)
        output = ctypes.create_string_buffer(_MAX_OUTPUT)
        order, _, seed = options.schedule.partition(":")
        if order not in abi.SCHEDULES or (seed and not seed.isdigit()):
            raise ValueError(f"schedule {options.schedule}: forward, reverse or random:<seed>")
        symbol_table = (ctypes.c_uint64 * len(symbols))(*symbols)
        launch = abi.Launch(
            abi=abi.ABI,
            schedule=abi.SCHEDULES[order],
            seed=int(seed or 0),
            grid=shape.grid,
            block=shape.block,
            cluster=shape.cluster,
            shared_bytes=emitted.layout.shared.dynamic_at + shape.smem,
            resident=math.prod(shape.grid) if shape.cooperative else 0,
            dynamic_shared=shape.smem,
            total_shared=emitted.layout.shared.set_aside + shape.smem,
            params=ctypes.addressof(block),
            symbols=ctypes.addressof(symbol_table),
            allocations=ctypes.addressof(table),
            n_allocations=len(rows),
            budget=options.budget,
            findings=ctypes.addressof(findings),
            max_findings=_MAX_FINDINGS,
            counts=counts.ctypes.data,
            output=ctypes.addressof(output),
            max_output=_MAX_OUTPUT,
            asked=options.asked,
            workspace=workspace,
        )
        _makes_way(loaded.library)
        start = time.perf_counter()
        ended = loaded.library.emu_run(ctypes.byref(loaded.kernel), ctypes.byref(launch))
        seconds = time.perf_counter() - start
        if ended == abi.BAD_LAUNCH:
            raise PtxError("CP7108", f"{kernel} can't be launched as {shape}")
        return Ran(
            tuple(describe(f, emitted.sites, self.files, exposed) for f in findings[: launch.n_findings]),
            launch.stopped_by == 8041,
            f"CP{launch.stopped_by}" if launch.stopped_by else "",
            seconds,
            output.raw[: launch.n_output].decode("utf-8", "replace"),
            emitted.sites.opcode_counts(counts.tolist()) if options.count else {},
            options.budget - max(0, launch.budget),
            writer_of(launch, emitted.sites, self.files),
        )


_ran: list[ctypes.CDLL] = []  # the kernel that ran last in this process


def _makes_way(library: ctypes.CDLL) -> None:
    """Give back what another kernel keeps for its next launch: it may never have one, and a process that runs
    many would have no mappings left."""
    for other in _ran:
        if other is not library:
            other.emu_rest()
    _ran[:] = [library]


def _check(emitted: Emitted, shape: LaunchShape, params: Sequence[bytes]) -> None:
    sizes = tuple(len(p) for p in params)
    if sizes != emitted.param_sizes:
        want, have = list(emitted.param_sizes), list(sizes)
        raise PtxError("CP7105", f"{emitted.kernel} takes parameters of {want} bytes, given are {have}")
    if min(*shape.grid, *shape.block, *shape.cluster) < 1 or shape.smem < 0:
        raise PtxError("CP7108", f"a side of {shape} is not positive")
    if math.prod(shape.block) > _MAX_THREADS or shape.block[2] > 64:
        raise PtxError("CP7108", f"a block of {shape.block} threads: a GPU takes {_MAX_THREADS}")
    if shape.grid[0] > 0x7FFFFFFF or max(shape.grid[1:]) > 65535:
        raise PtxError("CP7108", f"a grid of {shape.grid} blocks is beyond a GPU's limits")
    own = emitted.layout.kernel.cluster
    if own is not None and own != shape.cluster:
        raise PtxError("CP7108", f"clusters of {shape.cluster}: {emitted.kernel} is made for those of {own}")
    if any(g % c for g, c in zip(shape.grid, shape.cluster, strict=True)):
        raise PtxError("CP7108", f"a grid of {shape.grid} is not whole clusters of {shape.cluster}")
    if (need := emitted.layout.shared.set_aside + shape.smem) > _MAX_SHARED:
        raise PtxError("CP7108", f"{need} bytes of shared memory: an sm_90 block has {_MAX_SHARED}")
    for limit, exact in ((emitted.layout.kernel.reqntid, True), (emitted.layout.kernel.maxntid, False)):
        if limit is None:
            continue
        if exact and shape.block != limit:
            raise PtxError("CP7108", f"the kernel requires blocks of {limit}, not {shape.block}")
        if math.prod(shape.block) > math.prod(limit):
            raise PtxError("CP7108", f"a block of {shape.block} is over the kernel's limit of {limit}")


def _parameters(emitted: Emitted, params: Sequence[bytes]) -> ctypes.Array[ctypes.c_uint64]:
    """The parameter block, at a multiple of 128 bytes: tensor maps may lie in it."""
    words = emitted.param_bytes // 8 + 4
    space = (ctypes.c_uint64 * (words + 16))()
    room = (ctypes.c_uint64 * words).from_buffer(space, -ctypes.addressof(space) % 128)
    for at, data in zip(emitted.param_offsets, params, strict=True):
        ctypes.memmove(ctypes.addressof(room) + at, data, len(data))
    return room
