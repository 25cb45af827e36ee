"""The CUDA original: built with NVRTC (nvcc where that fails), launched by the driver. Child side only."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import Any

from verify.cubin import read_cubin
from verify.device import Arguments, CudaDevice, DeviceError, load_image
from verify.dtypes import lookup
from verify.environment import find_nvcc
from verify.flags import given
from verify.inputs import scalar_bytes
from verify.levels import ptxas_option
from verify.resolve import Resolved
from verify.spec import Spec
from verify.spec_args import BufferArg, PointerField, ScalarArg

_NVCC_SECONDS = 300


class BuildError(Exception):
    """The original does not build; the text is the compiler's log."""


class NoCompilerError(Exception):
    """Neither NVRTC nor nvcc can be used."""


@dataclass(slots=True)
class Built:
    """`names` maps the kernel's and each symbol's name expression to its name in the cubin."""

    cubin: bytes
    ptx: str
    names: dict[str, str]
    builder: str
    seconds: float = 0.0
    log: str = ""
    tried: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)  # what the compiler was given, folders left out
    dropped: list[str] = field(default_factory=list)  # flags of the spec that this compiler has no use for


def expressions(spec: Spec) -> list[str]:
    """Name expressions that a build must resolve: the kernel first, then `&symbol` for each global."""
    return [spec.original.kernel, *(f"&{a.symbol}" for a in spec.buffers if a.symbol)]


def build(target: Path, spec: Spec, arch: str, *, lines: bool = False, level: int | None = None) -> Built:
    """Build the device slice for `arch`; `lines` adds the source's line numbers to the PTX, which changes no
    instruction; `level` is that of the machine code. BuildError with every compiler's log,
    NoCompilerError."""
    path = target / spec.original.source
    try:
        source = path.read_bytes()
    except OSError as e:
        raise BuildError(f"{spec.original.source}: {e}") from e
    logs: list[str] = []
    extra = (["-lineinfo"] if lines else []) + ([] if level is None else [ptxas_option(level)])
    start = time.monotonic()
    for attempt in (_with_nvrtc, _with_nvcc):
        try:
            built = attempt(source, path, spec, arch, extra)
        except NoCompilerError as e:
            logs.append(str(e))
            continue
        except BuildError as e:
            logs.append(str(e))
            continue
        built.seconds = time.monotonic() - start
        built.tried = logs
        return built
    if all(log.startswith("no ") for log in logs):
        raise NoCompilerError("; ".join(logs))
    raise BuildError("\n".join(logs))


# NVRTC has the functions of math.h built in, and no such file: an include fails where there is no toolkit.
# Of what the file defines besides, these.
_MATH_H = b"""#pragma once
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000)
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
"""


