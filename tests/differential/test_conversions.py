"""The conversions given to the DSL's host code round to nearest even, at once."""

from __future__ import annotations

import ctypes
import math
import struct
from pathlib import Path

import pytest

from tests.differential.conversions import provide


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return provide(Path(tmp_path_factory.mktemp("conversions")))


def bits(library: ctypes.CDLL, name: str, kind: type, value: float) -> int:
    """The bfloat16's bits: as a float they are a denormal that counts them."""
    function = library[name]
    function.argtypes, function.restype = [kind], ctypes.c_float
    return int(math.ldexp(function(value), 149))


def nearest(value: float) -> int:
    """The bits of the bfloat16 nearest to `value`: a sign, 8 bits of exponent, 7 of fraction."""
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    quantum = max(math.frexp(value)[1] - 8, -133)
    rounded = math.ldexp(round(math.ldexp(abs(value), -quantum)), quantum)
    if rounded >= 2.0**128:
        return sign | 0x7F80
    return sign | struct.unpack(">H", struct.pack(">f", rounded)[:2])[0]


TIE = 1 + 2.0**-8  # half-way between 1 and the next bfloat16
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    3.14159,
    TIE,
    TIE + 2.0**-7,
    TIE + 2.0**-23,
    TIE - 2.0**-23,
    2.0**-133,
    2.0**-134,
]
FLOATS += [3 * 2.0**-134, 1e-40, 3.3895313892515355e38, 3.4028234663852886e38, -1.1754943508222875e-38]
DOUBLES = [TIE + 2.0**-40, TIE - 2.0**-40, -TIE - 2.0**-52, TIE + 2.0**-7 - 2.0**-45, 1e300, -1e300, 5e-324]
DOUBLES += [2.0**-134 * (1 + 2.0**-52), 2.0**128 - 2.0**119, math.nextafter(2.0**128 - 2.0**119, 0.0), 1 / 3]


@pytest.mark.parametrize("value", FLOATS)
def test_float(library: ctypes.CDLL, value: float) -> None:
    exact = ctypes.c_float(value).value
    assert bits(library, "__truncsfbf2", ctypes.c_float, value) == nearest(exact)


@pytest.mark.parametrize("value", FLOATS + DOUBLES)
def test_double(library: ctypes.CDLL, value: float) -> None:
    assert bits(library, "__truncdfbf2", ctypes.c_double, value) == nearest(value)


@pytest.mark.parametrize(
    ("name", "kind"), [("__truncsfbf2", ctypes.c_float), ("__truncdfbf2", ctypes.c_double)]
)
def test_special_values(library: ctypes.CDLL, name: str, kind: type) -> None:
    assert bits(library, name, kind, math.inf) == 0x7F80
    assert bits(library, name, kind, -math.inf) == 0xFF80
    assert bits(library, name, kind, math.nan) & 0x7FC0 == 0x7FC0
