"""What every job in a child shares: its error type, readable errors, importing a file as a module."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

Emit = Callable[[dict[str, Any]], None]
MESSAGE = 3000  # characters of an error that travel to the parent
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What the DSL blames on itself, and what it is in the port.
_OWN_FAULT = "This is a bug in the DSL, not a mistake in your kernel."
_MEANT = {
    "range_constexpr should be preprocessed": "The function of this line lacks `@cute.jit`, and so is plain "
    "Python: decorate it, or count with `range`."
}


class JobError(Exception):
    """A job's failure that has its own code (a key of verify.codes)."""

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


def describe(error: BaseException, path: Path | None = None) -> tuple[str, int | None]:
    """(message without colours, line of `path` that the error passed through last or None)."""
    line = None
    for frame in traceback.extract_tb(error.__traceback__):
        if path is not None and Path(frame.filename) == path:
            line = frame.lineno
    if isinstance(error, SyntaxError) and path is not None and error.filename == str(path):
        line = error.lineno
    text = _ANSI.sub("", f"{type(error).__name__}: {error}").strip()
    for said, meant in _MEANT.items():
        if said in text:
            text = text.replace(_OWN_FAULT, meant)
    return text[:MESSAGE], line


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file `path` as module `name`. JobError CP6101 where it raises."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise JobError("CP6101", f"{path} can't be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the DSL looks a function's module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException as e:
        sys.modules.pop(name, None)
        message, line = describe(e, path)
        raise JobError("CP6101", message, line) from e
    return module
