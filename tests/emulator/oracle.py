"""What each opcode should give, in plain Python, from the text of the PTX manual.

Where that leaves a result open (NaNs, .ftz at the edge) the rule is an H200's, in words where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from tests.emulator import exact
from tests.emulator.exact import FORMATS, Number, decode, encode, encode_flushed, flush, quiet, saturate
from tests.emulator.oracle_integer import INTEGER, signed
from tests.emulator.oracle_narrow import convert_narrow, convert_pack

Oracle = Callable[..., list[int]]

_WIDTH = re.compile(r"[busf](\d+)$")


def bits_of(kind: str) -> int:
    match = _WIDTH.match(kind)
    assert match, kind
    return int(match[1])


def oracle(name: str, shape: str = "", constant: int | None = None) -> Oracle | None:
    """A function from the source slots to the result slots; None where there is no oracle."""
    words = name.split(".")
    family = words[0]
    if family == "mov":
        return _move(bits_of(words[-1]) if words[-1] != "pred" else 1, shape)
    if family == "lop3":
        assert constant is not None
        return _lop3(words, constant)
    if family in ("selp", "slct"):
        return INTEGER[family](words)
    if family in INTEGER and words[-1] not in FORMATS and words[-1] not in ("f16x2", "bf16x2", "f32x2"):
        return INTEGER[family](words)
    if family in _FLOAT:
        kind = words[-1]
        if kind.endswith("x2"):
            return _packed(_FLOAT[family](words, kind[:-2]), FORMATS[kind[:-2]].bits)
        return _FLOAT[family](words, kind)
    if family == "cvt":
        return _convert(words)
    if family in ("set", "setp"):
        return _compare(words)
    return None


def _move(bits: int, shape: str) -> Oracle:
    """Vectors arrive and leave as one slot per element; 128 bits are two slots."""

    def run(*operands: int) -> list[int]:
        count = int(shape[-1]) if shape.startswith("pack") else 2 if bits == 128 else 1
        each = bits // count
        whole = sum(x << each * i for i, x in enumerate(operands))
        count = int(shape[-1]) if shape.startswith("unpack") else 2 if bits == 128 else 1
        each = bits // count
        return [whole >> each * i & ((1 << each) - 1) for i in range(count)]

    return run


def _lop3(words: list[str], table: int) -> Oracle:
    def run(a: int, b: int, c: int, *q: int) -> list[int]:
        bits = (table >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1 for i in range(32))
        d = sum(bit << i for i, bit in enumerate(bits))
        if not q:
            return [d]
        return [d, int(d != 0) | q[0] if words[1] == "or" else int(d != 0) & q[0]]

    return run


def _packed(one: Oracle, bits: int) -> Oracle:
    def both(*operands: int) -> list[int]:
        low = one(*(x & ((1 << bits) - 1) for x in operands))[0]
        return [low | one(*(x >> bits for x in operands))[0] << bits]

    return both


def _finish(words: list[str], kind: str, bits: int) -> int:
    f = FORMATS[kind]
    if "ftz" in words:
        bits = flush(bits, f)
    if "sat" in words:
        bits = saturate(bits, f)
    if "relu" in words and bits != f.nan and bits >> (f.bits - 1):
        bits = 0
    return bits


def _mode(words: list[str]) -> str:
    return next((w for w in words if w in ("rn", "rz", "rm", "rp", "rna")), "rn")


def _passed_nan(words: list[str], kind: str, operands: tuple[int, ...]) -> int | None:
    """Which NaN comes out where operands are NaNs.

    f64 hands on an operand: quieted, sign and payload kept, even by sub. Of several NaNs it is b before c
    before a; div, a subroutine, hands on a before b. Other formats have one NaN.
    """
    f = FORMATS[kind]
    order = sorted(range(len(operands)), key=lambda i: i if words[0] == "div" else (i - 1) % 3)
    found = [operands[i] for i in order if decode(operands[i], f).nan]
    if not found:
        return None
    return quiet(found[0], f) if kind == "f64" else f.nan


def _arithmetic(compute: Callable[..., Number]) -> Callable[[list[str], str], Oracle]:
    def make(words: list[str], kind: str) -> Oracle:
        f, mode = FORMATS[kind], _mode(words)

        def run(*operands: int) -> list[int]:
            given = [flush(x, f) if "ftz" in words else x for x in operands]
            if (nan := _passed_nan(words, kind, operands)) is not None:
                return [_finish(words, kind, nan)]
            result = compute(*(decode(x, f) for x in given), mode)
            return [_finish(words, kind, (encode_flushed if "ftz" in words else encode)(result, f, mode))]

        return run

    return make


def _negated(x: Number) -> Number:
    return Number(not x.negative, x.size, x.nan)


def _copysign(words: list[str], kind: str) -> Oracle:
    top = 1 << (FORMATS[kind].bits - 1)
    return lambda a, b: [(b & (top - 1)) | (a & top)]


def _sign(negate: bool) -> Callable[[list[str], str], Oracle]:
    def make(words: list[str], kind: str) -> Oracle:
        f = FORMATS[kind]
        top = 1 << (f.bits - 1)

        def run(a: int) -> list[int]:
            if (nan := _passed_nan(words, kind, (a,))) is not None:
                return [nan]  # neg and abs change no sign of a NaN
            a = a ^ top if negate else a & (top - 1)
            return [_finish(words, kind, a)]

        return run

    return make


def _extreme(largest: bool) -> Callable[[list[str], str], Oracle]:
    def make(words: list[str], kind: str) -> Oracle:
        f = FORMATS[kind]
        top = 1 << (f.bits - 1)

        def order(bits: int) -> int:
            return -(bits & (top - 1)) - 1 if bits & top else bits  # -0 comes before +0

        def run(a: int, b: int) -> list[int]:
            sign = (a ^ b) & top
            if "ftz" in words:
                a, b = flush(a, f), flush(b, f)
            if "xorsign" in words:
                a, b = a & (top - 1), b & (top - 1)
            numbers = [x for x in (a, b) if not decode(x, f).nan]
            if not numbers or (len(numbers) == 1 and "NaN" in words):
                nan = _passed_nan(words, kind, (a, b))
                assert nan is not None
                return [nan]
            result = (max if largest else min)(numbers, key=order)
            return [result & (top - 1) | sign if "xorsign" in words else result]

        return run

    return make


def _testp(words: list[str], kind: str) -> Oracle:
    f = FORMATS[kind]
    smallest = Fraction(2) ** (f.lowest + f.precision - 1)

    def run(a: int) -> list[int]:
        x = decode(a, f)
        finite = x.size is not None
        answers = {
            "finite": finite,
            "infinite": not finite and not x.nan,
            "number": not x.nan,
            "notanumber": x.nan,
            "normal": x.size is not None and (x.zero or x.size >= smallest),  # the hardware counts zeros
            "subnormal": x.size is not None and 0 < x.size < smallest,
        }
        return [int(answers[words[1]])]

    return run


_FLOAT: dict[str, Callable[[list[str], str], Oracle]] = {
    "add": _arithmetic(exact.add),
    "sub": _arithmetic(lambda x, y, mode: exact.add(x, _negated(y), mode)),
    "mul": _arithmetic(lambda x, y, mode: exact.multiply(x, y)),
    "fma": _arithmetic(lambda x, y, z, mode: exact.add(exact.multiply(x, y), z, mode)),
    "mad": _arithmetic(lambda x, y, z, mode: exact.add(exact.multiply(x, y), z, mode)),
    "div": _arithmetic(lambda x, y, mode: exact.divide(x, y)),
    "rcp": _arithmetic(lambda x, mode: exact.divide(Number(False, Fraction(1)), x)),
    "sqrt": _arithmetic(lambda x, mode: exact.root(x)),
    "neg": _sign(True),
    "abs": _sign(False),
    "min": _extreme(False),
    "max": _extreme(True),
    "copysign": _copysign,
    "testp": _testp,
}

_COMPARISONS: dict[str, tuple[str, bool]] = {
    **{k: (k, False) for k in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{k + "u": (k, True) for k in ("eq", "ne", "lt", "le", "gt", "ge")},
    "lo": ("lt", False), "ls": ("le", False), "hi": ("gt", False), "hs": ("ge", False),
}  # fmt: skip


def _holds(comparison: str, x: Fraction | int | float, y: Fraction | int | float) -> bool:
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[comparison]


def _compared(words: list[str], kind: str, a: int, b: int) -> bool:
    comparison = words[1]
    if kind not in FORMATS:
        if kind.startswith("s"):
            a, b = signed(a, bits_of(kind)), signed(b, bits_of(kind))
        return _holds(_COMPARISONS[comparison][0], a, b)
    f = FORMATS[kind]
    x, y = (decode(flush(v, f) if "ftz" in words else v, f) for v in (a, b))
    if comparison in ("num", "nan"):
        return (x.nan or y.nan) == (comparison == "nan")
    base, unordered = _COMPARISONS[comparison]
    if x.nan or y.nan:
        return unordered
    u, v = (n.value if n.size is not None else float("-inf" if n.negative else "inf") for n in (x, y))
    return _holds(base, u, v)


def _compare(words: list[str]) -> Oracle:
    family, kind = words[0], words[-1]
    logic = next((w for w in words[2:] if w in ("and", "or", "xor")), "")

    def joined(value: bool, rest: tuple[int, ...]) -> int:
        if not logic:
            return int(value)
        return {"and": value & rest[0], "or": value | rest[0], "xor": value ^ rest[0]}[logic]

    def run(a: int, b: int, *rest: int) -> list[int]:
        if kind.endswith("x2"):
            lanes = [
                joined(_compared(words, kind[:-2], a >> n & 0xFFFF, b >> n & 0xFFFF), rest) for n in (0, 16)
            ]
            if family == "setp":
                return lanes
            one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(words[-2], 0xFFFF)
            return [lanes[0] * one | lanes[1] * one << 16]
        value = _compared(words, kind, a, b)
        if family == "setp":
            return [joined(value, rest), joined(not value, rest)]
        ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
        true = ones[words[-2]] if words[-2] in ones else (1 << bits_of(words[-2])) - 1
        return [joined(value, rest) * true]

    return run


_INTEGERS = re.compile(r"[us](8|16|32|64)$")


def _limits(kind: str) -> tuple[int, int]:
    n = bits_of(kind)
    return (0, (1 << n) - 1) if kind[0] == "u" else (-(1 << (n - 1)), (1 << (n - 1)) - 1)


def _register(value: int, kind: str) -> int:
    """The bits of an integer in a register of at least 16 bits."""
    return value & ((1 << max(bits_of(kind), 16)) - 1)


def _convert(words: list[str]) -> Oracle | None:
    to, source = words[-2:]
    if "pack" in words:
        return convert_pack(words)
    if to in ("tf32", "e4m3x2", "e5m2x2") or source in ("e4m3x2", "e5m2x2"):
        return convert_narrow(words)
    if _INTEGERS.match(to) and _INTEGERS.match(source):
        return lambda a: [_integer_to_integer(words, to, source, a)]
    if _INTEGERS.match(to):
        return lambda a: [_float_to_integer(words, to, source, a)]
    if _INTEGERS.match(source):
        return lambda a: [_integer_to_float(words, to, source, a)]
    if to in FORMATS and source in FORMATS:
        return lambda a: [_float_to_float(words, to, source, a)]
    if to in ("f16x2", "bf16x2") and source == "f32":
        lane = to[:-2]
        return lambda a, b: [
            _float_to_float(words, lane, source, b) | _float_to_float(words, lane, source, a) << 16
        ]
    return None


def _integer_to_integer(words: list[str], to: str, source: str, a: int) -> int:
    value = signed(a, bits_of(source)) if source[0] == "s" else a & ((1 << bits_of(source)) - 1)
    low, high = _limits(to)
    if "sat" in words:
        value = min(max(value, low), high)
    else:
        value &= (1 << bits_of(to)) - 1
        value = signed(value, bits_of(to)) if to[0] == "s" else value
    return _register(value, to)


def _float_to_integer(words: list[str], to: str, source: str, a: int) -> int:
    f = FORMATS[source]
    x = decode(flush(a, f) if "ftz" in words else a, f)
    low, high = _limits(to)
    if x.nan:
        wide = source == "f64" or bits_of(to) == 64
        value = 1 << (bits_of(to) - 1) if wide else 0
        return _register(signed(value, bits_of(to)) if to[0] == "s" else value, to)
    if x.size is None:
        return _register(low if x.negative else high, to)
    mode = next(w for w in words if w in ("rni", "rzi", "rmi", "rpi"))
    return _register(min(max(exact.to_integer(x, mode), low), high), to)


def _integer_to_float(words: list[str], to: str, source: str, a: int) -> int:
    value = signed(a, bits_of(source)) if source[0] == "s" else a & ((1 << bits_of(source)) - 1)
    bits = encode(Number(value < 0, Fraction(abs(value))), FORMATS[to], _mode(words))
    return _finish(words, to, bits)


def _converted_nan(words: list[str], to: str, source: str, a: int) -> int:
    """To, from and within f64 a NaN keeps its sign and the highest bits of its payload, and becomes quiet.

    bf16 to f32 is a shift, and f32 and f64 without a rounding are copied. All else gives the one NaN of the
    format; .ftz gives an f32's one NaN before it is converted.
    """
    f, g = FORMATS[source], FORMATS[to]
    if "ftz" in words and "f32" in (source, to) and source != "f64":
        a, f = FORMATS["f32"].nan, FORMATS["f32"]
    elif (to, source) == ("f32", "bf16"):
        return a << 16
    elif to == source and to in ("f32", "f64") and not _whole(words):
        return a
    if "f64" not in (source, to):
        return g.nan
    fraction = a & ((1 << (f.precision - 1)) - 1)
    fraction = fraction << g.precision >> f.precision
    return quiet((a >> (f.bits - 1)) << (g.bits - 1) | g.infinity | fraction, g)


def _whole(words: list[str]) -> str:
    return next((w for w in words if w in ("rni", "rzi", "rmi", "rpi")), "")


def _float_to_float(words: list[str], to: str, source: str, a: int) -> int:
    f, g = FORMATS[source], FORMATS[to]
    if to == "f16":
        words = [w for w in words if w != "ftz"]  # it has no effect there, on the operand either
    x = decode(a, f)
    if x.nan:
        return _finish(words, to, _converted_nan(words, to, source, a))
    if "ftz" in words and source == "f32":
        a = flush(a, f)
        x = decode(a, f)
    whole = _whole(words)
    if whole and x.size is not None:
        rounded = exact.to_integer(x, whole)
        x = Number(x.negative, Fraction(abs(rounded)))
    if to == source and not whole:
        return _finish(words, to, a)
    flushes = "ftz" in words and to == "f32"
    bits = (encode_flushed if flushes else encode)(x, g, _mode(words))
    if "satfinite" in words and bits & (g.infinity * 2 + 1 >> 1) == g.infinity:
        bits -= 1
    return _finish([w for w in words if to == "f32" or w != "ftz"], to, bits)
