"""A drafted `spec.toml` completed with what was measured: its text, line by line, as spec_draft wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from translator.analysis.spec_text import key, quoted
from translator.diag.codes import CODES

ALLOCATED = "CP3111"
"""The question about a size that stays what the host allocates, whatever is measured."""
SIZES = ("CP3104", "CP3105", ALLOCATED)
"""Questions about how many elements a buffer has."""
ROLE = "CP3120"
"""The question about what a kernel does with a buffer, where not all of it could be read."""
ASKING = (*SIZES, ROLE)


@dataclass(frozen=True, slots=True)
class Completion:
    """Of one question about a buffer (called as in verdicts: `p.field` behind a struct). `elems` are its
    elements by case, empty where the drafted size stays; `role` likewise. Without an `answer` the question
    stays open."""

    code: str
    buffer: str
    said: str
    answer: bool
    elems: Mapping[str, int] = field(default_factory=dict)
    role: str = ""

    @property
    def note(self) -> str:
        return f"measured in the emulator: {self.said}" if self.answer else f"in the emulator: {self.said}"


def asked_buffer(code: str, text: str, buffers: Collection[str]) -> str | None:
    """The buffer that a question is about; None for a question of another kind."""
    if code not in ASKING:
        return None
    before, _, after = CODES[code].message.partition("{buffer}")
    stop = after.partition("{")[0]
    return next((b for b in buffers if text.startswith(before + drafted_name(b) + stop)), None)


def drafted_name(buffer: str) -> str:
    """What the draft's questions call a buffer."""
    return buffer.replace(".", "_")


def known_to_write(text: str) -> bool:
    """Whether a question about a role says that the part which was read writes the buffer."""
    return " writes it," in text


def completed(
    text: str,
    completions: Sequence[Completion],
    roles: Mapping[str, str],
    taken: Collection[str],
    *,
    loose: bool = False,
) -> str:
    """The draft with sizes of its own for measured buffers, other roles, and answers. Names `taken` are not
    used for sizes. `loose` says that sums depend on the order of threads."""
    roles = {**roles, **{c.buffer: c.role for c in completions if c.role}}
    used = set(taken)
    sizes: dict[str, str] = {}
    for c in completions:
        if c.elems and c.buffer not in sizes:
            name = f"{drafted_name(c.buffer)}_elems"
            while name in used:
                name += "_"
            used.add(name)
            sizes[c.buffer] = name
    added = {sizes[c.buffer]: c.elems for c in completions if c.elems}
    blocks = re.split(r"(?m)^(?=\[)", text)
    if loose and "order_dependent" not in text:
        blocks = [re.sub(r'(?m)^rule = "original"$', r"\g<0>\norder_dependent = true", b) for b in blocks]
    return "".join(_block(b, sizes, added, roles, completions) for b in blocks)


def _block(
    block: str,
    sizes: Mapping[str, str],
    added: Mapping[str, Mapping[str, int]],
    roles: Mapping[str, str],
    completions: Sequence[Completion],
) -> str:
    name = _value(block, "name")
    if block.startswith("[[arg]]"):
        if "\nfields = [" in block and 'kind = "struct"' in block:
            lines = [_field(line, name, sizes, roles) for line in block.split("\n")]
            return "\n".join(lines)
        return _memory(block, name, sizes, roles, line=True)
    if block.startswith("[[case]]"):
        more = [f"{key(size)} = {elems[name]}" for size, elems in added.items()]
        return re.sub(r"(?m)^sizes = \{ *(.*?) *\}$", lambda m: _joined(m[1], more), block)
    if block.startswith("[[question]]"):
        return _question(block, completions)
    return block


def _joined(old: str, more: Sequence[str]) -> str:
    return f"sizes = {{ {', '.join([*([old] if old else []), *more])} }}"


def _field(line: str, struct: str, sizes: Mapping[str, str], roles: Mapping[str, str]) -> str:
    found = re.match(r'    \{ name = "(\w+)", .*buffer = \{', line)
    return _memory(line, f"{struct}.{found[1]}", sizes, roles, line=False) if found else line


def _memory(text: str, name: str, sizes: Mapping[str, str], roles: Mapping[str, str], *, line: bool) -> str:
    start = r"(?m)^" if line else r"\b"
    if name in sizes:
        text = re.sub(start + r'elems = "[^"]*"', f'elems = "{sizes[name]}"', text, count=1)
    if name in roles:
        text = re.sub(start + r'role = "\w+"', f'role = "{roles[name]}"', text, count=1)
        if roles[name] == "out":  # as the draft says of one
            text = re.sub(r'\binit = "(?:normal|small_int|uniform)"', 'init = "zeros"', text)
    return text


def _question(block: str, completions: Sequence[Completion]) -> str:
    code, text = _value(block, "code"), _value(block, "text")
    for c in completions:
        if c.code == code and asked_buffer(code, text, (c.buffer,)):
            line = f"text = {quoted(text)}"
            if c.answer:
                return block.replace(line, f"{line}\nanswer = {quoted(c.note)}", 1)
            return block.replace(line, f"text = {quoted(f'{text}; {c.note}')}", 1)
    return block


def _value(block: str, name: str) -> str:
    found = re.search(rf'(?m)^{name} = "((?:[^"\\]|\\.)*)"$', block)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else ""
