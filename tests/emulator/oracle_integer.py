"""Integer and bit opcodes in plain Python, from the PTX manual's text and, where that is silent, an H200."""

from __future__ import annotations

import re
from collections.abc import Callable

Oracle = Callable[..., list[int]]


def signed(value: int, bits: int) -> int:
    """The low bits as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _type(words: list[str]) -> tuple[str, int]:
    match = re.match(r"([busp])(?:red|(\d+)(?:x2)?)$", words[-1])
    assert match, words
    return match[1], int(match[2] or 1)


def _plain(compute: Callable[..., int]) -> Callable[[list[str]], Oracle]:
    """Operands as numbers of the type; the result cut to it."""

    def make(words: list[str]) -> Oracle:
        sign, bits = _type(words)

        def run(*operands: int) -> list[int]:
            given = [signed(x, bits) if sign == "s" else x for x in operands]
            result = compute(*given)
            if "sat" in words:
                result = min(max(result, -(2**31)), 2**31 - 1)
            if "relu" in words:
                result = max(result, 0)
            return [result & ((1 << bits) - 1)]

        if words[-1].endswith("x2"):
            return lambda a, b: [
                run(a & 0xFFFF, b & 0xFFFF)[0] | run(a >> 16, b >> 16)[0] << 16,
            ]
        return run

    return make


def _carrying(plus: bool, reads: bool) -> Callable[[list[str]], Oracle]:
    def make(words: list[str]) -> Oracle:
        if "cc" not in words and not reads:
            return _plain((lambda a, b: a + b) if plus else (lambda a, b: a - b))(words)
        bits = _type(words)[1]

        def run(a: int, b: int, carry: int) -> list[int]:
            total = a + b + carry * reads if plus else a - b - carry * reads
            out = int(not 0 <= total < 1 << bits) if "cc" in words else carry
            return [total & ((1 << bits) - 1), out]

        return run

    return make


def _product(words: list[str], a: int, b: int) -> int:
    """The part of the product that .lo, .hi or .wide names."""
    sign, bits = _type(words)
    if sign == "s":
        a, b = signed(a, bits), signed(b, bits)
    return a * b >> bits if "hi" in words else a * b if "wide" in words else a * b & ((1 << bits) - 1)


def _mul(words: list[str]) -> Oracle:
    bits = _type(words)[1] * (2 if "wide" in words else 1)
    return lambda a, b: [_product(words, a, b) & ((1 << bits) - 1)]


def _mad(words: list[str]) -> Oracle:
    sign, bits = _type(words)
    wide = bits * 2 if "wide" in words else bits
    mask = (1 << wide) - 1

    def run(a: int, b: int, c: int, *carry: int) -> list[int]:
        if carry:
            total = (_product(words, a, b) & mask) + c + (carry[0] if words[0] == "madc" else 0)
            return [total & mask, total >> wide if "cc" in words else carry[0]]
        total = _product(words, a, b) + (signed(c, wide) if sign == "s" else c)
        if "sat" in words:
            total = min(max(total, -(2**31)), 2**31 - 1)
        return [total & mask]

    return run


def _mul24(words: list[str]) -> Oracle:
    def run(a: int, b: int, *c: int) -> list[int]:
        x, y = (signed(v, 24) if words[-1] == "s32" else v & 0xFFFFFF for v in (a, b))
        part = signed(x * y >> 16, 32) if "hi" in words else x * y
        if "sat" in words:
            return [min(max(part + signed(c[0], 32), -(2**31)), 2**31 - 1) & 0xFFFFFFFF]
        return [part + sum(c) & 0xFFFFFFFF]

    return run


def _quotient(a: int, b: int) -> int:
    """PTX leaves division by zero open: the quotient, and the remainder too, are all ones."""
    if b == 0:
        return -1
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _shift(left: bool) -> Callable[[list[str]], Oracle]:
    def make(words: list[str]) -> Oracle:
        sign, bits = _type(words)

        def run(a: int, b: int) -> list[int]:
            value = signed(a, bits) if sign == "s" else a
            b = min(b, bits)
            return [(value << b if left else value >> b) & ((1 << bits) - 1)]

        return run

    return make


def _shf(words: list[str]) -> Oracle:
    def run(a: int, b: int, c: int) -> list[int]:
        n = c & 31 if "wrap" in words else min(c, 32)
        both = b << 32 | a
        return [(both << n >> 32 if words[1] == "l" else both >> n) & 0xFFFFFFFF]

    return run


def _bfind(words: list[str]) -> Oracle:
    sign, bits = _type(words)

    def run(a: int) -> list[int]:
        if sign == "s" and a >> (bits - 1):
            a ^= (1 << bits) - 1
        at = a.bit_length() - 1
        return [0xFFFFFFFF if at < 0 else bits - 1 - at if "shiftamt" in words else at]

    return run


def _places(operand: int, bits: int) -> int:
    """A position or length: PTX says the low 8 bits of it, which holds for fields of 32 bits only."""
    return min(operand, 300) if bits == 64 else operand & 0xFF


def _bfe(words: list[str]) -> Oracle:
    sign, bits = _type(words)

    def run(a: int, b: int, c: int) -> list[int]:
        # PTX's own pseudocode, bit by bit; but of 64 bits it is all of b and c that counts.
        pos, length, msb = _places(b, bits), _places(c, bits), bits - 1
        fill = 0 if sign == "u" or length == 0 else a >> min(pos + length - 1, msb) & 1
        field = [(a >> (i + pos) & 1) if i < length and i + pos <= msb else fill for i in range(bits)]
        return [sum(bit << i for i, bit in enumerate(field))]

    return run


def _bfi(words: list[str]) -> Oracle:
    bits = _type(words)[1]

    def run(a: int, b: int, c: int, d: int) -> list[int]:
        result, pos, length = b, _places(c, bits), _places(d, bits)
        for i in range(length):
            if pos + i < bits:
                result = result & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
        return [result]

    return run


def _prmt(words: list[str]) -> Oracle:
    mode = words[2] if len(words) > 2 else ""

    def run(a: int, b: int, c: int) -> list[int]:
        data = [(b << 32 | a) >> 8 * i & 0xFF for i in range(8)]
        k = c & 3
        if mode == "":
            picks = [c >> 4 * i & 15 for i in range(4)]
            chosen = [data[p & 7] if p < 8 else 255 * (data[p & 7] >> 7) for p in picks]
        else:
            order = {
                "f4e": [k + i for i in range(4)],
                "b4e": [(k - i) % 8 for i in range(4)],
                "rc8": [k] * 4,
                "ecl": [max(i, k) for i in range(4)],
                "ecr": [min(i, k) for i in range(4)],
                "rc16": [2 * (k & 1) + i % 2 for i in range(4)],
            }[mode]
            chosen = [data[i] for i in order]
        return [sum(x << 8 * i for i, x in enumerate(chosen))]

    return run


def _fns(words: list[str]) -> Oracle:
    def run(mask: int, base: int, offset: int) -> list[int]:
        offset = signed(offset, 32)
        if offset == -(2**31):
            return [0]  # it has no opposite to count with
        if base > 31:
            return [0xFFFFFFFF]
        if offset == 0:
            return [base if mask >> base & 1 else 0xFFFFFFFF]
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [i for i in places if mask >> i & 1]
        return [found[abs(offset) - 1] if abs(offset) <= len(found) else 0xFFFFFFFF]

    return run


def _dp(words: list[str]) -> Oracle:
    a_bits = 8 if words[0] == "dp4a" else 16
    start = 16 if "hi" in words else 0

    def lane(value: int, at: int, bits: int, kind: str) -> int:
        part = value >> at & ((1 << bits) - 1)
        return signed(part, bits) if kind == "s32" else part

    def run(a: int, b: int, c: int) -> list[int]:
        terms = (
            lane(a, a_bits * i, a_bits, words[-2]) * lane(b, start + 8 * i, 8, words[-1])
            for i in range(32 // a_bits)
        )
        return [sum(terms) + c & 0xFFFFFFFF]

    return run


def _mask(words: list[str]) -> Oracle:
    def run(a: int, b: int) -> list[int]:
        a, b = (a & 31, b & 31) if "wrap" in words else (min(a, 32), min(b, 32))
        return [((1 << b) - 1 << a) & 0xFFFFFFFF]

    return run


def _szext(words: list[str]) -> Oracle:
    def run(a: int, b: int) -> list[int]:
        n = b & 31 if "wrap" in words else min(b, 32)
        low = a & ((1 << n) - 1)
        return [(signed(low, n) if n and words[-1] == "s32" else low) & 0xFFFFFFFF]

    return run


def _video(words: list[str]) -> Oracle:
    what, count = words[0][1:-1], int(words[0][-1])
    bits = 32 // count
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if words[1] == "s32" else (0, (1 << bits) - 1)

    def one(x: int, y: int) -> int:
        if what == "avrg":  # rounded half away from zero
            return (x + y + 1) // 2 if x + y >= 0 else -((-x - y + 1) // 2)
        return {"add": x + y, "sub": x - y, "absdiff": abs(x - y), "min": min(x, y), "max": max(x, y)}[what]

    def run(a: int, b: int, c: int) -> list[int]:
        lanes = []
        for i in range(count):
            x, y = (v >> bits * i & ((1 << bits) - 1) for v in (a, b))
            lanes.append(
                one(signed(x, bits) if words[2] == "s32" else x, signed(y, bits) if words[3] == "s32" else y)
            )
        if "add" in words[4:]:
            return [sum(lanes) + c & 0xFFFFFFFF]
        if "sat" in words:
            lanes = [min(max(x, low), high) for x in lanes]
        return [sum((x & ((1 << bits) - 1)) << bits * i for i, x in enumerate(lanes))]

    return run


def _select(words: list[str]) -> Oracle:
    return lambda a, b, c: [a if c else b]


def _slct(words: list[str]) -> Oracle:
    def run(a: int, b: int, c: int) -> list[int]:
        if words[-1] == "s32":
            return [a if not c >> 31 else b]
        nan = c & 0x7FFFFFFF > 0x7F800000
        zero = c & 0x7FFFFFFF == 0 or ("ftz" in words and not c & 0x7F800000)
        return [a if not nan and (zero or not c >> 31) else b]

    return run


INTEGER: dict[str, Callable[[list[str]], Oracle]] = {
    "add": _carrying(plus=True, reads=False),
    "addc": _carrying(plus=True, reads=True),
    "sub": _carrying(plus=False, reads=False),
    "subc": _carrying(plus=False, reads=True),
    "mul": _mul,
    "mad": _mad,
    "madc": _mad,
    "mul24": _mul24,
    "mad24": _mul24,
    "sad": _plain(lambda a, b, c: c + abs(a - b)),
    "div": _plain(_quotient),
    "rem": _plain(lambda a, b: -1 if b == 0 else a - b * _quotient(a, b)),
    "abs": _plain(abs),
    "neg": _plain(lambda a: -a),
    "min": _plain(min),
    "max": _plain(max),
    "and": _plain(lambda a, b: a & b),
    "or": _plain(lambda a, b: a | b),
    "xor": _plain(lambda a, b: a ^ b),
    "not": _plain(lambda a: ~a),
    "cnot": _plain(lambda a: int(a == 0)),
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "shf": _shf,
    "popc": lambda words: lambda a: [a.bit_count()],
    "clz": lambda words: lambda a: [_type(words)[1] - a.bit_length()],
    "bfind": _bfind,
    "brev": lambda words: lambda a: [int(f"{a:0{_type(words)[1]}b}"[::-1], 2)],
    "bfe": _bfe,
    "bfi": _bfi,
    "bmsk": _mask,
    "szext": _szext,
    "prmt": _prmt,
    "fns": _fns,
    "dp4a": _dp,
    "dp2a": _dp,
    "selp": _select,
    "slct": _slct,
    **{f"v{what}{n}": _video for what in ("add", "sub", "avrg", "absdiff", "min", "max") for n in (2, 4)},
}
