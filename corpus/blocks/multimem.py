"""One access to the same place in the memory of several GPUs: reductions, stores, additions. Traced; sm_90.

Not inlined: a multicast address spans GPUs, and entries are proven on one, by a spec whose buffers are its
own. Its test assembles every form for sm_90a; none has run.

A multimem address is one address bound to an allocation of each GPU (cuMulticastCreate). The switch between
the GPUs adds or copies, so that each GPU moves a byte once however many there are:

    GPU 0   x0 ─┐                         multimem_load      x0 + x1 + x2 + x3 → registers of who asks
    GPU 1   x1 ─┤ switch ── pMulti + i    multimem_store     registers → all four
    GPU 2   x2 ─┤                         multimem_reduce    registers added to all four
    GPU 3   x3 ─┘

    all-reduce    GPU g takes vectors g, g + 4, …:  multimem_store(p, multimem_load(p, "add", …), …)
    arrive        multimem_reduce(pFlag, "add", (Uint32(1),), Uint32, "release", "sys"); each GPU then waits
                  at its own copy, a plain address: wait_for(flag, Uint32(4 * round), "sys") of memory_order

    kind                        words, and how many     load                          reduce
    Float32                     Float32, 1, 2 or 4      add                           add
    Float16, BFloat16           Int32, 1, 2 or 4        add, max, min                 add
    Int32, Uint32, Int64, …     their own, one          add max min and or xor        add max min and or xor

A word of 16-bit floats is a pair. Their sums are made in fp32 and rounded once where `wide`; else, and by
`multimem_reduce`, each addition rounds. Nothing says in which order the switch adds: two loads of floats need
not give equal bits. Who wants all GPUs to hold the same loads once and stores it to all.

    order    load: weak, relaxed, acquire        store: weak, relaxed, release        reduce: relaxed, release
    scope    cta, cluster, gpu or sys, which is the one that reaches other GPUs; weak accesses have none, and
             need a barrier between the GPUs before and after them

Other instructions may not use a multimem address. Units: an access is aligned to its size, 16 bytes at most.
Constants go through a register, since ptxas takes none in place of a pair or in a vector.
Source of the technique: the PTX manual, 8.1, for `wide` 8.2; in-switch reductions of NCCL (NVLink SHARP).
"""

from cutlass import BFloat16, Float16, Float32, Int32, Int64, Uint32, Uint64
from cutlass.cute import arch

PAIRS = {Float16: "f16x2", BFloat16: "bf16x2"}
LOGIC = ("and", "or", "xor")
ORDERS = {
    "ld_reduce": ("weak", "relaxed", "acquire"),
    "st": ("weak", "relaxed", "release"),
    "red": ("relaxed", "release"),
}


def multimem_type(access: str, operation: str, kind) -> str:
    """What PTX calls elements of `kind` in `access`, one of ORDERS. ValueError where it has no such operation
    on them."""
    whole = kind in (Int32, Uint32, Int64, Uint64)
    allowed = ("add", "max", "min", *LOGIC) if whole else ("add",)
    if kind in PAIRS and access == "ld_reduce":
        allowed = ("add", "max", "min")
    if operation not in allowed or not (whole or kind in PAIRS or kind is Float32):
        raise ValueError(f"multimem.{access} has no {operation} of {kind.__name__}")
    if not whole:
        return PAIRS.get(kind, "f32")
    if operation in LOGIC:
        return f"b{kind.width}"
    signed = kind in (Int32, Int64) and (operation != "add" or kind is Int32)
    return f"{'s' if signed else 'u'}{kind.width}"  # a sum of Int64 is u64


def multimem_code(access: str, order: str, scope: str, rest: str, count: int, kind: str) -> str:
    """The instruction without its operands. ValueError for an order or a number of words that it has not."""
    if order not in ORDERS[access] or (order == "weak") != (scope == ""):
        raise ValueError(f"multimem.{access} is not {order} at scope {scope or 'none'}")
    if count not in ((1, 2, 4) if kind in ("f32", *PAIRS.values()) else (1,)):
        raise ValueError(f"multimem.{access} takes no {count} words of {kind}")
    parts = [access, order, scope, "global", rest, f"v{count}" if count > 1 else "", kind]
    return "multimem." + ".".join(p for p in parts if p)


def braced(names: list[str]) -> str:
    """A vector of registers; one alone stands as it is."""
    return "{" + ", ".join(names) + "}" if len(names) > 1 else names[0]


def multimem_load(pointer, operation: str, kind, count: int, order: str, scope: str = "", wide: bool = True):
    """`count` words (a tuple), each reduced over the GPUs."""
    name, word = multimem_type("ld_reduce", operation, kind), Int32 if kind in PAIRS else kind
    rest = operation + (".acc::f32" if wide and kind in PAIRS and operation == "add" else "")
    code = multimem_code("ld_reduce", order, scope, rest, count, name)
    target = braced(["{$w" + str(k) + "}" for k in range(count)])
    found = arch.inline_ptx(
        f"{code} {target}, [{{$r0}}];", write_only_types=[word] * count, read_only_args=[pointer]
    )
    return tuple(found[k] for k in range(count)) if count > 1 else (found,)


def multimem_write(code: str, pointer, words):
    """An instruction that takes typed words of 32 or 64 bits."""
    names, width = [f"a{k}" for k in range(len(words))], words[0].width
    moves = " ".join(f"mov.b{width} {name}, {{$r{k + 1}}};" for k, name in enumerate(names))
    registers = f".reg .b{width} {', '.join(names)};"
    arch.inline_ptx(
        f"{{ {registers} {moves} {code} [{{$r0}}], {braced(names)}; }}", read_only_args=[pointer, *words]
    )


def multimem_store(pointer, words, order: str, scope: str = ""):
    """The words, of any type of 32 or 64 bits, to all GPUs; their bits are not touched."""
    kind = "f32" if len(words) > 1 and words[0].width == 32 else f"b{words[0].width}"
    multimem_write(multimem_code("st", order, scope, "", len(words), kind), pointer, words)


def multimem_reduce(pointer, operation: str, words, kind, order: str, scope: str):
    """The words of elements of `kind` to the memory of all GPUs by `operation`; each atomic on each GPU."""
    name = multimem_type("red", operation, kind)
    multimem_write(multimem_code("red", order, scope, operation, len(words), name), pointer, words)
