"""How often the bench stage's words are right, on the GPU at hand: `python3 -P -m tests.gpu.timing_trial`.

Two trials per target, each many decisions as the bench stage takes them, in one process and on the original
alone:

- the original against itself, which must be SAME;
- the original against the original plus a known delay, which must be SLOWER. The delay is a kernel of one
  thread that spins for a number of clock cycles behind each launch (behind each n-th where the kernel is
  short), so that the time of a launch grows by 3 % whatever the kernel does. The cycles are set from a
  measurement; by how much the time grew in all samples of the trial is told.

Prints a line per target and writes JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from verify.bench import timed_cases
from verify.bench_jobs import original_calls
from verify.device import Arguments, CudaDevice, load_image
from verify.environment import arch_of, versions
from verify.inputs import generate
from verify.original import OriginalKernel, build
from verify.rating import rate, ratio_interval
from verify.rotation import Sets
from verify.spec_file import load_spec
from verify.timing import Enqueue, Prepared, Raw, Timer

SLOWER_BY = 0.03
_LEAST_DELAY_US = 2.5  # a node more in a graph costs about 1.5 us by itself
_SET_FROM = 4  # decisions whose samples set the cycles
_SPIN = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 cycles)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [cycles];
    mov.u64 %rd2, %clock64;
LOOP:
    mov.u64 %rd3, %clock64;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra LOOP;
    ret;
}
"""


class Delay:
    """A side that spins for some cycles behind each `every`-th launch."""

    def __init__(self, device: CudaDevice, enqueue: Enqueue, every: int) -> None:
        self.device = device
        self.every = every
        self._enqueue = enqueue
        self._kernel = device.call("cuModuleGetFunction", load_image(device, _SPIN + b"\0"), b"spin")
        self._held: list[Arguments] = []

    def with_cycles(self, cycles: int) -> Enqueue:
        arguments = Arguments([cycles.to_bytes(8, "little")])
        self._held.append(arguments)  # a graph copies them, a plain launch may still read them
        shape = (1, 1, 1, 1, 1, 1)
        calls = 0

        def launch(index: int) -> None:
            nonlocal calls
            self._enqueue(index)
            calls += 1
            if calls % self.every == 0:
                self.device.call(
                    "cuLaunchKernel", self._kernel, *shape, 0, self.device.stream, arguments.address, 0
                )

        return launch


def prepared(target: Path, arch: str, role: str, seed: int) -> dict[str, Any] | None:
    """What can be made ready while another target is timed: inputs and code. None where it has no such
    case."""
    spec = load_spec(target)
    found = [(c, r) for c, r in timed_cases(spec, ()) if c.role == role]
    if not found:
        return None
    case, resolved = found[0]
    built = build(target, spec, arch)
    return {
        "spec": spec, "case": case.name, "resolved": resolved, "built": built,
        "inputs": generate(spec, resolved, seed, "spec"),
    }  # fmt: skip


