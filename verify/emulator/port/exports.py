"""What a shared library exports, read from its ELF file."""

from __future__ import annotations

import struct
from pathlib import Path

_SHT_DYNSYM = 11
_SHN_UNDEF = 0
_STT_FUNC = 2
_LOCAL = 0


def functions(library: Path) -> list[str]:
    """Names of the functions that a 64-bit little-endian shared library defines for others, sorted.

    OSError where it can't be read, ValueError where it is no such file.
    """
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{library} is no 64-bit ELF file")
    try:
        return sorted(set(_functions(data)))
    except (struct.error, ValueError) as e:
        raise ValueError(f"{library} is damaged: {e}") from e


def _functions(data: bytes) -> list[str]:
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry) for i in range(count)]
    found: list[str] = []
    for section in sections:
        if section[1] != _SHT_DYNSYM:
            continue
        names, start, size, step = sections[section[6]][4], section[4], section[5], section[9]
        for at in range(start, start + size, step):
            name, info, _, where, _, _ = struct.unpack_from("<IBBHQQ", data, at)
            if where != _SHN_UNDEF and info & 15 == _STT_FUNC and info >> 4 != _LOCAL:
                begin = names + name
                found.append(data[begin : data.index(b"\0", begin)].decode("ascii", "replace"))
    return found
