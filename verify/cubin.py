"""What compiled code says about itself: resources from a cubin's ELF sections, telling PTX instructions."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass, field

from verify.disassembly import machine_code_mix
from verify.facts import CompileFacts, KernelResources
from verify.floats import floats, narrowings
from verify.instructions import read_code

# Attributes of .nv.info (EIATTR_*), each a (symbol index, value) pair.
_REGCOUNT, _FRAME_SIZE = 0x2F, 0x11
_INDEXED = 4  # format byte of such an attribute
_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 2, 4, 8
_SHF_ALLOC = 2

# One row per count shown in the comparison of algorithms. Volatile and cached loads count as loads.
_FEATURES: tuple[tuple[str, str], ...] = (
    ("global_loads", r"\bld(?:\.\w+)*\.global"),
    ("global_loads_wide", r"\bld(?:\.\w+)*\.global(?:\.\w+)*\.v[248]\b"),
    ("global_stores", r"\bst(?:\.\w+)*\.global"),
    ("global_stores_wide", r"\bst(?:\.\w+)*\.global(?:\.\w+)*\.v[248]\b"),
    ("shared_loads", r"\bld(?:\.\w+)*\.shared"),
    ("shared_stores", r"\bst(?:\.\w+)*\.shared"),
    ("local_accesses", r"\b(?:ld|st)(?:\.\w+)*\.local"),
    ("barriers", r"\bbar(?:rier)?(?:\.cta)?\.(?:sync|red|arrive)"),
    ("shuffles", r"\bshfl\.sync"),
    ("atomics", r"\b(?:atom|red)(?:\.\w+)*\.(?:global|shared|add|min|max|cas|exch|and|or|xor)"),
    ("float_atomics", r"\b(?:atom|red)(?:\.[\w:]+)*\.add(?:\.\w+)*\.(?:f16|bf16|f32|f64|f16x2|bf16x2)\b"),
    ("fma", r"\bfma\."),
    ("divisions", r"\bdiv\."),
    ("tensor_core", r"\b(?:mma|wgmma|tcgen05)\."),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _FEATURES)


@dataclass(slots=True)
class Kernel:
    """One kernel of a cubin; sizes in bytes, `frame` per thread, `shared` static per block."""

    name: str
    registers: int | None = None
    frame: int = 0
    shared: int = 0
    symbols: list[str] = field(default_factory=list)


def read_cubin(cubin: bytes) -> list[Kernel]:
    """Kernels of a 64-bit ELF cubin by name. ValueError where it is no such file."""
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    try:
        return _read(cubin)
    except (struct.error, IndexError) as e:
        raise ValueError(f"damaged cubin: {e}") from e


def machine_code(cubin: bytes) -> str:
    """sha256 of what is loaded onto the device: instructions, constants, sizes of memory. Cubins that differ
    in line tables and other notes alone give the same. ValueError as for `read_cubin`."""
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    own = hashlib.sha256()
    try:
        sections, names = _sections(cubin)
        for section, name in zip(sections, names, strict=True):
            kind, flags, at, size = section[1], section[2], section[4], section[5]
            relocates = kind == _SHT_RELA and "debug" not in name
            if not flags & _SHF_ALLOC and not relocates:
                continue
            own.update(f"{name} {kind} {size}\0".encode())
            own.update(b"" if kind == _SHT_NOBITS else cubin[at : at + size])
    except (struct.error, IndexError) as e:
        raise ValueError(f"damaged cubin: {e}") from e
    return own.hexdigest()


def _text(cubin: bytes, offset: int) -> str:
    return cubin[offset : cubin.index(b"\0", offset)].decode("utf-8", "replace")


def _sections(cubin: bytes) -> tuple[list[tuple[int, ...]], list[str]]:
    """The section headers (name, type, flags, address, offset, size, …) and their names."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + i * entry) for i in range(count)]
    return sections, [_text(cubin, sections[names_at][4] + s[0]) for s in sections]


def _read(cubin: bytes) -> list[Kernel]:
    sections, names = _sections(cubin)
    symtab = next((s for s in sections if s[1] == _SHT_SYMTAB), None)

    def symbol(index: int) -> str:
        assert symtab is not None
        (offset,) = struct.unpack_from("<I", cubin, symtab[4] + 24 * index)
        return _text(cubin, sections[symtab[6]][4] + offset)

    kernels = {n[6:]: Kernel(n[6:]) for n in names if n.startswith(".text.")}
    for section, name in zip(sections, names, strict=True):
        if name == ".nv.info" and symtab is not None:
            at, end = section[4], section[4] + section[5]
            while at + 4 <= end:
                form, attribute, size = struct.unpack_from("<BBH", cubin, at)
                at += 4
                if form != _INDEXED:
                    continue  # the two bytes read as size are the value itself
                if attribute in (_REGCOUNT, _FRAME_SIZE) and size >= 8:
                    index, value = struct.unpack_from("<II", cubin, at)
                    kernel = kernels.get(symbol(index))
                    if kernel is not None and attribute == _REGCOUNT:
                        kernel.registers = value
                    elif kernel is not None:
                        kernel.frame = value
                at += size
        elif (
            name.startswith(".nv.shared.") and (kernel := kernels.get(name[len(".nv.shared.") :])) is not None
        ):
            kernel.shared = section[5]
    return list(kernels.values())


def _local_arrays(ptx: str) -> dict[str, int]:
    """Bytes of local arrays that each entry of the PTX declares (its own code, not spills)."""
    found: dict[str, int] = {}
    for part in re.split(r"(?=\.entry\s)", ptx)[1:]:
        m = re.match(r"\.entry\s+([\w$]+)", part)
        if m:
            sizes = re.findall(r"\.local\s+\.align\s+\d+\s+\.b8\s+[\w$]+\[(\d+)\]", part)
            found[m.group(1)] = sum(int(s) for s in sizes)
    return found


def features(ptx: str) -> dict[str, int]:
    """How often each telling instruction stands in the PTX; zero counts are left out."""
    counts = {name: len(pattern.findall(ptx)) for name, pattern in _PATTERNS}
    return {name: n for name, n in counts.items() if n}


def facts(arch: str, seconds: float, ptx: str, cubin: bytes, *, disassemble: bool = False) -> CompileFacts:
    """Everything the compile stage records about one build; taking machine code apart costs half a second.
    ValueError for a cubin that can't be read."""
    local = _local_arrays(ptx)
    kernels = [
        KernelResources(
            name=k.name,
            registers=k.registers,
            frame_bytes=k.frame,
            spill_bytes=max(0, k.frame - local.get(k.name, 0)),
            static_shared_bytes=k.shared,
        )
        for k in read_cubin(cubin)
    ]
    data = ptx.encode()
    return CompileFacts(
        arch=arch,
        compile_seconds=round(seconds, 4),
        ptx_bytes=len(data),
        ptx_sha256=hashlib.sha256(data).hexdigest(),
        cubin_bytes=len(cubin),
        cubin_sha256=hashlib.sha256(cubin).hexdigest(),
        kernels=kernels,
        features=features(ptx),
        floats=floats(ptx),
        narrowings=narrowings(ptx),
        code=read_code(ptx),
        machine=machine_code_mix(cubin) if disassemble else {},
    )
