"""Initial values of variables, as bytes and the addresses among them."""

from __future__ import annotations

import re
import struct
from math import prod
from typing import TypeAlias

from verify.emulator.ptx.constants import number
from verify.emulator.ptx.lexical import NAME, brief, split
from verify.emulator.ptx.module import SIZES, Imm, PtxError, Reloc

# A variable of more bytes than this has no initial value: its bytes would be held in memory.
_MAX_BYTES = 1 << 28

_ADDRESS = re.compile(
    rf"(?:(?P<mask>0[xX][fF]{{2}}0{{0,14}})\s*+\()?\s*+(?P<generic>generic\s*+\(\s*+)?(?P<name>{NAME})\s*+(?(generic)\)|)\s*+"
    r"(?:(?P<sign>[+-])\s*+(?P<addend>-?\s*+\w+)\s*+)?(?(mask)\)|)",
    re.ASCII,
)
_FLOAT_CODES = {"f16": "<e", "f32": "<f", "f64": "<d"}


Filled: TypeAlias = tuple[bytes, tuple[Reloc, ...], list[int]]


def initialise(name: str, text: str, kind: str, dims: tuple[int, ...]) -> Filled:
    """The bytes of `text` for a variable of these dimensions, its addresses, its first dimension in a list.

    A first dimension of -1 is taken from the text. Bytes that the text leaves out at the end are left out.
    PtxError CP7101 if the text is malformed or does not fit.
    """
    if not dims:
        filler = _Filler(name, kind, ())
        filler.element(text, 0)
        return bytes(filler.data), filler.addresses(), []
    if dims[0] == -1:
        dims = (len(_items(name, text)), *dims[1:])
    if prod(dims) * SIZES[kind] > _MAX_BYTES:
        raise PtxError("CP7101", f"{name} is too large for an initial value")
    filler = _Filler(name, kind, dims)
    filler.fill(text, 0, 0)
    return bytes(filler.data), filler.addresses(), [dims[0]]


def _items(name: str, text: str) -> list[str]:
    if not (text.startswith("{") and text.endswith("}")):
        raise PtxError("CP7101", f"the initial value of {name} is no list in braces: {brief(text)}")
    return split(text[1:-1])


class _Filler:
    """The bytes written so far. Masked bytes of addresses (`0xFF00(x)`) are put together at the end."""

    def __init__(self, name: str, kind: str, dims: tuple[int, ...]) -> None:
        self.name = name
        self.kind = kind
        self.width = SIZES[kind]
        self.strides = [self.width * prod(dims[i + 1 :]) for i in range(len(dims))]
        self.dims = dims
        self.data = bytearray()
        self.relocs: list[Reloc] = []
        self.pieces: list[
            tuple[int, int, str, int, bool]
        ] = []  # offset, byte of the address, symbol, addend, generic

    def fill(self, text: str, level: int, offset: int) -> None:
        """The list in braces of dimension `level`, at `offset` bytes."""
        items = _items(self.name, text)
        if len(items) > self.dims[level]:
            raise PtxError("CP7101", f"too many initial values for {self.name}")
        for item in items:
            if level + 1 < len(self.dims):
                self.fill(item, level + 1, offset)
            else:
                self.element(item, offset)
            offset += self.strides[level]

    def element(self, text: str, offset: int) -> None:
        """One number or address, at `offset` bytes."""
        value = number(text)
        if value is not None:
            self._put(offset, self._bytes(text, value))
            return
        found = _ADDRESS.fullmatch(text)
        addend = number("".join((found["addend"] or "0").split())) if found else None
        if not found or addend is None or addend.kind != "int":
            raise PtxError("CP7101", f"not an initial value for {self.name}: {brief(text)}")
        signed = -addend.value if found["sign"] == "-" else addend.value
        generic = found["generic"] is not None
        if found["mask"]:
            if self.width != 1:
                raise PtxError("CP7101", f"part of an address in {self.width} bytes: {brief(text)}")
            self.pieces.append((offset, (len(found["mask"]) - 4) // 2, found["name"], signed, generic))
        elif self.kind in ("b64", "u64", "s64", "b32", "u32", "s32"):
            self.relocs.append(Reloc(offset, found["name"], signed, generic, self.width))
        else:
            raise PtxError("CP7101", f"an address in {self.name}, whose type is .{self.kind}")
        self._put(offset, bytes(self.width))

    def addresses(self) -> tuple[Reloc, ...]:
        """Every address. Eight masked bytes in a row make one; PtxError CP7101 where they don't."""
        if len(self.pieces) % 8:
            raise PtxError("CP7101", f"{self.name} holds part of an address")
        for first in range(0, len(self.pieces), 8):
            offset, _, symbol, addend, generic = self.pieces[first]
            whole = [(offset + i, i, symbol, addend, generic) for i in range(8)]
            if self.pieces[first : first + 8] != whole:
                raise PtxError("CP7101", f"{self.name} holds part of an address")
            self.relocs.append(Reloc(offset, symbol, addend, generic))
        return tuple(sorted(self.relocs, key=lambda r: r.offset))

    def _put(self, offset: int, data: bytes) -> None:
        if len(self.data) < offset:
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:] = data

    def _bytes(self, text: str, value: Imm) -> bytes:
        bits = 8 * self.width
        if value.kind == "int":
            if self.kind in _FLOAT_CODES or not -(1 << bits - 1) <= value.value < 1 << bits:
                raise PtxError("CP7101", f"{brief(text)} does not fit in .{self.kind} of {self.name}")
            return (value.value & (1 << bits) - 1).to_bytes(self.width, "little")
        raw = value.value.to_bytes(SIZES[value.kind], "little")
        if self.kind == value.kind or (self.kind[0] == "b" and len(raw) == self.width):
            return raw
        if self.kind not in _FLOAT_CODES:
            raise PtxError("CP7101", f"{brief(text)} does not fit in .{self.kind} of {self.name}")
        (real,) = struct.unpack(_FLOAT_CODES[value.kind], raw)
        try:
            return struct.pack(_FLOAT_CODES[self.kind], real)
        except OverflowError:
            return struct.pack(_FLOAT_CODES[self.kind], float("inf") if real > 0 else float("-inf"))
