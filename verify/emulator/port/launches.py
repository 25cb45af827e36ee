"""What a port's host code asks of CUDA, as Python values: libraries, kernels, variables, launches."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from verify.emulator.ptx.module import PtxError

Dim3 = tuple[int, int, int]
_SUCCESS, _INVALID_VALUE, _SYMBOL_NOT_FOUND, _LAUNCH_FAILED = 0, 1, 500, 719  # of cudaError_t

# Launch attributes by cudaLaunchAttributeID. What only steers caches, priorities or overlap with other
# launches changes no value here.
_COOPERATIVE, _CLUSTER = 2, 4
_NO_EFFECT = frozenset({0, 1, 3, 5, 6, 8, 9, 10, 14})
_ATTRIBUTE_BYTES = 72  # the id, padded to 8, and a union of 64
_MAX_ATTRIBUTES = 64


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch as the port asked for it. `arguments` is the address of a table of pointers to the kernel's
    arguments, valid during the launch only; `smem` is dynamic shared memory in bytes, `stream` a handle."""

    ptx: str
    kernel: str
    grid: Dim3
    block: Dim3
    smem: int
    cluster: Dim3
    cooperative: bool
    arguments: int
    stream: int = 0

    def values(self, sizes: tuple[int, ...]) -> list[bytes]:
        """The arguments' bytes, copied; `sizes` in bytes are those of the kernel's parameters."""
        table = (ctypes.c_void_p * len(sizes)).from_address(self.arguments) if sizes else ()
        return [ctypes.string_at(at or 0, size) for at, size in zip(table, sizes, strict=True)]


# Shared memory that a block can ask for, in KiB; 99 for the others.
_SHARED_KIB = {80: 163, 87: 163, 90: 227, 100: 227, 103: 227}


# Of cudaFuncAttribute and CUfunction_attribute.
_STATIC_SHARED, _MAX_DYNAMIC_SHARED = 1, 8
_HARMLESS = frozenset({9, 14, 15})  # preferred carve-out, large clusters allowed, cluster scheduling
_DYNAMIC_UNASKED = 48 * 1024  # bytes of dynamic shared memory that need no asking


@dataclass(frozen=True, slots=True)
class Library:
    """A loaded module: its PTX, and the static shared memory of each kernel in bytes."""

    ptx: str
    shared: Mapping[str, int]


@dataclass(slots=True)
class _Kernel:
    library: Library
    name: str
    dynamic_limit: int = _DYNAMIC_UNASKED


class _Config(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint32),
    )


_u64, _int, _text = ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p
_out = ctypes.POINTER(_u64)
_HANDLERS = (
    ("load", ctypes.CFUNCTYPE(_int, _out, ctypes.c_void_p)),
    ("unload", ctypes.CFUNCTYPE(_int, _u64)),
    ("kernel", ctypes.CFUNCTYPE(_int, _out, _u64, _text)),
    ("symbol", ctypes.CFUNCTYPE(_int, _out, _out, _u64, _text)),
    ("attribute", ctypes.CFUNCTYPE(_int, _u64, _int, _int)),
    ("launch", ctypes.CFUNCTYPE(_int, ctypes.POINTER(_Config), _u64, ctypes.c_void_p)),
    ("device", ctypes.CFUNCTYPE(_int, ctypes.POINTER(_int), _int)),
    ("property", ctypes.CFUNCTYPE(_int, ctypes.POINTER(_int), _int, _u64)),
    ("missing", ctypes.CFUNCTYPE(None, _text)),
)


class _Handlers(ctypes.Structure):
    _fields_ = _HANDLERS


def device_attributes(arch: str) -> dict[int, int]:
    """What cudaDeviceGetAttribute says for the DSL's `arch`, by cudaDeviceAttr: what host code asks for."""
    number = int(re.sub(r"\D", "", arch))
    shared = _SHARED_KIB.get(number, 99) * 1024
    return {
        1: 1024,  # threads per block
        10: 32,  # lanes of a warp
        8: 48 * 1024,  # shared memory per block without asking
        16: 132,  # multiprocessors
        75: number // 10,
        76: number % 10,
        81: shared + 1024,  # shared memory per multiprocessor
        95: 1,  # cooperative launches
        97: shared,  # shared memory per block at most
    }


