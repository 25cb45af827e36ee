"""A kernel and all that it calls as one C file."""

from __future__ import annotations

from dataclasses import dataclass

from verify.emulator.emit.calls import frame_bytes, local_bytes, stack_bytes, takes
from verify.emulator.emit.function import emit_function, signature
from verify.emulator.emit.layout import Layout, lay_out, offsets
from verify.emulator.emit.memory import looks
from verify.emulator.emit.opcode import parts
from verify.emulator.emit.operands import identifier
from verify.emulator.emit.pure import shape_of
from verify.emulator.emit.sites import Sites
from verify.emulator.ops import find
from verify.emulator.ptx.module import SIZES, Call, Instr, Module, PtxError

# Operations at which a thread may have to wait for others.
_WAITS = frozenset(
    {"bar", "shfl", "vote", "match", "redux", "activemask", "elect", "nanosleep", "ldmatrix", "stmatrix"}
    | {"movmatrix", "mma", "wmma_load", "wmma_store", "wmma_mma", "mbarrier", "cp_async_mbarrier"}
    | {"wgmma", "wgmma_fence", "wgmma_group", "bulk", "bulk_group", "bulk_reduce", "bulk_tensor"}
    | {"bulk_tensor_reduce", "store_async"}
)
# Operations whose lanes write as few bytes as their type has.
_WRITES = frozenset({"st", "atom", "red", "wmma_store"})


_MOST_LOCAL = 512 * 1024


@dataclass(frozen=True, slots=True)
class Emitted:
    """C text of one kernel; `param_sizes` in bytes, `param_offsets` into the parameter block."""

    kernel: str
    text: str
    layout: Layout
    sites: Sites
    param_sizes: tuple[int, ...]
    param_offsets: tuple[int, ...]
    param_bytes: int


def emit_kernel(module: Module, kernel: str) -> Emitted:
    """C text for `kernel`. PtxError where it is not there or something in it is not supported."""
    layout = lay_out(module, kernel)
    if (local := frame_bytes(layout)) > _MOST_LOCAL:
        raise PtxError("CP7108", f"{local} bytes of local memory: a GPU thread has {_MOST_LOCAL}")
    sites = Sites()
    bodies = [emit_function(f, layout, sites) for f in layout.functions]
    heads = [f"{signature(f)};" for f in layout.functions]
    functions = ", ".join(f'{{(u64)&{identifier(f.name, "F_")}, "{takes(f)}"}}' for f in layout.functions[1:])
    stack, spare = stack_bytes(layout)
    at, end = offsets(layout.kernel.params)
    shared, spins = layout.shared, _spins(sites)
    zones = ", ".join(f"{{{start}, {stop}}}" for start, stop in shared.zones)
    flags = [n for n, on in (("FIBERS", _waits(sites) or spins), ("RESIDENT", spins)) if on]
    info = [
        "const Kernel emu_kernel = {",
        f"  .abi = EMU_ABI, .flags = {' | '.join(f'KERNEL_{n}' for n in flags) or '0'},",
        f'  .name = "{kernel}", .entry = {identifier(kernel, "K_")},',
        f"  .param_bytes = {end}, .static_shared = {shared.static_bytes},",
        f"  .local_bytes = {local_bytes(layout)}, .stack_bytes = {stack}, .stack_spare = {spare},",
        f"  .global_granule = {_granule(sites, 'global')}, .shared_granule = {_granule(sites, 'shared')},",
        f"  .sites = {len(sites.instructions)}, .counters = {len(sites.blocks)},",
        f"  .red_zones = {len(shared.zones)}, .red = red_,",
        "};",
    ]
    text = "\n".join(
        [
            '#include "generated.h"',
            *heads,
            f"EXPORT const struct Function emu_functions[] = {{ {functions or '{0}'} }};",
            *bodies,
            f"static const struct RedZone red_[] = {{ {zones or '{0, 0}'} }};",
            *info,
            "",
        ]
    )
    sizes = tuple(p.size for p in layout.kernel.params)
    return Emitted(kernel, text, layout, sites, sizes, tuple(at.values()), end)


def _kind(i: Instr | Call) -> str:
    return "call" if isinstance(i, Call) else find(i.op, shape_of(i)).by or ""


def _waits(sites: Sites) -> bool:
    return any(_kind(i) in _WAITS or (isinstance(i, Instr) and parts(i.op).order) for i in sites.instructions)


def _spins(sites: Sites) -> bool:
    """Whether blocks may wait for each other: a global load that looks for another thread's news."""
    for i in sites.instructions:
        if isinstance(i, Call):
            continue
        p, kind = parts(i.op), _kind(i)
        if p.space not in ("global", "generic"):
            continue
        if kind == "ld" and p.order:
            return True
        if kind == "atom" and looks(i):
            return True
    return False


def _granule(sites: Sites, space: str) -> int:
    """The least bytes that one access writes to a space, 4 at most: the grain of what is remembered about it.

    A narrower read lies within one grain, all of which a write changes.
    """
    least = 4
    for i in sites.instructions:
        if isinstance(i, Call) or _kind(i) not in _WRITES:
            continue
        p = parts(i.op)
        if p.space in (space, "generic"):
            least = min(least, SIZES.get(p.type, 1))
    return least
