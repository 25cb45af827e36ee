"""What is compared of an original and its port, and which differences mean something.

Rows come from what other stages record; nothing is run here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from verify.algorithm import AlgorithmDiff, AlgorithmRow, Group, Judgement, Source, Value, shown
from verify.counts import CountFacts, LaunchSize, SideCounts
from verify.facts import CompileFacts
from verify.instructions import CodeFacts

# What is another program rather than another compiler. The ports of the 24 targets keep the original's
# algorithm: they execute at most 1.04 times its instructions and 1.40 times its float instructions, take at
# most 1.47 times its registers, and make just as many accesses, to as many bytes.
_MUCH_MORE = 1.5
_MORE = 1.1
_MANY_REGISTERS = 64  # up to here a multiprocessor holds 1024 threads whatever the number is

_Telling = Callable[[Value, Value], str]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A row of the table; `of` reads it off one side."""

    key: str
    name: str
    group: Group
    source: Source
    of: Callable[..., Value]
    telling: _Telling
    unit: str = ""


def _never(_old: Value, _new: Value) -> str:
    return ""


def _presence(what: str, *, lost: str = "", appears: str = "") -> _Telling:
    """Tells what is there on one side only; an empty text tells nothing."""

    def telling(old: Value, new: Value) -> str:
        if old and not new:
            return lost and f"{what} lost: {lost}"
        if new and not old:
            return appears and f"{what} appears: {appears}"
        return ""

    return telling


def _narrower(what: str) -> _Telling:
    def telling(old: Value, new: Value) -> str:
        if isinstance(old, int) and isinstance(new, int) and 32 < old > new > 0:
            return f"narrower {what}: {new} bits at a time at most, the original's are {old}"
        return ""

    return telling


def _grows(what: str, factor: float, least: int = 0) -> _Telling:
    def telling(old: Value, new: Value) -> str:
        if isinstance(old, int) and isinstance(new, int) and new > factor * old and new > least:
            return (
                f"{new / old:.1f}x of the original's {what}" if old else f"{what} where the original has none"
            )
        return ""

    return telling


def _differs(what: str) -> _Telling:
    return lambda old, new: f"{what}: {shown(old)} → {shown(new)}" if old != new else ""


def _other_kinds(what: str) -> _Telling:
    """Both sides have them, of other kinds."""
    return lambda old, new: f"other {what}: {old} → {new}" if old and new and old != new else ""


def _more_kinds(what: str) -> _Telling:
    """The port has kinds that the original lacks."""

    def telling(old: Value, new: Value) -> str:
        more = sorted(set(str(new or "").split(", ")) - set(str(old or "").split(", ")) - {""})
        return f"{what}: {', '.join(more)}" if more else ""

    return telling


def _both(*all_of: _Telling) -> _Telling:
    return lambda old, new: next((words for telling in all_of if (words := telling(old, new))), "")


# ---- reading one side


def _most(kernels: str) -> Callable[[CompileFacts], Value]:
    """The most over the kernels of a build; None where none of them says."""

    def of(facts: CompileFacts) -> Value:
        found = [v for k in facts.kernels if (v := getattr(k, kernels)) is not None]
        return max(found, default=None)

    return of


def _widest(accesses: str, space: str) -> Callable[[CodeFacts], Value]:
    def of(code: CodeFacts) -> Value:
        widths = [int(key.split()[1]) for key in getattr(code, accesses) if key.split()[0] == space]
        return max(widths, default=0)

    return of


def _count(accesses: str, *spaces: str) -> Callable[[CodeFacts], Value]:
    def of(code: CodeFacts) -> Value:
        found: Mapping[str, int] = getattr(code, accesses)
        return sum(n for key, n in found.items() if not spaces or key.split()[0] in spaces)

    return of


def _local(code: CodeFacts) -> Value:
    return sum(n for d in (code.loads, code.stores) for key, n in d.items() if key.startswith("local "))


def _kinds(field: str) -> Callable[[CodeFacts], Value]:
    return lambda code: ", ".join(sorted(getattr(code, field)))


def _shared(facts: CompileFacts) -> Value:
    """Static bytes, or that it is there at all where the launch sizes it."""
    most = _most("static_shared_bytes")(facts)
    if facts.code is not None and facts.code.dynamic_shared:
        return f"{most} and dynamic" if most else "dynamic"
    return most


def _shared_lost(old: Value, new: Value) -> str:
    if old and not new:
        return "shared memory lost: the original keeps data in it"
    return "shared memory appears: the original uses none" if new and not old else ""


def _in(family: str, kind: str) -> Callable[[CodeFacts], Value]:
    return lambda code: getattr(code, family).get(kind, 0)


def _rounding(kind: str) -> Callable[[CodeFacts], Value]:
    return lambda code: " and ".join(w for w in ("rounded", "approximate") if getattr(code, w).get(kind))


def _less_exact(kind: str) -> _Telling:
    def telling(old: Value, new: Value) -> str:
        if old == "rounded" and new == "approximate":
            return f"{kind} is approximate only, the original's is right to the last place"
        return ""

    return telling


