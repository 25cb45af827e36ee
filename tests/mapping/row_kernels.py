"""One minimal kernel per mapping row and type variant, many to a compile, and the PTX of each."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path

from translator.mapping.resolve import DSL_TYPES, Text, ffi_line, helper, render, render_fields, resolve
from translator.mapping.rule import Rule, load_rules
from translator.model.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    SCALARS,
    U8,
    U64,
    VOID,
    Field,
    Pointer,
    Scalar,
    Struct,
    Type,
)

SLOT = 4096  # bytes between the operands of a row's kernel


def vector_type(name: str, of: Scalar, count: int) -> Struct:
    fields = tuple(Field("xyzw"[i], of, i * of.size) for i in range(count))
    return Struct(name, fields, count * of.size, count * of.size)


STRUCTS = {
    "half2": vector_type("__half2", F16, 2),
    "bf162": vector_type("__nv_bfloat162", BF16, 2),
    "float2": vector_type("float2", F32, 2),
    "float4": vector_type("float4", F32, 4),
    "double2": vector_type("double2", F64, 2),
}
VECTORS: list[Type] = [
    STRUCTS["float4"],
    vector_type("uchar4", U8, 4),
    vector_type("short2", I16, 2),
    vector_type("int2", I32, 2),
    vector_type("ulonglong2", U64, 2),
    STRUCTS["double2"],
]


def concrete(pattern: str) -> list[Type]:
    """The types a pattern stands for; `int` and `any` by a few."""
    found: list[Type] = []
    for one in pattern.split("|"):
        if one == "text":
            found.append(Pointer(I8))
        elif one == "ptr":
            found.append(Pointer(F32))
        elif one.startswith("ptr:"):
            found += [Pointer(t) for t in concrete(one[4:].replace("/", "|"))]
        elif one == "struct":
            found += VECTORS
        elif one == "int":
            found += [SCALARS[n] for n in ("i32", "u32", "i64")]
        elif one in ("any", "scalar"):
            found.append(F32)
        else:
            found.append(STRUCTS[one] if one in STRUCTS else SCALARS[one])
    return found


@dataclass(frozen=True)
class Variant:
    """A row for concrete argument types; `name` is the kernel's, `label` for people."""

    rule: Rule
    name: str
    types: tuple[Type, ...]
    result: Type

    @property
    def label(self) -> str:
        return f"{self.rule.id}({', '.join(map(str, self.types))})"


def variants(rule: Rule, number: int) -> list[Variant]:
    columns = [concrete(p) for p in (*rule.types, rule.c_result)]
    count = max((len(c) for c in columns), default=1)
    filled = [c * count if len(c) == 1 else c for c in columns]
    made = []
    for i, row in enumerate(zip_longest(*filled)):
        types, result = row[:-1], row[-1]
        made.append(Variant(rule, f"row{number}_{i}", types, result))
    return made


def scalar_of(t: Type) -> Scalar:
    if isinstance(t, Scalar):
        return t
    assert isinstance(t, Struct)
    inner = t.fields[0].type
    assert isinstance(inner, Scalar)
    return inner


def arguments(v: Variant, static: bool = False) -> tuple[list[str], list[Text], list[int | float | None]]:
    """Loading statements, argument texts and constants."""
    when = dict(v.rule.when)
    lines: list[str] = []
    texts: list[Text] = []
    consts: list[int | float | None] = []
    for i, (arg, t) in enumerate(zip(v.rule.args, v.types, strict=True)):
        at = f"base + {SLOT * (i + 1)}"
        const = None
        if arg.name in when:
            first = when[arg.name][0]
            const = 1 if first == "const" else first
            assert not isinstance(const, str) and isinstance(t, Scalar)
            texts.append(f"{DSL_TYPES[t.name]}({const})")
        elif v.rule.types[i] == "text":
            texts.append('"text"')
        elif v.rule.id == "memory.shared_address":
            lines.append(f"a{i} = cutlass.Array(Float32, 256, space=cutlass.AddressSpace.smem)")
            texts.append(f"a{i}.data_ptr() + t")
        elif isinstance(t, Pointer):
            kind = DSL_TYPES[scalar_of(t.to).name]
            lines.append(f"a{i} = cutlass.Pointer({at}, dtype={kind})")
            count = len(t.to.fields) if isinstance(t.to, Struct) else 1
            texts.append(f"a{i} + t" + (f" * {count}" if count > 1 else ""))
        else:
            kind = DSL_TYPES[scalar_of(t).name]
            lines.append(f"p{i} = cutlass.Pointer({at}, dtype={kind})")
            count = len(t.fields) if isinstance(t, Struct) else 1
            names = [f"v{i}_{k}" for k in range(count)]
            value = f"{kind}(True)" if kind == "Boolean" else f"{kind}(1)"
            lines += [
                f"{n} = " + (value if static else f"p{i}[t * {count} + {k}]") for k, n in enumerate(names)
            ]
            if kind == "Boolean":
                lines.append(f"v{i}_0 = Boolean(v{i}_0)")
            texts.append(tuple(names) if isinstance(t, Struct) else names[0])
        consts.append(const)
    return lines, texts, consts


