"""verify/SPEC.md, the fields of spec.toml: `python -m tests.spec_page` writes it from verify's own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from verify.spec import Bench, Case, Launch, Original, Port, Question, Spec, Tolerance
from verify.spec_args import (
    BufferArg,
    ElementField,
    Memory,
    PointerField,
    ScalarArg,
    StructArg,
    StructField,
)

PAGE = Path(__file__).parent.parent / "verify" / "SPEC.md"

# Heading, model, fields left to another section.
_SECTIONS: tuple[tuple[str, type[BaseModel], frozenset[str]], ...] = (
    ("Top", Spec, frozenset({"original", "port", "launch", "arg", "case", "tolerance", "bench", "question"})),
    ("`[original]`", Original, frozenset()),
    ("`[port]`", Port, frozenset()),
    ("`[launch]`", Launch, frozenset()),
    ('`[[arg]]` with `kind = "scalar"`', ScalarArg, frozenset()),
    ('`[[arg]]` with `kind = "buffer"`', BufferArg, frozenset()),
    ("`fields` of a buffer of structs", ElementField, frozenset()),
    ('`[[arg]]` with `kind = "struct"`', StructArg, frozenset()),
    ("`fields` of such a struct: numbers", StructField, frozenset()),
    ("`fields` of such a struct: pointers", PointerField, frozenset()),
    ("`buffer` of a pointer", Memory, frozenset()),
    ("`[[case]]`", Case, frozenset()),
    ("`[tolerance]`", Tolerance, frozenset()),
    ("`[bench]`", Bench, frozenset()),
    ("`[[question]]`", Question, frozenset()),
)

_COLUMNS = ("| key | needed | default | meaning |", "| --- | --- | --- | --- |")
_HEAD = """# spec.toml

What to check: the CUDA original, the port, how both are launched, with which arguments, on which shapes, and
when values are the same. `cuteport port` drafts it; people edit it. `cuteport spec check DIR` says what is
wrong with one, with lines, and what each case means in numbers; `cuteport schema spec` prints the schema.
This page is written from the same models.

Expressions (`elems`, `value`, `grid`, `index:…`) are texts or numbers, with C's meaning: `+ - * / %`, shifts,
comparisons, `?:`, `min`, `max`, `ceil_div`, `abs`, `sqrt`, `int`, `float`. They may use the sizes of the case
and earlier scalars. Types: `bool`, `i8` to `i64`, `u8` to `u64`, `f16`, `bf16`, `f32`, `f64`, `f8e4m3`,
`f8e5m2`, or their torch names.

A `reference.py` beside the spec makes the rule `fp64`: `reference(inputs, sizes)` gets numpy arrays and
scalars by name and returns float64 arrays by output name. A reference that the original itself is far from is
refused (CP7026), since its error is the port's limit.
"""


def page() -> str:
    """The page as text."""
    parts = [_HEAD]
    for heading, model, elsewhere in _SECTIONS:
        rows = [_row(n, f) for n, f in model.model_fields.items() if n not in elsewhere]
        parts.append(
            "\n".join(
                [
                    f"## {heading}\n",
                    "| key | needed | default | meaning |",
                    "| --- | --- | --- | --- |",
                    *rows,
                ]
            )
        )
    return "\n\n".join(p.strip() for p in parts) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    needed = field.is_required()
    default = "" if needed else _default(field)
    words = " ".join((field.description or "").split()).replace("|", "\\|")
    choices = [a for a in get_args(field.annotation) if isinstance(a, str)]
    if len(choices) > 1 and not all(c in words for c in choices):
        words += f" One of {', '.join(choices)}."
    return f"| `{field.alias or name}` | {'yes' if needed else ''} | {default} | {words} |"


def _default(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True)
    if value is None or value in ([], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
