"""Loads, stores, atomics and fences that say what they order, and for whom. Traced.

    block 0    mX[…] = data          block 1    wait_for(flag, …)       sees flag = 1 …
               store_as(flag, 1) ──────────────→ data = mX[…]           … and so what was written before it
               release                           acquire

    order    relaxed    the access alone is whole, nothing else is ordered by it
             acquire    what follows sees what the releasing thread did before: loads, atomics
             release    what came before is seen by whoever acquires this: stores, atomics, reductions
             acq_rel    both: atomics, fences; sc: fences only, one order of all of them
    scope    cta, cluster (sm_90), gpu, sys: the threads for whom that holds

Order reaches other threads of a block by its barriers: one thread acquires, `sync_threads`, all may read.

In DSL 4.8.1 `cute.arch.load(sem="acquire")` is no barrier to the compiler: a value loaded before it is used
again after it; and a plain store before `cute.arch.store(sem="release")` is dropped where another follows. So
loads and stores are PTX here, which the compiler takes for accesses to all memory. `atomic_*` and `red` of
`cute.arch` are barriers as they should be, and are used; a sum of Int64 is `u64`, bits are `b32` and `b64`.

Values are Int32, Uint32, Int64, Uint64 or Float32; their type says which instruction it is, since pointers
lose signs. f32 has add, max, min, exch and cas. Sums of f32 depend on the order in which blocks come. max and
min of f32 are those of integers, one on each side of a branch: -NaN < -∞ < … < -0 < 0 < … < ∞ < NaN. cas
compares bits.
Pointers are to global or shared memory. Reductions give nothing back, and nobody waits for them.
Units: accesses of 32 and 64 bits; sleeps in nanoseconds.
Source of the technique: the PTX memory consistency model; libcu++'s atomic_ref.
"""

import cutlass
import cutlass.cute as cute
from cutlass import AddressSpace, Float32, Int64, Uint32, Uint64

SPACES = {AddressSpace.gmem: ".global", AddressSpace.smem: ".shared::cta"}
SLEEP = 32  # ns between two looks
ATOMICS = {
    "add": cute.arch.atomic_add, "max": cute.arch.atomic_max, "min": cute.arch.atomic_min,
    "and": cute.arch.atomic_and, "or": cute.arch.atomic_or, "xor": cute.arch.atomic_xor,
    "exch": cute.arch.atomic_exch, "fmax": cute.arch.atomic_fmax, "fmin": cute.arch.atomic_fmin,
}  # fmt: skip


def load_as(pointer, kind, order: str, scope: str):
    """The value of type `kind` at `pointer`; `order` is relaxed or acquire."""
    code = f"ld.{order}.{scope}{SPACES[pointer.memspace]}.b{kind.width} {{$w0}}, [{{$r0}}];"
    return cute.arch.inline_ptx(code, write_only_types=[kind], read_only_args=[pointer])


def store_as(pointer, value, order: str, scope: str):
    """Write a typed value; `order` is relaxed or release."""
    code = f"st.{order}.{scope}{SPACES[pointer.memspace]}.b{value.width} [{{$r0}}], {{$r1}};"
    cute.arch.inline_ptx(code, read_only_args=[pointer, value])


def atomic_as(pointer, operation: str, value, order: str, scope: str):
    """`operation`, one of add, max, min, and, or, xor, exch, of memory and a typed value; what was there
    before. All four orders."""
    floats = type(value) is Float32 and operation in ("max", "min")
    return ATOMICS["f" + operation if floats else operation](pointer, value, sem=order, scope=scope)


def swap_if(pointer, expected, value, order: str, scope: str):
    """Write `value` where memory has the bits of `expected`, of one type; what was there before. All four
    orders."""
    return cute.arch.atomic_cas(pointer, cmp=expected, val=value, sem=order, scope=scope)


def reduce_as(pointer, operation: str, value, order: str, scope: str):
    """`operation`, one of add, max, min, and, or, xor, of memory and a typed value; `order` is relaxed or
    release. max and min of f32 are atomics whose result nobody takes."""
    kind = type(value)
    if kind is Float32 and operation != "add":
        atomic_as(pointer, operation, value, order, scope)
    else:
        if operation in ("and", "or", "xor"):
            kind = f"b{value.width}"
        elif operation == "add" and kind is Int64:
            kind = Uint64
        cute.arch.red(pointer, value, op=operation, dtype=kind, sem=order, scope=scope)


def fence_as(order: str, scope: str):
    """Order all accesses of this thread before it and after it; `order` is acq_rel or sc."""
    cute.arch.inline_ptx(f"fence.{order}.{scope};")


@cute.jit
def wait_for(pointer, least, scope: cutlass.Constexpr):
    """Look until memory is at least `least`, a typed integer, and acquire what was released with it; sleep in
    between, so that others have the memory to themselves. Whoever writes it must be on the GPU."""
    while load_as(pointer, type(least), "acquire", scope) < least:
        cute.arch.inline_ptx("nanosleep.u32 {$r0};", read_only_args=[Uint32(SLEEP)])
