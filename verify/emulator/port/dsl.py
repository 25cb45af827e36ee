"""The only file that knows the CuTe DSL's insides: which version they are of, and where it is hooked.

`prepare` comes before the DSL is imported, `attach` after. Child side only.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from verify.cubin import read_cubin
from verify.emulator.port.build import build_shim
from verify.emulator.port.launches import Library, Session
from verify.emulator.ptx.module import PtxError

KNOWN_VERSIONS = ("4.8.1",)
_VARIABLE = "CUTE_DSL_LIBS"


def check_version() -> None:
    """PtxError CP7109 where the installed DSL is missing or is none whose insides are known."""
    try:
        version = metadata.version("nvidia-cutlass-dsl")
    except metadata.PackageNotFoundError:
        raise PtxError("CP7109", "nvidia-cutlass-dsl is not installed") from None
    if version not in KNOWN_VERSIONS:
        raise PtxError(
            "CP7109",
            f"nvidia-cutlass-dsl {version}: launches can be caught in {', '.join(KNOWN_VERSIONS)} only",
        )


def runtime_library() -> Path:
    """The DSL's own runtime library. PtxError CP7109 where there is none."""
    spec = importlib.util.find_spec("nvidia_cutlass_dsl")
    places = list(spec.submodule_search_locations or []) if spec else []
    found = [p for place in places for p in sorted(Path(place).glob("cu*/lib/libcute_dsl_runtime.so"))]
    if not found:
        raise PtxError(
            "CP7109", f"no libcute_dsl_runtime.so in {', '.join(places) or 'any installed package'}"
        )
    return found[0]


def prepare() -> None:
    """Make the DSL that will be imported load the shim. PtxError: CP7109, or CP7106 without a C compiler."""
    check_version()
    if "cutlass" in sys.modules:
        raise PtxError("CP7109", "the DSL was imported before the launch shim was chosen")
    os.environ[_VARIABLE] = str(build_shim(runtime_library()))


def attach(session: Session, copy: Callable[[int, int, int], None]) -> None:
    """Make every port of this process ask `session`; `copy(to, source, size)` copies device memory.

    PtxError CP7109 where the DSL has not what is hooked here.
    """
    from cuda.bindings import runtime
    from cutlass.cutlass_dsl import cuda_jit_executor as executor

    shim = os.environ.get(_VARIABLE, "")
    if not shim.endswith(".so") or not Path(shim).exists():
        raise PtxError("CP7109", f"{_VARIABLE} does not name the launch shim")
    session.connect(ctypes.CDLL(shim))
    _hook_loading(executor, session)
    _hook_runtime(runtime, session, copy)


def _existing(owner: Any, name: str) -> Any:
    if (found := getattr(owner, name, None)) is None:
        raise PtxError("CP7109", f"the DSL has no {getattr(owner, '__name__', owner)}.{name}")
    return found


def _hook_loading(executor: Any, session: Session) -> None:
    """Loading a compiled function's machine code tells the session its PTX."""
    compiled = _existing(executor, "CudaDialectJitCompiledFunction")
    load = _existing(compiled, "_load_cuda_library")

    def load_known(self: Any) -> Any:
        artifacts = getattr(self, "artifacts", None)
        ptx, cubin = getattr(artifacts, "PTX", None), getattr(artifacts, "CUBIN", None)
        if not ptx or not cubin:
            raise PtxError("CP7109", "the compiled port carries no PTX: is CUTE_DSL_KEEP=ptx,cubin set?")
        text = ptx if isinstance(ptx, str) else bytes(ptx).decode()
        with session.loading(Library(text, {k.name: k.shared for k in read_cubin(bytes(cubin))})):
            return load(self)

    compiled._load_cuda_library = load_known


def _hook_runtime(runtime: Any, session: Session, copy: Callable[[int, int, int], None]) -> None:
    """The functions of CUDA's runtime that ports and the DSL call from Python: these four work, the rest
    fail by name. A real GPU of this machine is never touched."""
    success = runtime.cudaError_t.cudaSuccess

    def library_global(library: Any, name: bytes) -> tuple[Any, int, int]:
        try:
            return (success, *session.symbol(int(library), name.decode()))
        except PtxError as e:
            if e.code == "CP7104":
                return runtime.cudaError_t.cudaErrorSymbolNotFound, 0, 0
            raise

    def library_unload(library: Any) -> tuple[Any]:
        session.unload(int(library))
        return (success,)

    def copy_async(to: Any, source: Any, size: int, _kind: Any, _stream: Any) -> tuple[Any]:
        copy(int(to), int(source), int(size))
        return (success,)

    hooks: dict[str, Callable[..., Any]] = {
        "cudaLibraryGetGlobal": library_global,
        "cudaLibraryUnload": library_unload,
        "cudaMemcpyAsync": copy_async,
        "cudaGetDeviceCount": lambda: (success, 1),
    }
    for name in hooks:
        _existing(runtime, name)
    for name in dir(runtime):
        value = getattr(runtime, name)
        if name.startswith("cuda") and callable(value) and not isinstance(value, type):
            setattr(runtime, name, hooks.get(name) or _refusal(name))


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PtxError("CP7109", f"{name} is called, which the launch shim lacks")

    return refuse
