"""Files that a reader never sees half of: written under a temporary name, then renamed. OSError passes."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

_NAME = 80  # characters of the file's own name that its temporary one keeps


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file, readable for all."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:_NAME]}.")
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a file by text; what is no UTF-8, as in a path's bytes, is escaped."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, data: Any) -> None:
    """Replace a file by JSON."""
    write_bytes(path, (json.dumps(data, indent=1) + "\n").encode("utf-8"))