def include_folders() -> list[str]:
    """Folders with the toolkit's headers, as far as they exist."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = [Path(r) / "include" for r in roots if r]
    spec = util.find_spec("nvidia")
    for place in spec.submodule_search_locations or [] if spec else []:
        found += [*Path(place).glob("cu*/include"), Path(place) / "cuda_runtime/include"]
    existing = [f for f in dict.fromkeys(found) if (f / "cuda_fp16.h").exists()]
    return [str(p) for f in existing[:1] for p in (f, f / "cccl") if p.exists()]


def _with_nvrtc(source: bytes, path: Path, spec: Spec, arch: str, extra: Sequence[str] = ()) -> Built:
    try:
        from cuda.bindings import nvrtc

        (error, *version) = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as e:
        raise NoCompilerError(f"no NVRTC: {e}") from e
    if int(error) != 0:
        raise NoCompilerError(f"no NVRTC: {error}")

    def call(function: Any, *args: Any) -> Any:
        result = function(*args)
        if int(result[0]) != 0:
            raise BuildError(f"NVRTC: {getattr(result[0], 'name', result[0])}")
        return result[1] if len(result) > 1 else None

    program = call(nvrtc.nvrtcCreateProgram, source, str(path).encode(), 1, [_MATH_H], [b"math.h"])
    wanted = expressions(spec)
    for name in wanted:
        call(nvrtc.nvrtcAddNameExpression, program, name.encode())
    options = [f"--gpu-architecture={arch}", f"--std={spec.original.std}", f"-I{path.parent}"]
    options += [f"-I{folder}" for folder in include_folders()]
    options += [f"-D{d}" for d in spec.original.defines]
    kept, dropped = given(spec.original.flags, "nvrtc")
    options += [*kept, *extra]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    log = _nvrtc_text(call, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    if int(status) != 0:
        raise BuildError(f"NVRTC: {log.strip()[:2000] or status}")
    names = {n: call(nvrtc.nvrtcGetLoweredName, program, n.encode()).decode() for n in wanted}
    size = call(nvrtc.nvrtcGetCUBINSize, program)
    cubin = bytearray(size)
    call(nvrtc.nvrtcGetCUBIN, program, cubin)
    ptx = _nvrtc_text(call, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    call(nvrtc.nvrtcDestroyProgram, program)
    return Built(
        bytes(cubin),
        ptx,
        names,
        "NVRTC " + ".".join(str(v) for v in version),
        log=log,
        options=[o for o in options if not o.startswith("-I")],
        dropped=dropped,
    )


def _nvrtc_text(call: Any, size_of: Any, read: Any, program: Any) -> str:
    room = bytearray(call(size_of, program))
    call(read, program, room)
    return bytes(room).rstrip(b"\0").decode("utf-8", "replace")


def _with_nvcc(source: bytes, path: Path, spec: Spec, arch: str, extra: Sequence[str] = ()) -> Built:
    nvcc = find_nvcc()
    if nvcc is None:
        raise NoCompilerError("no nvcc")
    # Taking the kernel's address instantiates a template and keeps a symbol that nothing else uses.
    keep = [f"(const void*)({'' if e.startswith('&') else '&'}{e})" for e in expressions(spec)]
    tail = f"\nconst void* cuteport_keep[] = {{ {', '.join(keep)} }};\n".encode()
    with tempfile.TemporaryDirectory(prefix="cuteport-nvcc-") as folder:
        unit = Path(folder) / "original.cu"
        # The line directive keeps the place of the source's own text in what the compiler tells.
        lines = "-lineinfo" in extra
        unit.write_bytes(f'#line 1 "{path}"\n'.encode() * lines + source + tail)
        command = [nvcc, f"-arch={arch}", f"-std={spec.original.std}", f"-I{path.parent}"]
        command += ["-o"]
        kept, dropped = given(spec.original.flags, "nvcc")
        rest = [*(f"-D{d}" for d in spec.original.defines), *kept, *extra, str(unit)]
        for kind in ("cubin", "ptx"):
            try:
                done = subprocess.run(
                    [*command, f"{folder}/out.{kind}", f"-{kind}", *rest],
                    capture_output=True,
                    text=True,
                    timeout=_NVCC_SECONDS,
                    check=False,
                    cwd=folder,
                )
            except (OSError, subprocess.TimeoutExpired) as e:
                raise BuildError(f"nvcc: {e}") from e
            if done.returncode != 0:
                raise BuildError(f"nvcc: {(done.stderr or done.stdout).strip()[:2000]}")
        cubin = (Path(folder) / "out.cubin").read_bytes()
        ptx = (Path(folder) / "out.ptx").read_text(encoding="utf-8")
    kernels = [k.name for k in read_cubin(cubin)]
    names = {e: _match(e, kernels if not e.startswith("&") else _variables(ptx)) for e in expressions(spec)}
    told = [o for o in (*command[1:-1], *rest[:-1]) if not o.startswith("-I")]
    return Built(cubin, ptx, names, f"nvcc ({nvcc})", options=told, dropped=dropped)


def match_names(ptx: str, spec: Spec) -> dict[str, str]:
    """What the kernel and each symbol of the spec are called in a PTX text. BuildError if it isn't plain."""
    kernels = re.findall(r"\.entry\s+([\w$]+)", ptx)
    variables = _variables(ptx)
    return {e: _match(e, variables if e.startswith("&") else kernels) for e in expressions(spec)}


def _variables(ptx: str) -> list[str]:
    return re.findall(
        r"^\s*(?:\.visible\s+)?\.(?:global|const)\b.*?([\w$]+)(?:\[\d*\])?(?:\s*=|;)", ptx, re.M
    )


