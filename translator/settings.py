"""One frozen Settings from `cuteport.toml`, the environment and the command line, in rising order.

Every key can be given in each of the three: `jobs = 4` in the file, `CUTEPORT_JOBS=4`, `--jobs 4`.
Lists in the environment are separated by the platform's path separator. No other file reads either.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILE = "cuteport.toml"
PREFIX = "CUTEPORT_"
DEVICES = ("auto", "gpu", "emulator")
ARCHES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
STANDARDS = ("c++11", "c++14", "c++17", "c++20")


class SettingsError(ValueError):
    """A setting that is unknown or has a value that can't be used; the message names it and its source."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run may be told. Paths are as given, relative to the working folder; seconds where a time."""

    out: Path = Path("out")
    runs: Path = Path("runs")
    targets: tuple[str, ...] = ("targets",)  # what `check` checks where no folder is named
    shared: tuple[str, ...] = ()  # more paths that every target depends on, for `check --changed-since`
    fail_on: str = ""  # outcomes that make `check` fail; "" for its own choice
    kernels: tuple[str, ...] = ()  # names to keep; empty for all
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    std: str = ""  # "" for what compile_commands.json says, else the frontend's default
    compile_commands: Path | None = None
    instantiate: tuple[str, ...] = ()  # "k<float, 8>"
    below: tuple[str, ...] = ()  # folders that sources and what they include may lie in; empty for any
    jobs: int = 0  # 0 for one per core
    arch: str = ""  # "" for the GPU's own, or sm_90a where there is none
    device: str = "auto"  # where values are compared: a GPU, otherwise the emulator; or "gpu", "emulator"
    opt_level: int = -1  # of the ports' machine code, 0 to 3; -1 for the DSL's own
    verify: bool = True
    force: bool = False  # overwrite a port.py that was edited since it was generated
    tasks: bool = False  # a task folder for each kernel that is refused: for porting by hand, or by a model
    keep_stages: bool = False  # leave each stage's file in the run folder
    unit_timeout: float = 300.0  # reading and translating one translation unit
    compile_timeout: float = 300.0  # compiling one port
    model: str = ""  # of the endpoint that proposes where the compiler refuses; "" for none
    base_url: str = ""  # of an OpenAI-compatible endpoint; "" for the SDK's own (OPENAI_BASE_URL, or hosted)
    prices: tuple[str, ...] = ()  # "MODEL=IN/OUT", US dollars per million tokens
    turns: int = 16  # answers of the model, per kernel
    tokens: int = 400_000  # sent and received, per kernel
    money: float = 0.0  # US dollars, per kernel; 0 for no limit
    seconds: float = 1800.0  # of the whole loop, per kernel
    candidates: int = 1  # attempts side by side, per kernel
    request_timeout: float = 600.0  # one answer of the model
    embedding_model: str = ""  # of the same endpoint, ranks corpus entries by meaning too; "" for none

    @property
    def workers(self) -> int:
        """How many processes to use: as asked, else one per core this process may run on."""
        if self.jobs:
            return self.jobs
        allowed = getattr(os, "sched_getaffinity", None)  # absent outside Linux
        return len(allowed(0)) if allowed else os.cpu_count() or 1


_LONGEST_WAIT = 7 * 24 * 3600.0  # a week: what waits longer was a slip of the keyboard
_DEFINE = re.compile(r"[^\W\d]\w*(\([^()\n]*\))?(=[^\n\0]*)?$")
_KINDS = {f.name: f.type for f in fields(Settings)}


def load(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings of a run started in `folder`. A flag that is None or empty was not given.

    Raises SettingsError for an unknown key, a wrong type or an impossible value.
    """
    environment = os.environ if environment is None else environment
    given = _from_file((folder or Path()) / (environment.get(PREFIX + "CONFIG") or FILE))
    given |= _from_environment(environment)
    given |= {k: v for k, v in (flags or {}).items() if v is not None and v != () and v != []}
    made: dict[str, Any] = {}
    for name, value in given.items():
        made[name] = _typed(name, value)
    return _checked(replace(Settings(), **made))


def _from_file(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise SettingsError(f"{path}: not a file")
        with path.open("rb") as stream:
            read = tomllib.load(stream)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}") from None
    for name in read:
        if name not in _KINDS:
            raise SettingsError(f"{path}: unknown key `{name}` (known: {', '.join(sorted(_KINDS))})")
    return read


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        text = environment.get(PREFIX + name.upper())
        if text is None or text == "":
            continue
        found[name] = tuple(text.split(os.pathsep)) if "tuple" in str(kind) else text
    return found


def _typed(name: str, value: Any) -> Any:
    """`value` as the field's own type; text from the environment is converted."""
    kind = str(_KINDS[name])
    try:
        if kind.startswith("tuple"):
            items = [value] if isinstance(value, str) else list(value)
            if not all(isinstance(v, str) for v in items):
                raise ValueError
            return tuple(items)
        if kind == "bool":
            if isinstance(value, bool):
                return value
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                value.lower()
            ]
        if kind == "int":
            return _whole(value)
        if kind == "float":
            return _finite(value)
        if "Path" in kind:
            return _path(value)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise SettingsError(f"`{name}` can't be {value!r}: it takes {_WORDS.get(kind, kind)}") from None
    if not isinstance(value, str):
        raise SettingsError(f"`{name}` can't be {value!r}: it takes text")
    return value


