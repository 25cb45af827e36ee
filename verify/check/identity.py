"""What a result depends on, as hashes: the files of a target, verify itself, the installed packages."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from verify.environment import find_nvcc, find_nvrtc, versions
from verify.spec import Spec

_VERIFY = Path(__file__).resolve().parent.parent
# Nothing of these decides what a comparison of values says: they tell of results, or of time.
_TELLS_ONLY = ("check", "pages", "report")
_CODE = (".py", ".c", ".h", ".toml")
# Whose files compile a port or an original, or run it.
_TOOLS = (
    "nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base", "nvidia-cutlass-dsl-libs-core",
    "nvidia-cutlass-dsl-libs-cu12", "nvidia-cutlass-dsl-libs-cu13", "cuda-bindings", "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt", "numpy", "torch",
)  # fmt: skip
_NOT_CODE = re.compile(r"//[^\n]*|^\s*\.(?:loc|file)\b[^\n]*", re.M)


def digest(data: Any) -> str:
    """sha256 of anything that json can write, independent of the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


def ptx_code(ptx: str) -> str:
    """sha256 of a PTX text without comments, line numbers and blank space: what an assembler makes of it is
    the same."""
    lines = (line.strip() for line in _NOT_CODE.sub("", ptx).splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """sha256 of a file, "" where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def sources(target: Path, spec: Spec) -> dict[str, str]:
    """sha256 of all that a target's result can depend on: spec, port, reference, and each file beside the
    original, which may include it."""
    beside = (target / spec.original.source).parent
    files = [target / "spec.toml", target / spec.port.module, target / "reference.py"]
    files += sorted(p for p in beside.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    found = {str(p.relative_to(target)) if p.is_relative_to(target) else str(p): file_hash(p) for p in files}
    return {name: value for name, value in found.items() if value}


@functools.lru_cache(maxsize=1)
def harness() -> str:
    """sha256 of verify's own code as far as it compares values, the emulator's C and tables included."""
    own = hashlib.sha256()
    for f in sorted(_VERIFY.rglob("*")):
        inside = f.relative_to(_VERIFY)
        if f.suffix in _CODE and inside.parts[0] not in _TELLS_ONLY:
            own.update(inside.as_posix().encode() + b"\0" + f.read_bytes())
    return own.hexdigest()


@functools.lru_cache(maxsize=1)
def installed() -> Mapping[str, str]:
    """Version of Python and of each tool, with the hash of what pip says it installed: a build that was
    changed under the same version is another one."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in _TOOLS:
        try:
            have = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        record = have.read_text("RECORD") or ""
        found[name] = f"{have.version} {hashlib.sha256(record.encode()).hexdigest()[:16]}"
    for name, path in (("nvcc", find_nvcc()), ("nvrtc", find_nvrtc())):
        if path and (place := Path(path)).is_absolute() and place.exists():
            stat = place.resolve().stat()
            found[name] = f"{place} {stat.st_size} {stat.st_mtime_ns}"
        elif path:
            found[name] = path
    return found


def values_identity(target: Path) -> dict[str, str]:
    """What besides the two sides' code decides whether values agree: verify, the language that makes the
    inputs, and the packages that the target's reference.py imports."""
    found = {"harness": harness(), "python": ".".join(map(str, sys.version_info[:2]))}
    for name in sorted({"numpy", *_imports(target / "reference.py")}):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _imports(path: Path) -> Iterable[str]:
    """Roots of the modules that a file imports, the standard library apart."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for root in (n.partition(".")[0] for n in names):
            if root and root not in sys.stdlib_module_names:
                yield root


def environment_versions(driver: str = "") -> dict[str, str]:
    """What a person calls the versions; `driver` is the GPU's."""
    found = dict(versions())
    found.pop("platform", None)
    if driver:
        found["driver"] = driver
    return found
