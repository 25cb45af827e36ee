"""Which threads computed a wrong element: each side is run once more, and the emulator asked who wrote it."""

from __future__ import annotations

from verify.facts import WriterFacts
from verify.judge import Judged
from verify.resolve import Dim3, Resolved
from verify.sides import Inputs, Side, SideError
from verify.spec_args import BufferArg


def writer(
    side: Side, case: str, inputs: Inputs, resolved: Resolved, arg: BufferArg, found: Judged
) -> WriterFacts | None:
    """The thread of a side that wrote the first wrong element last. None where nobody knows: on a GPU, for
    elements that nothing wrote, for globals."""
    if found.at is None or arg.symbol:
        return None
    inputs.ask = (arg.name, found.at * found.lane.stride + found.lane.offset)
    try:
        told = side.run(case, inputs, 0).writer
    except SideError:
        return None
    finally:
        inputs.ask = None
    if told is None:
        return None
    block, thread, file, line = told
    return WriterFacts(
        block=_axes(block, resolved.grid), thread=_axes(thread, resolved.block), file=file, line=line
    )


def _axes(linear: int, sides: Dim3) -> Dim3:
    x, y, _ = sides
    return linear % x, linear // x % y, linear // (x * y)


def in_words(port: WriterFacts | None, original: WriterFacts | None) -> str:
    """As in "; computed by block (0, 0, 0), thread (1, 0, 0) at port.py:12"; "" where nobody knows."""
    words = [
        f"{who} by block {w.block}, thread {w.thread}" + (f" at {w.file}:{w.line}" if w.line else "")
        for who, w in (("computed", port), ("in the original", original))
        if w is not None
    ]
    return "".join(f"; {w}" for w in words)
