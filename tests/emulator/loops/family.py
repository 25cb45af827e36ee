"""Small loop kernels by system: what each loop does, its CUDA text, and its values in Python's arithmetic.

A kernel reads v and w per thread and adds up one number per turn of its loop. Only the loop's shape varies:
direction, step, bound, what the number is selected on, the type, and whether another loop stands before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

THREADS = 128
FIRST, SECOND = [(7 * t) % 191 for t in range(THREADS)], [5 + (5 * t) % 23 for t in range(THREADS)]

TYPES = {"int": ("int", 32), "unsigned": ("unsigned", 32), "long": ("long long", 64)}
STEPS = (1, 2, 3, 4, 5)

# Start and condition by type's signedness, direction and bound. A signed loop stays far from overflow. An
# unsigned one that crosses zero ends when it has wrapped, which C++ defines.
_HEADS = {
    ("signed", "down", "constant"): ("v", "d > 9"),
    ("signed", "down", "n"): ("v + w", "d > w"),
    ("signed", "down", "-n"): ("v", "d > -w"),
    ("signed", "down", "zero"): ("v", "d > -v"),
    ("signed", "up", "constant"): ("-w", "d < 150"),
    ("signed", "up", "n"): ("w", "d < v"),
    ("signed", "up", "-n"): ("-v", "d < -w"),
    ("signed", "up", "zero"): ("-v", "d < v"),
    ("unsigned", "down", "constant"): ("v", "d > 9"),
    ("unsigned", "down", "n"): ("v + w", "d > w"),
    ("unsigned", "down", "zero"): ("v", "d < v + 1"),
    ("unsigned", "up", "constant"): ("w", "d < 150"),
    ("unsigned", "up", "n"): ("w", "d < v"),
    ("unsigned", "up", "zero"): ("0 - v", "d > w"),
}
_SELECTS = {"none": "", "sign": "d < 0", "parity": "(d & 1) != 0", "bound": "d < w"}
_BEFORE = "for (float q = 1.0f; q > 0.01f; q *= 0.5f) acc += q < 0.3f;"
_BEFORE_TURNS = sum(2.0**-k < 0.3 for k in range(7))  # q is exact: 1, 1/2, … 1/64


@dataclass(frozen=True, slots=True)
class Loop:
    """One kernel. `behind`: another loop stands before this one."""

    type: str
    direction: str
    step: int
    bound: str
    select: str
    behind: bool

    @property
    def name(self) -> str:
        bound = {"-n": "negated"}.get(self.bound, self.bound)
        return f"{self.type}_{self.direction}{self.step}_{bound}_{self.select}{'_behind' * self.behind}"

    @property
    def family(self) -> tuple[str, str, str, bool]:
        """What a row of the map stands for: steps and selections apart."""
        return self.type, self.direction, self.bound, self.behind

    @property
    def _signed(self) -> str:
        return "unsigned" if self.type == "unsigned" else "signed"

    @property
    def cuda(self) -> str:
        """The kernel's text."""
        return self._text("for ({head}; {condition}; {change}) {turn}\n")

    @property
    def cuda_as_while(self) -> str:
        """The same with a while loop, which stays one in a port; a for becomes a `cutlass.range`."""
        return self._text("{head};\n    while ({condition}) {{\n        {turn}\n        {change};\n    }}\n")

    def _text(self, loop: str) -> str:
        kind = TYPES[self.type][0]
        start, condition = _HEADS[self._signed, self.direction, self.bound]
        chosen = f"{_SELECTS[self.select]} ? 100 : 1" if _SELECTS[self.select] else "3"
        body = loop.format(
            head=f"{kind} d = {start}",
            condition=condition,
            change=f"d {'-' if self.direction == 'down' else '+'}= {self.step}",
            turn=f"acc += {chosen};",
        )
        return (
            f"__global__ void {self.name}(const {kind} *a, const {kind} *b, {kind} *o) {{\n"
            f"    {kind} v = a[threadIdx.x], w = b[threadIdx.x], acc = 0;\n"
            + (f"    {_BEFORE}\n" if self.behind else "")
            + f"    {body}"
            "    o[threadIdx.x] = acc;\n}\n"
        )

    @property
    def python(self) -> str:
        """The same as a Python function; C's operators used here mean the same for values in range."""
        start, condition = _HEADS[self._signed, self.direction, self.bound]
        chosen = f"100 if {_SELECTS[self.select]} else 1" if _SELECTS[self.select] else "3"
        wrap = f" & {(1 << TYPES[self.type][1]) - 1}" if self.type == "unsigned" else ""
        return (
            f"def kernel(v, w):\n    acc, d = {_BEFORE_TURNS if self.behind else 0}, ({start}){wrap}\n"
            f"    while {condition}:\n        acc += {chosen}\n"
            f"        d = (d {'-' if self.direction == 'down' else '+'} {self.step}){wrap}\n    return acc\n"
        )

    def values(self) -> list[int]:
        """The values of all threads."""
        made: dict[str, Callable[[int, int], int]] = {}
        exec(self.python, made)
        return [made["kernel"](v, w) for v, w in zip(FIRST, SECOND, strict=True)]


def every() -> Iterator[Loop]:
    """All kernels, in a fixed order: no sign for unsigned, two steps and two selections for 64 bits."""
    sides, alone = ("down", "up"), (False, True)
    for select, bound, way, step, behind in itertools.product(
        ("none", "sign", "parity", "bound"), ("constant", "n", "-n", "zero"), sides, STEPS, alone
    ):
        yield Loop("int", way, step, bound, select, behind)
    for select, bound, way, step, behind in itertools.product(
        ("none", "parity", "bound"), ("constant", "n", "zero"), sides, STEPS, alone
    ):
        yield Loop("unsigned", way, step, bound, select, behind)
    for select, bound, way, step, behind in itertools.product(
        ("sign", "parity"), ("constant", "n", "-n", "zero"), sides, (1, 3), alone
    ):
        yield Loop("long", way, step, bound, select, behind)


def units(per_unit: int = 16) -> dict[str, list[Loop]]:
    """Kernels that are compiled together, by the unit's name; all of one type."""
    found: dict[str, list[Loop]] = {}
    for kind in TYPES:
        loops = [loop for loop in every() if loop.type == kind]
        for k in range(0, len(loops), per_unit):
            found[f"{kind}{k // per_unit:02d}"] = loops[k : k + per_unit]
    return found


def cuda_unit(loops: list[Loop], *, as_while: bool = False) -> str:
    """A CUDA file of these kernels with their launches."""
    kind = TYPES[loops[0].type][0]
    calls = "".join(f"    {loop.name}<<<1, {THREADS}>>>(a, b, o);\n" for loop in loops)
    kernels = "\n".join(loop.cuda_as_while if as_while else loop.cuda for loop in loops)
    return f"{kernels}\nvoid launch(const {kind} *a, const {kind} *b, {kind} *o) {{\n{calls}}}\n"