_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "Path": "a path",
    "Path | None": "a path",
    "tuple[str, ...]": "a list of texts",
}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise ValueError
    return int(value)


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _path(value: Any) -> Path:
    if "\0" in str(value):
        raise ValueError
    return Path(value)


def _checked(settings: Settings) -> Settings:
    if settings.jobs < 0 or settings.jobs > 1024:
        raise SettingsError(f"`jobs` can't be {settings.jobs}: it takes 0 (one per core) to 1024")
    if settings.arch and settings.arch not in ARCHES:
        raise SettingsError(f"`arch` can't be {settings.arch!r}: it takes one of {', '.join(ARCHES)}")
    if settings.device not in DEVICES:
        raise SettingsError(f"`device` can't be {settings.device!r}: it takes one of {', '.join(DEVICES)}")
    if not -1 <= settings.opt_level <= 3:
        raise SettingsError(f"`opt_level` can't be {settings.opt_level}: it takes 0 to 3, or -1 for none")
    if settings.std and settings.std not in STANDARDS:
        raise SettingsError(f"`std` can't be {settings.std!r}: it takes one of {', '.join(STANDARDS)}")
    for define in settings.define:
        if not _DEFINE.match(define):
            raise SettingsError(f"`define` can't be {define!r}: it takes NAME or NAME=VALUE")
    if settings.unit_timeout <= 0 or settings.compile_timeout <= 0:
        raise SettingsError("a timeout must be more than 0 seconds")
    _check_endpoint(settings)
    _check_budget(settings)
    return settings


def _check_endpoint(settings: Settings) -> None:
    if settings.model != settings.model.strip() or not settings.model.isprintable():
        raise SettingsError(
            f"`model` can't be {settings.model!r}: it takes a model's name as the endpoint has it"
        )
    if settings.base_url and (reason := endpoint_problem(settings.base_url)):
        raise SettingsError(f"`base_url` can't be used: {reason}")  # not its text: it may hold a password
    known: set[str] = set()
    for text in settings.prices:
        try:
            name, _, _ = price(text)
        except ValueError as error:
            raise SettingsError(f"`prices` can't hold {text!r}: {error}") from None
        if name in known:
            raise SettingsError(f"`prices` can't hold {text!r}: {name!r} has a price already")
        known.add(name)


def _check_budget(settings: Settings) -> None:
    for name, least, most in (("turns", 1, 1000), ("tokens", 1, 10**9), ("candidates", 1, 64)):
        value = getattr(settings, name)
        if not least <= value <= most:
            raise SettingsError(f"`{name}` can't be {value}: it takes {least} to {most}")
    if settings.money < 0:
        raise SettingsError(f"`money` can't be {settings.money:g}: it takes US dollars, or 0 for no limit")
    for name in ("seconds", "request_timeout"):
        value = getattr(settings, name)
        if not 0 < value <= _LONGEST_WAIT:
            raise SettingsError(
                f"`{name}` can't be {value:g}: it takes more than 0, at most {_LONGEST_WAIT:g} seconds"
            )


def endpoint_problem(url: str) -> str:
    """What keeps `url` from being the address of an endpoint, or "". Quotes nothing of it."""
    if url != url.strip() or not url.isprintable() or " " in url:
        return "it has blanks or control characters"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # urlsplit quotes what it could not read, which may be a password with a "/" or "@" in it.
        return "its port is no number from 0 to 65535" if "ort" in str(error) else "it is no URL"
    if parts.scheme not in ("http", "https"):
        return "it takes http:// or https:// and a host, as in http://localhost:8000/v1"
    if not parts.hostname or port == 0:
        return "it names no host, as in http://localhost:8000/v1"
    return ""


_PRICE = re.compile(r"(\S(?:.*\S)?)=(\d+(?:\.\d*)?|\.\d+)/(\d+(?:\.\d*)?|\.\d+)")


def price(text: str) -> tuple[str, float, float]:
    """The model of "MODEL=IN/OUT" and what a million tokens cost, sent and received, in US dollars.

    Raises ValueError, with what the text should have been.
    """
    found = _PRICE.fullmatch(text)
    if found is None:
        # A list in the environment is split at the path separator, and names of models may have one.
        hint = " (a model whose name has a colon needs cuteport.toml)" if os.pathsep == ":" else ""
        raise ValueError(f"it takes MODEL=IN/OUT, US dollars per million tokens sent and received{hint}")
    sent, received = float(found[2]), float(found[3])
    if not (math.isfinite(sent) and math.isfinite(received)):
        raise ValueError("a price must be a finite number")
    return found[1], sent, received