def decide(timer: Timer, ready: Prepared, repetitions: int) -> dict[str, Any]:
    """Words of so many decisions, and the growth of the time over all their samples."""
    words: Counter[str] = Counter()
    rounds, ratios, port, original = [], [], [], []
    for _ in range(repetitions):
        raw = Raw(launches=ready.raw.launches, nodes=ready.raw.nodes)
        timer.rounds(replace(ready, raw=raw), {})
        ratio, low, high = ratio_interval(raw.original, raw.port)
        words[rate(len(raw.port), low, high)] += 1
        rounds.append(len(raw.port) // 2)
        ratios.append([round(ratio, 5), round(low, 5), round(high, 5)])
        port += raw.port
        original += raw.original
    return {
        "words": dict(sorted(words.items())),
        "rounds": {"least": min(rounds), "mean": round(float(np.mean(rounds)), 1), "most": max(rounds)},
        "grown_by": round(float(np.median(port) / np.median(original)) - 1, 5),
        "original_us": round(float(np.median(original)), 3),
        "ratios": ratios,
    }


def planted(
    timer: Timer, device: CudaDevice, enqueue: Enqueue, us: float, launches: int, repetitions: int
) -> dict[str, Any]:
    """Decisions on a side that takes 3 % longer; more, where so few launches can't be slowed by so little."""
    want = SLOWER_BY * us
    every = max(1, min(launches, math.ceil(_LEAST_DELAY_US / want)))
    delay = Delay(device, enqueue, every)

    def grown(cycles: int) -> float:
        ready = timer.prepare({"port": delay.with_cycles(cycles), "original": enqueue})
        return us * float(decide(timer, ready, _SET_FROM)["grown_by"])

    first = max(1, int(want * every * 1000))
    at_none, at_first = grown(1), grown(first)
    per_cycle = (at_first - at_none) / first
    cycles = max(1, round((want - at_none) / per_cycle)) if per_cycle > 0 else first
    ready = timer.prepare({"port": delay.with_cycles(cycles), "original": enqueue})
    return {
        "cycles": cycles,
        "every": every,
        "delay_at_none_us": round(at_none, 3),
        **decide(timer, ready, repetitions),
    }


def trial(device: CudaDevice, made: dict[str, Any], repetitions: int, slowed: int) -> dict[str, Any]:
    """Both trials of one target."""
    start = time.monotonic()
    spec, resolved, built = made["spec"], made["resolved"], made["built"]
    kernel = OriginalKernel(device, built.cubin, built.names, spec)
    l2 = device.attribute("L2_CACHE_SIZE")
    symbols = {name: at for name, (at, _) in kernel.symbols.items()}
    sets = Sets(device, spec, resolved, made["inputs"], l2, symbols)
    timer = Timer(device, sets, l2)
    try:
        enqueue = original_calls(kernel, resolved, sets)
        ready = timer.prepare({"port": enqueue, "original": enqueue})
        itself = decide(timer, ready, repetitions)
        found = {
            "case": made["case"], "launches": ready.raw.launches, "notes": ready.raw.notes,
            "itself": itself,
        }  # fmt: skip
        if slowed:
            us = itself["original_us"]
            found["slower"] = planted(timer, device, enqueue, us, ready.raw.launches, slowed)
    finally:
        timer.close()
        sets.close()
    return {**found, "seconds": round(time.monotonic() - start, 2)}


def share(trials: dict[str, Any], which: str, word: str) -> float | None:
    """The share of decisions that say `word`."""
    words: Counter[str] = Counter()
    for one in trials.values():
        words.update(one.get(which, {}).get("words", {}))
    total = sum(words.values())
    return round(words[word] / total, 4) if total else None


SUMMARY = ("role", "repetitions", "itself_same", "itself_least", "slower_by_3_percent_slower")


def told(gpu: dict[str, Any], role: str, repetitions: int, trials: dict[str, Any]) -> dict[str, Any]:
    """The whole result, so far."""
    return {
        "gpu": gpu,
        "versions": versions(),
        "role": role,
        "repetitions": repetitions,
        "itself_same": share(trials, "itself", "SAME"),
        "itself_least": min((t["itself"]["words"].get("SAME", 0) for t in trials.values()), default=None),
        "slower_by_3_percent_slower": share(trials, "slower", "SLOWER"),
        "trials": trials,
    }


def write(path: Path, result: dict[str, Any]) -> None:
    """Write what there is after each target: a trial that is cut short keeps the others."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="timing_trial", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", type=Path, help="target folders; all of targets/ without any")
    parser.add_argument(
        "--repetitions", type=int, default=100, help="decisions on the original against itself"
    )
    parser.add_argument(
        "--slowed", type=int, default=None, help="decisions on the slowed one; as many without"
    )
    parser.add_argument("--role", choices=["large", "typical"], default="large", help="which case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("timing_trial.json"))
    args = parser.parse_args(argv)
    slowed = args.repetitions if args.slowed is None else args.slowed
    folders = args.targets or sorted(p.parent for p in Path("targets").glob("*/spec.toml"))
    device = CudaDevice()
    gpu = device.describe()
    arch = arch_of(gpu["major"], gpu["minor"])
    trials: dict[str, Any] = {}
    with ThreadPoolExecutor(1) as pool:
        waiting = [(f.name, pool.submit(prepared, f, arch, args.role, args.seed)) for f in folders[:1]]
        for number, folder in enumerate(folders):
            name, future = waiting.pop(0)
            made = future.result()
            if number + 1 < len(folders):
                after = folders[number + 1]
                waiting.append((after.name, pool.submit(prepared, after, arch, args.role, args.seed)))
            if made is None:
                continue
            one = trials[name] = trial(device, made, args.repetitions, slowed)
            del made
            slow = one.get("slower", {})
            print(
                f"{folder.name}: {one['itself']['original_us']:.1f} us, {one['itself']['words']}, "
                f"rounds {one['itself']['rounds']}; grown by {slow.get('grown_by')}: {slow.get('words')}, "
                f"{one['seconds']} s",
                flush=True,
            )
            write(args.out, told(gpu, args.role, args.repetitions, trials))
    print(
        json.dumps({k: v for k, v in told(gpu, args.role, args.repetitions, trials).items() if k in SUMMARY})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
