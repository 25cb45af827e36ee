"""How much of a body of PTX the emulator takes: `python -m tests.emulator.coverage [--compile N] FILE.ptx…`.

Every kernel becomes C; every N-th is compiled too. Prints the counts, the median and worst time of those, and
what refused the rest. Times are of the processor, so that they hold on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

from verify.emulator.build import Mode, shared_object
from verify.emulator.emit.module import emit_kernel
from verify.emulator.ptx.module import PtxError
from verify.emulator.ptx.parse import parse


def _spent() -> float:
    """Seconds of the processor, those of compilers that have ended included."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--compile", type=int, default=0, metavar="N")
    options = parser.parse_args()
    kernels, taken, seconds = 0, 0, []
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as cache:
        for file in options.files:
            module = parse(file.read_text(encoding="utf-8"))
            for name in module.entries:
                kernels += 1
                compiled = bool(options.compile) and kernels % options.compile == 0
                start = _spent()
                try:
                    text = emit_kernel(module, name).text
                    if compiled:
                        shared_object(text, Mode(), Path(cache))
                        seconds.append(_spent() - start)
                    taken += 1
                except PtxError as e:
                    refused[f"{e.code} {e.message.split(' (')[0]}"] += 1
    print(f"{taken} of {kernels} kernels")
    if len(seconds) > 1:
        middle, worst = statistics.median(seconds[1:]), max(seconds[1:])  # the first made the runtime too
        print(f"{len(seconds)} compiled: median {middle:.2f} s, worst {worst:.2f} s")
    for words, count in refused.most_common():
        print(f"{count} {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
