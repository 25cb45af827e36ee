"""The static stage: what a port may contain, read from its syntax tree alone. Codes CP6002 to CP6009."""

from __future__ import annotations

import ast
import time
from pathlib import Path

from verify.static_host import judge_host
from verify.static_names import Names
from verify.static_rules import Offence, Rules
from verify.verdict import StageResult, Status

_TOLD = 20  # offences that a message names


def check_static(target: Path, module: str, entry: str) -> StageResult:
    """Read `target/module` without running it: it parses, keeps to what a port may do, and has its functions.

    The first offence gives the stage its code and line; the message names the others too.
    """
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
        found = offences(tree, entry)
    except FileNotFoundError:
        return result(Status.REJECTED_STATIC, "CP6002", f"{module} does not exist")
    except SyntaxError as e:
        return result(Status.REJECTED_STATIC, "CP6002", f"{e.msg}", e.lineno)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError, MemoryError) as e:
        return result(Status.REJECTED_STATIC, "CP6002", f"can't be read: {e}")
    if found:
        return result(Status.REJECTED_STATIC, found[0].code, _in_words(found), found[0].line)
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in (entry, f"compile_{entry}"):
        if name not in defined:
            return result(Status.REJECTED_STATIC, "CP6004", f"defines no function {name}")
    return result(Status.PASSED)


def offences(tree: ast.Module, entry: str) -> list[Offence]:
    """Everything in a module that a port may not do, in order of lines. RecursionError where the tree is
    nested too deep to be read."""
    names = Names(tree)
    rules = Rules(tree, names)
    judge_host(tree, names, (entry, f"compile_{entry}"), rules.refuse)
    return sorted(rules.found)


def _in_words(found: list[Offence]) -> str:
    """The first without its code and line, which the stage has; then the others with theirs."""
    first, *others = found
    told = [f"line {o.line}: {o.code} {o.what}" for o in others[: _TOLD - 1]]
    if len(others) >= _TOLD:
        told.append(f"and {len(others) - _TOLD + 1} more")
    return "; ".join([first.what, *told])
