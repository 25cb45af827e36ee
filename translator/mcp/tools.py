"""The tools: what each takes, the command line that it becomes, what agents are told of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from translator.mcp import arguments as a
from translator.mcp.roots import RefusedError, Roots
from translator.mcp.target import copied


@dataclass(frozen=True, slots=True)
class Tool:
    """`words` makes the arguments of `cuteport` from those of a call, given the folders and the call's own
    folder. RefusedError where they can't be used. `runs_code` says that it runs what a target holds."""

    name: str
    takes: type[a.Arguments]
    words: Callable[[Any, Roots, Path], list[str]]
    title: str
    text: str
    document: str
    seconds: float
    reads_only: bool
    runs_code: bool

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments; nothing else is taken."""
        made = self.takes.model_json_schema()
        made.pop("title", None)
        made.pop("description", None)
        return made


def _each(flag: str, values: Iterable[object]) -> list[str]:
    return [f"{flag}={v}" for v in values]


def _given(flag: str, value: object) -> list[str]:
    return [] if value is None else [f"{flag}={value}"]


def _reading(given: a.Analyze | a.Port, roots: Roots) -> tuple[list[str], list[str]]:
    """(flags, paths); a path can't be taken for a flag, as each is absolute."""
    flags = [
        *_each("--kernel", given.kernels),
        *_each("--include", [roots.folder(i) for i in given.includes]),
        *_each("--define", given.defines),
        *_given("--std", given.std),
        *_each("--instantiate", given.instantiate),
    ]
    return flags, [str(roots.path(p)) for p in given.paths]


def _analyze(given: a.Analyze, roots: Roots, call: Path) -> list[str]:
    flags, paths = _reading(given, roots)
    return ["analyze", *flags, "--", *paths]


def _port(given: a.Port, roots: Roots, call: Path) -> list[str]:
    flags, paths = _reading(given, roots)
    flags += [*_given("--arch", given.arch), f"--device={given.device}", f"--out={call / 'out'}"]
    flags += [] if given.verify else ["--no-verify"]
    flags += ["--tasks"] if given.tasks else []
    return ["port", *flags, *_given("--opt-level", given.opt_level), "--", *paths]


def _judging(given: a.Verify | a.Bench, roots: Roots, call: Path, stages: Iterable[str]) -> list[str]:
    target = copied(roots.folder(given.target), call / "targets", given.target)
    flags = [f"--stages={','.join(stages)}", *_each("--case", given.cases), f"--seed={given.seed}"]
    flags += [*_given("--arch", given.arch), f"--device={given.device}", f"--timeout={given.timeout:g}"]
    return ["verify", *flags, "--", str(target)]


def _verify(given: a.Verify, roots: Roots, call: Path) -> list[str]:
    if not given.stages:
        raise RefusedError("CP5501", tool="verify", reason="`stages` names none")
    if isinstance(given.mutate, int) and given.mutate < 1:
        raise RefusedError("CP5501", tool="verify", reason="`mutate` takes a number from 1, some or all")
    words = _judging(given, roots, call, given.stages)
    return [words[0], *_given("--mutate", given.mutate), *words[1:]]


def _bench(given: a.Bench, roots: Roots, call: Path) -> list[str]:
    return _judging(given, roots, call, ("static", "compile", "parity", "bench"))


def _corpus_search(given: a.CorpusSearch, roots: Roots, call: Path) -> list[str]:
    if (given.words is None) == (given.path is None):
        raise RefusedError("CP5501", tool="corpus_search", reason="it takes either `words` or `path`")
    if given.path is not None:
        return ["corpus", "search", f"--for={roots.path(given.path)}"]
    return ["corpus", "search", "--", given.words or ""]


_COMMANDS: dict[str, tuple[type[a.Arguments], Callable[[Any, Roots, Path], list[str]]]] = {
    "analyze": (a.Analyze, _analyze),
    "port": (a.Port, _port),
    "verify": (a.Verify, _verify),
    "bench": (a.Bench, _bench),
    "corpus_search": (a.CorpusSearch, _corpus_search),
    "corpus_show": (a.CorpusShow, lambda given, roots, call: ["corpus", "show", "--", given.id]),
    "api_lookup": (a.ApiLookup, lambda given, roots, call: ["api", "--", *given.names]),
    "map_builtin": (a.MapBuiltin, lambda given, roots, call: ["map", "--", given.name]),
    "explain": (a.Explain, lambda given, roots, call: ["explain", "--", given.code]),
    "doctor": (a.Doctor, lambda given, roots, call: ["doctor"]),
}


@cache
def tools() -> dict[str, Tool]:
    """By name, in the order in which they are listed."""
    said = tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))
    return {
        name: Tool(
            name=name,
            takes=takes,
            words=words,
            title=said[name]["title"],
            text=said[name]["text"],
            document=said[name]["document"],
            seconds=said[name]["seconds"],
            reads_only=said[name].get("reads_only", False),
            runs_code=name in ("verify", "bench"),
        )
        for name, (takes, words) in _COMMANDS.items()
    }
