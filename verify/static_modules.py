"""Which modules and which of their names a port may use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from verify import static_tables as t


def judge_import(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Code and words for each thing that a port may not import."""
    if isinstance(node, ast.Import):
        for a in node.names:
            yield from _whole(a.name)
        return
    module = node.module or ""
    if node.level:
        yield t.IMPORT, "imports a relative module"
    elif module.partition(".")[0] in t.THREADS:
        yield t.STREAM, f"imports {module}"
    else:
        for a in node.names:
            full = f"{module}.{a.name}"
            if a.name == "*":
                yield t.IMPORT, f"imports * from {module}: what it names can't be read here"
            elif full not in t.CUDA_MODULES and (why := member(full)) is not None:
                yield t.IMPORT if why[0] == t.CONSTRUCT else why[0], f"imports {full}{why[1]}"


def _whole(name: str) -> Iterator[tuple[str, str]]:
    root = name.partition(".")[0]
    if root in t.THREADS:
        yield t.STREAM, f"imports {name}"
    elif root in t.DSL_ROOTS:
        if why := closed(name):
            yield t.IMPORT, f"imports {name}: {why}"
    elif name not in t.MODULES and name not in t.CUDA_MODULES and name != "torch":
        yield t.IMPORT, f"imports {name}"


def member(full: str) -> tuple[str, str] | None:
    """Why a name of a module may not be used: a code and words; None where it may."""
    root, _, rest = full.partition(".")
    if root in t.DSL_ROOTS:
        return (t.CONSTRUCT, f": {why}") if (why := closed(full)) else None
    if root == "torch":
        if rest in t.TORCH_NAMES:
            return None
        return (t.STREAM, "") if rest in t.TORCH_STREAMS else (t.TORCH, "")
    module = next((m for m in t.CUDA_MODULES if full.startswith(f"{m}.")), None)
    if module is not None:
        name = full.removeprefix(f"{module}.").partition(".")[0]
        if name in t.CUDA_NAMES:
            return None
        return (t.STREAM, "") if name.startswith(tuple(t.CUDA_STREAMS)) else (t.CONSTRUCT, "")
    module = max((m for m in t.MODULES if full.startswith(f"{m}.")), key=len, default=None)
    if module is None:
        return (t.STREAM, "") if root in t.THREADS else (t.IMPORT, "")
    allowed, name = t.MODULES[module], full.removeprefix(f"{module}.").partition(".")[0]
    return None if (allowed is t.ALL and not name.startswith("_")) or name in allowed else (t.CONSTRUCT, "")


def closed(name: str) -> str:
    """Why a part of the DSL is closed to ports, or ""."""
    for module, names in t.DSL_OPENINGS.items():
        if name == module or name.startswith(f"{module}."):
            part = name.removeprefix(module).lstrip(".").partition(".")[0]
            return "" if not part or part in names else f"{part} is no part of the DSL that kernels use"
    for part in name.split(".")[1:]:
        if part in t.DSL_CLOSED or (part.startswith("_") and part not in t.DSL_PRIVATE):
            return f"{part} is no part of the DSL that kernels use"
        if part in sys.stdlib_module_names and part not in t.DSL_SHARED_NAMES:
            return f"{part} is what the DSL itself imports"
    return ""


def is_module(full: str) -> bool:
    """A module as a value would take its names along, unread."""
    root, _, last = full.partition(".")[0], "", full.rpartition(".")[2]
    if root in t.DSL_ROOTS:
        return last in t.DSL_MODULES
    return full in ("torch", "torch.cuda", "cuda", "cuda.bindings", *t.CUDA_MODULES) or (
        full in t.MODULES and t.MODULES[full] is not t.ALL
    )
