"""What a port may contain, read from its syntax tree alone. Codes CP6002 to CP6005."""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path

from verify.verdict import StageResult, Status

_ALLOWED_ROOTS = frozenset({"cutlass", "torch", "__future__"})
_ALLOWED_FULL = ("cuda.bindings", "cuda.bindings.driver", "cuda.bindings.runtime")
# Parts of the standard library that a kernel module has no use for and a cheat has.
_BANNED_STDLIB = frozenset(
    {
        "asyncio",
        "code",
        "concurrent",
        "ctypes",
        "gc",
        "http",
        "importlib",
        "inspect",
        "mmap",
        "multiprocessing",
        "pickle",
        "pty",
        "resource",
        "runpy",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
    }
)
_BANNED_CALLS = frozenset({"exec", "eval", "__import__", "compile", "open", "globals", "setattr"})


def check_static(target: Path, module: str, entry: str) -> StageResult:
    """Read `target/module` without running it: it parses, imports only what it may, and has its functions."""
    start = time.monotonic()

    def result(
        status: Status, code: str | None = None, message: str = "", line: int | None = None
    ) -> StageResult:
        return StageResult(
            stage="static",
            target=str(target),
            status=status,
            code=code,
            message=message,
            line=line,
            seconds=round(time.monotonic() - start, 4),
        )

    path = target / module
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except FileNotFoundError:
        return result(Status.REJECTED_STATIC, "CP6002", f"{module} does not exist")
    except SyntaxError as e:
        return result(Status.REJECTED_STATIC, "CP6002", f"{e.msg}", e.lineno)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as e:
        return result(Status.REJECTED_STATIC, "CP6002", f"can't be read: {e}")
    for node in ast.walk(tree):
        if (bad := _banned_import(node)) is not None:
            return result(Status.REJECTED_STATIC, "CP6003", f"imports {bad}", node.lineno)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BANNED_CALLS:
            return result(Status.REJECTED_STATIC, "CP6005", f"calls {node.func.id}()", node.lineno)
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in (entry, f"compile_{entry}"):
        if name not in defined:
            return result(Status.REJECTED_STATIC, "CP6004", f"defines no function {name}")
    return result(Status.PASSED)


def _banned_import(node: ast.AST) -> str | None:
    if isinstance(node, ast.Import):
        names = [a.name for a in node.names]
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            return "a relative module"
        module = node.module or ""
        # `from cuda.bindings import driver` names the module in two parts
        names = [f"{module}.{a.name}" if module == "cuda.bindings" else module for a in node.names]
    else:
        return None
    for name in names:
        root = name.partition(".")[0]
        if root in _ALLOWED_ROOTS or name in _ALLOWED_FULL:
            continue
        if root in sys.stdlib_module_names and root not in _BANNED_STDLIB:
            continue
        return name
    return None
