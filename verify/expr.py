"""Arithmetic expressions of a spec, with C's meaning: division truncates, comparisons give 0 or 1.

Integers do not wrap (they are sizes). An operand with a decimal point makes the operation a double one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

Number = int | float

_TOKEN = re.compile(
    r"\s*(?:(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|\d+[eE][+-]?\d+[fF]?)"
    r"|(?P<int>0[xX][0-9a-fA-F]+|\d+)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])(?![\w.])"
    r"|(?P<name>[^\W\d][\w.]*)"
    r"|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>,!&|^~?:]))"
)
_BINARY: dict[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6,
    "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_INTEGER_ONLY = frozenset({"%", "<<", ">>", "&", "|", "^"})
_MAX_LENGTH = 2000
_MAX_DEPTH = 60
_BITS = 64  # a shift by as many or more means nothing in C
_MOST = 1 << 1024  # sizes do not wrap, but nor need they grow without end


class ExprError(ValueError):
    """The expression can't be read, or has no value for these names. `loc` is its place in the spec, where
    known: keys and indices from the top."""

    def __init__(self, message: str, loc: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.loc = loc


def _div(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _rem(a: int, b: int) -> int:
    return a - b * int(_div(a, b))


def _shift(a: int, by: int) -> int:
    if not 0 <= by < _BITS:
        raise ValueError(f"shift by {by}, which is not 0 to {_BITS - 1}")
    return a


def _ceil_div(a: int, b: int) -> int:
    return -((-a) // b)


_FUNCTIONS: dict[str, tuple[int, Callable[..., Number]]] = {
    "min": (2, min),
    "max": (2, max),
    "ceil_div": (2, _ceil_div),
    "abs": (1, abs),
    "sqrt": (1, math.sqrt),
    "float": (1, float),
    "int": (1, int),
}
_APPLY: dict[str, Callable[..., Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _div,
    "%": _rem,
    "<<": lambda a, b: _shift(a, b) << b,
    ">>": lambda a, b: _shift(a, b) >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
}


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > _MAX_LENGTH:
        raise ExprError(f"expression of more than {_MAX_LENGTH} characters")
    found: list[tuple[str, str]] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        m = _TOKEN.match(text, at)
        if m is None:
            raise ExprError(f"can't read '{text[at : at + 12].strip()}' in '{text}'")
        assert m.lastgroup is not None
        found.append((m.lastgroup, m.group(m.lastgroup)))
        at = m.end()
    return found


class _Evaluator:
    """One walk over the tokens. With `dry` set the part is read but not computed (untaken branch)."""

    def __init__(self, text: str, names: Mapping[str, Number] | None) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.names = names
        self.used: set[str] = set()
        self.depth = 0

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _take(self, want: str) -> None:
        if self._peek() != want:
            raise ExprError(f"expected '{want}' before '{self._peek() or 'the end'}' in '{self.text}'")
        self.at += 1

    def whole(self) -> Number:
        value = self._ternary(self.names is None)
        if self.at != len(self.tokens):
            raise ExprError(f"unexpected '{self._peek()}' in '{self.text}'")
        return value

    def _ternary(self, dry: bool) -> Number:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ExprError(f"expression nested deeper than {_MAX_DEPTH}")
        condition = self._binary(1, dry)
        if self._peek() == "?":
            self.at += 1
            yes = self._ternary(dry or not condition)
            self._take(":")
            no = self._ternary(dry or bool(condition))
            condition = yes if condition else no
        self.depth -= 1
        return condition

    def _binary(self, level: int, dry: bool) -> Number:
        left = self._unary(dry)
        while (power := _BINARY.get(self._peek(), 0)) >= level:
            op = self._peek()
            self.at += 1
            if op in ("&&", "||"):
                settled = bool(left) == (op == "||")
                right = self._binary(power + 1, dry or settled)
                left = int(bool(left)) if settled else int(bool(right))
                continue
            right = self._binary(power + 1, dry)
            left = 0 if dry else self._apply(op, left, right)
        return left

    def _apply(self, op: str, a: Number, b: Number) -> Number:
        if op in _INTEGER_ONLY and (isinstance(a, float) or isinstance(b, float)):
            raise ExprError(f"'{op}' needs integers in '{self.text}'")
        try:
            value = _APPLY[op](a, b)
        except (ZeroDivisionError, ValueError, OverflowError) as e:
            raise ExprError(f"{e} in '{self.text}'") from e
        if isinstance(value, int) and abs(value) > _MOST:
            raise ExprError(f"too large a number in '{self.text}'")
        return value

    def _unary(self, dry: bool) -> Number:
        op = self._peek()
        if op in ("-", "+", "!", "~") and self.tokens[self.at][0] == "op":
            self.at += 1
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise ExprError(f"expression nested deeper than {_MAX_DEPTH}")
            value = self._unary(dry)
            self.depth -= 1
            if op == "~" and isinstance(value, float):
                raise ExprError(f"'~' needs an integer in '{self.text}'")
            return {"-": -value, "+": value, "!": int(not value), "~": ~int(value)}[op]
        return self._primary(dry)

    def _primary(self, dry: bool) -> Number:
        if self.at >= len(self.tokens):
            raise ExprError(f"'{self.text}' ends too early")
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "int":
            return int(word, 16) if word[:2] in ("0x", "0X") else int(word)
        if kind == "float":
            return float(word.rstrip("fF"))
        if kind == "name":
            return self._call(word, dry) if self._peek() == "(" else self._name(word, dry)
        if word == "(":
            value = self._ternary(dry)
            self._take(")")
            return value
        raise ExprError(f"unexpected '{word}' in '{self.text}'")

    def _name(self, word: str, dry: bool) -> Number:
        self.used.add(word)
        if dry or self.names is None:
            return 1
        if word not in self.names:
            raise ExprError(
                f"unknown name '{word}' in '{self.text}'; known: {', '.join(self.names) or 'none'}"
            )
        return self.names[word]

    def _call(self, word: str, dry: bool) -> Number:
        if word not in _FUNCTIONS:
            raise ExprError(f"unknown function '{word}' in '{self.text}'; known: {', '.join(_FUNCTIONS)}")
        count, function = _FUNCTIONS[word]
        self._take("(")
        values = [self._ternary(dry)]
        while self._peek() == ",":
            self.at += 1
            values.append(self._ternary(dry))
        self._take(")")
        if len(values) < count or (len(values) > count and word not in ("min", "max")):
            raise ExprError(f"'{word}' takes {count} values in '{self.text}'")
        try:
            return 0 if dry else function(*values)
        except (ZeroDivisionError, ValueError, OverflowError) as e:
            raise ExprError(f"{e} in '{self.text}'") from e


def evaluate(text: str | Number, names: Mapping[str, Number]) -> Number:
    """The value of `text` (a number stands for itself). ExprError where it has none."""
    if isinstance(text, int | float):
        return text
    return _Evaluator(text, names).whole()


def evaluate_int(text: str | Number, names: Mapping[str, Number]) -> int:
    """As `evaluate`, and an integer. ExprError where the value has a fraction."""
    value = evaluate(text, names)
    if isinstance(value, float):
        if not value.is_integer():
            raise ExprError(f"'{text}' is {value}, not an integer")
        return int(value)
    return int(value)


def names_of(text: str | Number) -> set[str]:
    """The names that `text` uses. ExprError where it can't be read."""
    if isinstance(text, int | float):
        return set()
    reader = _Evaluator(text, None)
    reader.whole()
    return reader.used
