"""`task.json`: what is asked of whoever ports a kernel that the compiler refused. It lies in a target folder
without a `port.py`; the spec beside it comes from the original alone."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from translator.output import TASK


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Refusal(Strict):
    """Why the compiler refused the kernel. `line` is 1-based in `path`, 0 for no place."""

    code: str
    path: str
    line: int
    message: str
    hint: str = ""


class Feature(Strict):
    """Something the device code does that a port has to find an answer to; `lines` are those of
    original/device.cu."""

    kind: Literal["library", "synchronisation", "instruction", "control", "type"]
    name: str
    lines: list[int]


class Ran(Strict):
    """How the original did in the emulator. `runs` is null where it was not tried, and `why` says why it did
    not run or was not tried; `cases` of the spec's `of` were run, in `seconds` with its build."""

    runs: bool | None = None
    why: str = ""
    cases: int = 0
    of: int = 0
    seconds: float = 0.0


class Task(Strict):
    """One refused kernel."""

    format: Literal[1] = 1
    kernel: str
    instantiation: str
    """`k<float, 8>`, empty for a plain kernel."""
    cuda_name: str
    """The name expression that finds it in original/device.cu."""
    source: str
    """The author's file, as given."""
    line: int
    entry: str
    """The function that port.py must define; `compile_<entry>` must be there too."""
    stage: Literal["model", "passes", "emit", "spec"]
    """The stage that refused it."""
    refusals: list[Refusal]
    whole: bool
    """Whether all of the kernel could be read; else the spec's shapes and roles are asked and measured."""
    launch_seen: bool
    """Whether the source launches it."""
    constructs: dict[str, int]
    """Construct and how often, of what could be read."""
    features: list[Feature]
    lines: int
    """Lines of the kernel in its source."""
    draft: str | None = None
    """What the emitter made before it refused: a draft, not a port."""
    original: Ran = Ran()
    """Written by the measurement."""
    spec_sha256: str = ""
    """Of spec.toml as generated, by which an edited one is told."""


class TaskError(Exception):
    """There is no usable task.json."""


def load_task(folder: Path) -> Task:
    """The task of a folder. Raises TaskError."""
    path = folder / TASK
    try:
        return Task.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TaskError(f"{path}: {place}: {first['msg']}" if place else f"{path}: {first['msg']}") from None


def to_text(task: Task) -> str:
    return task.model_dump_json(indent=1) + "\n"
