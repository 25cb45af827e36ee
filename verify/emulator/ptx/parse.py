"""PTX text to a Module: nvcc's and NVRTC's dialect, and the CuTe DSL's (NVVM with untyped registers).

Strict: what is not understood is refused with a PtxError, never skipped. Only debug sections, pragmas and the
hints of a function's header that say nothing about its results are read and dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from verify.emulator.ptx.body import LOC, Body, parse_body
from verify.emulator.ptx.lexical import NAME, Text, brief
from verify.emulator.ptx.module import Function, Module, PtxError, Var
from verify.emulator.ptx.variables import declare_in_module, parameters

_VERSION = re.compile(r"\.version\s++(\d{1,3})\.(\d{1,3})(?![\w.])", re.ASCII)
_TARGET = re.compile(r"\.target\s++([\w.]++)((?:\s*+,\s*+\w++)*+)", re.ASCII)
_SM = re.compile(r"sm_\d{2,3}[af]?", re.ASCII)
_TARGET_OPTIONS = frozenset(("debug", "texmode_unified", "texmode_independent"))
_VERSIONS = range(7, 10)

_STATEMENT = re.compile(
    rf"""\.address_size\s++(?P<address>\d{{1,4}})\b
    | \.file\s++(?P<index>\d{{1,9}})\s++"(?P<path>[^"\n]*+)"(?:\s*+,\s*+\d++\s*+,\s*+\d++)?+
    | (?P<section>\.section)\s++[.\w]++\s*+\{{[^{{}}]*+\}}
    | (?P<pragma>\.pragma)\s*+"[^"\n]*+"(?:\s*+,\s*+"[^"\n]*+")*+\s*+;
    | \.alias\s++(?P<alias>{NAME})\s*+,\s*+(?P<aliased>{NAME})\s*+;
    | {LOC}
    | (?:\.(?P<linkage>visible|extern|weak)\s++)?\.(?P<function>entry|func)\b
    | (?P<variable>\.[^;"]++);""",
    re.VERBOSE | re.ASCII,
)
_ATTRIBUTE = re.compile(r"\s*+\.attribute\s*+\(\s*+\.unified\s*+\([^()]*+\)\s*+\)|\s*+\.noreturn\b", re.ASCII)
_HEADER = re.compile(
    rf"\s*+(?:\((?P<returns>[^()]*+)\))?+\s*+(?P<name>{NAME})\s*+(?:\((?P<params>[^()]*+)\))?+", re.ASCII
)
_HINT = re.compile(
    r"""\s*+(?:
      \.(?P<size>reqntid|maxntid|reqnctapercluster)\s++(?P<dims>\d{1,9}(?:\s*+,\s*+\d{1,9}){0,2})(?!\s*,|\d)
    | \.(?:minnctapersm|maxnctapersm|maxnreg|maxclusterrank|local_maxnreg)\s++\d++
    | \.(?:abi_preserve|abi_preserve_control)\s++\d++
    | \.(?:explicitcluster|blocksareclusters|noreturn)\b
    | \.pragma\s*+"[^"\n]*+"(?:\s*+,\s*+"[^"\n]*+")*+\s*+;
    )""",
    re.VERBOSE | re.ASCII,
)


def parse(text: str) -> Module:
    """The module that `text` says.

    PtxError CP7101: malformed text; CP7102: a version or target that is not known; CP7103: a part of the
    language that is not supported. Opcodes and the number of their operands are not checked here.
    """
    source = Text(text.rstrip("\0"))
    at = source.past_space(0)
    version = _VERSION.match(source.text, at)
    if not version:
        raise source.error("the text does not start with .version", at)
    if int(version[1]) not in _VERSIONS:
        raise source.error(f"PTX {version[1]}.{version[2]} is not known", at, "CP7102")
    at = source.past_space(version.end())
    target = _TARGET.match(source.text, at)
    if not target:
        raise source.error(".target does not follow .version", at)
    options = {option.strip() for option in target[2].split(",")[1:]}
    if not _SM.fullmatch(target[1]) or not options <= _TARGET_OPTIONS:
        raise source.error(f"the target {brief(target[0][len('.target') :])} is not known", at, "CP7102")
    reader = _Reader(source)
    reader.read(target.end())
    return Module(
        (int(version[1]), int(version[2])),
        target[1],
        reader.address_size,
        reader.files,
        tuple(reader.variables.values()),
        reader.functions,
    )


@dataclass(slots=True)
class _Reader:
    """The module so far. `names` holds everything declared: a function's body may mention it."""

    source: Text
    address_size: int = 64
    files: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Var] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    relocated: list[tuple[str, int]] = field(default_factory=list)  # symbol, place of the variable

    def read(self, at: int) -> None:
        """Everything after `.target`."""
        source = self.source
        while (at := source.past_space(at)) < len(source.text):
            found = _STATEMENT.match(source.text, at)
            if found is None:
                raise source.error(f"not a directive: {brief(source.text[at : at + 200])}", at)
            with self._pointing(at):
                at = self._statement(found, at)
        for symbol, place in self.relocated:
            if symbol not in self.names:
                raise source.error(f"{symbol} is not declared", place)

    @contextmanager
    def _pointing(self, at: int) -> Iterator[None]:
        try:
            yield
        except PtxError as error:
            if error.line:
                raise
            raise self.source.error(error.message, at, error.code) from None

    def _statement(self, found: re.Match[str], at: int) -> int:
        """One statement at module level; the place after it."""
        kind = found.lastgroup
        if kind == "function":
            return self._function(found["function"] == "entry", found["linkage"] == "extern", at, found.end())
        if kind == "variable":
            self._variables(found["variable"], at)
        elif kind == "path":
            self.files[int(found["index"])] = found["path"]
        elif kind == "address":
            if found["address"] != "64":
                raise PtxError("CP7102", f"addresses of {found['address']} bits are not known")
        elif kind == "aliased":
            self._alias(found["alias"], found["aliased"])
        return found.end()

    def _alias(self, name: str, of: str) -> None:
        known, other = self.functions.get(name), self.functions.get(of)
        if known is None or known.defined or other is None or not other.defined or other.entry:
            raise PtxError("CP7101", f".alias {name}, {of} needs a prototype and a defined function")
        self.functions[name] = replace(other, name=name)

    def _variables(self, text: str, at: int) -> None:
        declared = declare_in_module(text)
        if declared is None:
            raise PtxError("CP7101", f"not a directive: {brief(text)}")
        for variable in declared:
            name = variable.name
            known = self.variables.get(name)
            if name in self.functions or (known and not known.extern and not variable.extern):
                raise PtxError("CP7101", f"{name} is declared twice")
            if known is None or known.extern:
                self.variables[name] = variable
            self.names.add(name)
            self.relocated.extend((reloc.symbol, at) for reloc in variable.relocs)

    def _function(self, entry: bool, extern: bool, start: int, at: int) -> int:
        """A function or its prototype; the place after it."""
        text = self.source.text
        while attribute := _ATTRIBUTE.match(text, at):
            at = attribute.end()
        header = _HEADER.match(text, at)
        if not header:
            raise PtxError("CP7101", f"not the header of a function: {brief(text[start : start + 200])}")
        name, at = header["name"], header.end()
        sizes: dict[str, tuple[int, int, int]] = {}
        while hint := _HINT.match(text, at):
            at = hint.end()
            if hint["size"]:
                x, y, z = (*(int(part) for part in hint["dims"].split(",")), 1, 1)[:3]
                if hint["size"] in sizes or not (x and y and z):
                    raise self.source.error(f".{hint['size']} twice, or of size 0", hint.start())
                sizes[hint["size"]] = (x, y, z)
        at = self.source.past_space(at)
        end = text[at : at + 1]
        if end not in ("{", ";") or (end == ";" and entry):
            raise self.source.error(f"not a part of the header of {name}: {brief(text[at : at + 80])}", at)
        if entry and header["returns"] is not None:
            raise PtxError("CP7101", f"the kernel {name} returns something")
        if end == "{" and extern:
            raise PtxError("CP7101", f"{name} is extern and has a body")
        known = self.functions.get(name)
        if name in self.variables or (known and (known.entry or entry or (known.defined and end == "{"))):
            raise PtxError("CP7101", f"{name} is defined twice")
        params, returns = parameters(header["params"] or ""), parameters(header["returns"] or "")
        self.names.add(name)
        body = Body(end=at + 1, params=params, returns=returns)
        if end == "{":
            body = parse_body(self.source, at + 1, params, returns, self.names)
            for variable in body.hoisted:
                self.variables[variable.name] = variable
                self.names.add(variable.name)
                self.relocated.extend((reloc.symbol, at) for reloc in variable.relocs)
        elif known and known.defined:
            return body.end
        self.functions[name] = Function(
            name,
            entry,
            body.params,
            body.returns,
            body.regs,
            tuple(body.variables),
            tuple(body.lines),
            body.tables,
            body.prototypes,
            sizes.get("reqntid"),
            sizes.get("maxntid"),
            sizes.get("reqnctapercluster"),
            end == "{",
            self.source.line(start),
        )
        return body.end