def body(v: Variant, static: bool = False) -> list[str]:
    """Statements of the kernel: operands, the row's text, stores of what it gives."""
    lines, texts, consts = arguments(v, static)
    kinds = [DSL_TYPES[scalar_of(v.result).name]] if v.result != VOID else []
    rule = v.rule
    if isinstance(v.result, Struct):
        kinds *= len(v.result.fields)
    if rule.components == "fields":
        got = list(render_fields(rule, texts, v.types, v.result, consts).values())
    elif rule.components == "elementwise":
        got, lines = elementwise(v, texts, lines)
    elif rule.outs or rule.components in ("tuple", "vector"):
        outs = [v.types[[a.name for a in rule.args].index(o)] for o in rule.outs]
        kinds += [DSL_TYPES[scalar_of(t.to).name] for t in outs if isinstance(t, Pointer)]
        lines.append("r = " + render(rule, texts, v.types, v.result, consts))
        got = [f"r[{k}]" for k in range(len(kinds))] if len(kinds) > 1 else ["r"]
    elif rule.result == "none":
        return [*lines, render(rule, texts, v.types, v.result, consts)]
    else:
        got = [render(rule, texts, v.types, v.result, consts)]
    lines.append(f"o = cutlass.Pointer(base, dtype={kinds[0]})")
    for k, (text, kind) in enumerate(zip(got, kinds, strict=True)):
        lines.append(f"q{k} = {text}")
        store = f"Uint8(q{k})" if kind == "Boolean" else f"q{k}"
        target = f"cutlass.Pointer(base, dtype={'Uint8' if kind == 'Boolean' else kind})"
        lines.append(f"({target} + (t * {len(kinds)} + {k})).store({store})")
    return [line for line in lines if not line.startswith("o = ")]


def elementwise(v: Variant, texts: Sequence[Text], lines: list[str]) -> tuple[list[str], list[str]]:
    count = max(len(t) for t in texts if isinstance(t, tuple))
    types = tuple(scalar_of(t) for t in v.types)
    result = scalar_of(v.result)
    inner = resolve(v.rule.scalar, types, result)
    assert inner is not None, f"{v.label}: no row for {v.rule.scalar}"
    got = []
    for k in range(count):
        args = [t[k] if isinstance(t, tuple) else t for t in texts]
        got.append(render(inner, args, types, result))
    return got, lines


def used_rules(v: Variant) -> list[Rule]:
    if v.rule.components != "elementwise":
        return [v.rule]
    inner = resolve(v.rule.scalar, tuple(scalar_of(t) for t in v.types), scalar_of(v.result))
    return [inner] if inner else []


HEAD = """import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Boolean, Float16, Float32, Float64, Float8E4M3FN, Float8E5M2
from cutlass import Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64
GMEM = cutlass.AddressSpace.gmem
"""


def module_text(batch: Sequence[Variant], static: bool = False) -> str:
    rules = [r for v in batch for r in used_rules(v)]
    todo, names = [h for r in rules for h in r.helpers], []
    while todo:
        name = todo.pop()
        if name not in names:
            names.append(name)
            todo += helper(name).needs
    imports = sorted({i for n in names for i in helper(n).imports})
    parts = [HEAD, *imports, *(helper(n).source for n in names)]
    parts += sorted({ffi_line(r) for r in rules if r.libdevice})
    for v in batch:
        lines = ["t, _, _ = cute.arch.thread_idx()", *body(v, static)]
        parts.append(f"@cute.kernel\ndef {v.name}(base: cutlass.Pointer[Uint8, GMEM]):")
        parts += ["    " + line for line in lines]
    parts.append("@cute.jit\ndef launch(base: cutlass.Pointer[Uint8, GMEM]):")
    parts += [f"    {v.name}(base).launch(grid=(1, 1, 1), block=(128, 1, 1))" for v in batch]
    return "\n".join(parts) + "\n"


def compile_batch(batch: Sequence[Variant], folder: Path, name: str, static: bool = False) -> dict[str, str]:
    """PTX of each kernel by its name; `static`: the arguments are constants of their types."""
    os.environ["CUTE_DSL_ARCH"] = "sm_90a"
    os.environ["CUTE_DSL_KEEP"] = "ptx"
    os.environ["CUTE_DSL_NO_CACHE"] = "1"
    os.environ["CUTE_DSL_DUMP_DIR"] = str(folder)
    import cutlass.cute as cute
    from cutlass import AddressSpace, Uint8
    from cutlass.cute.runtime import make_ptr

    path = folder / f"{name}.py"
    path.write_text(module_text(batch, static))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = cute.compile(module.launch, make_ptr(Uint8, 1 << 20, AddressSpace.gmem, assumed_align=16))
    found = {}
    for part in compiled.artifacts.PTX.split(".visible .entry ")[1:]:
        entry = re.match(r"kernel_cutlass_(row\d+_\d+)_", part)
        assert entry, part[:80]
        found[entry[1]] = part
    return found


def all_variants() -> list[Variant]:
    """Every variant of every row that has a text, in table order."""
    return [v for n, r in enumerate(load_rules()) if r.support != "none" for v in variants(r, n)]


BATCH = 40  # kernels to a compile: the DSL's time per kernel grows with the module


def batches() -> list[list[Variant]]:
    """The variants in compiles of about BATCH kernels; a row is never split."""
    found: list[list[Variant]] = [[]]
    for _, group in groupby(all_variants(), key=lambda v: v.rule.id):
        row = list(group)
        if len(found[-1]) + len(row) > BATCH:
            found.append([])
        found[-1] += row
    return found
