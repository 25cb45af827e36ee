"""A stand-in for cuda.bindings.driver on host memory, so that everything above the driver runs without a GPU.

Kernels are Python functions registered by name. Each call is checked against the real binding: the function
must exist there and take that many arguments.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from cuda.bindings import driver as real


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


def _arity(name: str) -> int:
    line = getattr(real, name).__doc__.splitlines()[0]
    inside = re.search(r"\((.*)\)", line)
    return len([p for p in inside.group(1).split(",") if p.strip()]) if inside else 0


class FakeDriver:
    """Functions as attributes, like the module. `kernels` maps a mangled name to (parameter sizes, function);
    the function gets (grid, block, parameters as bytes)."""

    CUstream_flags = real.CUstream_flags
    CUdevice_attribute = real.CUdevice_attribute
    CUfunction_attribute = real.CUfunction_attribute
    CUstreamCaptureMode = real.CUstreamCaptureMode
    CUgraphNodeType = real.CUgraphNodeType

    def __init__(self) -> None:
        self.kernels: dict[str, tuple[list[int], Callable[..., None]]] = {
            "sweep": ([8, 8], lambda *_: None),
            "fma": ([8, 4], lambda *_: None),
        }
        self.seconds: dict[str, Callable[[], float]] = {}  # of a launch by kernel, where not 10 microseconds
        self.symbols: dict[str, tuple[int, int]] = {}
        self.memory: dict[int, Any] = {}
        self.calls: list[str] = []
        self.clock = 0.0
        self.kernel_of: dict[int, str] = {}  # by captured work
        self.capturing: list[tuple[Callable[[], None], Callable[[], float]]] | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("cu") or not hasattr(real, name):
            raise AttributeError(name)
        inner = globals().get(f"_{name}")
        assert inner is not None, f"the fake has no {name}"

        def call(*args: Any) -> Any:
            optional = {"cuGraphGetNodes": 1}.get(name, 0)
            assert _arity(name) - optional <= len(args) <= _arity(name), (name, args)
            self.calls.append(name)
            return inner(self, *args)

        return call

    def new(self, size: int) -> int:
        room = (ctypes.c_ubyte * (size + 512))()
        at = (ctypes.addressof(room) + 255) // 256 * 256
        self.memory[at] = room
        return at

    def later(self, work: Callable[[], None], seconds: Callable[[], float] = lambda: 1e-5) -> tuple[CUresult]:
        if self.capturing is not None:
            self.capturing.append((work, seconds))
        else:
            work()
            self.clock += seconds()
        return (CUresult.CUDA_SUCCESS,)


OK = CUresult.CUDA_SUCCESS


def _cuInit(d, _flags):  # noqa: N802
    return (OK,)


def _cuDeviceGet(d, index):  # noqa: N802
    return OK, index


def _cuDevicePrimaryCtxRetain(d, _device):  # noqa: N802
    return OK, object()


def _cuCtxSetCurrent(d, _context):  # noqa: N802
    return (OK,)


def _cuCtxSynchronize(d):  # noqa: N802
    return (OK,)


def _cuStreamCreate(d, _flags):  # noqa: N802
    return OK, 7


def _cuDeviceGetAttribute(d, key, _device):  # noqa: N802
    words = {"L2_CACHE_SIZE": 4096, "COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0}
    return OK, next((v for k, v in words.items() if key.name.endswith(k)), 132)


def _cuDeviceGetName(d, _length, _device):  # noqa: N802
    return OK, b"NVIDIA Fake\0\0"


def _cuDeviceGetUuid(d, _device):  # noqa: N802
    return OK, SimpleNamespace(bytes=bytes(16))


def _cuDriverGetVersion(d):  # noqa: N802
    return OK, 13000


def _cuDeviceTotalMem(d, _device):  # noqa: N802
    return OK, 1 << 30


def _cuMemGetInfo(d):  # noqa: N802
    return OK, 1 << 28, 1 << 30


def _cuMemAlloc(d, size):  # noqa: N802
    return OK, d.new(size)


def _cuMemFree(d, at):  # noqa: N802
    del d.memory[at]
    return (OK,)


def _cuMemcpyHtoD(d, to, source, size):  # noqa: N802
    ctypes.memmove(to, source, size)
    return (OK,)


def _cuMemcpyDtoH(d, to, source, size):  # noqa: N802
    ctypes.memmove(to, source, size)
    return (OK,)


def _cuMemcpyDtoD(d, to, source, size):  # noqa: N802
    ctypes.memmove(to, source, size)
    return (OK,)


def _cuMemcpyDtoDAsync(d, to, source, size, _stream):  # noqa: N802
    def work() -> None:
        ctypes.memmove(to, source, size)

    work.to = to
    return d.later(work)


def _cuMemsetD8(d, to, byte, size):  # noqa: N802
    ctypes.memset(to, byte, size)
    return (OK,)


def _cuMemsetD8Async(d, to, byte, size, _stream):  # noqa: N802
    return d.later(lambda: ctypes.memset(to, byte, size))


def _cuMemsetD32Async(d, to, word, count, _stream):  # noqa: N802
    return d.later(lambda: ctypes.memset(to, word & 0xFF, 4 * count))


def _cuCtxResetPersistingL2Cache(d):  # noqa: N802
    return (OK,)


def _cuModuleUnload(d, _module):  # noqa: N802
    return (OK,)


def _cuModuleLoadData(d, _image):  # noqa: N802
    return OK, object()


def _cuModuleGetFunction(d, _module, name):  # noqa: N802
    return OK, name.decode()


def _cuModuleGetGlobal(d, _module, name):  # noqa: N802
    return (OK, *d.symbols[name.decode()])


def _cuFuncGetParamInfo(d, function, index):  # noqa: N802
    sizes = d.kernels[function][0]
    if index >= len(sizes):
        return CUresult.CUDA_ERROR_INVALID_VALUE, 0, 0
    return OK, 0, sizes[index]


def _cuFuncSetAttribute(d, _function, _key, _value):  # noqa: N802
    return (OK,)


def _cuLaunchKernel(d, function, gx, gy, gz, bx, by, bz, _smem, _stream, table, _extra):  # noqa: N802
    sizes, body = d.kernels[function]
    pointers = (ctypes.c_void_p * len(sizes)).from_address(table)
    values = [ctypes.string_at(p, n) for p, n in zip(pointers, sizes, strict=True)]
    try:

        def work() -> None:
            body((gx, gy, gz), (bx, by, bz), values)

        d.kernel_of[id(work)] = str(function)
        return d.later(work, d.seconds.get(function, lambda: 1e-5))
    except MemoryError:
        return (CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,)


def _cuEventCreate(d, _flags):  # noqa: N802
    return OK, [0.0]


def _cuEventDestroy(d, _event):  # noqa: N802
    return (OK,)


def _cuEventRecord(d, event, _stream):  # noqa: N802
    event[0] = d.clock
    return (OK,)


def _cuEventElapsedTime(d, start, end):  # noqa: N802
    return OK, (end[0] - start[0]) * 1000


def _cuStreamBeginCapture(d, _stream, _mode):  # noqa: N802
    d.capturing = []
    return (OK,)


def _cuStreamEndCapture(d, _stream):  # noqa: N802
    work, d.capturing = d.capturing, None
    return OK, work


def _cuGraphInstantiate(d, graph, _flags):  # noqa: N802
    return OK, graph


def _cuGraphGetNodes(d, graph, count=0):  # noqa: N802
    return OK, [work for work, _ in graph[:count]], len(graph)


def _cuGraphNodeGetType(d, node):  # noqa: N802
    kinds = real.CUgraphNodeType
    kernel = id(node) in d.kernel_of
    return OK, kinds.CU_GRAPH_NODE_TYPE_KERNEL if kernel else kinds.CU_GRAPH_NODE_TYPE_MEMCPY


def _cuGraphKernelNodeGetParams(d, node):  # noqa: N802
    return OK, SimpleNamespace(func=0, kern=id(node))


def _cuKernelGetName(d, kernel):  # noqa: N802
    name = d.kernel_of[kernel]
    return OK, (f"kernel_cutlass_saxpy_{name}" if name == "port" else name).encode()


def _cuGraphMemcpyNodeGetParams(d, node):  # noqa: N802
    return OK, SimpleNamespace(dstDevice=getattr(node, "to", 0))


def _cuGraphDestroy(d, _graph):  # noqa: N802
    return (OK,)


def _cuGraphLaunch(d, graph, _stream):  # noqa: N802
    for work, seconds in graph:
        work()
        d.clock += seconds()
    return (OK,)
