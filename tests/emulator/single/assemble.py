"""`python -m tests.emulator.single.assemble [PATTERN [TARGET]]`: which cases ptxas refuses.

Needs the CUDA toolkit, no GPU.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.emulator.single.cases import Case, cases
from tests.emulator.single.kernels import GROUP, module


def refused(group: list[tuple[int, Case]], target: str) -> dict[str, str]:
    """Cases of the group that ptxas refuses, with its first message."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.ptx"
        path.write_text(module(group, target=target))
        # The lowest level: only whether it assembles is asked.
        command = ["ptxas", f"-arch={target}", "-O0", str(path), "-o", str(Path(folder) / "cases.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return {}
        lines = path.read_text().splitlines()
    found: dict[str, str] = {}
    for message in re.finditer(r"line (\d+); (error.*)", done.stderr):
        comment = next(line for line in reversed(lines[: int(message[1])]) if line.startswith("// "))
        found.setdefault(comment[3:], message[2])
    if found:
        bad = [(n, c) for n, c in group if c.key not in found]
        return found | (refused(bad, target) if bad else {})
    if len(group) == 1:
        return {group[0][1].key: done.stderr.strip()}
    half = len(group) // 2
    return refused(group[:half], target) | refused(group[half:], target)


def main() -> None:
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    target = sys.argv[2] if len(sys.argv) > 2 else "sm_90a"
    every = [(n, c) for n, c in enumerate(cases(target.rstrip("a"))) if pattern.search(c.key)]
    groups = [every[i : i + GROUP] for i in range(0, len(every), GROUP)]
    with ThreadPoolExecutor(2) as pool:
        found = {
            key: why for part in pool.map(lambda g: refused(g, target), groups) for key, why in part.items()
        }
    for key, why in found.items():
        print(f"{key}: {why}")
    print(f"{len(every)} cases, {len(found)} refused")


if __name__ == "__main__":
    main()
