"""The whitelist of opcodes: what each means in C, or which handler of the emitter knows it."""

from verify.emulator.ops.load import find, names, pure, special
from verify.emulator.ops.rule import Op, fill

__all__ = ["Op", "fill", "find", "names", "pure", "special"]