def _sizes(launches: Sequence[LaunchSize], field: str) -> Value:
    found = list(dict.fromkeys(getattr(launch, field) for launch in launches))
    return ", ".join("x".join(map(str, f)) if isinstance(f, tuple) else str(f) for f in found) or None


def _launched(field: str) -> Callable[[SideCounts], Value]:
    return lambda counts: _sizes(counts.launches, field)


def _executed(kind: str) -> Callable[[SideCounts], Value]:
    return lambda counts: counts.classes.get(kind, 0)


def _narrower_machine(what: str) -> _Telling:
    def widest(value: Value) -> int:
        return max((int(n) for n in re.findall(r"of (\d+)", str(value or ""))), default=0)

    return lambda old, new: _narrower(what)(widest(old), widest(new))


def _machine(kind: str) -> Callable[[Mapping[str, int]], Value]:
    return lambda mix: mix.get(kind, 0)


def _machine_accesses(mnemonic: str) -> Callable[[Mapping[str, int]], Value]:
    """As in "12 of 32, 2 of 128 bits"."""

    def of(mix: Mapping[str, int]) -> Value:
        widths = sorted((int(k.split()[1]), n) for k, n in mix.items() if k.startswith(f"{mnemonic} "))
        return ", ".join(f"{n} of {bits}" for bits, n in widths) + " bits" * bool(widths)

    return of


_PRECISION = {"f64": "double", "f32": "single", "f16": "half", "bf16": "bfloat16"}


def _precision(kind: str) -> _Telling:
    """Wider arithmetic that is lost, narrower that appears; double arithmetic that appears is slow."""
    name = f"{_PRECISION[kind]} precision"
    if kind == "f64":
        return _presence(
            name, lost="the port computes in less", appears="slow on most GPUs, and the original has none"
        )
    if kind == "f32":
        return _presence(name, lost="the original computes in it")
    return _presence(name, appears="the original computes in more")


