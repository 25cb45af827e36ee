"""What is wrong with a spec and what it means in numbers: for `cuteport spec check`, and before every run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from verify import unordered
from verify.expr import ExprError
from verify.facts import Strict
from verify.files import read_text
from verify.plan import plan, too_large
from verify.resolve import Resolved, resolve
from verify.spec import LAUNCH, Case, Spec
from verify.spec_args import BufferArg, StructArg
from verify.spec_file import Lines, SpecError, parse_spec, text_of
from verify.spec_weak import weaknesses

TASK = "task.json"
"""What lies in the folder of a kernel whose port is asked for, beside its spec."""


class Remark(Strict):
    """`line` is 1-based in `path`. An error keeps the spec from being used; a warning says what a verdict
    would be worth less for."""

    path: str
    line: int
    level: Literal["error", "warning"]
    message: str
    code: str | None = None

    def __str__(self) -> str:
        note = "warning: " if self.level == "warning" else ""
        note += f"{self.code} " if self.code else ""
        return f"{self.path}:{self.line}: {note}{self.message}"


class CaseNumbers(Strict):
    """A case in numbers. `elems` counts elements by buffer, `runs` how often it is run for a verdict on a
    device; `emulator` says why it is not run there, or nothing."""

    name: str
    role: str
    sizes: dict[str, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    smem: int
    elems: dict[str, int]
    bytes: int
    runs: dict[str, int]
    emulator: str = ""


class Examined(Strict):
    """What `cuteport spec check` found in one target."""

    target: str
    ok: bool
    remarks: list[Remark] = Field(default_factory=list)
    cases: list[CaseNumbers] = Field(default_factory=list)


class SpecDocument(Strict):
    """What `cuteport spec check --json` prints."""

    exit_code: int
    specs: list[Examined]


def load_checked(target: Path) -> Spec:
    """Read `target/spec.toml`; each case has its numbers. SpecError lists every problem with its line."""
    path = target / "spec.toml"
    text = text_of(path)
    spec = parse_spec(text, str(path))
    problems = [f"{path}:{line}: {what}" for line, what in _unusable(target, spec, Lines(text))]
    if problems:
        raise SpecError(problems)
    return spec


def examine(target: Path) -> Examined:
    """Everything that can be said of a target's spec without running anything."""
    path = str(target / "spec.toml")
    try:
        text = text_of(target / "spec.toml")
        spec = parse_spec(text, path)
    except SpecError as e:
        return Examined(target=str(target), ok=False, remarks=[_told(path, p) for p in e.problems])
    lines = Lines(text)
    found: list[tuple[int, str, Literal["error", "warning"]]] = []
    found += [(line, what, "error") for line, what in _unusable(target, spec, lines)]
    found += [(line, what, "error") for line, what in _unfit(target, spec, lines)]
    broken = bool(found)
    remarks = [Remark(path=path, line=n, level=level, message=what) for n, what, level in found]
    if _is_task(target, spec):
        what = f"no file {spec.port.module} yet: {TASK} asks for it"
        remarks.append(Remark(path=path, line=lines.of(("port", "module")), level="warning", message=what))
    remarks += [
        Remark(path=path, line=n, level="warning", message=what, code=code)
        for n, what, code in weaknesses(target, spec, lines)
    ]
    return Examined(
        target=str(target),
        ok=not broken,
        remarks=remarks,
        cases=[] if broken else [_numbers(spec, c) for c in spec.case],
    )


def _told(path: str, problem: str) -> Remark:
    """A problem of reading as a remark: it starts with the path and often the line."""
    line, colon, what = problem.removeprefix(f"{path}:").partition(":")
    if colon and line.isdecimal():
        return Remark(path=path, line=int(line), level="error", message=what.strip())
    return Remark(path=path, line=1, level="error", message=problem.removeprefix(f"{path}:").strip())


def _unusable(target: Path, spec: Spec, lines: Lines) -> Iterator[tuple[int, str]]:
    """What keeps any run from starting."""
    for case in spec.case:
        try:
            unordered.check(spec, resolve(spec, case))
        except ExprError as e:
            yield lines.of(e.loc), str(e)
    if spec.tolerance.rule == "fp64" and not (target / "reference.py").exists():
        yield lines.of(("tolerance", "rule")), "rule fp64 needs a reference.py"


def _is_task(target: Path, spec: Spec) -> bool:
    """Whether the port is still to be written: a task says so."""
    return (target / TASK).is_file() and not (target / spec.port.module).is_file()


def _unfit(target: Path, spec: Spec, lines: Lines) -> Iterator[tuple[int, str]]:
    """What would fail later: files that are missing, a port that takes other arguments, no output."""
    if not any(a.compared for a in spec.buffers):
        yield lines.of(("arg", 0)), "no buffer has the role out or inout: there is nothing to compare"
    if not (target / spec.original.source).is_file():
        yield lines.of(("original", "source")), f"no file {spec.original.source}"
    port = target / spec.port.module
    if _is_task(target, spec):
        return
    if not port.is_file():
        yield lines.of(("port", "module")), f"no file {spec.port.module}"
        return
    try:
        tree = ast.parse(read_text(port))
    except (SyntaxError, ValueError) as e:
        yield lines.of(("port", "module")), f"{spec.port.module} can't be read: {e}"
        return
    entry = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == spec.port.entry), None)
    if entry is None:
        yield lines.of(("port", "entry")), f"{spec.port.module} has no function {spec.port.entry}"
        return
    takes = [a.arg for a in (*entry.args.posonlyargs, *entry.args.args, *entry.args.kwonlyargs)]
    if lacking := [c for c in spec.port.constants if c not in takes]:
        yield lines.of(("port", "constants")), f"{spec.port.entry} has no parameter {', '.join(lacking)}"
    takes = [a for a in takes if a not in LAUNCH and a not in spec.port.constants]
    gives = _parameters(spec)
    if len(takes) != len(gives):
        words = f"{spec.port.entry} takes {', '.join(takes)}; the spec gives {', '.join(gives)}"
        yield lines.of(("port", "entry")), words


def _parameters(spec: Spec) -> list[str]:
    """Names of the port's parameters in the order of portcall: symbols last."""
    plain: list[str] = []
    symbols: list[str] = []
    for arg in spec.arg:
        name = arg.port_name or arg.name
        if isinstance(arg, StructArg):
            plain += [f"{name}_{f.name}" for f in arg.fields]
        else:
            (symbols if isinstance(arg, BufferArg) and arg.symbol else plain).append(name)
    return plain + symbols


def _numbers(spec: Spec, case: Case) -> CaseNumbers:
    resolved: Resolved = resolve(spec, case)
    runs = {
        "gpu": sum(r.case is case for r in plan(spec, (), 0, "gpu")),
        "emulator": sum(r.case is case for r in plan(spec, (), 0, "emulator")),
    }
    why = too_large(resolved, "emulator")
    if why:
        runs["emulator"] = 0
    return CaseNumbers(
        name=case.name,
        role=case.role,
        sizes=case.sizes,
        grid=resolved.grid,
        block=resolved.block,
        smem=resolved.smem,
        elems=resolved.elems,
        bytes=sum(resolved.elems[a.name] * a.element_bytes for a in spec.buffers),
        runs=runs,
        emulator=why,
    )
