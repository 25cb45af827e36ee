"""The map in verify/canaries/README.md: `python -m tests.emulator.loops.table` writes it anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SWEEP = HERE / "h200.json"
DOCUMENT = HERE.parents[2] / "verify" / "canaries" / "README.md"
START, END = "<!-- map: from tests/emulator/loops/h200.json -->\n", "<!-- end of map -->\n"

LEVELS = (3, 2, 1, 0)
SIDES = {"cuda": "CUDA", "dsl": "port", "while": "port with while"}
_BOUNDS = {
    ("signed", "constant"): "a constant",
    ("signed", "n"): "run-time n",
    ("signed", "-n"): "run-time -n",
    ("signed", "zero"): "through zero, to -v",
    ("unsigned", "constant"): "a constant",
    ("unsigned", "n"): "run-time n",
    ("unsigned", "zero"): "through zero, by wrapping",
}
_TYPES = {"int": "int", "unsigned": "unsigned", "long": "long long"}
_SELECTS = ("none", "sign", "parity", "bound")


def told(sweep: dict[str, Any]) -> str:
    """Markdown: what was run, a row per family that is wrong somewhere, what the rows have in common."""
    kernels: dict[str, dict[str, Any]] = sweep["kernels"]
    versions = sweep["versions"]
    sides = _sides(kernels)
    columns = " | ".join(f"{SIDES[side]}: 3 | 2 | 1 | 0" for side in sides)
    families: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for kernel in kernels.values():
        key = (kernel["type"], kernel["direction"], kernel["bound"], kernel["behind"])
        families.setdefault(key, []).append(kernel)
    head = [
        f"{len(kernels)} kernels, {sweep['created'][:10]}, {versions['gpu']}, driver {versions['driver']}, "
        f"ptxas {versions['ptxas']}, CuTe DSL {versions['nvidia-cutlass-dsl']}. "
        "Wrong kernels of a family's, at each level:",
        "",
        f"| type | counts | to | stands | {columns} |",
        "| --- | --- | --- | --- |" + " ---: |" * (len(sides) * len(LEVELS)),
    ]
    rows = [_row(key, held) for key, held in families.items() if any(_wrong_anywhere(k) for k in held)]
    right = sum(not _wrong_anywhere(k) for k in kernels.values())
    tail = ["", f"{right} of {len(kernels)} are right at every level of both compilers."]
    return "\n".join([*head, *rows, *tail, *_selections(kernels), *_examples(kernels)]) + "\n"


def _sides(kernels: dict[str, dict[str, Any]]) -> list[str]:
    """Those that the sweep ran."""
    return [side for side in SIDES if all(side in kernel for kernel in kernels.values())]


def _wrong(kernel: dict[str, Any], side: str, level: int) -> bool:
    return not kernel[side][str(level)]["right"]


def _wrong_anywhere(kernel: dict[str, Any]) -> bool:
    return any(_wrong(kernel, side, level) for side in SIDES if side in kernel for level in LEVELS)


def _row(key: tuple[Any, ...], held: list[dict[str, Any]]) -> str:
    kind, direction, bound, behind = key
    cells = []
    for side in _sides({"": held[0]}):
        for level in LEVELS:
            count = sum(_wrong(k, side, level) for k in held)
            cells.append(f"{count} of {len(held)}" if count else "0")
    to = _BOUNDS["unsigned" if kind == "unsigned" else "signed", bound]
    place = "behind another" if behind else "alone"
    return f"| {_TYPES[kind]} | {direction} | {to} | {place} | {' | '.join(cells)} |"


def _selections(kernels: dict[str, dict[str, Any]]) -> list[str]:
    """Whether steps and selections matter: wrong kernels by each at the default levels."""
    lines = [
        "",
        "| at the default level | " + " | ".join([*_SELECTS, *(f"step {s}" for s in range(1, 6))]) + " |",
    ]
    lines.append("| --- |" + " ---: |" * 9)
    for side in _sides(kernels):
        name = SIDES[side]
        wrong = [k for k in kernels.values() if _wrong(k, side, LEVELS[0])]
        counts = [sum(k["select"] == s for k in wrong) for s in _SELECTS]
        counts += [sum(k["step"] == s for k in wrong) for s in range(1, 6)]
        lines.append(f"| {name}: {len(wrong)} wrong | {' | '.join(map(str, counts))} |")
    return lines


def _examples(kernels: dict[str, dict[str, Any]]) -> list[str]:
    """The first wrong kernel of each side, with a value."""
    lines = [""]
    for side in _sides(kernels):
        name = SIDES[side]
        for kernel, facts in kernels.items():
            found = facts[side][str(LEVELS[0])]
            if not found["right"] and found.get("examples"):
                e = found["examples"][-1]
                lines.append(
                    f"- {name}, `{kernel}`: of v = {e['v']} it makes {e['got']}, not {e['expected']}."
                )
                break
    return lines


def written() -> str:
    """The document with the map of today."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + told(json.loads(SWEEP.read_text(encoding="utf-8"))) + END + after


if __name__ == "__main__":
    DOCUMENT.write_text(written(), encoding="utf-8")
    sys.stdout.write(written())