class Session:
    """Receives the requests of all ports in this process. Use from one thread.

    `arch` is the DSL's name of the architecture whose limits the port is told. `run` runs a launch to its
    end; `symbol` gives address and bytes of a variable of a PTX module. What they raise ends the port's call
    and is raised again by `call`.
    """

    def __init__(
        self, arch: str, run: Callable[[Launch], None], symbol: Callable[[str, str], tuple[int, int]]
    ) -> None:
        self._device = device_attributes(arch)
        self._run = run
        self._symbol = symbol
        self._libraries: dict[int, Library] = {}  # by handle, as the kernels
        self._kernels: dict[int, _Kernel] = {}
        self._next = 0x1000
        self._loading: Library | None = None
        self._error: BaseException | None = None
        self._held = _Handlers(*(kind(getattr(self, f"_on_{name}")) for name, kind in _HANDLERS))

    def connect(self, shim: ctypes.CDLL) -> None:
        """Make `shim`, the library that the DSL calls, ask this session."""
        shim.cuteport_handlers.argtypes = [ctypes.POINTER(_Handlers)]
        shim.cuteport_handlers.restype = None
        shim.cuteport_handlers(ctypes.byref(self._held))

    def call(self, function: Callable[[], Any]) -> None:
        """Call a port. What went wrong inside a launch is raised as it was, not as the DSL words it."""
        self._error = None
        try:
            function()
        except BaseException as e:
            if self._error is None or isinstance(e, KeyboardInterrupt):
                raise
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    @contextmanager
    def loading(self, library: Library) -> Iterator[None]:
        """What is loaded meanwhile is this library."""
        self._loading = library
        try:
            yield
        finally:
            self._loading = None

    def symbol(self, library: int, name: str) -> tuple[int, int]:
        """Address and bytes of a variable. PtxError where the library has none of that name."""
        return self._symbol(self._library(library).ptx, name)

    def unload(self, library: int) -> None:
        """Forget a library and its kernels."""
        gone = self._libraries.pop(library, None)
        self._kernels = {k: v for k, v in self._kernels.items() if v.library is not gone}

    def _handle(self) -> int:
        self._next += 16
        return self._next

    def _guarded(self, code: int, work: Callable[[], None]) -> int:
        """Run a handler's work; an exception can't pass through C, so it waits for `call`."""
        try:
            work()
        except BaseException as e:
            self._error = self._error or e
            return code
        return _SUCCESS

    def _on_load(self, library: Any, _image: int) -> int:
        def work() -> None:
            if self._loading is None:
                raise PtxError("CP7109", "the port loads a library whose PTX is not known")
            library[0] = handle = self._handle()
            self._libraries[handle] = self._loading

        return self._guarded(_INVALID_VALUE, work)

    def _on_unload(self, library: int) -> int:
        return self._guarded(_INVALID_VALUE, lambda: self.unload(library))

    def _on_kernel(self, kernel: Any, library: int, name: bytes) -> int:
        def work() -> None:
            kernel[0] = handle = self._handle()
            self._kernels[handle] = _Kernel(self._library(library), name.decode())

        return self._guarded(_SYMBOL_NOT_FOUND, work)

    def _on_symbol(self, address: Any, size: Any, library: int, name: bytes) -> int:
        def work() -> None:
            at, room = self.symbol(library, name.decode())
            if address:
                address[0] = at
            if size:
                size[0] = room

        return self._guarded(_SYMBOL_NOT_FOUND, work)

    def _on_attribute(self, kernel: int, attribute: int, value: int) -> int:
        def work() -> None:
            held = self._kernel(kernel)
            if attribute == _MAX_DYNAMIC_SHARED:
                held.dynamic_limit = value
            elif attribute not in _HARMLESS:
                raise PtxError("CP7110", f"kernel attribute {attribute} is not emulated")

        return self._guarded(_INVALID_VALUE, work)

    def _on_property(self, value: Any, attribute: int, kernel: int) -> int:
        def work() -> None:
            held = self._kernel(kernel)
            if attribute != _STATIC_SHARED:
                raise PtxError("CP7109", f"the port's host code asks for kernel attribute {attribute}")
            value[0] = held.library.shared.get(held.name, 0)

        return self._guarded(_INVALID_VALUE, work)

    def _kernel(self, handle: int) -> _Kernel:
        if handle not in self._kernels:
            raise PtxError("CP7109", f"{handle:#x} is no kernel that the port looked up")
        return self._kernels[handle]

    def _library(self, handle: int) -> Library:
        if handle not in self._libraries:
            raise PtxError("CP7109", f"{handle:#x} is no library that the port loaded")
        return self._libraries[handle]

    def _on_device(self, value: Any, attribute: int) -> int:
        def work() -> None:
            if attribute not in self._device:
                raise PtxError("CP7109", f"the port's host code asks for device attribute {attribute}")
            value[0] = self._device[attribute]

        return self._guarded(_INVALID_VALUE, work)

    def _on_missing(self, name: bytes) -> None:
        self._error = self._error or PtxError(
            "CP7109", f"the port's host code calls {name.decode()}, which the launch shim lacks"
        )

    def _on_launch(self, config: Any, kernel: int, arguments: int | None) -> int:
        def work() -> None:
            held, c = self._kernel(kernel), config.contents
            if c.smem > held.dynamic_limit:
                raise PtxError(
                    "CP7108",
                    f"{held.name}: {c.smem} bytes of dynamic shared memory, {held.dynamic_limit} allowed",
                )
            cluster, cooperative = _attributes(c.attributes, c.attribute_count)
            launch = Launch(
                ptx=held.library.ptx,
                kernel=held.name,
                grid=tuple(c.grid),
                block=tuple(c.block),
                smem=c.smem,
                cluster=cluster,
                cooperative=cooperative,
                arguments=arguments or 0,
                stream=c.stream or 0,
            )
            self._run(launch)

        return self._guarded(_LAUNCH_FAILED, work)


def _attributes(at: int | None, count: int) -> tuple[Dim3, bool]:
    """Cluster and cooperative flag of a list of cudaLaunchAttribute. PtxError CP7110 for what would change
    the launch otherwise."""
    cluster, cooperative = (1, 1, 1), False
    if count > _MAX_ATTRIBUTES:
        raise PtxError("CP7109", f"a launch with {count} attributes")
    for i in range(count):
        start = (at or 0) + i * _ATTRIBUTE_BYTES
        kind = ctypes.c_uint32.from_address(start).value
        words = (ctypes.c_uint32 * 3).from_address(start + 8)
        if kind == _CLUSTER:
            cluster = (words[0], words[1], words[2])
        elif kind == _COOPERATIVE:
            cooperative = words[0] != 0
        elif kind not in _NO_EFFECT:
            raise PtxError("CP7110", f"launch attribute {kind} is not emulated")
    return cluster, cooperative