def _match(expression: str, candidates: list[str]) -> str:
    """The one mangled name that can be `expression`'s. BuildError where none or several can."""
    plain = re.sub(r"<.*", "", expression.lstrip("&"), flags=re.S).strip()
    ident = plain.split("::")[-1]
    found = [
        c for c in candidates if c == ident or re.search(rf"(?<!\d){len(ident)}{ident}(?=[EIPv\W_a-z]|$)", c)
    ]
    if len(found) != 1:
        raise BuildError(
            f"{len(found)} names in the code can be '{expression}'; it has: {', '.join(candidates)[:200]}"
        )
    return found[0]


def argument_bytes(spec: Spec, resolved: Resolved, addresses: dict[str, int]) -> list[bytes]:
    """The bytes of each parameter of one launch; globals are no parameters."""
    values: list[bytes] = []
    for arg in spec.arg:
        if isinstance(arg, ScalarArg):
            values.append(scalar_bytes(resolved.scalars[arg.name], lookup(arg.dtype)))
        elif isinstance(arg, BufferArg):
            if not arg.symbol:
                values.append(addresses[arg.name].to_bytes(8, "little"))
        else:
            block = bytearray(arg.size)
            for f in arg.fields:
                held = f"{arg.name}.{f.name}"
                if isinstance(f, PointerField):
                    data = addresses[held].to_bytes(8, "little")
                else:
                    data = scalar_bytes(resolved.scalars[held], lookup(f.dtype))
                block[f.offset : f.offset + len(data)] = data
            values.append(bytes(block))
    return values


class OriginalKernel:
    """The original, loaded on a device."""

    def __init__(self, device: CudaDevice, cubin: bytes, names: dict[str, str], spec: Spec) -> None:
        self.device = device
        self.spec = spec
        self.module = load_image(device, cubin)
        self.function = device.call("cuModuleGetFunction", self.module, names[spec.original.kernel].encode())
        self.symbols: dict[str, tuple[int, int]] = {}
        for arg in spec.buffers:
            if arg.symbol:
                at, size = device.call("cuModuleGetGlobal", self.module, names[f"&{arg.symbol}"].encode())
                self.symbols[arg.name] = (int(at), int(size))

    def arguments(self, resolved: Resolved, addresses: dict[str, int]) -> Arguments:
        """The parameter block of one launch."""
        return Arguments(argument_bytes(self.spec, resolved, addresses))

    def misfit(self, arguments: Arguments) -> str:
        """How the arguments' number or sizes differ from the kernel's parameters; empty if they fit or the
        driver can't tell (before CUDA 12.4)."""
        sizes: list[int] = []
        try:
            while True:
                sizes.append(int(self.device.call("cuFuncGetParamInfo", self.function, len(sizes))[1]))
        except (DeviceError, AttributeError):
            pass
        if sizes and sizes != arguments.sizes:
            return f"the kernel takes parameters of {sizes} bytes, the spec gives {arguments.sizes}"
        return ""

    def prepare(self, resolved: Resolved) -> None:
        """Allow the dynamic shared memory that this case asks for."""
        if resolved.smem > 48 * 1024:
            key = self.device.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.device.call("cuFuncSetAttribute", self.function, key, resolved.smem)

    def enqueue(self, resolved: Resolved, arguments: Arguments, stream: Any) -> None:
        """One launch on `stream`, nothing else."""
        shape = (*resolved.grid, *resolved.block, resolved.smem, stream, arguments.address)
        if self.spec.launch.cooperative:
            self.device.call("cuLaunchCooperativeKernel", self.function, *shape)
        else:
            self.device.call("cuLaunchKernel", self.function, *shape, 0)

    def launch(self, resolved: Resolved, addresses: dict[str, int]) -> None:
        """One launch with globals filled from their buffers before and copied back after."""
        for arg in self.spec.buffers:
            if arg.symbol:
                at, room = self.symbols[arg.name]
                size = resolved.elems[arg.name] * arg.element_bytes
                if size > room:
                    raise DeviceError(f"symbol {arg.symbol} has {room} bytes, the spec gives it {size}")
                self.device.copy(at, addresses[arg.name], size)
        self.device.synchronize()
        self.prepare(resolved)
        self.enqueue(resolved, self.arguments(resolved, addresses), self.device.stream)
        self.device.synchronize()
        for arg in self.spec.buffers:
            if arg.symbol and arg.role != "in":
                size = resolved.elems[arg.name] * arg.element_bytes
                self.device.copy(addresses[arg.name], self.symbols[arg.name][0], size)
