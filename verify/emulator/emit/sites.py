"""Numbers for instructions and basic blocks: what the C code says, and what Python makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from verify.emulator.ptx.module import Call, Instr


@dataclass(slots=True)
class Sites:
    """`instructions[site]` is the instruction of a site; `blocks[b]` the first site of a basic block."""

    instructions: list[Instr | Call] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def add(self, line: Instr | Call) -> int:
        """The site of an instruction."""
        self.instructions.append(line)
        return len(self.instructions) - 1

    def block(self) -> int:
        """The number of a basic block that starts with the next instruction."""
        self.blocks.append(len(self.instructions))
        return len(self.blocks) - 1

    def opcode_counts(self, executed: list[int]) -> dict[str, int]:
        """Dynamic count of each full opcode, from how often each basic block ran."""
        found: dict[str, int] = {}
        ends = [*self.blocks[1:], len(self.instructions)]
        for times, start, end in zip(executed, self.blocks, ends, strict=True):
            for i in self.instructions[start:end]:
                name = i.op if isinstance(i, Instr) else "call"
                found[name] = found.get(name, 0) + times
        return found
