"""Exit codes, as the README's table has them, and which codes are the machine's fault."""

from __future__ import annotations

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_ENVIRONMENT, EXIT_BUG, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT_UNREAD = 141  # as a shell says it of a process that SIGPIPE ended
# What the machine lacks, rather than the target.
LACKING = frozenset({"CP9001", "CP9003", "CP9005", "CP7106"})
NO_GPU = "CP9002"  # a lack where a GPU was asked for by name; otherwise the emulator does
BUG = "CP7099"
