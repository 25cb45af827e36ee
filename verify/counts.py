"""What each side of a comparison executed and moved in one case, counted in the emulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from verify.emulator.classes import CLASSES, access_bytes, class_of, space_of

_GLOBAL = ("global", "generic")  # addresses of buffers; kernels here use no generic ones for others


class Counted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Moved(Counted):
    """Distinct bytes of a buffer that must move between memory and chip: those read of what was there before
    the launch, those written."""

    read: int
    written: int


class LaunchSize(Counted):
    """One launch; `dynamic_shared` in bytes per block."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int = 0


class SideCounts(Counted):
    """Sums over all threads; what a predicate switches off counts too. `loads` and `stores` are accesses to
    global memory by their width in bits; `barriers` are arrivals of threads. Variables of the module are not
    in `traffic`."""

    instructions: int
    classes: dict[str, int]
    loads: dict[str, int] = Field(default_factory=dict)
    stores: dict[str, int] = Field(default_factory=dict)
    shared_loads: int = 0
    shared_stores: int = 0
    barriers: int = 0
    traffic: dict[str, Moved] = Field(default_factory=dict)
    traffic_bytes: int = 0
    launches: list[LaunchSize] = Field(default_factory=list)


class CountFacts(Counted):
    """Both sides on the same inputs of one case."""

    case: str
    original: SideCounts
    port: SideCounts


def counts_of(
    opcodes: Mapping[str, int],
    touched: Mapping[str, tuple[int, int]],
    launches: Sequence[Sequence[int]] = (),
) -> SideCounts:
    """The facts of one side, from counts per opcode and (read, written) bytes per buffer; `launches` are rows
    of grid, block and dynamic shared bytes."""
    classes: dict[str, int] = dict.fromkeys(CLASSES, 0)
    shared = {"ld": 0, "st": 0}
    barriers = 0
    for op, count in opcodes.items():
        first = op.partition(".")[0]
        classes[class_of(op)] += count
        if first in shared and space_of(op) == "shared":
            shared[first] += count
        if first in ("bar", "barrier") and ".cluster" not in op and ".warp" not in op:
            barriers += count
    return SideCounts(
        instructions=sum(opcodes.values()),
        classes={k: n for k, n in classes.items() if n},
        loads=_bits(access_bytes(opcodes, "ld", *_GLOBAL)),
        stores=_bits(access_bytes(opcodes, "st", *_GLOBAL)),
        shared_loads=shared["ld"],
        shared_stores=shared["st"],
        barriers=barriers,
        traffic={n: Moved(read=r, written=w) for n, (r, w) in touched.items()},
        traffic_bytes=sum(r + w for r, w in touched.values()),
        launches=[_launch(row) for row in launches],
    )


def _launch(row: Sequence[int]) -> LaunchSize:
    gx, gy, gz, bx, by, bz, dynamic = row
    return LaunchSize(grid=(gx, gy, gz), block=(bx, by, bz), dynamic_shared=dynamic)


def _bits(widths: Mapping[int, int]) -> dict[str, int]:
    return {str(8 * width): count for width, count in widths.items()}


def in_lines(found: CountFacts) -> list[str]:
    """A comparison in a few lines: the original's number, then the port's where it is another."""
    old, new = found.original, found.port
    ratio = new.instructions / old.instructions if old.instructions else 1.0
    first = f"case {found.case}: {ratio:.2f}x of the original's instructions: "
    lines = _told(old, new)
    return [first + lines[0], *lines[1:]]


def one_side(found: SideCounts) -> list[str]:
    """One side alone, in the same words."""
    lines = _told(found, found)
    return [f"instructions {lines[0]}", *lines[1:]]


def _told(old: SideCounts, new: SideCounts) -> list[str]:
    lines = [
        f"{_both(old.instructions, new.instructions)} ({_by_class(old, new)})",
        f"loads {_accesses(old.loads, new.loads)}; stores {_accesses(old.stores, new.stores)}",
        f"traffic {_both(_size(old.traffic_bytes), _size(new.traffic_bytes))}",
    ]
    if any((old.shared_loads, old.shared_stores, new.shared_loads, new.shared_stores)):
        loads, stores = _both(old.shared_loads, new.shared_loads), _both(old.shared_stores, new.shared_stores)
        lines[2] += f"; shared memory: loads {loads}, stores {stores}"
    if old.barriers or new.barriers:
        lines[2] += f"; barriers {_both(old.barriers, new.barriers)}"
    return lines


def _both(old: object, new: object) -> str:
    return f"{old}" if old == new else f"{old} → {new}"


def _by_class(old: SideCounts, new: SideCounts) -> str:
    kinds = [k for k in CLASSES if k in old.classes or k in new.classes]
    return ", ".join(f"{k} {_both(old.classes.get(k, 0), new.classes.get(k, 0))}" for k in kinds)


def _accesses(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    widths = sorted({*old, *new}, key=int, reverse=True)
    told = [f"{w}-bit {_both(old.get(w, 0), new.get(w, 0))}" for w in widths]
    return ", ".join(told) or "none"


def _size(n: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} bytes"
