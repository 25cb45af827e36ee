"""`cuteport mcp`: from its options to a server, or to what keeps one from starting."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from translator.outcome import EXIT_DONE, EXIT_ENVIRONMENT


class StartError(ValueError):
    """An option that can't be used."""


def start(allow: Sequence[Path], root: Path | None, *, unconfined: bool, seconds: float) -> int:
    """Serve until the client leaves; the exit code. 3 without the SDK (CP5508); StartError for an option."""
    from translator.mcp.roots import RefusedError

    try:
        from translator.mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio", "starlette"):
            raise
        print(f"error {RefusedError('CP5508', reason=str(error))}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    from translator.mcp.call import Bench
    from translator.mcp.child import landlock
    from translator.mcp.folder import RunFolder
    from translator.mcp.roots import Roots
    from translator.runs import planned_folder

    if not 0 <= seconds <= 7 * 24 * 3600:
        raise StartError(f"--seconds {seconds:g}: it takes seconds, at most a week; 0 for each tool's own")
    allowed = tuple(_allowed(p) for p in (allow or (Path(),)))
    roots = Roots(allowed, _listed(planned_folder(Path("runs")).resolve()) if root is None else _root(root))
    confined = landlock() > 0 and not unconfined
    serve(Bench(roots, RunFolder(roots.run), confined, trusted=unconfined), seconds)
    return EXIT_DONE


def _root(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"--root {folder}: {error.strerror}") from None
    return _allowed(folder)


def _allowed(folder: Path) -> Path:
    real = folder.resolve()
    if not real.is_dir():
        raise StartError(f"{folder}: no such folder")
    return _listed(real)


def _listed(real: Path) -> Path:
    """A folder that can go to the tools' processes, which get theirs in a list."""
    if os.pathsep in str(real):
        raise StartError(f"{real}: a folder's name can't have {os.pathsep!r} in it")
    return real