_RULES: tuple[_Rule, ...] = (
    _Rule(
        "launches", "launches", "launch", "launch", lambda c: len(c.launches) or None,
        _differs("launches"),
    ),
    _Rule("grid", "grid", "launch", "launch", _launched("grid"), _differs("grid"), "blocks"),
    _Rule("block", "block", "launch", "launch", _launched("block"), _differs("block"), "threads"),
    _Rule(
        "dynamic_shared", "dynamic shared memory", "launch", "launch", _launched("dynamic_shared"),
        _never, "bytes per block",
    ),
    _Rule(
        "registers", "registers", "resources", "cubin", _most("registers"),
        _grows("registers", _MUCH_MORE, _MANY_REGISTERS), "per thread",
    ),
    _Rule(
        "spills", "spilled registers", "resources", "cubin", _most("spill_bytes"),
        _presence("spilling", appears="registers do not suffice"), "bytes per thread",
    ),
    _Rule("shared", "static shared memory", "resources", "cubin", _shared, _shared_lost, "bytes per block"),
    _Rule(
        "load_width", "widest global load", "memory", "ptx", _widest("loads", "global"),
        _narrower("loads"), "bits",
    ),
    _Rule(
        "store_width", "widest global store", "memory", "ptx", _widest("stores", "global"),
        _narrower("stores"), "bits",
    ),
    _Rule(
        # The assembler makes wide ones of narrow ones here, where it sees that they lie side by side.
        "shared_load_width", "widest shared load", "memory", "ptx", _widest("loads", "shared"),
        _never, "bits",
    ),
    _Rule("global_loads", "global loads", "memory", "ptx", _count("loads", "global", "generic"), _never),
    _Rule("global_stores", "global stores", "memory", "ptx", _count("stores", "global", "generic"), _never),
    _Rule("shared_loads", "shared loads", "memory", "ptx", _count("loads", "shared"), _never),
    _Rule("shared_stores", "shared stores", "memory", "ptx", _count("stores", "shared"), _never),
    _Rule(
        "constant_loads", "constant loads", "memory", "ptx", _count("loads", "const"),
        _presence("constant memory", lost="its broadcast is what the original reads by"),
    ),
    _Rule(
        "local", "local accesses", "memory", "ptx", _local,
        _presence("local memory", appears="an array that does not fit in registers"),
    ),
    _Rule(
        "asynchronous", "asynchronous copies", "memory", "ptx", lambda c: c.asynchronous,
        _presence("asynchronous copies", lost="the original overlaps copies with work"),
    ),
    _Rule(
        "traffic", "distinct bytes moved", "memory", "executed", lambda c: c.traffic_bytes,
        _grows("bytes moved", _MORE), "bytes",
    ),
    _Rule(
        "executed_loads", "global loads executed", "memory", "executed", lambda c: sum(c.loads.values()),
        _grows("loads", _MORE),
    ),
    _Rule(
        "executed_stores", "global stores executed", "memory", "executed", lambda c: sum(c.stores.values()),
        _grows("stores", _MORE),
    ),
    _Rule(
        "atomics", "atomics", "order", "ptx", _kinds("atomics"),
        _both(
            _presence("atomics", lost="sums are made another way", appears="the original has none"),
            _other_kinds("atomics"),
        ),
    ),
    _Rule(
        "executed_atomics", "atomics executed", "order", "executed", _executed("atomic"),
        _grows("atomics", _MORE),
    ),
    _Rule(
        "barriers", "barriers", "order", "ptx", lambda c: c.barriers,
        _presence("barriers", lost="threads no longer wait for each other", appears="the original has none"),
    ),
    _Rule(
        "executed_barriers", "arrivals at barriers", "order", "executed", lambda c: c.barriers,
        _differs("arrivals at barriers"),
    ),
    _Rule(
        "shuffles", "warp shuffles", "order", "ptx", lambda c: c.shuffles,
        _presence("warp shuffles", lost="lanes no longer exchange values directly"),
    ),
    *(
        _Rule(
            f"arithmetic_{kind}", f"{name}-precision arithmetic".replace("bfloat16-precision", "bfloat16"),
            "arithmetic", "ptx", _in("arithmetic", kind), _precision(kind),
        )
        for kind, name in _PRECISION.items()
    ),
    _Rule(
        "narrowed",
        "floats rounded to fewer bits",
        "arithmetic",
        "ptx",
        _kinds("narrowed"),
        _more_kinds("rounds values that the original keeps"),
    ),
    _Rule(
        "matrix", "tensor cores", "arithmetic", "ptx", _kinds("matrix"),
        _both(
            _presence(
                "tensor cores",
                lost="the original uses them",
                appears="their sums are cut, and f32 inputs rounded",
            ),
            _other_kinds("tensor-core types"),
        ),
    ),
    *(
        _Rule(f"rounding_{kind}", name, "arithmetic", "ptx", _rounding(kind), _less_exact(name))
        for kind, name in (("div", "division"), ("rcp", "reciprocal"), ("sqrt", "square root"))
    ),
    _Rule("instructions", "instructions in PTX", "arithmetic", "ptx", lambda c: c.instructions, _never),
    _Rule(
        "executed_instructions", "instructions executed", "arithmetic", "executed",
        lambda c: c.instructions, _grows("instructions", _MUCH_MORE),
    ),
    _Rule(
        "executed_float", "float instructions executed", "arithmetic", "executed", _executed("float"),
        _grows("float instructions", _MUCH_MORE),
    ),
    *(
        _Rule(f"machine_{key}", name, "arithmetic", "sass", _machine(key), _never)
        for key, name in (
            ("instructions", "machine instructions"),
            ("integer", "  on integers and addresses"),
            ("float", "  on floats"),
            ("special", "  special functions"),
            ("convert", "  conversions"),
            ("matrix", "  tensor cores"),
            ("move", "  moves and constants"),
            ("memory", "  memory"),
            ("control", "  control flow"),
            ("sync", "  barriers and fences"),
            ("warp", "  between lanes"),
        )
    ),
    *(
        _Rule(f"machine_{key}", name, "memory", "sass", _machine_accesses(key), telling)
        for key, name, telling in (
            ("LDG", "machine loads, global", _never),
            ("STG", "machine stores, global", _never),
            ("LDS", "machine loads, shared", _narrower_machine("loads of shared memory")),
            ("STS", "machine stores, shared", _narrower_machine("stores to shared memory")),
            ("LDL", "machine loads, local", _never),
            ("STL", "machine stores, local", _never),
        )
    ),
)  # fmt: skip


def difference(original: CompileFacts, port: CompileFacts, counts: CountFacts | None = None) -> AlgorithmDiff:
    """All rows that at least one side has something for, in the order of the table."""
    return AlgorithmDiff(rows=list(_rows(original, port, counts)), case=counts.case if counts else "")


def _rows(original: CompileFacts, port: CompileFacts, counts: CountFacts | None) -> Iterator[AlgorithmRow]:
    for rule in _RULES:
        old = _value(rule, original, counts.original if counts is not None else None)
        new = _value(rule, port, counts.port if counts is not None else None)
        if not old and not new:
            continue
        known = old is not None and new is not None
        yield AlgorithmRow(
            key=rule.key,
            name=rule.name,
            group=rule.group,
            source=rule.source,
            unit=rule.unit,
            original=old,
            port=new,
            judgement=_judged(old, new),
            telling=rule.telling(old, new) if known else "",
        )


def _value(rule: _Rule, facts: CompileFacts, counts: SideCounts | None) -> Value:
    if rule.source == "cubin":
        return rule.of(facts)
    if rule.source == "sass":
        return rule.of(facts.machine) if facts.machine else None
    side = facts.code if rule.source == "ptx" else counts
    return None if side is None else rule.of(side)


def _judged(old: Value, new: Value) -> Judgement:
    if old is None or new is None:
        return "unknown"
    if old == new:
        return "same"
    if isinstance(old, int) and isinstance(new, int):
        return "port more" if new > old else "port less"
    return "differs"
