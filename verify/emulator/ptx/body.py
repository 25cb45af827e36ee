"""The body of a function: scopes, declarations, labels, `.loc`, calls and instructions."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace

from verify.emulator.ptx.lexical import NAME, Text, brief, split
from verify.emulator.ptx.module import Call, Instr, Label, Line, Loc, Operand, PtxError, Reg, Space, Sym, Var
from verify.emulator.ptx.operands import Names, Scope
from verify.emulator.ptx.variables import REGISTER_TYPES, declare

LOC = (
    r"\.loc\s++(?P<file>\d{1,9})\s++(?P<line>\d{1,9})\s++\d++\b"
    rf"(?:\s*+,\s*+function_name\s++{NAME}(?:\s*+\+\s*+\d++)?+\s*+,\s*+inlined_at\s++\d++\s++\d++\s++\d++)?+"
)
# The groups' last name says what a statement is: line, label, table, open, close, args, rest.
_STATEMENT = re.compile(
    rf"""\s*+(?:
      {LOC}
    | (?P<label>{NAME})\s*+:(?!:)(?:\s*+\.(?P<table>branchtargets|calltargets|callprototype)\b)?+
    | (?P<open>\{{)
    | (?P<close>\}})
    | (?:@\s*+(?P<negated>!?)\s*+(?P<guard>{NAME})\s*+)?+
      (?P<op>[a-z]\w*+(?:\s*+\.[\w:]++)*+)
      (?P<args>[^;{{}}"]*+(?:\{{[^;{{}}"]*+\}}[^;{{}}"]*+)*+);
    | \.(?P<directive>[a-z_]\w*+)(?P<rest>(?:[^;{{}}"]++|"[^"\n]*+")*+);
    )""",
    re.VERBOSE | re.ASCII,
)
_LIST = re.compile(r'([^;{}"]*+);', re.ASCII)
_CALL = re.compile(
    rf"""\s*+(?:\((?P<returns>[^()]*+)\)\s*+,\s*+)?(?P<target>{NAME})\s*+
        (?:,\s*+\((?P<arguments>[^()]*+)\)\s*+)?(?:,\s*+(?P<prototype>{NAME})\s*+)?""",
    re.VERBOSE | re.ASCII,
)
_REGISTERS = re.compile(rf"({NAME})\s*+(?:<\s*+(\d{{1,9}})\s*+>)?", re.ASCII)
_PROTOTYPE = re.compile(r"\s*+(?:\([^()]*+\)\s*+)?_\s*+(?:\([^()]*+\))?[^()]*+", re.ASCII)
_PRAGMA = re.compile(r'\s*+"[^"\n]*+"(?:\s*+,\s*+"[^"\n]*+")*+\s*+', re.ASCII)

# Families with instructions that take no operand; every other instruction takes at least one.
_BARE = frozenset(
    (
        *("ret", "exit", "trap", "brkpt", "membar", "fence", "bar", "barrier"),
        *("cp", "wgmma", "griddepcontrol", "tcgen05"),
    )
)
_MAX_DEPTH = 64  # of braces in braces
_SPACES: dict[str, Space] = {"shared": "shared", "local": "local", "param": "param"}
_HOISTED: dict[str, Space] = {"global": "global", "const": "const"}  # as static variables of C


@dataclass(slots=True)
class Body:
    """What a body says; the fields are those of module.Function. `end` is the place after its last brace;
    `hoisted` are variables of the module declared in the body, under names that the module has not."""

    end: int = 0
    lines: list[Line] = field(default_factory=list)
    variables: list[Var] = field(default_factory=list)
    hoisted: list[Var] = field(default_factory=list)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, str] = field(default_factory=dict)
    regs: dict[str, str] = field(default_factory=dict)
    params: tuple[Var, ...] = ()
    returns: tuple[Var, ...] = ()


def parse_body(
    source: Text, at: int, params: tuple[Var, ...], returns: tuple[Var, ...], module: Container[str]
) -> Body:
    """The body that starts at `at`, after its first brace. `module` holds the names declared before it."""
    statements, labels, end = _statements(source, at)
    return _Reader(source, labels, module).read(statements, params, returns, end)


def _statements(source: Text, at: int) -> tuple[list[re.Match[str]], list[dict[str, None]], int]:
    """The statements up to the matching brace, each scope's labels in the order of opening, and the end."""
    match, text = _STATEMENT.match, source.text
    found: list[re.Match[str]] = []
    labels: list[dict[str, None]] = [{}]
    scopes = [labels[0]]
    while True:
        statement = match(text, at)
        if statement is None:
            if source.past_space(at) == len(text):
                raise source.error("the text ends within a function", len(text))
            raise source.error(f"not a statement: {brief(text[at : at + 200])}", at)
        at = statement.end()
        kind = statement.lastgroup
        if kind == "close":
            scopes.pop()
            if not scopes:
                return found, labels, at
        elif kind == "open":
            if len(scopes) == _MAX_DEPTH:
                raise source.error(f"more than {_MAX_DEPTH} scopes in each other", statement.start())
            labels.append({})
            scopes.append(labels[-1])
        elif kind == "label" or kind == "table":
            name = statement["label"]
            if name in scopes[-1]:
                raise source.error(f"the label {name} stands twice", statement.start())
            scopes[-1][name] = None
            if kind == "table":
                rest = _LIST.match(text, at)
                if rest is None:
                    raise source.error(f".{statement['table']} without an end", statement.start())
                at = rest.end()
        found.append(statement)


class _Reader:
    """Gives the statements of one function their meaning, in order."""

    def __init__(self, source: Text, labels: list[dict[str, None]], module: Container[str]) -> None:
        self.source = source
        self.labels = labels
        self.names = Names(module)
        self.out = Body()
        self.loc = Loc()
        self.scope = Scope(self.names, None)

    def read(
        self, statements: list[re.Match[str]], params: tuple[Var, ...], returns: tuple[Var, ...], end: int
    ) -> Body:
        out = self.out
        out.params = tuple(replace(v, name=self.scope.add_symbol(v.name)) for v in params)
        out.returns = tuple(replace(v, name=self.scope.add_symbol(v.name)) for v in returns)
        statement = None
        try:
            self._add_labels()
            for statement in statements:
                self._statement(statement)
        except PtxError as error:
            if error.line or statement is None:
                raise
            raise self.source.error(error.message, statement.start(), error.code) from None
        out.end = end
        out.regs = self.names.regs
        return out

    def _add_labels(self) -> None:
        for label in self.labels[self.scope.number]:
            self.scope.add_symbol(label)

    def _statement(self, statement: re.Match[str]) -> None:
        kind = statement.lastgroup
        if kind == "args":
            self._instruction(statement)
        elif kind == "line":
            self.loc = Loc(int(statement["file"]), int(statement["line"]))
        elif kind == "label":
            self.out.lines.append(Label(self._own(statement["label"])))
        elif kind == "rest":
            self._directive(statement["directive"], statement["rest"])
        elif kind == "open":
            self.scope = Scope(self.names, self.scope)
            self._add_labels()
        elif kind == "close":
            assert self.scope.parent is not None  # _statements counted the braces
            self.scope = self.scope.parent
        else:
            self._table(statement)

    def _own(self, label: str) -> str:
        return self.scope.names[label].name

    def _instruction(self, statement: re.Match[str]) -> None:
        op, args = statement["op"], statement["args"]
        if not op.isprintable() or " " in op:  # white space before a modifier
            op = "".join(op.split())
        guard = self._guard(statement) if statement["guard"] else None
        text = " ".join(statement[0][:-1].split())
        line = self.source.line(statement.start("negated" if guard else "op"))
        if op == "call" or op == "call.uni":
            self.out.lines.append(self._call(op, args, guard, line, text))
            return
        operand = self.scope.operand
        if "{" in args:
            operands = tuple([operand(part) for part in split(args)])
        elif "," in args:
            operands = tuple([operand(part.strip()) for part in args.split(",")])
        else:
            only = args.strip()
            if not only and op.partition(".")[0] not in _BARE:
                raise PtxError("CP7101", f"{op} without operands")
            operands = (operand(only),) if only else ()
        self.out.lines.append(Instr(op, operands, guard, self.loc, line, text))

    def _guard(self, statement: re.Match[str]) -> Reg:
        name = statement["guard"]
        found = self.scope.find(name)
        if not isinstance(found, Reg) or self.names.regs[found.name] != "pred":
            raise PtxError("CP7101", f"the guard {name} is no predicate")
        return Reg(found.name, negated=True) if statement["negated"] else found

    def _call(self, op: str, args: str, guard: Reg | None, line: int, text: str) -> Call:
        found = _CALL.fullmatch(args)
        if not found:
            raise PtxError("CP7101", f"not a call: {brief(text)}")
        target = self.scope.find(found["target"])
        if target is None:
            raise PtxError("CP7101", f"{found['target']} is not declared")
        returns: list[str] = []
        for part in split(found["returns"] or ""):
            place = self.scope.find(part)
            if place is None:
                raise PtxError("CP7101", f"{brief(part)} is not declared")
            returns.append(place.name)
        arguments: list[Operand] = []
        for part in split(found["arguments"] or ""):
            argument = self.scope.operand(part)
            if argument is None:
                raise PtxError("CP7101", "a call without one of its arguments")
            arguments.append(argument)
        prototype = ""
        if found["prototype"]:
            known = self.scope.find(found["prototype"])
            if known is None or not (known.name in self.out.prototypes or known.name in self.out.tables):
                raise PtxError("CP7101", f"{found['prototype']} is no prototype")
            prototype = known.name
        elif isinstance(target, Reg):
            raise PtxError("CP7101", "a call through a register without a prototype")
        return Call(
            target, tuple(returns), tuple(arguments), prototype, op == "call.uni", guard, self.loc, line, text
        )

    def _table(self, statement: re.Match[str]) -> None:
        """`L: .branchtargets a, b;`, `.calltargets f, g;` or `.callprototype (…) _ (…);`."""
        name = self._own(statement["label"])
        rest = _LIST.match(self.source.text, statement.end())
        assert rest is not None  # _statements found it
        if statement["table"] == "callprototype":
            if not _PROTOTYPE.fullmatch(rest[1]):
                raise PtxError("CP7101", f"not a prototype: {brief(rest[1])}")
            self.out.prototypes[name] = " ".join(rest[1].split())
            return
        targets: list[str] = []
        for part in split(rest[1]):
            found = self.scope.find(part)
            if not isinstance(found, Sym):
                raise PtxError("CP7101", f"{brief(part)} is not declared")
            targets.append(found.name)
        if not targets:
            raise PtxError("CP7101", f"{statement['label']} lists no targets")
        self.out.tables[name] = tuple(targets)

    def _directive(self, name: str, rest: str) -> None:
        if name == "reg":
            self._registers(rest)
        elif name in _SPACES:
            for variable in declare(rest, _SPACES[name]):
                self.out.variables.append(replace(variable, name=self.scope.add_symbol(variable.name)))
        elif name == "pragma":
            if not _PRAGMA.fullmatch(rest):
                raise PtxError("CP7101", f"not a pragma: {brief(rest)}")
        elif name in _HOISTED:
            for variable in declare(rest, _HOISTED[name]):
                self.out.hoisted.append(replace(variable, name=self.scope.add_symbol(variable.name)))
        else:
            raise PtxError("CP7101", f"unknown directive .{name} in a function")

    def _registers(self, rest: str) -> None:
        found = re.match(r"\s*+\.(\w+)\s*+(?:\.(\w++)\s*+)?", rest, re.ASCII)
        if found and found[1] in ("v2", "v4", "v8") and found[2]:
            raise PtxError("CP7103", "registers of vectors are not supported")
        if not found or found[2] or found[1] not in REGISTER_TYPES:
            raise PtxError("CP7101", f"not a declaration of registers: {brief(rest)}")
        parts = split(rest[found.end() :])
        for part in parts:
            register = _REGISTERS.fullmatch(part)
            if not register:
                raise PtxError("CP7101", f"not a register: {brief(part)}")
            if register[2]:
                self.scope.add_registers(register[1], int(register[2]), found[1])
            else:
                self.scope.add_register(register[1], found[1])
        if not parts:
            raise PtxError("CP7101", "a declaration of registers without a name")
