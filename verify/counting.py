"""What both sides executed and moved while they were compared in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from verify.counts import CountFacts, counts_of
from verify.facts import RunFacts
from verify.resolve import resolve
from verify.sides import Inputs, Side, SideRan
from verify.spec import Spec


class Watched:
    """A side as parity sees it; keeps the counts of each case's first run, on the spec's own values, and a
    digest of the output bits of all runs in the order of their first repeats."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.first: dict[str, SideRan] = {}
        self._bits = blake2b(digest_size=16)

    @property
    def bits(self) -> str:
        return self._bits.hexdigest()

    def run(self, case: str, inputs: Inputs, repeat: int) -> SideRan:
        ran = self.side.run(case, inputs, repeat)
        if repeat == 0:
            for name, data in ran.outputs.items():
                self._bits.update(f"{case} {name} {len(data)}\0".encode())
                self._bits.update(data)
        if ran.opcodes and case not in self.first:
            self.first[case] = replace(ran, outputs={})
        return ran

    def restart(self) -> None:
        self.side.restart()


def counted(spec: Spec, runs: Sequence[RunFacts], original: Watched, port: Watched) -> CountFacts | None:
    """Both sides on a typical case, or where none ran on that with the most threads and elements."""
    ran = {r.case for r in runs} & {c.name for c in spec.case} & set(original.first) & set(port.first)

    def rank(name: str) -> tuple[bool, int]:
        case = next(c for c in spec.case if c.name == name)
        resolved = resolve(spec, case)
        return case.role == "typical", resolved.threads + sum(resolved.elems.values())

    if not ran:
        return None
    chosen = max(sorted(ran), key=rank)
    old, new = original.first[chosen], port.first[chosen]
    return CountFacts(
        case=chosen,
        original=counts_of(old.opcodes, old.touched, old.launches),
        port=counts_of(new.opcodes, new.touched, new.launches),
    )
